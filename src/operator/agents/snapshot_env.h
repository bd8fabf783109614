// The part of an agent's environment that says where a snapshot is stored: agents that take one and
// agents that restore one share it. Pure.
#pragma once
#include <array>
#include <string>

#include "api/v1alpha2/common.h"
#include "base/json.h"

namespace etcdop {

/// The keys that the Secret of an object store must have.
inline constexpr std::array<const char*, 2> kStoreKeys{"AWS_ACCESS_KEY_ID",
                                                       "AWS_SECRET_ACCESS_KEY"};
/// The key of the Secret with a store's CA certificates, and where the agents mount it.
inline constexpr const char* kStoreAuthorityKey = "ca.crt";
inline constexpr const char* kStoreAuthorityFolder = "/etc/store/ca";

/// Whether the object store grants access to the Pod's ServiceAccount, without a Secret.
inline bool is_keyless(const api::v1alpha2::SnapshotLocation& where) {
  return where.s3 && where.s3->credentials_secret_ref.name.empty();
}
/// The Secret with its CA certificates; empty: a well-known CA has signed its certificate.
inline std::string authority_secret_of(const api::v1alpha2::SnapshotLocation& where) {
  return where.s3 && where.s3->ca_secret_ref ? where.s3->ca_secret_ref->name : "";
}

/// Where agents mount the keys of encrypted snapshots.
inline constexpr const char* kSnapshotKeysFolder = "/etc/snapshot-keys";
/// The Secret with these keys; empty: snapshots are not encrypted.
inline std::string keys_secret_of(const api::v1alpha2::SnapshotLocation& where) {
  return where.encryption ? where.encryption->key_secret_ref.name : "";
}

json::object variable(const char* name, const std::string& value);
/// `optional`: the container starts without it.
json::object variable_of_secret(const char* name, const std::string& secret, const char* key,
                                bool optional = false);

/// Adds the variables of the contract (SNAPSHOT_DEST_KIND and the following ones). `volume_folder`:
/// where a PersistentVolumeClaim is mounted.
void add_location(json::array& env, const api::v1alpha2::SnapshotLocation&,
                  const char* volume_folder);

/// "s3://bucket/key", or "file db.db of PersistentVolumeClaim backups": for people.
std::string to_words(const api::v1alpha2::SnapshotLocation&);

}  // namespace etcdop
