// Keys of objects to look at: each once in line, never handed out twice at a time, with back-off
// for those that failed.
#pragma once
#include <deque>
#include <map>
#include <optional>
#include <set>

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
/// handed out again afterwards.
class Queue {
 public:
  struct Limits {
    Duration backoff_min = std::chrono::milliseconds(250);
    Duration backoff_max = std::chrono::seconds(60);
  };
  Queue(Executor&, Random&, Limits);
  ~Queue();

  void add(const ObjectKey&);
  /// Not before `delay` from now, unless it is added again. The sooner of two delays counts.
  void add_after(const ObjectKey&, Duration delay);
  /// Suspends until a key is due; nullopt once the queue is stopped (or the fiber cancelled).
  std::optional<ObjectKey> take();
  /// Forgets failures.
  void done(const ObjectKey&);
  /// Like done(), then add_after().
  void again_after(const ObjectKey&, Duration);
  /// Doubling delay with jitter of a quarter. Returns it.
  Duration failed(const ObjectKey&);
  void stop();
  std::size_t waiting() const;

 private:
  void release(const ObjectKey&);
  void wake();
  Executor& executor_;
  Random& random_;
  Limits limits_;
  std::deque<ObjectKey> ready_;
  std::set<ObjectKey> queued_, working_, dirty_;
  std::map<ObjectKey, Instant> later_;
  std::map<ObjectKey, int> failures_;
  std::list<Wait*> takers_;
  bool stopped_ = false;
};

}  // namespace etcdop::runtime
