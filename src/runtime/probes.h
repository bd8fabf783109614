// What the kubelet asks of this process: does its loop run, and are its caches filled?
#pragma once
#include <string>
#include <vector>

#include "base/fiber.h"
#include "http/message.h"

namespace etcdop::runtime {

/// Wakes up every second, as every other fiber would.
class Heartbeat {
 public:
  explicit Heartbeat(Executor& executor) : executor_(executor), last_(executor.now()) {}
  Heartbeat(const Heartbeat&) = delete;
  /// Until its fiber is cancelled.
  void beat();
  /// How long ago the last one was; before the first, since this was made.
  Duration since() const { return executor_.now() - last_; }

 private:
  Executor& executor_;
  Instant last_;
};

/// 200; or 503: the loop turns and wakes nobody. A loop that does not turn gives no answer at all,
/// which the kubelet takes for the same.
http::Response liveness(const Heartbeat&);

/// 200; or 503, which names the kinds whose caches have not been filled. Who waits to lead is
/// ready: it can take over at once.
http::Response readiness(const std::vector<std::string>& unfilled);

}  // namespace etcdop::runtime
