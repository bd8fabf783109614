// Schedules: a cron line, a line with a zone, then bytes for times and numbers of due runs and
// retention.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "schedule/cron.h"
#include "schedule/due.h"
#include "schedule/retention.h"

namespace etcdop::schedule {
namespace {

using std::chrono::seconds;

constexpr WallTime k2026{seconds(1767225600)};
constexpr std::uint32_t kDay = 86'400;
constexpr std::size_t kSnapshotsMax = 16;

/// Numbers from bytes; 0 when none are left.
class Numbers {
 public:
  explicit Numbers(std::string_view bytes) : rest_(bytes) {}
  std::uint32_t next() {
    std::uint32_t out = 0;
    for (const char byte : rest_.substr(0, 4)) out = out << 8 | static_cast<unsigned char>(byte);
    rest_.remove_prefix(std::min<std::size_t>(4, rest_.size()));
    return out;
  }
  std::uint32_t below(std::uint32_t end) { return next() % end; }
  /// Within 136 years.
  WallTime time() { return k2026 + seconds(next()); }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

bool takes(std::uint64_t bits, unsigned value) { return (bits >> value & 1) != 0; }

/// As cron.h defines it for a Cron.
bool matches(const Cron& cron, const TimeZone& zone, WallTime when) {
  const auto local = zone.local(when);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::hh_mm_ss time(local - day);
  const std::chrono::year_month_day date(day);
  const bool on_day = takes(cron.days, unsigned(date.day()));
  const bool on_weekday = takes(cron.weekdays, std::chrono::weekday(day).c_encoding());
  const bool right_day =
      cron.any_day || cron.any_weekday ? on_day && on_weekday : on_day || on_weekday;
  return right_day && time.seconds().count() == 0 && takes(cron.months, unsigned(date.month())) &&
         takes(cron.hours, static_cast<unsigned>(time.hours().count())) &&
         takes(cron.minutes, static_cast<unsigned>(time.minutes().count()));
}

void times(const Cron& cron, const TimeZone& zone, Numbers& numbers) {
  const WallTime after = numbers.time(), upto = after + seconds(numbers.below(kDay));
  const auto next = next_run(cron, zone, after);
  check(!next || (*next > after && matches(cron, zone, *next)), "the next run is one");
  const auto all = runs(cron, zone, {after, upto}, kDay);
  check(std::ranges::is_sorted(all), "runs come in their order");
  check(all.empty() == (!next || *next > upto), "the first of them is the next");
  check(all.empty() || all.front() == *next, "the first of them is the next");
  const auto newest = newest_run(cron, zone, {after, upto});
  check(newest.has_value() == !all.empty(), "the newest is the last");
  check(!newest || *newest == all.back(), "the newest is the last");
}

void what_is_due(const Cron& cron, const TimeZone& zone, Numbers& numbers) {
  DueQuestion asked{
      .last = numbers.time(), .now = numbers.time(), .starting_deadline = {}, .suspended = false};
  if (numbers.below(2) != 0) asked.starting_deadline = seconds(numbers.next());
  asked.suspended = numbers.below(4) == 1;
  const Due is = due(cron, zone, asked);
  check(!asked.suspended || is == Due{}, "who is suspended starts nothing");
  check(!is.run || (*is.run > asked.last && *is.run <= asked.now), "a run is due, and was not yet");
  check(!is.next || *is.next > asked.now, "the next one comes");
}

std::optional<int> maybe(Numbers& numbers) {
  const auto number = numbers.below(8);
  return number == 0 ? std::nullopt : std::optional(static_cast<int>(number));
}

/// The newest with at least this proof that is not in the future.
const StoredSnapshot* newest_with(const std::vector<StoredSnapshot>& all, Proof least,
                                  WallTime now) {
  const StoredSnapshot* out = nullptr;
  for (const StoredSnapshot& one : all)
    if (one.proof >= least && one.taken_at <= now &&
        (!out || std::pair(one.taken_at, one.name) > std::pair(out->taken_at, out->name)))
      out = &one;
  return out;
}

void what_is_kept(const TimeZone& zone, Numbers& numbers) {
  const WallTime now = numbers.time();
  Retention retention{.last = maybe(numbers),
                      .days = maybe(numbers),
                      .weeks = maybe(numbers),
                      .months = maybe(numbers)};
  if (numbers.below(2) != 0) retention.time = seconds(numbers.next());
  std::vector<StoredSnapshot> stored;
  while (!numbers.done() && stored.size() < kSnapshotsMax) {
    const auto age = numbers.next();
    stored.push_back({.name = "s" + std::to_string(stored.size()),
                      .taken_at = age % 16 == 0 ? now + seconds(age) : now + -seconds(age),
                      .proof = static_cast<Proof>(numbers.below(3))});
  }
  const auto gone = expired(stored, retention, zone, now);
  for (const Proof least : {Proof::Complete, Proof::Verified})
    if (const auto* const newest = newest_with(stored, least, now))
      check(std::ranges::count(gone, newest->name) == 0, "the newest stays");
  const auto is_gone = [&](const StoredSnapshot& one) {
    const auto times = std::ranges::count(gone, one.name);
    check(times <= (one.proof == Proof::Unknown || one.taken_at > now ? 0 : 1),
          "what is not known stays, and nothing goes twice");
    return times > 0;
  };
  check(std::erase_if(stored, is_gone) == gone.size(), "what goes was there");
  check(expired(stored, retention, zone, now).empty(), "what was kept is kept");
}

void schedules(std::string_view text) {
  auto cron = to_cron(take_line(text));
  auto zone = to_time_zone(take_line(text));
  Numbers numbers(text);
  const TimeZone somewhere = zone ? *zone : *to_time_zone("Europe/Berlin");
  if (cron) times(*cron, somewhere, numbers);
  if (cron) what_is_due(*cron, somewhere, numbers);
  what_is_kept(somewhere, numbers);
}

}  // namespace
}  // namespace etcdop::schedule

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  etcdop::schedule::schedules({data, size});
  return 0;
}
