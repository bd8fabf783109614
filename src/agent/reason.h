// Why an agent failed, as the reason of a condition, and whether a retry may help.
#pragma once
#include <array>
#include <string>
#include <utility>

#include "base/result.h"

namespace etcdop::agent {

/// Explained one by one in docs/user/backup.md.
enum class Reason {
  EtcdUnreachable,
  EtcdCredentialsRejected,
  EtcdUnhealthy,
  SnapshotBroken,
  DestinationExists,
  DestinationInvalid,
  DestinationUnreachable,
  DestinationUntrusted,
  DestinationCredentialsRejected,
  DestinationAccessDenied,
  BucketNotFound,
  NoSpace,
  DestinationClockSkewed,
  DestinationFailed,
  EncryptionKeyInvalid  ///< The Secret's entry is not a key.
};
inline auto names(Reason) {
  return std::array{
      std::pair{Reason::EtcdUnreachable, "EtcdUnreachable"},
      std::pair{Reason::EtcdCredentialsRejected, "EtcdCredentialsRejected"},
      std::pair{Reason::EtcdUnhealthy, "EtcdUnhealthy"},
      std::pair{Reason::SnapshotBroken, "SnapshotBroken"},
      std::pair{Reason::DestinationExists, "DestinationExists"},
      std::pair{Reason::DestinationInvalid, "DestinationInvalid"},
      std::pair{Reason::DestinationUnreachable, "DestinationUnreachable"},
      std::pair{Reason::DestinationUntrusted, "DestinationUntrusted"},
      std::pair{Reason::DestinationCredentialsRejected, "DestinationCredentialsRejected"},
      std::pair{Reason::DestinationAccessDenied, "DestinationAccessDenied"},
      std::pair{Reason::BucketNotFound, "BucketNotFound"},
      std::pair{Reason::NoSpace, "NoSpace"},
      std::pair{Reason::DestinationClockSkewed, "DestinationClockSkewed"},
      std::pair{Reason::DestinationFailed, "DestinationFailed"},
      std::pair{Reason::EncryptionKeyInvalid, "EncryptionKeyInvalid"}};
}
const char* to_string(Reason);

/// The source of an error.
enum class Side {
  Etcd,      ///< A request to a member.
  Snapshot,  ///< The stream of a snapshot.
  Store,     ///< An object store.
  Folder     ///< A folder of a volume.
};
Reason reason_of(Side, const Error&);
/// The text for people.
std::string told(const Error&);
inline constexpr const char* kAskedToEnd = "it was asked to end";

inline constexpr int kExitStored = 0, kExitFailed = 1, kExitFailedForGood = 3;
int exit_code(Reason);

}  // namespace etcdop::agent
