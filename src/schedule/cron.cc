#include "schedule/cron.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>
#include <string>

namespace etcdop::schedule {
namespace {

using std::chrono::local_days;
using std::chrono::local_seconds;
using std::chrono::minutes;

/// Longer than the time from 29 February 2096 to the next one, in 2104.
constexpr std::chrono::days kHorizon{9 * 366};

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
  const char* name;
  int min;
  int max;
  std::span<const std::string_view> names;  ///< The first name means `min`.
};
constexpr std::array<Field, 5> kFields = {{{"minute", 0, 59, {}},
                                           {"hour", 0, 23, {}},
                                           {"day of the month", 1, 31, {}},
                                           {"month", 1, 12, kMonths},
                                           {"day of the week", 0, 6, kWeekdays}}};

struct Values {
  std::uint64_t bits = 0;
  bool any = false;
};

constexpr struct {
  std::string_view name;
  std::string_view means;
} kShorthands[] = {{"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
                   {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
                   {"@hourly", "0 * * * *"}};

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

/// Splits at each of these characters.
std::vector<std::string_view> split(std::string_view text, std::string_view at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split(text, " \t\n\v\f\r");
  std::erase(words, "");
  return words;
}

std::optional<int> to_number(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text.front() == '-') return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

bool same_but_for_case(std::string_view a, std::string_view lower) {
  const auto to_lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, lower, {}, to_lower);
}

Result<int> to_value(const Field& field, std::string_view text) {
  std::optional<int> value = to_number(text);
  for (std::size_t i = 0; i < field.names.size(); ++i)
    if (same_but_for_case(text, field.names[i])) value = field.min + static_cast<int>(i);
  if (!value) return Error{Code::Invalid, quoted(text) + " is no value"};
  if (*value < field.min || *value > field.max)
    return Error{Code::Invalid, std::to_string(*value) + " is not in " + std::to_string(field.min) +
                                    " to " + std::to_string(field.max)};
  return *value;
}

struct Range {
  int low;
  int high;
  bool star = false;
};

Result<Range> to_range(const Field& field, std::string_view text) {
  if (text == "*" || text == "?") return Range{field.min, field.max, true};
  const std::vector<std::string_view> ends = split(text, "-");
  if (ends.size() > 2) return Error{Code::Invalid, quoted(text) + " has too many hyphens"};
  auto low = to_value(field, ends.front());
  if (!low) return low.error();
  auto high = to_value(field, ends.back());
  if (!high) return high.error();
  if (*low > *high) return Error{Code::Invalid, quoted(text) + " ends before it begins"};
  return Range{*low, *high};
}

/// One item of a list: a range and its step.
Result<Values> to_item(const Field& field, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, "/");
  if (parts.size() > 2) return Error{Code::Invalid, quoted(text) + " has too many slashes"};
  auto range = to_range(field, parts.front());
  if (!range) return range.error();
  const std::optional<int> step = parts.size() == 2 ? to_number(parts.back()) : 1;
  if (!step || *step < 1) return Error{Code::Invalid, quoted(parts.back()) + " is no step"};
  const bool open = parts.size() == 2 && parts.front().find('-') == std::string_view::npos;
  const int high = open ? field.max : range->high;
  Values values{.any = range->star && *step == 1};
  for (int value = range->low; value <= high; value += std::min(*step, 64))
    values.bits |= std::uint64_t(1) << value;
  return values;
}

Result<Values> to_values(const Field& field, std::string_view text) {
  Values all;
  for (const std::string_view item : split(text, ",")) {
    auto values = to_item(field, item);
    if (!values) return Error(values.error()).during(std::string(field.name) + " " + quoted(text));
    all.bits |= values->bits;
    all.any = all.any || values->any;
  }
  return all;
}

/// Whether at least one of the months has one of the days.
bool has_a_day(const Cron& cron) {
  constexpr int kLengths[] = {0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  for (int month = 1; month <= 12; ++month)
    if ((cron.months >> month & 1) != 0 && std::countr_zero(cron.days) <= kLengths[month])
      return true;
  return false;
}

Result<std::string_view> without_shorthand(std::string_view text) {
  if (!text.starts_with('@')) return text;
  for (const auto& [name, means] : kShorthands)
    if (text == name) return means;
  return Error{Code::Invalid,
               quoted(text) +
                   " is none of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually"};
}

bool has(std::uint64_t bits, unsigned value) { return (bits >> value & 1) != 0; }

bool takes_day(const Cron& cron, local_days day) {
  const std::chrono::year_month_day date(day);
  if (!has(cron.months, unsigned(date.month()))) return false;
  const bool by_day = has(cron.days, unsigned(date.day()));
  const bool by_weekday = has(cron.weekdays, std::chrono::weekday(day).c_encoding());
  return cron.any_day || cron.any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/// The first matching time of a day, from `first` on.
std::optional<minutes> next_in_day(const Cron& cron, minutes first) {
  const auto first_hour = static_cast<unsigned>(first.count() / 60);
  auto minute = static_cast<unsigned>(first.count() % 60);
  for (unsigned hour = first_hour; hour < 24; ++hour, minute = 0) {
    const std::uint64_t left = cron.minutes >> minute;
    if (has(cron.hours, hour) && left != 0)
      return minutes(hour * 60 + minute + static_cast<unsigned>(std::countr_zero(left)));
  }
  return std::nullopt;
}

/// The first matching time in [from, until), without a clock change.
std::optional<local_seconds> next_match(const Cron& cron, local_seconds from, local_seconds until) {
  for (local_days day = std::chrono::floor<std::chrono::days>(from); day < until;
       day += std::chrono::days(1)) {
    if (!takes_day(cron, day)) continue;
    const local_seconds start = std::max(from, local_seconds(day));
    const auto time = next_in_day(cron, std::chrono::duration_cast<minutes>(start - day));
    if (time) return day + *time < until ? std::optional(day + *time) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<Cron> to_cron(std::string_view text) {
  if (text.starts_with("TZ=") || text.starts_with("CRON_TZ="))
    return Error{Code::Invalid, "the time zone is not part of a schedule: it has its own field"};
  auto plain = without_shorthand(text);
  if (!plain) return plain.error();
  const std::vector<std::string_view> words = words_of(*plain);
  if (words.size() != kFields.size())
    return Error{Code::Invalid,
                 quoted(text) + " has " + std::to_string(words.size()) +
                     " fields, not 5: minute, hour, day of the month, month, day of the week"};
  std::array<Values, kFields.size()> values;
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    auto read = to_values(kFields[i], words[i]);
    if (!read) return read.error();
    values[i] = *read;
  }
  const auto& [minute, hour, day, month, weekday] = values;
  const Cron cron{minute.bits, hour.bits, day.bits, month.bits, weekday.bits, day.any, weekday.any};
  if (cron.any_weekday && !has_a_day(cron))
    return Error{Code::Invalid, "day of the month " + quoted(words[2]) + ": no month of " +
                                    quoted(words[3]) + " has it: it would never run"};
  return cron;
}

std::optional<WallTime> next_run(const Cron& cron, const TimeZone& zone, WallTime after) {
  WallTime from{std::chrono::floor<minutes>(after.since_epoch) + minutes(1)};
  const WallTime limit = from + kHorizon;
  // Clocks change at whole minutes.
  while (from < limit) {
    const Offset now = zone.offset_at(from);
    const WallTime until = std::min(now.until, limit);
    const auto found = next_match(cron, local_seconds(from.since_epoch + now.east),
                                  local_seconds(until.since_epoch + now.east));
    if (found) return WallTime{found->time_since_epoch() - now.east};
    from = until;
  }
  return std::nullopt;
}

std::vector<WallTime> runs(const Cron& cron, const TimeZone& zone, Window window,
                           std::size_t count_max) {
  std::vector<WallTime> found;
  std::optional<WallTime> run = next_run(cron, zone, window.after);
  while (found.size() < count_max && run && *run <= window.upto) {
    found.push_back(*run);
    run = next_run(cron, zone, *run);
  }
  return found;
}

std::optional<WallTime> newest_run(const Cron& cron, const TimeZone& zone, Window window) {
  auto newest = next_run(cron, zone, window.after);
  if (!newest || *newest > window.upto) return std::nullopt;
  // Binary search: up to some moment, a run lies between that moment and the end; after it, none
  // does.
  WallTime none_from = window.upto;
  while (*newest < none_from) {
    const WallTime middle{*newest + (none_from - *newest) / 2};
    const auto run = next_run(cron, zone, middle);
    if (run && *run <= window.upto) newest = run;
    else none_from = middle;
  }
  return newest;
}

}  // namespace etcdop::schedule
