// What an agent is to do: its environment, checked and taken apart.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "s3/identity.h"
#include "s3/place.h"
#include "s3/sigv4.h"

namespace etcdop::agent {

struct EtcdAccess {
  bool tls = false;
  std::vector<std::string> hosts;            ///< Names or addresses; of members or a Service.
  std::string port = "2379";                 ///< Of all of them.
  std::string ca_path, cert_path, key_path;  ///< Empty: the system's trust; no certificate.
  std::string username;                      ///< Empty: nobody logs in.
  Secret password;
};

struct BucketTarget {
  s3::PlaceOptions place;
  /// Of the key; no slash at its ends, or empty. Of a restore: the whole key.
  std::string prefix;
  s3::Credentials credentials;
  std::optional<s3::PodIdentity> identity;  ///< In place of them.
  std::string ca_path;                      ///< Empty: the system's trust.
  /// The endpoint may be this machine: for tests, which have their stores there.
  bool local = false;
};

struct FolderTarget {
  std::string mount_path;  ///< Absolute.
  std::string sub_path;    ///< Below it; empty: itself. Of a restore: the file.
};

struct SnapshotTask {
  std::string name = "snapshot", uid;  ///< Of the EtcdSnapshot.
  EtcdAccess etcd;
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: it is not encrypted.
  std::string termination_log_path = "/dev/termination-log";

  std::string file_name() const { return name + ".db"; }
  std::string key() const;  ///< Of the object in `bucket`.
};

struct RestoreTask {
  std::string data_dir = "/var/lib/etcd";
  std::string member_name, initial_cluster, initial_cluster_token;
  std::string peer_urls;               ///< Empty: etcdutl's own default.
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: it is not encrypted.
  std::string checksum;                ///< Of the stored bytes; empty: whatever it is.
  std::string etcd_version;            ///< Which etcd will run on it; empty: nobody knows.
  bool auth = false;                   ///< Whoever runs it can log in, where authentication is on.
  std::int64_t bump_revision = 1'000'000'000;  ///< 0: the revision stays.
  std::string etcdutl_path;                    ///< Empty: where it usually is.
  std::string termination_log_path = "/dev/termination-log";
};

/// What a snapshot has to be, as far as it is known.
struct Expected {
  std::string uid = {};  ///< Of the EtcdSnapshot; empty: of any.
  /// "sha256:" and 64 hex digits; empty: the manifest says it, or nobody.
  std::string checksum = {};
  std::string digest = {};  ///< Likewise, of its keys (etcd/key_digest.h).
  std::optional<std::int64_t> revision = {}, compact_revision = {}, hash_kv = {}, keys = {};
  bool operator==(const Expected&) const = default;
};

struct VerifyTask {
  std::string scratch_dir;             ///< For the copy; only this agent uses it.
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: it is not encrypted.
  Expected expected;
  bool only_check = false;   ///< What can be restored is good, if nothing speaks against it.
  bool auth = true;          ///< It is of use where authentication is on.
  std::string etcd_version;  ///< Which etcd will run on it; empty: nobody knows.
  std::string etcdutl_path, etcd_path;  ///< Empty: where they usually are.
  std::string termination_log_path = "/dev/termination-log";
};

/// The value of an environment variable; nullopt: it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Invalid: the message begins with the variable that is at fault, and quotes no secret.
Result<SnapshotTask> to_snapshot_task(const Variables&);

/// Likewise.
Result<RestoreTask> to_restore_task(const Variables&);

/// Likewise.
Result<VerifyTask> to_verify_task(const Variables&);

/// Likewise, for who has nothing to ask of etcd: `etcd` has no hosts.
Result<SnapshotTask> to_deletion_task(const Variables&);

/// Also of use when there is no task.
std::string termination_log_path(const Variables&);

}  // namespace etcdop::agent
