// Calls at given times, on one fiber.
#pragma once
#include <functional>
#include <map>
#include <utility>

#include "base/fiber.h"

namespace etcdop::sim {

/// Each call runs on the fiber that runs `run()`; it must not suspend.
class Timers {
 public:
  explicit Timers(Executor& executor) : executor_(executor) {}
  void at(Instant when, std::function<void()> call) {
    due_.emplace(std::pair{when, ++made_}, std::move(call));
    if (waiting_ && when < waiting_until_) waiting_->notify();
  }
  /// Until stop().
  void run() {
    while (!stopped_) {
      const Instant next = due_.empty() ? Instant::max() : due_.begin()->first.first;
      if (next <= executor_.now()) {
        const auto call = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        call();
        continue;
      }
      Wait wait(executor_);
      waiting_ = &wait;
      waiting_until_ = next;
      (void)wait.until(next);
      waiting_ = nullptr;
    }
    due_.clear();
  }
  void stop() {
    stopped_ = true;
    if (waiting_) waiting_->notify();
  }

 private:
  Executor& executor_;
  std::map<std::pair<Instant, std::uint64_t>, std::function<void()>> due_;
  std::uint64_t made_ = 0;
  Wait* waiting_ = nullptr;
  Instant waiting_until_{};
  bool stopped_ = false;
};

}  // namespace etcdop::sim
