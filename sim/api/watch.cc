// Watches: from a version on, selected, with bookmarks, over a line that may fail.
#include <algorithm>
#include <utility>

#include "sim/api/objects.h"
#include "sim/api/selection.h"
#include "sim/api/server.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
using kube::Call;
using kube::WatchEvent;

namespace {

constexpr Duration kBookmarkEvery = 60s;

WatchEvent bookmark(const Resource& r, std::uint64_t version) {
  return {WatchEvent::Type::Bookmark,
          {{"apiVersion", api::api_version(r)},
           {"kind", r.kind},
           {"metadata",
            {{"resourceVersion", std::to_string(version)}, {"creationTimestamp", nullptr}}}}};
}

/// Counts an open watch while it lives.
struct Open {
  std::size_t& count;
  explicit Open(std::size_t& n) : count(n) { ++count; }
  ~Open() { --count; }
  Open(const Open&) = delete;
};

}  // namespace

void WatchLine::silent_until(Instant when) {
  silent_until_ = when;
  for (Wait* wait : std::exchange(waiting_, {})) (void)wait->notify();
}

void WatchLine::cut(std::optional<Error> how) {
  ++cuts_;
  how_ = std::move(how);
  for (Wait* wait : std::exchange(waiting_, {})) (void)wait->notify();
}

struct ApiServer::Watching {
  const Kind& kind;
  Selection selection;
  const std::function<bool(WatchEvent)>& each;
  std::uint64_t seen = 0;
};

/// Sends all changes since, in order. False: the watcher stops; Expired: the history is too short.
Result<bool> ApiServer::pass_on(Watching& w) const {
  if (w.seen < forgotten_)
    return Error{Code::Expired, "too old resource version: " + std::to_string(w.seen) + " (" +
                                    std::to_string(forgotten_) + ")"};
  const auto next = [&] {
    return std::ranges::upper_bound(history_, w.seen, {}, &Change::version);
  };
  for (auto at = next(); at != history_.end(); at = next()) {
    w.seen = at->version;
    if (at->kind != &w.kind) continue;
    const Object before = at->before, after = at->after;  // A watcher may change the history.
    const bool was = before && w.selection.takes(*before);
    const bool is = after && w.selection.takes(*after);
    if (is) {
      if (!w.each({was ? WatchEvent::Type::Modified : WatchEvent::Type::Added, *after}))
        return false;
    } else if (was) {  // With the version at which it left, even if it only left the selection.
      Json gone = *before;
      gone.at("metadata").as_object()["resourceVersion"] = std::to_string(w.seen);
      if (!w.each({WatchEvent::Type::Deleted, std::move(gone)})) return false;
    }
  }
  return true;
}

Woken ApiServer::wait_for_more(Executor& caller, Kind& kind, WatchLine& line, Instant until) {
  Wait wait(caller);
  kind.watchers.push_back(&wait);
  line.waiting_.push_back(&wait);
  const Woken woken = wait.until(until);
  kind.watchers.remove(&wait);
  line.waiting_.remove(&wait);
  return woken;
}

Result<Done> ApiServer::watch(Executor& caller, const Call& call,
                              const std::function<bool(WatchEvent)>& each, WatchLine& line) {
  if (lacks(call)) return Error{Code::NotFound, kNoSuchResource};
  Kind* const kind = admit(call);
  if (!kind || call.verb != kube::Verb::Watch) {
    if (kind) misused(call, "watch() is for the verb watch");
    return Error{Code::Denied, line_of(call) + ": not modelled"};
  }
  auto selection = Selection::of(call);
  if (!selection) return selection.error();
  const std::string from = query(call, "resourceVersion");
  if (!from.empty() && !number(from))
    return Error{Code::Invalid, "Invalid value: \"" + from + "\": invalid resource version"};
  Watching w{*kind, std::move(*selection), each, number(from).value_or(0)};
  const Open open(watching_);
  const std::uint64_t cuts = line.cuts_;
  if (w.seen == 0) {
    w.seen = version_;
    for (const auto& [key, object] : std::map(kind->objects))
      if (w.selection.takes(*object) && !each({WatchEvent::Type::Added, *object})) return Done{};
  }
  const Instant start = caller.now();
  const auto seconds = number(query(call, "timeoutSeconds"));
  const Instant end = seconds ? start + std::chrono::seconds(*seconds) : Instant::max();
  // The server also sends a bookmark shortly before it closes the watch.
  Instant next_bookmark = query(call, "allowWatchBookmarks") == "false"
                              ? Instant::max()
                              : std::max(start, std::min(start + kBookmarkEvery, end - 2s));
  const std::uint64_t began = w.seen;
  Instant silent_since = start;
  for (;;) {
    if (cuts != line.cuts_) {
      if (line.how_) return *line.how_;
      return Done{};
    }
    const Instant now = caller.now();
    const bool silent = now < line.silent_until_;
    if (!silent) {
      if (line.lag && w.seen < version_)
        if (const Duration lag = line.lag(); lag > Duration(0))
          if (auto ok = to_result(caller.sleep(lag), "watch"); !ok) return ok;
      const std::uint64_t before = w.seen;
      auto more = pass_on(w);
      if (!more) return more.error();
      if (!*more) return Done{};
      if (w.seen != before) silent_since = caller.now();
      if (caller.now() >= end) return Done{};
      if (caller.now() >= next_bookmark) {
        next_bookmark = caller.now() + kBookmarkEvery;
        if (end != Instant::max() && next_bookmark > end - 2s && caller.now() < end - 2s)
          next_bookmark = end - 2s;
        if (w.seen <= began) continue;  // The watcher already knows that version.
        silent_since = caller.now();
        if (!each(bookmark(call.resource, w.seen))) return Done{};
        continue;
      }
    }
    const Instant given_up =
        line.silence_limit == Duration::max() ? Instant::max() : silent_since + line.silence_limit;
    if (caller.now() >= given_up) return Error{Code::TimedOut, "watch: nothing came for too long"};
    const Instant until =
        std::min(given_up, silent ? line.silent_until_ : std::min(end, next_bookmark));
    const Woken woken = wait_for_more(caller, *kind, line, until);
    if (woken == Woken::Deadline && caller.now() >= until) continue;
    if (auto ok = to_result(woken, "watch"); !ok) return ok;
  }
}

}  // namespace etcdop::sim
