// The rows of zone_table.cc, which tools/zones.py writes: what clocks show from 2026 on. Numbers
// only; time_zone.h reads them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace etcdop::schedule {

/// From that minute since 1970 on clocks are so far east of UTC.
struct ZoneChange {
  std::int32_t minute;
  std::int16_t east_minutes;
};

/// A day of each year: the week-th such weekday (0 is Sunday) of the month, the last for 5; and the
/// minute after its midnight, before the change, which may lie on a day before or after.
struct YearlyChange {
  std::uint8_t month;  ///< 0: never.
  std::uint8_t week;
  std::uint8_t weekday;
  std::int16_t minute;
};

/// Zones that agree. In Ireland "summer" is winter: what changes is less than the standard.
struct ZoneRow {
  std::string_view names;  ///< With blanks between them.
  std::int16_t standard_minutes;
  std::int16_t summer_minutes;
  YearlyChange to_summer;
  YearlyChange to_standard;
  std::span<const ZoneChange> changes;  ///< Until the last of them the yearly rule is not asked.
};

std::span<const ZoneRow> zone_rows();

/// "2025b"
std::string_view zone_version();

}  // namespace etcdop::schedule
