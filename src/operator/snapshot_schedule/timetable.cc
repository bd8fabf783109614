#include "operator/snapshot_schedule/timetable.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "base/duration.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;
using std::chrono::seconds;

constexpr seconds kLong{10LL * 366 * 86400};           // Every schedule has a run in it.
constexpr double kKeepForMin = 60, kKeepForMax = 3e9;  // A hundred years.
constexpr std::size_t kStampSize = 12;

std::optional<seconds> to_span(std::string_view text) {
  const auto span = to_seconds(text);
  if (!span || *span < kKeepForMin || *span > kKeepForMax) return std::nullopt;
  return seconds(static_cast<std::int64_t>(*span));
}

Result<schedule::Retention> to_retention(const v1::SnapshotRetention& said) {
  schedule::Retention out;
  out.last = said.keep_last;
  out.days = said.keep_daily;
  out.weeks = said.keep_weekly;
  out.months = said.keep_monthly;
  if (!said.keep_for) return out;
  out.time = to_span(*said.keep_for);
  if (out.time) return out;
  return Error{Code::Invalid, "retention.keepFor: \"" + *said.keep_for +
                                  "\" is not a duration from 1m to a hundred years, such as 720h"};
}

double runs_between(const Timetable& of, WallTime from, WallTime to, double most) {
  // Enough to exceed `most`, whatever the fractions are.
  const auto enough = static_cast<std::size_t>(most) + 3;
  return static_cast<double>(schedule::runs(of.cron, of.zone, {from, to}, enough).size());
}

/// In [0, 1): the part of its interval that is over at that time; 0: in no interval.
double part_over(const Timetable& of, WallTime at) {
  const auto before = schedule::newest_run(of.cron, of.zone, {at + -kLong, at});
  const auto after = schedule::next_run(of.cron, of.zone, at);
  if (!before || !after) return 0;
  return static_cast<double>((at - *before).count()) /
         static_cast<double>((*after - *before).count());
}

}  // namespace

Result<Timetable> to_timetable(const v1::EtcdSnapshotScheduleSpec& spec) {
  auto cron = schedule::to_cron(spec.schedule);
  if (!cron) return Error{Code::Invalid, "schedule: " + cron.error().message};
  auto zone = schedule::to_time_zone(spec.time_zone.empty() ? "UTC" : spec.time_zone);
  if (!zone) return Error{Code::Invalid, "timeZone: " + zone.error().message};
  Timetable out{*cron, *zone, std::nullopt};
  if (!spec.retention) return out;
  auto retention = to_retention(*spec.retention);
  if (!retention) return retention.error();
  out.retention = *retention;
  return out;
}

std::string run_name(const std::string& schedule, WallTime planned) {
  std::string out = schedule + "-";
  for (const char c : to_rfc3339(planned).substr(0, std::string_view("2026-11-23T19:30").size()))
    if (c >= '0' && c <= '9') out += c;
  return out;
}

std::optional<WallTime> planned_of(const std::string& schedule, std::string_view name) {
  if (name.size() != schedule.size() + 1 + kStampSize || !name.starts_with(schedule + "-"))
    return std::nullopt;
  const std::string_view stamp = name.substr(schedule.size() + 1);
  const auto part = [&](std::size_t at, std::size_t size) {
    return std::string(stamp.substr(at, size));
  };
  return from_rfc3339(part(0, 4) + "-" + part(4, 2) + "-" + part(6, 2) + "T" + part(8, 2) + ":" +
                      part(10, 2) + ":00Z");
}

double intervals_between(const Timetable& of, WallTime from, WallTime to, double most) {
  return runs_between(of, from, to, most) + part_over(of, to) - part_over(of, from);
}

std::optional<WallTime> exceeded_at(const Timetable& of, WallTime from, double intervals,
                                    WallTime now) {
  const auto before = schedule::newest_run(of.cron, of.zone, {now + -kLong, now});
  const auto after = schedule::next_run(of.cron, of.zone, now);
  const double part = intervals + part_over(of, from) - runs_between(of, from, now, intervals);
  if (!before || !after || part < 0 || part >= 1) return std::nullopt;
  const double length = static_cast<double>((*after - *before).count());
  return *before + seconds(std::llround(part * length) + 1);
}

}  // namespace etcdop::snapshot_schedule
