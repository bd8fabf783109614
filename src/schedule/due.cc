#include "schedule/due.h"

#include <algorithm>

namespace etcdop::schedule {

Due due(const Cron& cron, const TimeZone& zone, const DueQuestion& asked) {
  if (asked.suspended) return {};
  WallTime after = asked.last;
  if (asked.starting_deadline) after = std::max(after, asked.now + -*asked.starting_deadline);
  return {newest_run(cron, zone, {after, asked.now}), next_run(cron, zone, asked.now)};
}

}  // namespace etcdop::schedule
