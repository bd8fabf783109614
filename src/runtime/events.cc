#include "runtime/events.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/utf8.h"

namespace etcdop::runtime {
namespace {

constexpr const char* kReporter = "etcd-operator";
constexpr std::size_t kNoteMax = 1024, kInstanceMax = 128;  // Bytes; limits of the API server.

Json reference(const Event::Object& object) {
  json::object out{{"apiVersion", api::api_version(object.kind)},
                   {"kind", object.kind.kind},
                   {"namespace", object.key.ns},
                   {"name", object.key.name}};
  if (!object.uid.empty()) out["uid"] = object.uid;
  return out;
}

/// The name that client-go uses: the object's name and a unique suffix.
std::string event_name(const std::string& object, std::uint64_t unique) {
  char text[20];
  std::snprintf(text, sizeof text, ".%016llx", static_cast<unsigned long long>(unique));
  return object + text;
}

/// Errors that a retry would only repeat.
bool is_final(const Error& error) {
  switch (error.code) {
    case Code::Unavailable:
    case Code::Lost:
    case Code::TimedOut:
    case Code::Cancelled: return false;
    default: return true;
  }
}

}  // namespace

std::vector<kube::Permission> event_permissions() {
  return {std::begin(kEventPermissions), std::end(kEventPermissions)};
}

EventRecorder::EventRecorder(kube::Granted<kEventPermissions> api, Executor& executor,
                             const WallClock& wall, Random& random, Log& log, std::string instance)
    : api_(api),
      executor_(executor),
      wall_(wall),
      random_(random),
      log_(log),
      instance_(shortened(instance.empty() ? kReporter : instance, kInstanceMax)) {}

void EventRecorder::record(const Event& what) {
  const Instant now = executor_.now();
  const Key key{what.regarding.uid, what.related ? what.related->key.name : "", what.warning,
                what.reason, what.action};
  forget_ended();
  if (const auto known = series_.find(key); known != series_.end()) {
    ++known->second.count;
    known->second.last = now;
    known->second.last_date = wall_.wall_now();
  } else if (pending_.size() >= kPendingMax) {
    lose({Code::Unavailable, "too many wait to be written"});
  } else {
    if (series_.size() >= kSeriesMax)
      series_.erase(std::ranges::min_element(series_, {},
                                             [](const auto& entry) { return entry.second.last; }));
    const api::ObjectKey& object = what.regarding.key;
    const api::ObjectKey event{object.ns, event_name(object.name, random_.next())};
    series_[key] = Series{event, "", 1, 1, now, now, wall_.wall_now()};
    pending_.push_back({key, now, event, body_of(what, event.name)});
  }
  if (waiting_) (void)waiting_->notify();
}

Json EventRecorder::body_of(const Event& what, const std::string& name) const {
  json::object out{{"metadata", {{"name", name}, {"namespace", what.regarding.key.ns}}},
                   {"eventTime", to_rfc3339_micro(wall_.wall_now())},
                   {"type", what.warning ? "Warning" : "Normal"},
                   {"reason", what.reason},
                   {"action", what.action},
                   {"note", shortened(what.note, kNoteMax)},
                   {"regarding", reference(what.regarding)},
                   {"reportingController", kReporter},
                   {"reportingInstance", instance_}};
  if (what.related) out["related"] = reference(*what.related);
  return out;
}

void EventRecorder::start() {
  fiber_ = executor_.spawn([this] { work(); });
}

void EventRecorder::stop() {
  if (!fiber_) return;
  fiber_->cancel();
  (void)fiber_->join();
  lost_ += pending_.size();
  pending_.clear();
}

void EventRecorder::work() {
  for (;;) {
    forget_ended();
    const Instant due = next_due();
    if (executor_.now() < due) {
      Wait wait(executor_);
      waiting_ = &wait;
      const Woken woken = wait.until(due);
      waiting_ = nullptr;
      if (woken == Woken::Cancelled) return;
    } else if (!pending_.empty()) {
      create_first();
    } else {
      tell_series();
    }
  }
}

/// When the next request is due; Instant::max() if none.
Instant EventRecorder::next_due() const {
  if (!pending_.empty()) return not_before_;
  Instant due = Instant::max();
  for (const auto& [key, series] : series_)
    if (series.count > series.told) due = std::min(due, series.told_at + kSeriesEvery);
  return std::max(due, not_before_);
}

/// A retry uses the same name: it finds the Event of the first attempt.
void EventRecorder::create_first() {
  const Pending first = pending_.front();
  auto made = api_.create<kube::Event>(first.event.ns, first.body);
  const bool there = made || made.failed_with(Code::AlreadyExists);
  const bool late = executor_.now() - first.since >= kKeep;
  if (!there && !is_final(made.error()) && !late) {
    not_before_ = executor_.now() + kRetry;
    return;
  }
  pending_.pop_front();
  const auto series = series_.find(first.key);
  if (series != series_.end() && series->second.event == first.event) {
    if (made) series->second.uid = made->metadata.uid;
    else series_.erase(series);  // Missing, or its UID is unknown: the count cannot grow.
  }
  if (there) complaint_.clear();
  else lose(made.error());
}

/// Writes one due count.
void EventRecorder::tell_series() {
  const auto due = std::ranges::find_if(series_, [&](const auto& entry) {
    const Series& s = entry.second;
    return s.count > s.told && s.told_at + kSeriesEvery <= executor_.now();
  });
  if (due == series_.end()) return;
  const Key key = due->first;
  const Series now = due->second;
  const auto told = api_.merge_patch<kube::Event>(
      now.event,
      {{"metadata", {{"uid", now.uid}}},
       {"series", {{"count", now.count}, {"lastObservedTime", to_rfc3339_micro(now.last_date)}}}});
  const auto after = series_.find(key);  // Other fibers have run meanwhile.
  if (after == series_.end() || after->second.event != now.event) return;
  after->second.told_at = executor_.now();
  after->second.told = now.count;  // If this write was lost, the next one repairs it.
  if (!told && is_final(told.error()))
    series_.erase(after);  // The server keeps Events for an hour, so it may be deleted.
}

void EventRecorder::forget_ended() {
  std::erase_if(series_, [&](const auto& entry) {
    const Series& s = entry.second;
    return executor_.now() - s.last >= (s.count > s.told ? kKeep : kSeriesEnds);
  });
}

void EventRecorder::lose(const Error& why) {
  ++lost_;
  if (std::exchange(complaint_, why.message) == why.message) return;
  log_.warn("events are lost", {{"error", why.message}});
}

}  // namespace etcdop::runtime
