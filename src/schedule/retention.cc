#include "schedule/retention.h"

#include <algorithm>
#include <tuple>

namespace etcdop::schedule {
namespace {

using std::chrono::local_days;

bool says_nothing(const Retention& retention) {
  return !retention.last && !retention.time && !retention.days && !retention.weeks &&
         !retention.months;
}

/// A month or week is identified by its first day.
local_days month_of(local_days day) {
  const std::chrono::year_month_day date(day);
  return local_days(date.year() / date.month() / 1);
}

local_days week_of(local_days day) {
  return day - (std::chrono::weekday(day) - std::chrono::Monday);
}

/// Called from the newest to the oldest; takes the first of each of `count` periods.
class FirstOfEach {
 public:
  explicit FirstOfEach(std::optional<int> count) : left_(count.value_or(0)) {}
  bool takes(local_days period) {
    if (left_ <= 0 || seen_ == period) return false;
    seen_ = period;
    --left_;
    return true;
  }

 private:
  int left_;
  std::optional<local_days> seen_;
};

}  // namespace

std::vector<std::string> expired(std::vector<StoredSnapshot> stored, const Retention& retention,
                                 const TimeZone& zone, WallTime now) {
  std::vector<std::string> gone;
  if (says_nothing(retention)) return gone;
  std::erase_if(stored, [&](const StoredSnapshot& one) {
    return one.proof == Proof::Unknown || one.taken_at > now;
  });
  std::ranges::sort(stored, std::greater(),
                    [](const StoredSnapshot& one) { return std::tie(one.taken_at, one.name); });
  int last = std::max(retention.last.value_or(0), 1);  // The newest always stays.
  bool verified_seen = false;
  FirstOfEach days(retention.days), weeks(retention.weeks), months(retention.months);
  for (const StoredSnapshot& one : stored) {
    const auto day = std::chrono::floor<std::chrono::days>(zone.local(one.taken_at));
    bool kept = last-- > 0;
    // Ask every rule, even if another already keeps the snapshot: it counts for its period.
    kept |= days.takes(day);
    kept |= weeks.takes(week_of(day));
    kept |= months.takes(month_of(day));
    kept |= retention.time && now - one.taken_at <= *retention.time;
    kept |= one.proof == Proof::Verified && !verified_seen;
    verified_seen |= one.proof == Proof::Verified;
    if (!kept) gone.push_back(one.name);
  }
  std::ranges::reverse(gone);
  return gone;
}

}  // namespace etcdop::schedule
