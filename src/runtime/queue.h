// Keys of objects to look at: each once in line, never handed out twice at a time, with back-off
// for those that failed.
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

/// Level-triggered: what matters is that a key is looked at after the last add, not how often it
/// was added.
///
/// Expected flow: add() from watches; take() by a worker; then exactly one of done(), again_after()
/// or failed() for that key. Guarantees: a key that was added while it was being worked on is
/// handed out again afterwards; keys are handed out in the order in which they came due.
class Queue {
 public:
  struct Limits {
    Duration backoff_min = std::chrono::milliseconds(250);
    Duration backoff_max = std::chrono::seconds(60);
  };
  /// Since the beginning; for metrics.
  struct Counts {
    std::uint64_t adds = 0;     ///< Came into the line; adds of a key that is in it do not count.
    std::uint64_t retries = 0;  ///< Calls of failed().
  };
  /// How long a key was in line when it was handed out; for metrics.
  using OnTake = std::function<void(Duration)>;
  Queue(Executor&, Random&, Limits, OnTake on_take = {});
  /// Nobody may be in take().
  ~Queue();
  Queue(const Queue&) = delete;

  void add(const ObjectKey&);
  /// Not before `delay` from now, unless it is added again. The sooner of two delays counts.
  void add_after(const ObjectKey&, Duration delay);
  /// Suspends until a key is due; nullopt once the queue is stopped (or the fiber's deadline or
  /// cancellation came).
  std::optional<ObjectKey> take();
  /// Forgets failures.
  void done(const ObjectKey&);
  /// Like done(), then add_after().
  void again_after(const ObjectKey&, Duration);
  /// Doubling delay with jitter: a quarter of it, half up and half down. Returns it.
  Duration failed(const ObjectKey&);
  /// Whoever is in take() gets nullopt; what is added from now on is dropped.
  void stop();
  /// Keys in line that nobody works on; those that are delayed do not count.
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
  std::deque<std::pair<ObjectKey, Instant>> ready_;  // And since when.
  std::set<ObjectKey> queued_, working_, dirty_;
  std::map<ObjectKey, Instant> later_;
  std::set<std::pair<Instant, ObjectKey>> due_;  // The same as later_, soonest first.
  std::map<ObjectKey, int> failures_;
  std::list<Wait*> takers_;
  Counts counts_;
  bool stopped_ = false;
};

}  // namespace etcdop::runtime
