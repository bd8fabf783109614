#include "runtime/controller.h"

#include <utility>

#include "base/fnv.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlow = 500ms;
constexpr Duration kLookForSlow = 100ms;  // Polling interval while no permit is free.
constexpr std::size_t kMostFactor = 4;    // Limit, including passes that no longer count.
constexpr Duration kStarting = 30s;
constexpr Duration kSpreadFrom = 30s;  // A shorter delay is urgent and is not spread.

/// Between half and all of it, always the same for a key.
Duration spread(const ObjectKey& key, Duration after) {
  const auto share = static_cast<std::int64_t>(fnv1a(to_string(key)) >> 38U & 1023U);
  return after - after / 2048 * share;
}

}  // namespace

Controller::Controller(Executor& executor, Random& random, Log& log, Options options,
                       Reconcile reconcile)
    : executor_(executor),
      log_(log),
      options_(std::move(options)),
      reconcile_(std::move(reconcile)),
      queue_(executor, random, options_.backoff, options_.on_take),
      permits_(executor, options_.concurrency) {
  check(options_.concurrency > 0, "a controller does something");
}

Controller::~Controller() {
  check_or_abort(passes_.empty() && (!dispatcher_ || dispatcher_->done()),
                 "a controller is stopped first");
}

void Controller::start() {
  check(!dispatcher_, "a controller is started once");
  started_ = executor_.now();
  dispatcher_ = executor_.spawn([this] { dispatch(); });
}

Result<Done> Controller::stop() {
  stopping_ = true;
  queue_.stop();
  if (!dispatcher_) return Done{};
  dispatcher_->cancel();  // It may be waiting for a permit.
  for (const auto& [key, pass] : passes_) pass.fiber->cancel();
  const std::string doing = "stop controller " + options_.name;
  if (auto ended = to_result(dispatcher_->join(), doing.c_str()); !ended) return ended;
  while (!passes_.empty()) {
    const std::shared_ptr<Fiber> fiber = passes_.begin()->second.fiber;
    if (auto ended = to_result(fiber->join(), doing.c_str()); !ended) return ended;
  }
  return Done{};
}

/// Takes a key only when a pass can start: keys wait in the queue, where equal keys merge.
void Controller::dispatch() {
  while (wait_for_room()) {
    const auto key = queue_.take();
    if (!key) return;
    Pass& started = passes_[*key];
    started.began = executor_.now();
    started.fiber = executor_.spawn([this, key = *key] {
      pass(key);
      const bool counted = passes_.at(key).counts;
      passes_.erase(key);
      if (counted) permits_.release();
    });
  }
}

/// Gets a permit; false: the controller stops.
bool Controller::wait_for_room() {
  for (;;) {
    const Within patience(executor_, kLookForSlow);
    const Woken woken = permits_.acquire();
    if (woken != Woken::Deadline) return woken == Woken::Ready;
    count_out_the_slow();
  }
}

void Controller::count_out_the_slow() {
  std::size_t room = kMostFactor * options_.concurrency - passes_.size();
  for (auto& [key, pass] : passes_) {
    if (room == 0) return;
    if (!pass.counts || executor_.now() - pass.began < kSlow) continue;
    pass.counts = false;
    --room;
    permits_.release();
  }
}

void Controller::pass(const ObjectKey& key) {
  const Instant start = executor_.now();
  Result<Requeue> result = Error{Code::Cancelled, "stopping"};
  if (!stopping_) {
    Within limit(executor_, options_.pass_limit);
    result = reconcile_(key);
  }
  if (options_.on_pass) options_.on_pass(result, executor_.now() - start);
  settle(key, std::move(result));
}

void Controller::settle(const ObjectKey& key, Result<Requeue> result) {
  if (!result) {
    const Duration retry = queue_.failed(key);
    complain(key, result.error(), retry);
    return;
  }
  if (complaints_.erase(key) > 0)
    log_.info("reconcile works again",
              {{"controller", options_.name}, {"namespace", key.ns}, {"name", key.name}});
  if (!result->after) return queue_.done(key);
  // Keys that arrived together, as at the start, would otherwise stay together for ever.
  const bool together = executor_.now() - started_ < kStarting && *result->after >= kSpreadFrom;
  queue_.again_after(key, together ? spread(key, *result->after) : *result->after);
}

/// Logs each change of the error once. A conflict is not an error: another writer was first, and
/// the next pass sees its change.
void Controller::complain(const ObjectKey& key, const Error& error, Duration retry) {
  if (stopping_ && error.code == Code::Cancelled) return;
  const bool serious = error.code != Code::Conflict;
  if (serious && std::exchange(complaints_[key], error.message) == error.message) return;
  log_.write(serious ? Level::Error : Level::Debug, "reconcile failed",
             {{"controller", options_.name},
              {"namespace", key.ns},
              {"name", key.name},
              {"error", error.message},
              {"retry_ms", std::chrono::duration_cast<std::chrono::milliseconds>(retry).count()}});
}

}  // namespace etcdop::runtime
