// Why a restore or a verification failed, as the reason of a condition, and whether a retry may
// help.
#pragma once
#include <array>
#include <utility>

#include "base/result.h"

namespace etcdop::agent {

/// Explained one by one in docs/user/restore.md.
enum class RestoreReason {
  SourceNotFound,
  SourceInvalid,
  SourceUnreachable,
  SourceUntrusted,
  SourceCredentialsRejected,
  SourceAccessDenied,
  SourceClockSkewed,
  SourceFailed,
  BucketNotFound,
  SnapshotBroken,
  SnapshotForeign,
  SnapshotNewer,
  SnapshotNeedsAuth,
  EncryptionKeyInvalid,  ///< The Secret's entry is not a key.
  EncryptionKeyMissing,  ///< The Secret has no key that decrypts this snapshot.
  NoSpace,
  DataDirectoryInvalid,
  DataDirectoryFailed,
  RestoreToolMissing,
  RestoreToolFailed,
  SnapshotDiffers,        ///< Its restored data is not what the cluster had.
  SnapshotNotComparable,  ///< The cluster's data at that time is unknown.
  EtcdFailed              ///< The etcd started on the restored data failed.
};
inline auto names(RestoreReason) {
  using enum RestoreReason;
  return std::array{std::pair{SourceNotFound, "SourceNotFound"},
                    std::pair{SourceInvalid, "SourceInvalid"},
                    std::pair{SourceUnreachable, "SourceUnreachable"},
                    std::pair{SourceUntrusted, "SourceUntrusted"},
                    std::pair{SourceCredentialsRejected, "SourceCredentialsRejected"},
                    std::pair{SourceAccessDenied, "SourceAccessDenied"},
                    std::pair{SourceClockSkewed, "SourceClockSkewed"},
                    std::pair{SourceFailed, "SourceFailed"},
                    std::pair{BucketNotFound, "BucketNotFound"},
                    std::pair{SnapshotBroken, "SnapshotBroken"},
                    std::pair{SnapshotForeign, "SnapshotForeign"},
                    std::pair{SnapshotNewer, "SnapshotNewer"},
                    std::pair{SnapshotNeedsAuth, "SnapshotNeedsAuth"},
                    std::pair{EncryptionKeyInvalid, "EncryptionKeyInvalid"},
                    std::pair{EncryptionKeyMissing, "EncryptionKeyMissing"},
                    std::pair{NoSpace, "NoSpace"},
                    std::pair{DataDirectoryInvalid, "DataDirectoryInvalid"},
                    std::pair{DataDirectoryFailed, "DataDirectoryFailed"},
                    std::pair{RestoreToolMissing, "RestoreToolMissing"},
                    std::pair{RestoreToolFailed, "RestoreToolFailed"},
                    std::pair{SnapshotDiffers, "SnapshotDiffers"},
                    std::pair{SnapshotNotComparable, "SnapshotNotComparable"},
                    std::pair{EtcdFailed, "EtcdFailed"}};
}
const char* to_string(RestoreReason);

/// The source of an error.
enum class RestoreSide {
  Store,          ///< An object store.
  Folder,         ///< A folder of a volume, for reading.
  Snapshot,       ///< Its content.
  DataDirectory,  ///< The place of the new member.
  Tool,           ///< etcdutl.
  Etcd            ///< An etcd started on the restored data.
};
RestoreReason reason_of(RestoreSide, const Error&);
/// Only people can fix it.
bool is_for_good(RestoreReason);

}  // namespace etcdop::agent
