// Runs a reconcile function over the keys of a queue: many keys side by side, one key never twice
// at a time.
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

/// When to look at the key again if nothing is heard about it before; nullopt: only then. In the
/// first half minute of a controller it may be sooner, so that not all keys stay together.
struct Requeue {
  std::optional<Duration> after;
};

class Controller {
 public:
  using Reconcile = std::function<Result<Requeue>(const ObjectKey&)>;
  struct Options {
    std::string name;  ///< In logs and metrics: "etcdcluster".
    /// Passes side by side. One that takes longer than half a second counts no more: it waits for
    /// an etcd that does not answer, and a few dozens of these would hold up everybody. Up to four
    /// times as many.
    std::size_t concurrency = 64;
    Duration pass_limit = std::chrono::seconds(60);  ///< Deadline of the fiber of one pass.
    Queue::Limits backoff;
    Queue::OnTake on_take = {};
    /// Called after each pass, with how long it took; for metrics.
    std::function<void(Result<Requeue>, Duration)> on_pass = {};
  };
  Controller(Executor&, Random&, Log&, Options, Reconcile);
  /// Must have been stopped, if it was started.
  ~Controller();
  Controller(const Controller&) = delete;

  /// For watches to add to, also before start().
  Queue& queue() { return queue_; }
  const Options& options() const { return options_; }
  /// Passes that run now.
  std::size_t active() const { return passes_.size(); }

  /// At most once. Each pass runs on a fiber of its own.
  void start();
  /// Cancels all passes and waits until they have returned; may suspend. TimedOut or Cancelled:
  /// some are still running, and this object must not be destroyed.
  Result<Done> stop();

 private:
  /// One that is under way.
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
      complaints_;  // The last one logged about a key that still fails.
  Instant started_{};
  bool stopping_ = false;
};

}  // namespace etcdop::runtime
