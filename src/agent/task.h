// What a snapshot agent is to do: its environment, checked and taken apart.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
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
  std::string prefix;  ///< Of the key; no slash at its ends, or empty.
  s3::Credentials credentials;
  /// The endpoint may be this machine: for tests, which have their stores there.
  bool local = false;
};

struct FolderTarget {
  std::string mount_path;  ///< Absolute.
  std::string sub_path;    ///< Below it; empty: itself.
};

struct SnapshotTask {
  std::string name = "snapshot", uid;  ///< Of the EtcdSnapshot.
  EtcdAccess etcd;
  std::optional<BucketTarget> bucket;  ///< Either this,
  std::optional<FolderTarget> folder;  ///< or that.
  std::string termination_log_path = "/dev/termination-log";

  std::string file_name() const { return name + ".db"; }
  std::string key() const;  ///< Of the object in `bucket`.
};

/// The value of an environment variable; nullopt: it is not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

/// Invalid: the message begins with the variable that is at fault, and quotes no secret.
Result<SnapshotTask> to_snapshot_task(const Variables&);

/// Also of use when there is no task.
std::string termination_log_path(const Variables&);

}  // namespace etcdop::agent
