#include "schedule/time_zone.h"

#include <algorithm>
#include <array>

namespace etcdop::schedule {
namespace {

using std::chrono::minutes;

constexpr unsigned kLastWeek = 5;

WallTime start_of(const ZoneChange& change) { return {minutes(change.minute)}; }

/// The moment of that change in a year, on clocks `east` of UTC.
WallTime in_year(const YearlyChange& change, std::chrono::year year, minutes east) {
  using namespace std::chrono;
  const auto month_of = year / month(change.month);
  const weekday day(change.weekday);
  const sys_days date = change.week == kLastWeek ? sys_days(month_of / day[last])
                                                 : sys_days(month_of / day[change.week]);
  return {date.time_since_epoch() + minutes(change.minute) - east};
}

Offset by_rule(const ZoneRow& row, WallTime at) {
  using namespace std::chrono;
  const minutes standard(row.standard_minutes), summer(row.summer_minutes);
  if (row.to_summer.month == 0) return {standard, kForever};
  struct Turn {
    WallTime when;
    minutes east;
  };
  // A change may fall into another year in UTC, and the change before `at` into the year before.
  const year now = year_month_day(floor<days>(sys_seconds(at.since_epoch))).year();
  std::array<Turn, 6> turns;
  std::size_t n = 0;
  for (year y : {now - years(1), now, now + years(1)}) {
    turns[n++] = {in_year(row.to_summer, y, standard), summer};
    turns[n++] = {in_year(row.to_standard, y, summer), standard};
  }
  std::ranges::sort(turns, {}, &Turn::when);
  const auto next = std::ranges::upper_bound(turns, at, {}, &Turn::when);
  return {std::prev(next)->east, next->when};
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

Offset TimeZone::offset_at(WallTime at) const {
  const auto& changes = row_->changes;
  const auto next = std::ranges::upper_bound(changes, at, {}, start_of);
  if (next == changes.end()) return by_rule(*row_, at);
  const ZoneChange& now = next == changes.begin() ? *next : *std::prev(next);
  return {minutes(now.east_minutes), start_of(*next)};
}

std::chrono::local_seconds TimeZone::local(WallTime at) const {
  return std::chrono::local_seconds(at.since_epoch + offset_at(at).east);
}

Result<TimeZone> to_time_zone(std::string_view name) {
  for (const ZoneRow& row : zone_rows())
    if (has_word(row.names, name)) return TimeZone(row);
  return Error{Code::Invalid, "there is no time zone \"" + std::string(name) + "\" in version " +
                                  std::string(zone_version()) + " of the IANA database"};
}

}  // namespace etcdop::schedule
