// An etcd that is started on a rebuilt data directory, asked what it has, and thrown away.
// process_etcd.h is the real one.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::agent {

/// Expected flow: start(), questions, stop(). Each call may suspend, and ends early, but for
/// stop(), when the fiber is cancelled.
///
/// Errors of questions: Invalid: it does not have that revision: it was compacted, or is to come.
/// All others: etcd failed.
class ScratchEtcd {
 public:
  virtual ~ScratchEtcd() = default;
  /// Of the member that RestoreSite::rebuild() has made, which nobody else uses. Returns when it
  /// answers. NotFound: there is no etcd that could be run.
  virtual Result<Done> start() = 0;
  /// HashKV up to that revision; 0: the newest. `revision` of the answer is the newest.
  virtual Result<etcd::KeyHash> hash_kv(std::int64_t revision) = 0;
  /// How many keys there were at that revision.
  virtual Result<std::int64_t> count(std::int64_t revision) = 0;
  /// Of all keys at that revision (etcd/key_digest.h): "sha256:" and 64 hex digits.
  virtual Result<std::string> digest(std::int64_t revision) = 0;
  /// It has ended, whatever it takes; nothing if it never started.
  virtual void stop() = 0;
};

}  // namespace etcdop::agent
