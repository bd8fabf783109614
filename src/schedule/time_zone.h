// The clocks of a time zone. The zone data is compiled in (docs/dev/adr/0018): the image has no
// files. Pure.
#pragma once
#include <chrono>
#include <string_view>

#include "base/result.h"
#include "base/wall_time.h"
#include "schedule/zone_table.h"

namespace etcdop::schedule {

/// How far clocks are ahead of UTC, and until when.
struct Offset {
  std::chrono::seconds east{0};
  WallTime until;
  bool operator==(const Offset&) const = default;
};

/// Offset::until if no change is known: the end of the year 9999.
inline constexpr WallTime kForever{std::chrono::seconds(253402300799)};

class TimeZone {
 public:
  /// The row must outlive it; the rows of zone_rows() do.
  explicit TimeZone(const ZoneRow& row) : row_(&row) {}
  /// Before 2026 this is a guess: the table has no past changes.
  Offset offset_at(WallTime) const;
  std::chrono::local_seconds local(WallTime) const;

 private:
  const ZoneRow* row_;
};

/// Finds a zone by its name in the IANA database, such as "Europe/Berlin" or "UTC", case-sensitive.
/// Invalid: unknown name.
Result<TimeZone> to_time_zone(std::string_view name);

}  // namespace etcdop::schedule
