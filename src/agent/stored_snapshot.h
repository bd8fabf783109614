// What is stored of one EtcdSnapshot, for who removes it. s3_stored.h and folder_stored.h are the
// two kinds.
#pragma once
#include <string>
#include <vector>

#include "agent/reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// The data, the manifest, and what else the agent that stored it has left. Each call may suspend.
///
/// Guarantees: nothing goes away that its own mark does not say to be of this EtcdSnapshot (the uid
/// in an object's metadata, or in the file beside a file), or whose manifest says otherwise.
///
/// Caveat: between the last look and the removal lies one call, in which somebody may replace what
/// is there.
class StoredSnapshot {
 public:
  virtual ~StoredSnapshot() = default;
  /// The names of what is there, in the order in which it has to go: after each of them what is
  /// left is no whole snapshot, and still says whose it is. AlreadyExists: something under the name
  /// is somebody else's, so all of it stays.
  virtual Result<std::vector<std::string>> look() = 0;
  /// One that look() gave; looks once more before. Success: it is gone, and was seen to be.
  virtual Result<Done> remove(const std::string& name) = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: how its errors are meant.
  virtual Side side() const = 0;
};

}  // namespace etcdop::agent
