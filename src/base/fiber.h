// Fibers: code reads as if it blocked; an Executor decides when it continues. One thread, so no
// locks.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"

namespace etcdop {

/// Monotonic time; constant while a fiber runs and moves only between fibers, so a pass sees one
/// instant.
class Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using Instant = std::chrono::time_point<Clock, Duration>;
  virtual ~Clock() = default;
  virtual Instant now() const = 0;
};
using Duration = Clock::Duration;
using Instant = Clock::Instant;

class Executor;
class Wait;
namespace detail {
class Coroutine;
}

/// How a wait ended.
enum class Woken { Ready, Deadline, Cancelled };
/// Ready is success; the other two become TimedOut and Cancelled.
Result<Done> to_result(Woken, const char* doing);

/// A running body with its own stack. It is never destroyed half-way: to end it early, cancel it
/// and let it return.
class Fiber {
 public:
  Fiber(Executor&, std::function<void()> body);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  /// The current wait, and every later one outside a Shield, ends with Cancelled.
  void cancel();
  bool done() const { return done_; }
  /// The deadline of the innermost Within or Shield; Instant::max() without one.
  Instant deadline() const { return deadline_; }
  /// Waits until the body has returned.
  Woken join();
  /// Deepest use of the stack, once done; needs Executor::paint_stacks(true) before the spawn.
  std::size_t stack_used() const { return stack_used_; }

 private:
  friend class Executor;
  friend class Wait;
  friend class Within;
  friend class Shield;
  friend class NoSuspend;
  Executor& executor_;
  std::function<void()> body_;
  std::unique_ptr<detail::Coroutine> coroutine_;
  Instant deadline_ = Instant::max();
  Wait* waiting_ = nullptr;
  int no_suspend_ = 0;
  std::size_t stack_used_ = 0;
  bool cancelled_ = false, shielded_ = false, done_ = false;
  std::list<Wait*> joiners_;
};

/// One suspension of one fiber: created on its stack, handed to the code that will end it. The
/// first cause to arrive wins.
class Wait {
 public:
  explicit Wait(Executor&);
  ~Wait();
  Wait(const Wait&) = delete;
  /// Suspends until notify(), or the fiber's deadline or cancellation. Returns at once if one of
  /// these has already happened.
  Woken until(Instant deadline = Instant::max());
  /// Callable from any callback on the loop's thread, also before until(). False if something else
  /// ended the wait first.
  bool notify() { return finish(Woken::Ready); }

 private:
  friend class Executor;
  friend class Fiber;
  struct Due {  // Orders all future events: time, then the executor's tie-break, then arrival.
    Instant when;
    std::uint64_t tie, order;
    auto operator<=>(const Due&) const = default;
  };
  bool finish(Woken);
  Executor& executor_;
  Fiber* fiber_;
  enum { Fresh, Parked, Finished } state_ = Fresh;
  Woken woken_ = Woken::Ready;
  bool queued_ = false;
  Due due_{};
};

/// Runs fibers. Production and simulation differ in the clock, the tie-break and the source of I/O.
class Executor : public Clock {
 public:
  Executor() = default;
  ~Executor() override;
  /// The body starts at the loop's next turn.
  std::shared_ptr<Fiber> spawn(std::function<void()> body);
  /// Ready at `when`, unless the fiber's deadline or cancellation comes first.
  Woken sleep_until(Instant when);
  Woken sleep(Duration d) { return sleep_until(now() + d); }
  /// The running fiber; null on the loop itself.
  Fiber* running() const { return running_; }
  std::size_t alive() const { return alive_; }
  static void paint_stacks(bool on);
  static void stack_bytes(std::size_t);

 protected:
  /// Orders waits that are due at the same instant; a constant means order of arrival.
  virtual std::uint64_t tie() { return 0; }
  /// When the next wait ends by itself; Instant::max() if none does.
  Instant next_due() const { return due_.empty() ? Instant::max() : due_.begin()->first.when; }
  /// Resumes the first wait in line.
  void step();

 private:
  friend class Wait;
  friend class Fiber;
  void enqueue(Wait&, Instant);
  void dequeue(Wait&);
  std::map<Wait::Due, Wait*> due_;
  std::uint64_t arrivals_ = 0;
  Fiber* running_ = nullptr;
  std::size_t alive_ = 0;
};

/// Within its scope, no wait of this fiber lasts beyond `limit` from now; scopes nest and only
/// tighten.
class Within {
 public:
  Within(Executor&, Duration limit);
  ~Within();
  Within(const Within&) = delete;

 private:
  Fiber* fiber_;
  Instant outer_;
};

/// Within its scope, waits ignore cancellation and the outer deadline, and have `limit` instead:
/// for cleanup.
class Shield {
 public:
  explicit Shield(Executor&, Duration limit = Duration::max());
  ~Shield();
  Shield(const Shield&) = delete;

 private:
  Fiber* fiber_;
  Instant outer_;
  bool was_shielded_;
};

/// Within its scope, suspending is a bug and aborts: put it between a check of shared state and its
/// use.
class NoSuspend {
 public:
  explicit NoSuspend(Executor& e) : fiber_(e.running()) {
    if (fiber_) ++fiber_->no_suspend_;
  }
  ~NoSuspend() {
    if (fiber_) --fiber_->no_suspend_;
  }
  NoSuspend(const NoSuspend&) = delete;

 private:
  Fiber* fiber_;
};

/// Lets `permits` fibers in at once; the others wait in order of arrival.
class Semaphore {
 public:
  Semaphore(Executor& e, std::size_t permits) : executor_(e), free_(permits) {}
  Woken acquire();
  void release();

 private:
  Executor& executor_;
  std::size_t free_;
  std::list<Wait*> line_;
};

}  // namespace etcdop
