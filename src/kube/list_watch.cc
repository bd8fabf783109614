#include "kube/list_watch.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/utf8.h"
#include "kube/list_pages.h"

namespace etcdop::kube {
namespace {

/// metadata.resourceVersion; "" if it is missing.
std::string version_of(const Json& object) {
  const json::object* const fields = object.if_object();
  const Json* const metadata = fields ? fields->if_contains("metadata") : nullptr;
  const json::object* const inner = metadata ? metadata->if_object() : nullptr;
  const Json* const version = inner ? inner->if_contains("resourceVersion") : nullptr;
  return version && version->is_string() ? std::string(version->get_string()) : std::string();
}

}  // namespace

ListWatch::ListWatch(Executor& executor, Random& random, Log& log, Api& api, Mirror& mirror,
                     Scope scope)
    : executor_(executor),
      random_(random),
      log_(log),
      api_(api),
      mirror_(mirror),
      scope_(std::move(scope)) {}

ListWatch::~ListWatch() {
  check_or_abort(!fiber_ || fiber_->done(), "a list-watch is stopped before its end");
}

void ListWatch::start() {
  check(!fiber_, "a list-watch is started once");
  fiber_ = executor_.spawn([this] { run(); });
}

void ListWatch::stop() {
  if (!fiber_) return;
  fiber_->cancel();
  Shield until_it_ends(executor_);  // The fiber touches the mirror until then.
  (void)fiber_->join();
}

void ListWatch::run() {
  for (Next next = Next::List; next != Next::Stop;) {
    std::string thrown;
    try {
      next = list_or_watch(next);
      continue;
    } catch (const std::exception& e) { thrown = as_utf8(e.what()); }
    // Outside the handler: no fiber may suspend in it.
    complain("read", {Code::Corrupt, thrown});
    next = back_off() ? Next::List : Next::Stop;
  }
}

ListWatch::Next ListWatch::list_or_watch(Next next) {
  if (next == Next::Resume) return watch();
  auto listed = list();
  if (listed) return watch();
  if (listed.failed_with(Code::Cancelled)) return Next::Stop;
  complain("list", listed.error());
  return back_off() ? Next::List : Next::Stop;
}

Call ListWatch::call(Verb verb) const {
  Call out;
  out.verb = verb;
  out.resource = scope_.resource;
  out.ns = scope_.ns;
  if (!scope_.label_selector.empty()) out.query["labelSelector"] = scope_.label_selector;
  return out;
}

Result<Done> ListWatch::list() {
  auto version = list_pages(
      api_, call(Verb::List), [this] { mirror_.list_begins(); },
      [this](const Json& object) { mirror_.listed(object); });
  if (!version) return version.error();
  if (version->empty()) return Error{Code::Corrupt, "a list without resourceVersion"};
  version_ = std::move(*version);
  watch_failures_ = 0;
  mirror_.list_ends(executor_.now());
  log_.debug("listed", {{"kind", scope_.resource.kind}, {"namespace", scope_.ns}});
  return Done{};
}

ListWatch::Next ListWatch::watch() {
  Call from_here = call(Verb::Watch);
  from_here.query["resourceVersion"] = version_;
  const Instant began = executor_.now();
  bool heard = false, senseless = false, asked_to_list = false;
  auto ended = api_.watch(from_here, [&](const WatchEvent& event) {
    senseless = !take(event);
    if (senseless) return false;
    heard = true;
    asked_to_list = !mirror_.heard(executor_.now());
    return !asked_to_list;
  });
  if (asked_to_list) return Next::List;
  if (senseless) ended = Error{Code::Corrupt, "an event without resourceVersion"};
  return after_watch(ended, heard, executor_.now() - began);
}

bool ListWatch::take(const WatchEvent& event) {
  std::string version = version_of(event.object);
  if (version.empty()) return false;
  version_ = std::move(version);
  if (event.type != WatchEvent::Type::Bookmark) mirror_.event(event.type, event.object);
  return true;
}

ListWatch::Next ListWatch::after_watch(const Result<Done>& ended, bool heard, Duration lasted) {
  if (ended.failed_with(Code::Cancelled)) return Next::Stop;
  const Code code = ended ? Code::Unavailable : ended.error().code;
  const bool senseless = code == Code::Corrupt || code == Code::Invalid;
  const bool well = ended && lasted >= kWatchShort;
  if (well || (heard && !senseless)) {  // A senseless answer may repeat every time, so it does not
                                        // reset the failures.
    failures_ = watch_failures_ = 0;
    complaint_.clear();
  }
  if (ended && (well || heard)) return Next::Resume;
  // If the kind no longer changes, the server sends no bookmarks either.
  if (code == Code::TimedOut && lasted >= kWatchQuiet)
    return ++watch_failures_ >= kWatchFailuresMax ? Next::List : Next::Resume;
  if (code == Code::Expired)
    log_.info("watch expired, listing again",
              {{"kind", scope_.resource.kind}, {"namespace", scope_.ns}});
  else if (!ended) complain("watch", ended.error());
  ++watch_failures_;
  // A watch that brought something and was then cut resumes at once: servers restart.
  if ((!heard || senseless) && !back_off()) return Next::Stop;
  const bool list = senseless || code == Code::Expired || code == Code::NotFound ||
                    watch_failures_ >= kWatchFailuresMax;
  return list ? Next::List : Next::Resume;
}

void ListWatch::complain(const char* doing, const Error& error) {
  const bool known = std::exchange(complaint_, error.message) == error.message ||
                     (scope_.optional && error.code == Code::NotFound);
  log_.write(known ? Level::Debug : Level::Warn, "watching failed, trying again",
             {{"kind", scope_.resource.kind},
              {"namespace", scope_.ns},
              {"request", doing},
              {"error", error.message}});
}

bool ListWatch::back_off() {
  const int doublings = std::min(failures_++, 10);
  const Duration longest = std::min<Duration>(kBackoffMin * (1 << doublings), kBackoffMax);
  const auto less = static_cast<std::int64_t>(random_.next() % 500);
  return executor_.sleep(longest - longest / 1000 * less) == Woken::Ready;
}

}  // namespace etcdop::kube
