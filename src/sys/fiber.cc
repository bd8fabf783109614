// Fibers on the coroutines of sys: waits, due times, and the scopes that bound a wait.
#include "base/fiber.h"

#include <algorithm>
#include <utility>

#include "sys/coroutine.h"

namespace etcdop {

Result<Done> to_result(Woken woken, const char* doing) {
  switch (woken) {
    case Woken::Ready: return Done{};
    case Woken::Deadline: return Error{Code::TimedOut, std::string(doing) + ": deadline passed"};
    case Woken::Cancelled: return Error{Code::Cancelled, std::string(doing) + ": cancelled"};
  }
  check(false, "a known Woken");
  return Done{};
}

Fiber::Fiber(Executor& executor, std::function<void()> body)
    : executor_(executor), body_(std::move(body)) {}

Fiber::~Fiber() { check_or_abort(done_, "a fiber runs to its end"); }

void Fiber::cancel() {
  cancelled_ = true;
  if (waiting_ && !shielded_) waiting_->finish(Woken::Cancelled);
}

Woken Fiber::join() {
  if (done_) return Woken::Ready;
  Wait wait(executor_);
  joiners_.push_back(&wait);
  const Woken woken = wait.until();
  joiners_.remove(&wait);
  return woken;
}

Wait::Wait(Executor& executor) : executor_(executor), fiber_(executor.running_) {}

Wait::~Wait() { executor_.dequeue(*this); }

Woken Wait::until(Instant deadline) {
  check_or_abort(fiber_ && fiber_ == executor_.running_, "a fiber waits on its own behalf");
  check_or_abort(fiber_->no_suspend_ == 0, "nothing suspends in a NoSuspend scope");
  if (state_ == Finished) return woken_;
  deadline = std::min(deadline, fiber_->deadline_);
  if (fiber_->cancelled_ && !fiber_->shielded_) return Woken::Cancelled;
  if (deadline <= executor_.now()) return Woken::Deadline;
  state_ = Parked;
  if (deadline != Instant::max()) executor_.enqueue(*this, deadline);
  fiber_->waiting_ = this;
  fiber_->coroutine_->leave();
  fiber_->waiting_ = nullptr;
  return woken_;
}

bool Wait::finish(Woken woken) {
  if (state_ == Finished) return false;
  woken_ = woken;
  if (std::exchange(state_, Finished) == Fresh) return true;  // until() has not been called yet.
  executor_.dequeue(*this);
  executor_.enqueue(*this, executor_.now());
  return true;
}

Executor::~Executor() { check_or_abort(due_.empty(), "an executor outlives what waits on it"); }

void Executor::paint_stacks(bool on) { detail::Stack::paint = on; }
void Executor::stack_bytes(std::size_t n) { detail::Stack::wanted = n; }

std::shared_ptr<Fiber> Executor::spawn(std::function<void()> body) {
  auto fiber = std::make_shared<Fiber>(*this, std::move(body));
  auto start = std::make_shared<Wait>(*this);
  // The fiber holds itself, and the wait that starts it, until it is done.
  fiber->coroutine_ = std::make_unique<detail::Coroutine>([fiber, start]() mutable noexcept {
    start.reset();
    fiber->body_();
    fiber->body_ = nullptr;
    fiber->done_ = true;
    for (Wait* joiner : std::exchange(fiber->joiners_, {})) (void)joiner->notify();
  });
  ++alive_;
  start->fiber_ = fiber.get();
  start->state_ = Wait::Finished;
  enqueue(*start, now());
  return fiber;
}

Woken Executor::sleep_until(Instant when) {
  if (when <= now()) return Woken::Ready;
  Wait wait(*this);
  const Woken woken = wait.until(when);
  return woken == Woken::Deadline && now() >= when ? Woken::Ready : woken;
}

void Executor::step() {
  const auto first = due_.begin();
  Wait& wait = *first->second;
  due_.erase(first);
  wait.queued_ = false;
  if (std::exchange(wait.state_, Wait::Finished) == Wait::Parked) wait.woken_ = Woken::Deadline;
  running_ = wait.fiber_;  // `wait` lives on the fiber's stack: do not touch it again.
  running_->coroutine_->enter();
  if (running_->done_) {
    --alive_;
    running_->stack_used_ = running_->coroutine_->stack_used();
    const auto last = std::move(running_->coroutine_);  // The body holds the fiber: both end here.
  }
  running_ = nullptr;
}

void Executor::enqueue(Wait& wait, Instant when) {
  wait.due_ = {when, tie(), arrivals_++};
  wait.queued_ = true;
  due_.emplace(wait.due_, &wait);
}

void Executor::dequeue(Wait& wait) {
  if (std::exchange(wait.queued_, false)) due_.erase(wait.due_);
}

Within::Within(Executor& executor, Duration limit)
    : fiber_(executor.running()), outer_(fiber_->deadline_) {
  fiber_->deadline_ = std::min(outer_, executor.now() + limit);
}
Within::~Within() { fiber_->deadline_ = outer_; }

Shield::Shield(Executor& executor, Duration limit)
    : fiber_(executor.running()),
      outer_(std::exchange(fiber_->deadline_,
                           limit == Duration::max() ? Instant::max() : executor.now() + limit)),
      was_shielded_(std::exchange(fiber_->shielded_, true)) {}
Shield::~Shield() {
  fiber_->deadline_ = outer_;
  fiber_->shielded_ = was_shielded_;
}

Woken Semaphore::acquire() {
  if (free_ > 0) {
    --free_;
    return Woken::Ready;
  }
  Wait wait(executor_);
  line_.push_back(&wait);
  const Woken woken = wait.until();
  if (woken != Woken::Ready) line_.remove(&wait);
  return woken;
}

void Semaphore::release() {
  while (!line_.empty()) {
    Wait* const first = line_.front();
    line_.pop_front();
    if (first->notify())
      return;  // The permit passes to the waiter directly. A waiter that was just cancelled does
               // not take it.
  }
  ++free_;
}

}  // namespace etcdop
