// An etcd that is started on a rebuilt data directory, queried, and thrown away. process_etcd.h is
// the real one.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::agent {

/// Normal flow: start(), queries, stop(). Each call may suspend, and all but stop() end early when
/// the fiber is cancelled.
///
/// Errors of queries: Invalid: it does not have that revision: it was compacted, or is in the
/// future. All others: etcd failed.
class ScratchEtcd {
 public:
  virtual ~ScratchEtcd() = default;
  /// Starts the member that RestoreSite::rebuild() has made; no other process may use it. Returns
  /// when it answers. NotFound: no executable etcd.
  virtual Result<Done> start() = 0;
  /// HashKV up to that revision; 0: the newest. `revision` of the answer is the newest.
  virtual Result<etcd::KeyHash> hash_kv(std::int64_t revision) = 0;
  /// Number of keys at that revision.
  virtual Result<std::int64_t> count(std::int64_t revision) = 0;
  /// Digest of all keys at that revision (etcd/key_digest.h): "sha256:" and 64 hex digits.
  virtual Result<std::string> digest(std::int64_t revision) = 0;
  /// Ends the process by all means; does nothing if it never started.
  virtual void stop() = 0;
};

}  // namespace etcdop::agent
