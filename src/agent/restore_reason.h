// Why a restore, or a verification, failed, in the words of a condition, and whether trying again
// may help.
#pragma once
#include <array>
#include <utility>

#include "base/result.h"

namespace etcdop::agent {

/// Explained one by one in docs/user/backup.md.
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
  EncryptionKeyInvalid,  ///< What the Secret has is no key.
  EncryptionKeyMissing,  ///< It has none that opens this one.
  NoSpace,
  DataDirectoryInvalid,
  DataDirectoryFailed,
  RestoreToolMissing,
  RestoreToolFailed,
  SnapshotDiffers,        ///< What it restores to is not what the cluster had.
  SnapshotNotComparable,  ///< Nobody knows what the cluster had.
  EtcdFailed              ///< The etcd that was started on it.
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

/// What an error came from.
enum class RestoreSide {
  Store,          ///< An object store.
  Folder,         ///< A folder of a volume, which one reads.
  Snapshot,       ///< What its bytes are.
  DataDirectory,  ///< Where the member is to be.
  Tool,           ///< etcdutl.
  Etcd            ///< An etcd that was started on what was restored.
};
RestoreReason reason_of(RestoreSide, const Error&);
/// Only people can mend it.
bool is_for_good(RestoreReason);

}  // namespace etcdop::agent
