// The task of an agent: parsed and checked from its environment.
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
  std::vector<std::string> hosts;            ///< Names or addresses, of members or of a Service.
  std::string port = "2379";                 ///< The same for all hosts.
  std::string ca_path, cert_path, key_path;  ///< Empty: the system's trust; no certificate.
  std::string username;                      ///< Empty: no login.
  Secret password;
};

struct BucketTarget {
  s3::PlaceOptions place;
  /// Prefix of the key; without slashes at its ends, or empty. For a restore: the whole key.
  std::string prefix;
  s3::Credentials credentials;
  std::optional<s3::PodIdentity> identity;  ///< Replaces the credentials.
  std::string ca_path;                      ///< Empty: the system's trust.
  /// The endpoint may be on this machine: for tests, whose stores run there.
  bool local = false;
};

struct FolderTarget {
  std::string mount_path;  ///< Absolute.
  std::string sub_path;    ///< Below mount_path; empty: mount_path itself. For a restore: the file.
};

struct SnapshotTask {
  std::string name = "snapshot", uid;  ///< The EtcdSnapshot's.
  EtcdAccess etcd;
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: not encrypted.
  std::string termination_log_path = "/dev/termination-log";

  std::string file_name() const { return name + ".db"; }
  std::string key() const;  ///< The key of the object in `bucket`.
};

struct RestoreTask {
  std::string data_dir = "/var/lib/etcd";
  std::string member_name, initial_cluster, initial_cluster_token;
  std::string peer_urls;               ///< Empty: etcdutl's own default.
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: not encrypted.
  std::string checksum;                ///< Covers the stored bytes; empty: any.
  std::string etcd_version;            ///< Version of the etcd that will run on it; empty: unknown.
  bool auth = false;                   ///< The user can log in if authentication is on.
  std::int64_t bump_revision = 1'000'000'000;  ///< 0: the revision stays.
  std::string etcdutl_path;                    ///< Empty: the usual place.
  std::string termination_log_path = "/dev/termination-log";
};

/// Requirements for a snapshot, if they are known.
struct Expected {
  std::string uid = {};  ///< Uid of the EtcdSnapshot; empty: any.
  /// "sha256:" and 64 hex digits; empty: from the manifest, or unknown.
  std::string checksum = {};
  std::string digest = {};  ///< The same, for its keys (etcd/key_digest.h).
  std::optional<std::int64_t> revision = {}, compact_revision = {}, hash_kv = {}, keys = {};
  bool operator==(const Expected&) const = default;
};

struct VerifyTask {
  std::string scratch_dir;             ///< For the copy; used only by this agent.
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string keys_path;               ///< Folder of the keys; empty: not encrypted.
  Expected expected;
  bool only_check = false;   ///< A restorable snapshot is good, if nothing contradicts it.
  bool auth = true;          ///< The snapshot is useful with authentication on.
  std::string etcd_version;  ///< Version of the etcd that will run on it; empty: unknown.
  std::string etcdutl_path, etcd_path;  ///< Empty: the usual places.
  std::string termination_log_path = "/dev/termination-log";
};

/// The value of an environment variable; nullopt: it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Invalid: the message begins with the variable at fault, and quotes no secret.
Result<SnapshotTask> to_snapshot_task(const Variables&);

/// The same.
Result<RestoreTask> to_restore_task(const Variables&);

/// The same.
Result<VerifyTask> to_verify_task(const Variables&);

/// The same, for an agent that does not call etcd: `etcd` has no hosts.
Result<SnapshotTask> to_deletion_task(const Variables&);

/// Works even without a valid task.
std::string termination_log_path(const Variables&);

}  // namespace etcdop::agent
