// The rows of zone_table.cc, which tools/zones.py writes: the clocks from 2026 on. Numbers only;
// time_zone.h reads them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace etcdop::schedule {

/// From that minute since 1970 on, clocks are `east_minutes` ahead of UTC.
struct ZoneChange {
  std::int32_t minute;
  std::int16_t east_minutes;
};

/// A day of each year: the week-th such weekday (0 is Sunday) of the month, the last one for 5; and
/// the minute after its midnight, by the clocks before the change. The minute may fall on an
/// earlier or later day.
struct YearlyChange {
  std::uint8_t month;  ///< 0: never.
  std::uint8_t week;
  std::uint8_t weekday;
  std::int16_t minute;
};

/// Zones with equal clocks. In Ireland "summer" is the winter: its offset is less than the
/// standard.
struct ZoneRow {
  std::string_view names;  ///< Separated by blanks.
  std::int16_t standard_minutes;
  std::int16_t summer_minutes;
  YearlyChange to_summer;
  YearlyChange to_standard;
  std::span<const ZoneChange> changes;  ///< The yearly rule applies only after the last of them.
};

std::span<const ZoneRow> zone_rows();

/// "2025b"
std::string_view zone_version();

}  // namespace etcdop::schedule
