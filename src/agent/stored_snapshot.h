// The stored data of one EtcdSnapshot, for its removal. s3_stored.h and folder_stored.h are the two
// kinds.
#pragma once
#include <string>
#include <vector>

#include "agent/reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// The data, the manifest, and other leftovers of the agent that stored it. Each call may suspend.
///
/// Guarantees: it removes only data whose own mark names this EtcdSnapshot (the uid in an object's
/// metadata, or in the file beside a file), and whose manifest does not contradict it.
///
/// Caveat: another program may replace the data between the last look and the removal, which is one
/// call later.
class StoredSnapshot {
 public:
  virtual ~StoredSnapshot() = default;
  /// The existing names, in the order of removal: after each removal the rest is no complete
  /// snapshot, and still names its owner. AlreadyExists: something under the name belongs to
  /// another owner, so everything stays.
  virtual Result<std::vector<std::string>> look() = 0;
  /// Removes a name from look(), after another look. Success: it was seen to be gone.
  virtual Result<Done> remove(const std::string& name) = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: decides how its errors are read.
  virtual Side side() const = 0;
};

}  // namespace etcdop::agent
