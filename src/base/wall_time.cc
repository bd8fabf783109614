#include "base/wall_time.h"

#include <charconv>
#include <cstdio>

namespace etcdop {
namespace {

/// Takes exactly `digits` digits off the front; -1 if they are missing.
int take(std::string_view& text, std::size_t digits) {
  int n = -1;
  if (text.size() < digits) return -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, n);
  if (error != std::errc() || end != text.data() + digits || n < 0) return -1;
  text.remove_prefix(digits);
  return n;
}

bool skip(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// "Z", "+02:00": the seconds to subtract to get UTC.
std::optional<std::chrono::seconds> take_offset(std::string_view& text) {
  if (skip(text, 'Z') || skip(text, 'z')) return std::chrono::seconds(0);
  const int sign = skip(text, '+') ? 1 : skip(text, '-') ? -1 : 0;
  const int hours = take(text, 2);
  if (sign == 0 || hours < 0 || !skip(text, ':')) return std::nullopt;
  const int minutes = take(text, 2);
  if (minutes < 0) return std::nullopt;
  return std::chrono::seconds(sign * (hours * 3600 + minutes * 60));
}

}  // namespace

std::string to_rfc3339(WallTime when) {
  using namespace std::chrono;
  const sys_seconds point(when.since_epoch);
  const year_month_day date(floor<days>(point));
  const hh_mm_ss time(point - floor<days>(point));
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text;
}

std::string to_rfc3339_micro(WallTime t) {
  std::string text = to_rfc3339(t);
  text.insert(text.size() - 1, ".000000");
  return text;
}

std::optional<WallTime> from_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const int y = take(text, 4);
  if (y < 0 || !skip(text, '-')) return std::nullopt;
  const int m = take(text, 2);
  if (m < 0 || !skip(text, '-')) return std::nullopt;
  const int d = take(text, 2);
  if (d < 0 || !(skip(text, 'T') || skip(text, 't'))) return std::nullopt;
  const int hour = take(text, 2);
  if (hour < 0 || hour > 23 || !skip(text, ':')) return std::nullopt;
  const int minute = take(text, 2);
  if (minute < 0 || minute > 59 || !skip(text, ':')) return std::nullopt;
  const int second = take(text, 2);
  if (second < 0 || second > 60) return std::nullopt;
  if (skip(text, '.'))
    while (!text.empty() && text.front() >= '0' && text.front() <= '9') text.remove_prefix(1);
  const auto offset = take_offset(text);
  const year_month_day date{year(y), month(static_cast<unsigned>(m)),
                            day(static_cast<unsigned>(d))};
  if (!offset || !text.empty() || !date.ok()) return std::nullopt;
  return WallTime{sys_days(date).time_since_epoch() + hours(hour) + minutes(minute) +
                  seconds(second) - *offset};
}

}  // namespace etcdop
