// Keys of objects to reconcile: each only once in line, never handed out twice at a time, with
// back-off after failures.
#pragma once
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "api/meta.h"
#include "base/fiber.h"
#include "base/random.h"

namespace etcdop::runtime {

using api::ObjectKey;

/// Level-triggered: a key is handed out after its last add, however often it was added.
///
/// Normal flow: add() from watches; take() by a worker; then exactly one of done(), again_after()
/// or failed() for that key. Guarantees: a key that is added while it is being worked on is handed
/// out again afterwards; keys are handed out in the order in which they became due.
class Queue {
 public:
  struct Limits {
    Duration backoff_min = std::chrono::milliseconds(250);
    Duration backoff_max = std::chrono::seconds(60);
  };
  /// Since the start; for metrics.
  struct Counts {
    std::uint64_t adds = 0;     ///< Keys put in line; a key already in line does not count.
    std::uint64_t retries = 0;  ///< Calls of failed().
  };
  /// Time that a key was in line when it was handed out; for metrics.
  using OnTake = std::function<void(Duration)>;
  Queue(Executor&, Random&, Limits, OnTake on_take = {});
  /// No fiber may be in take().
  ~Queue();
  Queue(const Queue&) = delete;

  void add(const ObjectKey&);
  /// Not before `delay` from now, unless it is added again. The shorter of two delays counts.
  void add_after(const ObjectKey&, Duration delay);
  /// Suspends until a key is due; nullopt once the queue is stopped (or the fiber's deadline or
  /// cancellation came).
  std::optional<ObjectKey> take();
  /// Forgets failures.
  void done(const ObjectKey&);
  /// Like done(), then add_after().
  void again_after(const ObjectKey&, Duration);
  /// Doubling delay with a jitter of a quarter, half up and half down. Returns the delay.
  Duration failed(const ObjectKey&);
  /// Callers in take() get nullopt; later adds are dropped.
  void stop();
  /// Keys in line that are not being worked on; delayed keys do not count.
  std::size_t waiting() const { return ready_.size(); }
  const Counts& counts() const { return counts_; }

 private:
  void line_up(const ObjectKey&);
  void line_up_due();
  void release(const ObjectKey&);
  void forget_delay(const ObjectKey&);
  Duration backoff(int failures);
  void wake();
  Executor& executor_;
  Random& random_;
  Limits limits_;
  OnTake on_take_;
  std::deque<std::pair<ObjectKey, Instant>> ready_;  // With the time since when.
  std::set<ObjectKey> queued_, working_, dirty_;
  std::map<ObjectKey, Instant> later_;
  std::set<std::pair<Instant, ObjectKey>> due_;  // The same as later_, soonest first.
  std::map<ObjectKey, int> failures_;
  std::list<Wait*> takers_;
  Counts counts_;
  bool stopped_ = false;
};

}  // namespace etcdop::runtime
