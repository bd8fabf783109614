// The kubelet's probes of this process: does its loop run, and are its caches filled?
#pragma once
#include <string>
#include <vector>

#include "base/fiber.h"
#include "http/message.h"

namespace etcdop::runtime {

/// Wakes up every second, like any other fiber.
class Heartbeat {
 public:
  explicit Heartbeat(Executor& executor) : executor_(executor), last_(executor.now()) {}
  Heartbeat(const Heartbeat&) = delete;
  /// Returns when its fiber is cancelled.
  void beat();
  /// Time since the last beat; before the first, since this object was created.
  Duration since() const { return executor_.now() - last_; }

 private:
  Executor& executor_;
  Instant last_;
};

/// 200; or 503: the loop runs but wakes no fiber. A stuck loop gives no answer at all, which the
/// kubelet treats the same.
http::Response liveness(const Heartbeat&);

/// 200; or 503 with the kinds whose caches are not filled. A standby is ready: it can take over at
/// once.
http::Response readiness(const std::vector<std::string>& unfilled);

}  // namespace etcdop::runtime
