#include "runtime/queue.h"

#include <algorithm>

namespace etcdop::runtime {
namespace {

/// `delay` after `now`, at most Instant::max().
Instant after(Instant now, Duration delay) {
  return delay < Instant::max() - now ? now + std::max(delay, Duration(0)) : Instant::max();
}

}  // namespace

Queue::Queue(Executor& executor, Random& random, Limits limits, OnTake on_take)
    : executor_(executor), random_(random), limits_(limits), on_take_(std::move(on_take)) {
  check(limits.backoff_min > Duration(0) && limits.backoff_min <= limits.backoff_max,
        "back-off grows from something");
}

Queue::~Queue() { check_or_abort(takers_.empty(), "a queue outlives the fibers that wait on it"); }

void Queue::add(const ObjectKey& key) {
  if (stopped_) return;
  forget_delay(key);  // The next pass decides again when to look.
  if (working_.contains(key)) {
    dirty_.insert(key);
    return;
  }
  line_up(key);
  wake();
}

void Queue::add_after(const ObjectKey& key, Duration delay) {
  if (stopped_ || queued_.contains(key) || dirty_.contains(key)) return;
  if (delay <= Duration(0)) return add(key);
  const Instant when = after(executor_.now(), delay);
  if (const auto found = later_.find(key); found != later_.end()) {
    if (found->second <= when) return;
    forget_delay(key);
  }
  later_.emplace(key, when);
  due_.emplace(when, key);
  if (due_.begin()->second == key) wake();  // The waiting fiber would wait too long.
}

std::optional<ObjectKey> Queue::take() {
  for (;;) {
    line_up_due();
    if (stopped_) return std::nullopt;
    if (!ready_.empty()) break;
    Wait wait(executor_);
    takers_.push_back(&wait);
    const Instant until = due_.empty() ? Instant::max() : due_.begin()->first;
    const Woken woken = wait.until(until);
    takers_.remove(&wait);  // Unless wake() has removed it.
    if (woken == Woken::Cancelled) return std::nullopt;
    if (woken == Woken::Deadline && executor_.now() < until) return std::nullopt;
  }
  const auto [key, since] = std::move(ready_.front());
  ready_.pop_front();
  if (on_take_) on_take_(executor_.now() - since);
  queued_.erase(key);
  working_.insert(key);
  // The next taker may wait for a later key than the one that is due next now.
  if (!ready_.empty() || !due_.empty()) wake();
  return key;
}

void Queue::done(const ObjectKey& key) {
  failures_.erase(key);
  release(key);
}

void Queue::again_after(const ObjectKey& key, Duration delay) {
  done(key);
  add_after(key, delay);
}

Duration Queue::failed(const ObjectKey& key) {
  ++counts_.retries;
  const Duration delay = backoff(++failures_[key]);
  release(key);
  add_after(key, delay);
  return delay;
}

void Queue::stop() {
  stopped_ = true;
  while (!takers_.empty()) wake();
}

void Queue::line_up(const ObjectKey& key) {
  if (!queued_.insert(key).second) return;
  ready_.emplace_back(key, executor_.now());
  ++counts_.adds;
}

/// A delayed key that is being worked on becomes dirty: it is handed out again afterwards.
void Queue::line_up_due() {
  while (!due_.empty() && due_.begin()->first <= executor_.now()) {
    const ObjectKey key = due_.begin()->second;
    forget_delay(key);
    if (working_.contains(key)) dirty_.insert(key);
    else line_up(key);
  }
}

void Queue::release(const ObjectKey& key) {
  check(working_.erase(key) == 1, "only a key that was taken can be given back");
  if (dirty_.erase(key) == 0 || stopped_) return;
  line_up(key);
  wake();
}

void Queue::forget_delay(const ObjectKey& key) {
  const auto found = later_.find(key);
  if (found == later_.end()) return;
  due_.erase({found->second, key});
  later_.erase(found);
}

Duration Queue::backoff(int failures) {
  Duration delay = limits_.backoff_min;
  for (int i = 1; i < failures && delay < limits_.backoff_max; ++i) delay *= 2;
  delay = std::min(delay, limits_.backoff_max);
  const auto quarter = static_cast<std::uint64_t>(delay.count() / 4) + 1;
  return delay - delay / 8 + Duration(random_.next() % quarter);
}

/// Wakes one waiter, which then checks what is due.
void Queue::wake() {
  while (!takers_.empty()) {
    Wait* const first = takers_.front();
    takers_.pop_front();
    if (first->notify()) return;
  }
}

}  // namespace etcdop::runtime
