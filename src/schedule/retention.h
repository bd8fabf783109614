// Which stored snapshots go. Pure.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/wall_time.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {

/// What is known of a stored snapshot. Unknown: it has no manifest of ours that can be read, or is
/// still being written, or is somebody else's.
enum class Proof { Unknown, Complete, Verified };

struct StoredSnapshot {
  std::string name;  ///< No two are alike.
  WallTime taken_at;
  Proof proof = Proof::Unknown;
};

/// What is kept; nothing said keeps all. A snapshot stays if one of these wants it.
struct Retention {
  std::optional<int> last = std::nullopt;                   ///< So many of the newest.
  std::optional<std::chrono::seconds> time = std::nullopt;  ///< All that are no older.
  /// The newest of each of the last so many days, weeks (from Monday) and months that have one, in
  /// the schedule's zone. Days without a snapshot do not count: where backups fail for a month, the
  /// old ones stay.
  std::optional<int> days = std::nullopt, weeks = std::nullopt, months = std::nullopt;
};

/// The names of those that go, the oldest first. Never: the newest that is complete, the newest
/// that is verified, and what does not count as one of the kept either: what is unknown, and what
/// was taken later than now. There a clock was wrong: counted, it would be the newest for years,
/// and push out what is good.
/// Of two that were taken in the same second, the one with the greater name is the newer.
std::vector<std::string> expired(std::vector<StoredSnapshot>, const Retention&, const TimeZone&,
                                 WallTime now);

}  // namespace etcdop::schedule
