#include "operator/snapshot_schedule/conditions.h"

#include <algorithm>

#include "operator/snapshot_schedule/plan.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;

/// nullopt: no run of that name was planned until now.
std::optional<WallTime> planned_by_now(const Observation& seen, const std::string& name) {
  const auto out = planned_of(seen.schedule.metadata.name, name);
  return out && *out <= seen.now ? out : std::nullopt;
}

std::optional<WallTime> planned_success(const Observation& seen,
                                        const v1::EtcdSnapshotScheduleStatus& status) {
  return status.last_success ? planned_by_now(seen, status.last_success->snapshot) : std::nullopt;
}

std::optional<WallTime> planned_failure(const Observation& seen,
                                        const v1::EtcdSnapshotScheduleStatus& status) {
  return status.last_failure ? planned_by_now(seen, status.last_failure->snapshot) : std::nullopt;
}

/// Our runs, the oldest first.
std::vector<const RunSeen*> counted(const Observation& seen) {
  std::vector<const RunSeen*> out;
  for (const RunSeen& run : seen.runs)
    if (run.ours && run.planned <= seen.now) out.push_back(&run);
  return out;
}

void tell_last(const Observation& seen, v1::EtcdSnapshotScheduleStatus& status) {
  auto last = status.last_schedule_time ? from_rfc3339(*status.last_schedule_time) : std::nullopt;
  if (last && *last > seen.now) last.reset();
  for (const RunSeen* const run : counted(seen)) last = std::max(last, std::optional(run->planned));
  status.last_schedule_time = last ? std::optional(to_rfc3339(*last)) : std::nullopt;
}

/// True: there is a newer one.
bool tell_success(const Observation& seen, v1::EtcdSnapshotScheduleStatus& status) {
  const RunSeen* newest = nullptr;
  for (const RunSeen* const run : counted(seen))
    if (run->complete()) newest = run;
  const auto known = planned_success(seen, status);
  if (!newest || (known && *known >= newest->planned)) return false;
  status.last_success = {to_rfc3339(newest->since.value_or(newest->planned)), newest->name,
                         newest->uri, newest->revision};
  return true;
}

/// Counts each failure once: only those that were planned after all that the status knows.
void tell_failures(const Observation& seen, bool succeeded,
                   v1::EtcdSnapshotScheduleStatus& status) {
  const auto success = planned_success(seen, status), failure = planned_failure(seen, status);
  const auto counted_until = succeeded ? success : std::max(success, failure);
  if (succeeded) status.failures_in_a_row = 0;
  for (const RunSeen* const run : counted(seen)) {
    if (!run->failed()) continue;
    if (std::optional(run->planned) > counted_until) ++status.failures_in_a_row;
    if (std::optional(run->planned) > failure)
      status.last_failure = {run->name, run->reason, run->message};
  }
}

WallTime made_at(const Observation& seen) {
  const auto made = from_rfc3339(seen.schedule.metadata.creation_timestamp);
  return std::min(made.value_or(seen.now), seen.now);
}

/// A round begins with the newest stored run, once enough runs were stored since the last round.
void tell_round(const Observation& seen, std::optional<WallTime> counted_until,
                v1::EtcdSnapshotScheduleStatus& status) {
  if (!seen.schedule.spec.verify) return;
  const RunSeen* newest = nullptr;
  for (const RunSeen* const run : counted(seen)) {
    if (!run->complete() || run->uri.empty()) continue;
    newest = run;
    if (std::optional(run->planned) > counted_until) ++status.stored_since_round;
  }
  const bool first = !planned_by_now(seen, status.verify_round);
  if (!newest || newest->name == status.verify_round) return;
  if (!first && status.stored_since_round < seen.schedule.spec.verify->every) return;
  status.verify_round = newest->name;
  status.stored_since_round = 0;
}

/// The newest success; values of deleted runs stay as in the status.
void tell_verified(const Observation& seen, v1::EtcdSnapshotScheduleStatus& status) {
  for (const RunSeen& run : seen.runs) {
    if (!run.ours || run.verified != "True" || !run.verification || !run.verification->time)
      continue;
    const v1::SnapshotVerification& it = *run.verification;
    const auto time = from_rfc3339(*it.time);
    const auto known =
        status.last_verified ? from_rfc3339(status.last_verified->time) : std::nullopt;
    if (!time || *time > seen.now || (known && *known <= seen.now && *known >= *time)) continue;
    status.last_verified = {*it.time,   run.name, it.revision,
                            it.hash_kv, it.keys,  it.duration_seconds};
  }
}

/// nullopt: none, or a clock was wrong.
std::optional<WallTime> time_of_success(const Observation& seen,
                                        const v1::EtcdSnapshotScheduleStatus& status) {
  const auto out = status.last_success ? from_rfc3339(status.last_success->time) : std::nullopt;
  return out && *out <= seen.now ? out : std::nullopt;
}

/// Why nothing newer is stored, as far as is known.
std::string cause(const Observation& seen, const v1::EtcdSnapshotScheduleStatus& status) {
  if (planned_failure(seen, status) > planned_success(seen, status)) {
    const v1::SnapshotFailure& last = *status.last_failure;
    return last.snapshot + " failed (" + last.reason + "): " + last.message;
  }
  if (!status.active.empty()) return status.active.back() + " has not ended";
  if (seen.schedule.spec.suspend) return "the schedule is suspended";
  if (seen.refused && seen.refused->step == CreateSnapshot::traits.word)
    return "no EtcdSnapshot can be created: " + seen.refused->why;
  return "no run was started";
}

}  // namespace

void tell_runs(const Observation& seen, v1::EtcdSnapshotScheduleStatus& status) {
  tell_last(seen, status);
  tell_round(seen, planned_success(seen, status), status);
  tell_verified(seen, status);
  tell_failures(seen, tell_success(seen, status), status);
  status.active.clear();
  for (const RunSeen& run : seen.runs)
    if (run.ours && run.active()) status.active.push_back(run.name);
}

WallTime stored_last(const Observation& seen, const v1::EtcdSnapshotScheduleStatus& status) {
  return time_of_success(seen, status).value_or(made_at(seen));
}

Verdict proof(const Observation& seen, const Timetable& of,
              const v1::EtcdSnapshotScheduleStatus& status) {
  const RunSeen* bad = nullptr;
  int count = 0;
  for (const RunSeen& run : seen.runs)
    if (run.kept() && !run.fault.empty()) bad = &run, ++count;
  if (bad)
    return {"True", v1::kVerificationFailed,
            bad->name + ": " + bad->fault +
                (count > 1 ? "; and " + std::to_string(count - 1) + " more" : "")};
  const auto last = status.last_verified ? from_rfc3339(status.last_verified->time) : std::nullopt;
  const bool ever = last && *last <= seen.now;
  const WallTime since = ever ? *last : made_at(seen);
  const double most = seen.schedule.spec.verify->every + kOverdueIntervals;
  const bool refused = seen.refused && seen.refused->step == AskVerification::traits.word;
  const std::string but = refused ? "; no verification can be requested: " + seen.refused->why : "";
  if (intervals_between(of, since, seen.now, most) > most)
    return {"True", v1::kVerificationOverdue,
            "no snapshot was verified since " +
                (ever ? status.last_verified->time
                      : "this schedule was created, " + to_rfc3339(since)) +
                but};
  return {"False", v1::kBackupVerified,
          (ever ? status.last_verified->snapshot + " was verified at " + status.last_verified->time
                : "no verification was due yet") +
              but};
}

Verdict staleness(const Observation& seen, const Timetable& of,
                  const v1::EtcdSnapshotScheduleStatus& status) {
  const bool ever = time_of_success(seen, status).has_value();
  const WallTime since = stored_last(seen, status);
  if (intervals_between(of, since, seen.now, kStaleAfterIntervals) <= kStaleAfterIntervals)
    return {"False", v1::kSnapshotRecent,
            ever ? status.last_success->snapshot + " was stored at " + status.last_success->time
                 : "no snapshot was due yet"};
  return {
      "True", v1::kNoRecentSnapshot,
      "no snapshot has been stored since " +
          (ever ? status.last_success->time : "this schedule was created, " + to_rfc3339(since)) +
          "; " + cause(seen, status)};
}

}  // namespace etcdop::snapshot_schedule
