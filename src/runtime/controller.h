// Runs a reconcile function over the keys of a queue: many keys at the same time, but never two
// passes of one key.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "runtime/queue.h"

namespace etcdop::runtime {

/// When to reconcile the key again if no event comes before; nullopt: only on an event. In the
/// first half minute of a controller it may be sooner, so that not all keys stay together.
struct Requeue {
  std::optional<Duration> after;
};

class Controller {
 public:
  using Reconcile = std::function<Result<Requeue>(const ObjectKey&)>;
  struct Options {
    std::string name;  ///< In logs and metrics: "etcdcluster".
    /// Number of concurrent passes. A pass that takes longer than half a second no longer counts:
    /// it waits for an etcd that does not answer, and a few dozen of these would block all others.
    /// The total limit is four times as high.
    std::size_t concurrency = 64;
    Duration pass_limit = std::chrono::seconds(60);  ///< Deadline of the fiber of one pass.
    Queue::Limits backoff;
    Queue::OnTake on_take = {};
    /// Called after each pass with its duration; for metrics.
    std::function<void(Result<Requeue>, Duration)> on_pass = {};
  };
  Controller(Executor&, Random&, Log&, Options, Reconcile);
  /// Must have been stopped, if it was started.
  ~Controller();
  Controller(const Controller&) = delete;

  /// Watches add keys to it, also before start().
  Queue& queue() { return queue_; }
  const Options& options() const { return options_; }
  /// Number of running passes.
  std::size_t active() const { return passes_.size(); }

  /// Call it at most once. Each pass runs on its own fiber.
  void start();
  /// Cancels all passes and waits until they have returned; may suspend. TimedOut or Cancelled:
  /// some are still running, and this object must not be destroyed.
  Result<Done> stop();

 private:
  /// A running pass.
  struct Pass {
    std::shared_ptr<Fiber> fiber;
    Instant began;
    bool counts = true;  ///< It holds a permit.
  };
  void dispatch();
  bool wait_for_room();
  void count_out_the_slow();
  void pass(const ObjectKey&);
  void settle(const ObjectKey&, Result<Requeue>);
  void complain(const ObjectKey&, const Error&, Duration retry);

  Executor& executor_;
  Log& log_;
  Options options_;
  Reconcile reconcile_;
  Queue queue_;
  Semaphore permits_;
  std::shared_ptr<Fiber> dispatcher_;
  std::map<ObjectKey, Pass> passes_;
  std::map<ObjectKey, std::string>
      complaints_;  // The last logged error of each key that still fails.
  Instant started_{};
  bool stopping_ = false;
};

}  // namespace etcdop::runtime
