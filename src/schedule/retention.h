// Decides which stored snapshots to delete. Pure.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/wall_time.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {

/// How far a stored snapshot is proven. Unknown: it has no readable manifest of ours, is still
/// being written, or belongs to another owner.
enum class Proof { Unknown, Complete, Verified };

struct StoredSnapshot {
  std::string name;  ///< Unique.
  WallTime taken_at;
  Proof proof = Proof::Unknown;
};

/// Rules for what to keep; without rules, all stay. A snapshot stays if one rule keeps it.
struct Retention {
  std::optional<int> last = std::nullopt;                   ///< This number of the newest.
  std::optional<std::chrono::seconds> time = std::nullopt;  ///< All that are not older.
  /// The newest of each of the last N days, weeks (from Monday) and months that have a snapshot, in
  /// the schedule's zone. Days without a snapshot do not count: if backups fail for a month, the
  /// old ones stay.
  std::optional<int> days = std::nullopt, weeks = std::nullopt, months = std::nullopt;
};

/// The names of the snapshots to delete, the oldest first. Never the newest complete one, nor the
/// newest verified one. Unknown snapshots and snapshots taken later than `now` are neither deleted
/// nor counted as kept: with a wrong clock, such a snapshot would be the newest for years, and push
/// out the good ones. If two were taken in the same second, the one with the greater name is newer.
std::vector<std::string> expired(std::vector<StoredSnapshot>, const Retention&, const TimeZone&,
                                 WallTime now);

}  // namespace etcdop::schedule
