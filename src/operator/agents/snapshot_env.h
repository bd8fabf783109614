// How the container of an agent is told where a snapshot lies: the part of its environment that
// taking one and restoring one have in common. Pure.
#pragma once
#include <array>
#include <string>

#include "api/v1alpha2/common.h"
#include "base/json.h"

namespace etcdop {

/// The keys that the Secret of an object store must have.
inline constexpr std::array<const char*, 2> kStoreKeys{"AWS_ACCESS_KEY_ID",
                                                       "AWS_SECRET_ACCESS_KEY"};
/// The key of the Secret with a store's authorities, and where the agents have it.
inline constexpr const char* kStoreAuthorityKey = "ca.crt";
inline constexpr const char* kStoreAuthorityFolder = "/etc/store/ca";

/// Of an object store that takes whom the Pod's ServiceAccount stands for.
inline bool is_keyless(const api::v1alpha2::SnapshotLocation& where) {
  return where.s3 && where.s3->credentials_secret_ref.name.empty();
}
/// The Secret with its authorities; empty: it is of the well-known ones.
inline std::string authority_secret_of(const api::v1alpha2::SnapshotLocation& where) {
  return where.s3 && where.s3->ca_secret_ref ? where.s3->ca_secret_ref->name : "";
}

/// Where agents have the keys of encrypted snapshots.
inline constexpr const char* kSnapshotKeysFolder = "/etc/snapshot-keys";
/// The Secret with them; empty: they are not encrypted.
inline std::string keys_secret_of(const api::v1alpha2::SnapshotLocation& where) {
  return where.encryption ? where.encryption->key_secret_ref.name : "";
}

json::object variable(const char* name, const std::string& value);
/// `optional`: the container starts without it.
json::object variable_of_secret(const char* name, const std::string& secret, const char* key,
                                bool optional = false);

/// Adds the variables of the contract (SNAPSHOT_DEST_KIND and after it). `volume_folder`: where a
/// PersistentVolumeClaim is mounted.
void add_location(json::array& env, const api::v1alpha2::SnapshotLocation&,
                  const char* volume_folder);

/// "s3://bucket/key", or "file db.db of PersistentVolumeClaim backups": for people.
std::string to_words(const api::v1alpha2::SnapshotLocation&);

}  // namespace etcdop
