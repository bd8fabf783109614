// The plan of a schedule as tables: which run starts when, what waits for what, which stored
// snapshots are deleted and in which order, and when backups are stale. Times are those of one day.
#include "operator/snapshot_schedule/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/describe.h"
#include "operator/snapshot_schedule/objects.h"
#include "operator/snapshot_schedule/timetable.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot_schedule {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// "10:05", "10:05:30" of the Monday on which all of this happens, or a whole date.
WallTime at(const std::string& when) {
  const std::string time = when.size() == 5 ? when + ":00" : when;
  const auto out = from_rfc3339(when.size() > 10 ? when : "2026-11-23T" + time + "Z");
  EXPECT_TRUE(out) << when;
  return out.value_or(WallTime{});
}

Observation hourly(const std::string& now, const std::string& made = "00:30") {
  Observation seen;
  seen.now = at(now);
  seen.has_image = true;
  api::ObjectMeta& meta = seen.schedule.metadata;
  meta.name = "db";
  meta.ns = "prod";
  meta.uid = "sch-1";
  meta.generation = 1;
  meta.creation_timestamp = to_rfc3339(at(made));
  seen.schedule.spec.cluster_ref.name = "db";
  seen.schedule.spec.schedule = "0 * * * *";
  return seen;
}

RunSeen& add_run(Observation& seen, const std::string& planned, const char* phase) {
  RunSeen& run = seen.runs.emplace_back();
  run.planned = at(planned);
  run.made = run.planned;
  run.name = run_name("db", run.planned);
  run.uid = "of-" + planned;
  run.ours = true;
  run.phase = phase;
  run.since = run.planned + 20s;
  return run;
}
RunSeen& add_stored(Observation& seen, const std::string& planned) {
  RunSeen& run = add_run(seen, planned, v1::kSnapshotComplete);
  run.uri = "s3://backups/" + run.name + ".db";
  run.revision = 42;
  return run;
}
RunSeen& add_failed(Observation& seen, const std::string& planned) {
  RunSeen& run = add_run(seen, planned, v1::kSnapshotFailed);
  run.reason = v1::kDestinationUnreachable;
  run.message = "no route";
  return run;
}
DeletionSeen& add_deletion(RunSeen& run, const std::string& made, const char* ended = "") {
  DeletionSeen& job = run.deletion.emplace();
  job.uid = "job-" + run.uid;
  job.ours = true;
  job.made = at(made);
  if (*ended) job.status.conditions.push_back({ended, "True", "BackoffLimitExceeded", "", ""});
  return job;
}
void keep_last(Observation& seen, int count) {
  seen.schedule.spec.retention.emplace().keep_last = count;
}

std::string condition(const Plan& plan, const char* type) {
  const auto* c = runtime::find_condition(plan.status.conditions, type);
  return c ? c->status + "/" + c->reason + ": " + c->message : "none";
}
std::string step_of(const Observation& seen) { return to_string(plan(seen).step); }
/// The next pass, after this one's writes.
Observation after(const Observation& seen, const std::string& now) {
  Observation out = seen;
  out.schedule.status = plan(seen).status;
  out.now = at(now);
  return out;
}

// --- Starting ------------------------------------------------------------------------------------

TEST(SchedulePlan, ARunIsStartedWhenItsTimeHasComeAndNotBefore) {
  EXPECT_EQ(step_of(hourly("00:59:59")), "none");
  EXPECT_EQ(step_of(hourly("01:00")), "create-snapshot db-202611230100");
  const Plan early = plan(hourly("00:59:59"));
  EXPECT_EQ(early.again, 1s);
  EXPECT_EQ(early.status.next_schedule_time, "2026-11-23T01:00:00Z");
  EXPECT_EQ(early.status.last_schedule_time, std::nullopt);
  EXPECT_EQ(condition(early, v1::kReady),
            "True/Scheduled: the next run is at 2026-11-23T01:00:00Z");
  EXPECT_EQ(condition(early, v1::kRetentionApplied), "none");
}

TEST(SchedulePlan, OneThatIsThereIsNotStartedAgain) {
  Observation seen = hourly("01:00:01");
  add_run(seen, "01:00", "");
  const Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "none");
  EXPECT_EQ(now.status.last_schedule_time, "2026-11-23T01:00:00Z");
  EXPECT_EQ(now.status.active, std::vector<std::string>{"db-202611230100"});
  seen = after(seen, "01:10");
  seen.runs.clear();  // A user deleted it.
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, OfTheRunsThatWereMissedTheNewestIsStarted) {
  Observation seen = hourly("01:30");
  add_stored(seen, "01:00");
  seen = after(seen, "09:30");
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230900");
  seen.schedule.spec.starting_deadline_seconds = 1800;
  EXPECT_EQ(step_of(seen), "none") << "it is half an hour late";
  seen.schedule.spec.starting_deadline_seconds = 1801;
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230900");
  seen.schedule.spec.starting_deadline_seconds = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230900");
}

TEST(SchedulePlan, ClocksOfItsZoneAreMeant) {
  Observation seen = hourly("2026-10-24T12:00:00Z", "2026-10-24T11:00:00Z");
  seen.schedule.spec.schedule = "30 2 * * *";
  seen.schedule.spec.time_zone = "Europe/Berlin";
  EXPECT_EQ(plan(seen).status.next_schedule_time, "2026-10-25T00:30:00Z");
  // 02:30 comes twice that night: clocks are put back at three.
  seen.now = at("2026-10-25T00:30:00Z");
  EXPECT_EQ(step_of(seen), "create-snapshot db-202610250030");
  add_stored(seen, "2026-10-25T00:30:00Z");
  EXPECT_EQ(plan(seen).status.next_schedule_time, "2026-10-25T01:30:00Z");
  // It does not exist on a night in March.
  seen = hourly("2026-03-28T12:00:00Z", "2026-03-28T11:00:00Z");
  seen.schedule.spec.schedule = "30 2 * * *";
  seen.schedule.spec.time_zone = "Europe/Berlin";
  EXPECT_EQ(plan(seen).status.next_schedule_time, "2026-03-30T00:30:00Z");
}

TEST(SchedulePlan, WhileOneHasNotEndedThePolicySaysWhatComesOfTheNext) {
  struct Row {
    v1::ConcurrencyPolicy policy;
    const char *step, *ready;
  };
  for (const Row& row :
       {Row{v1::ConcurrencyPolicy::Forbid, "none",
            "True/Scheduled: the run of 2026-11-23T02:00:00Z waits for the end of db-202611230100"},
        Row{v1::ConcurrencyPolicy::Allow, "create-snapshot db-202611230200",
            "True/Scheduled: the next run is at 2026-11-23T03:00:00Z"},
        Row{v1::ConcurrencyPolicy::Replace, "delete-snapshot db-202611230100, replaced",
            "True/Scheduled: the run of 2026-11-23T02:00:00Z waits for the end of "
            "db-202611230100"}}) {
    Observation seen = hourly("02:00");
    seen.schedule.spec.concurrency_policy = row.policy;
    add_run(seen, "01:00", v1::kSnapshotStarted);
    EXPECT_EQ(step_of(seen), row.step);
    EXPECT_EQ(condition(plan(seen), v1::kReady), row.ready);
    seen.runs.front().phase = v1::kSnapshotComplete;
    EXPECT_EQ(step_of(seen), "create-snapshot db-202611230200");
  }
}

TEST(SchedulePlan, OneOfSomebodyElseThatHasNotEndedHoldsUpNothing) {
  Observation seen = hourly("02:00");
  add_stored(seen, "01:00");
  add_run(seen, "01:30", v1::kSnapshotStarted).ours = false;
  for (const auto policy : {v1::ConcurrencyPolicy::Forbid, v1::ConcurrencyPolicy::Replace}) {
    seen.schedule.spec.concurrency_policy = policy;
    EXPECT_EQ(step_of(seen), "create-snapshot db-202611230200");
  }
  EXPECT_TRUE(plan(seen).status.active.empty());
}

TEST(SchedulePlan, AReplacedOneIsDeletedOnceAndWaitedFor) {
  Observation seen = hourly("02:00");
  seen.schedule.spec.concurrency_policy = v1::ConcurrencyPolicy::Replace;
  add_run(seen, "01:00", v1::kSnapshotStarted).terminating = true;
  EXPECT_EQ(step_of(seen), "none");
  seen.runs.clear();
  seen.schedule.status.last_schedule_time = "2026-11-23T01:00:00Z";
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230200");
}

TEST(SchedulePlan, OneThatCannotBeReplacedIsTold) {
  Observation seen = hourly("02:00");
  seen.schedule.spec.concurrency_policy = v1::ConcurrencyPolicy::Replace;
  add_run(seen, "01:00", v1::kSnapshotStarted);
  seen.refused = {"delete-snapshot", "no deletions here"};
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100, replaced");
  EXPECT_EQ(condition(plan(seen), v1::kReady),
            "False/ObjectRejected: EtcdSnapshot db-202611230100 has not ended, and cannot be "
            "deleted: no deletions here");
  seen.schedule.spec.concurrency_policy = v1::ConcurrencyPolicy::Forbid;
  EXPECT_EQ(condition(plan(seen), v1::kReady).substr(0, 14), "True/Scheduled");
}

TEST(SchedulePlan, ARunThatHasWaitedIsOvertakenByTheNext) {
  Observation seen = hourly("04:10");
  add_run(seen, "01:00", v1::kSnapshotStarted);
  EXPECT_EQ(step_of(seen), "none");
  seen.runs.front().phase = v1::kSnapshotFailed;
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230400");
}

TEST(SchedulePlan, WhileSuspendedNothingIsStartedOrDeleted) {
  Observation seen = hourly("05:00");
  for (const char* planned : {"01:00", "02:00"}) add_stored(seen, planned);
  for (const char* planned : {"01:01", "01:02", "01:03", "01:04"}) add_failed(seen, planned);
  keep_last(seen, 1);
  seen.schedule.spec.suspend = true;
  const Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "none");
  EXPECT_EQ(now.status.next_schedule_time, std::nullopt);
  EXPECT_EQ(condition(now, v1::kReady),
            "False/Suspended: nothing is started, deleted or verified: spec.suspend is true");
  seen.schedule.spec.suspend = false;
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230500");
}

TEST(SchedulePlan, WhatTheApiServerDoesNotCheckIsTold) {
  Observation seen = hourly("02:00");
  seen.schedule.spec.schedule = "61 * * * *";
  seen.schedule.status.next_schedule_time = "2026-11-23T03:00:00Z";
  Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "none");
  EXPECT_TRUE(condition(now, v1::kReady).starts_with("False/ScheduleInvalid: schedule: "))
      << condition(now, v1::kReady);
  EXPECT_TRUE(condition(now, v1::kBackupStale).starts_with("Unknown/ScheduleInvalid"));
  EXPECT_EQ(now.status.next_schedule_time, std::nullopt);
  seen.schedule.spec.schedule = "0 * * * *";
  seen.schedule.spec.time_zone = "Europe/Atlantis";
  EXPECT_TRUE(condition(plan(seen), v1::kReady).starts_with("False/ScheduleInvalid: timeZone: "));
  seen.schedule.spec.time_zone = "";
  for (const char* bad : {"59s", "1d", "", "h", "1e3h", "3000000001s", "9999999h"}) {
    seen.schedule.spec.retention.emplace().keep_for = bad;
    EXPECT_TRUE(
        condition(plan(seen), v1::kReady).starts_with("False/ScheduleInvalid: retention.keepFor: "))
        << bad;
  }
  EXPECT_EQ(plan(seen).again, 5min) << "nothing is under way";
  add_run(seen, "01:00", v1::kSnapshotStarted);
  EXPECT_EQ(plan(seen).again, 10s);
  EXPECT_EQ(plan(seen).status.active.size(), 1U);
}

TEST(SchedulePlan, AMinuteIsTheShortestTimeToKeepAndAHundredYearsTheLongest) {
  Observation seen = hourly("02:00");
  for (const char* good : {"1m", "60s", "720h", "833333h", "3000000000s"}) {
    seen.schedule.spec.retention.emplace().keep_for = good;
    EXPECT_FALSE(condition(plan(seen), v1::kReady).starts_with("False/ScheduleInvalid")) << good;
  }
}

TEST(SchedulePlan, ASnapshotOfThatNameWhichIsNotItsOwnIsLeft) {
  Observation seen = hourly("01:00");
  add_stored(seen, "01:00").ours = false;
  const Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "none");
  EXPECT_EQ(condition(now, v1::kReady),
            "False/SnapshotNameTaken: EtcdSnapshot db-202611230100 exists and does not belong to "
            "this schedule; the next run is at 2026-11-23T02:00:00Z");
  EXPECT_EQ(now.status.last_success, std::nullopt);
}

TEST(SchedulePlan, WhatTheApiServerRefusesIsToldAndTriedAgain) {
  Observation seen = hourly("01:00");
  seen.refused = {"create-snapshot", "exceeded quota"};
  const Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "create-snapshot db-202611230100");
  EXPECT_EQ(condition(now, v1::kReady),
            "False/ObjectRejected: EtcdSnapshot db-202611230100 cannot be created: exceeded quota");
  seen.refused->step = "create-deletion";
  EXPECT_EQ(to_string(plan(seen).step), "create-snapshot db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kReady),
            "True/Scheduled: the next run is at 2026-11-23T02:00:00Z")
      << "it was not the run that was refused";
}

TEST(SchedulePlan, AClockThatWasAheadHoldsUpNothing) {
  Observation seen = hourly("03:00");
  seen.schedule.status.last_schedule_time = "2027-01-01T00:00:00Z";
  seen.schedule.status.last_success = {"2027-01-01T00:00:20Z", "db-202701010000", "s3://x", 1};
  add_stored(seen, "2027-01-01T00:00:00Z");
  const Plan now = plan(seen);
  EXPECT_EQ(to_string(now.step), "create-snapshot db-202611230300");
  EXPECT_TRUE(condition(now, v1::kBackupStale).starts_with("True/NoRecentSnapshot"));
  const RunSeen ahead = seen.runs.front();
  seen.runs.clear();
  add_stored(seen, "03:00");
  seen.runs.push_back(ahead);
  EXPECT_EQ(plan(seen).status.last_success->snapshot, "db-202611230300");
}

// --- Status --------------------------------------------------------------------------------------

TEST(SchedulePlan, TheLastSuccessAndTheFailuresSinceAreCountedOnce) {
  Observation seen = hourly("01:30");
  add_stored(seen, "01:00");
  Plan now = plan(seen);
  EXPECT_EQ(now.status.last_success, (v1::SnapshotSuccess{"2026-11-23T01:00:20Z", "db-202611230100",
                                                          "s3://backups/db-202611230100.db", 42}));
  EXPECT_EQ(now.status.failures_in_a_row, 0);
  seen = after(seen, "02:30");
  add_failed(seen, "02:00");
  seen = after(seen, "03:30");
  add_failed(seen, "03:00");
  for (int i = 0; i < 2; ++i) {
    now = plan(seen);
    EXPECT_EQ(now.status.failures_in_a_row, 2);
    EXPECT_EQ(now.status.last_failure,
              (v1::SnapshotFailure{"db-202611230300", v1::kDestinationUnreachable, "no route"}));
    seen = after(seen, "03:31");
  }
  seen.runs.clear();  // Deleted runs were counted.
  EXPECT_EQ(plan(seen).status.failures_in_a_row, 2);
  add_failed(seen, "04:00");
  seen.now = at("04:30");
  seen = after(seen, "05:30");
  EXPECT_EQ(seen.schedule.status.failures_in_a_row, 3);
  add_stored(seen, "05:00");
  EXPECT_EQ(plan(seen).status.failures_in_a_row, 0);
  EXPECT_EQ(plan(seen).status.last_failure->snapshot, "db-202611230400") << "still of interest";
}

TEST(SchedulePlan, OneThatFailedBeforeAnEarlierOneWasStoredIsCounted) {
  Observation seen = hourly("03:30");
  add_run(seen, "02:00", v1::kSnapshotStarted);
  add_failed(seen, "03:00");
  seen = after(seen, "03:40");
  EXPECT_EQ(seen.schedule.status.failures_in_a_row, 1);
  seen.runs[0].phase = v1::kSnapshotComplete;
  EXPECT_EQ(plan(seen).status.failures_in_a_row, 1) << "it is the last one since";
}

TEST(SchedulePlan, BackupsAreStaleAfterOneAndAHalfIntervals) {
  Observation seen = hourly("01:30");
  add_stored(seen, "01:00");
  seen = after(seen, "02:30");
  add_failed(seen, "02:00");
  EXPECT_EQ(condition(plan(seen), v1::kBackupStale),
            "False/SnapshotRecent: db-202611230100 was stored at 2026-11-23T01:00:20Z");
  seen.now = at("02:30:20");
  EXPECT_TRUE(condition(plan(seen), v1::kBackupStale).starts_with("False/"));
  seen.now = at("02:30:21");
  EXPECT_EQ(condition(plan(seen), v1::kBackupStale),
            "True/NoRecentSnapshot: no snapshot has been stored since 2026-11-23T01:00:20Z; "
            "db-202611230200 failed (DestinationUnreachable): no route");
  add_stored(seen, "03:00");
  seen.now = at("03:01");
  EXPECT_TRUE(condition(plan(seen), v1::kBackupStale).starts_with("False/SnapshotRecent"));
}

TEST(SchedulePlan, OneThatNeverStoredAnythingIsStaleFromItsMakingOn) {
  Observation seen = hourly("01:59", "00:30");
  EXPECT_EQ(condition(plan(seen), v1::kBackupStale),
            "False/SnapshotRecent: no snapshot was due yet");
  seen.now = at("02:01");
  add_run(seen, "01:00", v1::kSnapshotStarted);
  EXPECT_EQ(condition(plan(seen), v1::kBackupStale),
            "True/NoRecentSnapshot: no snapshot has been stored since this schedule was created, "
            "2026-11-23T00:30:00Z; db-202611230100 has not ended");
  seen.schedule.spec.suspend = true;
  seen.runs.clear();
  EXPECT_TRUE(condition(plan(seen), v1::kBackupStale).ends_with("; the schedule is suspended"));
}

TEST(SchedulePlan, WhyBackupsAreStaleIsToldAsFarAsItIsKnown) {
  Observation seen = hourly("02:01", "00:30");
  const auto why = [&] {
    const std::string told = condition(plan(seen), v1::kBackupStale);
    EXPECT_TRUE(told.starts_with("True/NoRecentSnapshot: ")) << told;
    return told.substr(told.find("; ") + 2);
  };
  EXPECT_EQ(why(), "no run was started");
  seen.refused = {"create-deletion", "exceeded quota"};
  EXPECT_EQ(why(), "no run was started") << "a deletion stores nothing";
  seen.refused->step = "create-snapshot";
  EXPECT_EQ(why(), "no EtcdSnapshot can be created: exceeded quota");
  add_failed(seen, "01:00");
  EXPECT_EQ(why(), "db-202611230100 failed (DestinationUnreachable): no route");
}

TEST(SchedulePlan, AnIntervalIsAsLongAsItIsThere) {
  Observation seen = hourly("18:00", "2026-11-22T00:00:00Z");
  seen.schedule.spec.schedule = "0 9-17 * * *";
  add_stored(seen, "17:00");
  const auto stale = [&](const char* now) {
    Observation then = seen;
    then.now = at(now);
    return condition(plan(then), v1::kBackupStale).substr(0, 4) == "True";
  };
  EXPECT_FALSE(stale("23:59"));
  EXPECT_FALSE(stale("2026-11-24T09:01:00Z")) << "the night is one interval";
  EXPECT_FALSE(stale("2026-11-24T09:30:00Z"));
  EXPECT_TRUE(stale("2026-11-24T09:31:00Z"));
  EXPECT_TRUE(stale("2026-11-29T12:00:00Z"));
}

TEST(SchedulePlan, ItLooksAgainWhenSomethingMayHaveChanged) {
  Observation seen = hourly("01:05");
  add_stored(seen, "01:00");
  EXPECT_EQ(plan(seen).again, 5min) << "a clock may be set";
  seen.now = at("01:58");
  EXPECT_EQ(plan(seen).again, 2min) << "the next run";
  add_failed(seen, "02:00");
  seen.now = at("02:28");
  EXPECT_EQ(plan(seen).again, 141s) << "when the last snapshot becomes stale";
  seen.now = seen.now + 141s;
  EXPECT_TRUE(condition(plan(seen), v1::kBackupStale).starts_with("True/"));
  EXPECT_EQ(plan(seen).again, 5min);
  seen.runs.back().phase = v1::kSnapshotStarted;
  EXPECT_EQ(plan(seen).again, 10s);
}

// --- Keeping -------------------------------------------------------------------------------------

TEST(SchedulePlan, WithoutRetentionAllThatIsStoredIsKept) {
  Observation seen = hourly("06:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00", "05:00", "06:00"})
    add_stored(seen, planned);
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied), "none");
}

TEST(SchedulePlan, EachWayToKeepIsKept) {
  v1::EtcdSnapshotScheduleSpec spec = hourly("04:30").schedule.spec;
  v1::SnapshotRetention& keep = spec.retention.emplace();
  keep.keep_last = 1;
  keep.keep_for = "2h";
  keep.keep_daily = 3;
  keep.keep_weekly = 4;
  keep.keep_monthly = 5;
  auto of = to_timetable(spec);
  ASSERT_TRUE(of) << of.error().message;
  EXPECT_EQ(of->retention->last, 1);
  EXPECT_EQ(of->retention->time, 2h);
  EXPECT_EQ(of->retention->days, 3);
  EXPECT_EQ(of->retention->weeks, 4);
  EXPECT_EQ(of->retention->months, 5);
}

TEST(SchedulePlan, WhatHasExpiredGoesTheOldestFirstAndWhatIsStoredBeforeItsObject) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 2);
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  add_deletion(seen.runs[0], "04:30");
  EXPECT_EQ(step_of(seen), "none") << "one at a time";
  EXPECT_EQ(plan(seen).again, 10s);
  add_deletion(seen.runs[0], "04:30", "Complete");
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied), "none") << "it is still there";
  seen.runs[0].terminating = true;
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230200");
  seen.runs.erase(seen.runs.begin(), seen.runs.begin() + 2);
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "True/ExpiredDeleted: all expired snapshots are deleted");
  seen.schedule.status = plan(seen).status;
  seen.schedule.spec.retention.reset();
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied), "none");
}

TEST(SchedulePlan, ADueRunGoesBeforeADeletion) {
  Observation seen = hourly("03:00");
  for (const char* planned : {"01:00", "02:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230300");
}

TEST(SchedulePlan, ADeletionThatWasBegunIsFinishedWhateverIsToBeKeptByNow) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  add_deletion(seen.runs[0], "04:10", "Complete");
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100");
}

TEST(SchedulePlan, ADeletionThatFailsIsToldAndTriedAgainWithTheNextRun) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 2);
  DeletionSeen& job = add_deletion(seen.runs[0], "04:01", "Failed");
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: db-202611230100 has expired and cannot be deleted: its Job "
            "failed (BackoffLimitExceeded) without a report");
  job.status.conditions.front().reason = "";
  job.status.conditions.front().message = "Job was active longer than specified deadline";
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: db-202611230100 has expired and cannot be deleted: its Job "
            "failed (Job was active longer than specified deadline) without a report");
  job.reason = v1::kDestinationAccessDenied;
  job.message = "s3:DeleteObject is not allowed";
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: db-202611230100 has expired and cannot be deleted: "
            "s3:DeleteObject is not allowed (DestinationAccessDenied)");
  add_stored(seen, "05:00");
  seen = after(seen, "05:01");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230200") << "the others have their turn";
  seen.runs.erase(seen.runs.begin() + 1, seen.runs.begin() + 3);
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100");
  seen.runs[0].deletion->terminating = true;
  EXPECT_EQ(step_of(seen), "none");
  seen.runs[0].deletion.reset();
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  add_deletion(seen.runs[0], "05:02");
  EXPECT_TRUE(condition(plan(seen), v1::kRetentionApplied).starts_with("False/RetentionFailed"))
      << "until it has worked";
}

TEST(SchedulePlan, ADeletionThatFailedByAClockThatWasAheadIsNotWaitedForUntilThen) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  add_deletion(seen.runs[0], "2027-01-01T00:00:00Z", "Failed");
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100");
}

TEST(SchedulePlan, ADeletionThatFailedBeforeAnyRunWaitsForTheFirst) {
  Observation seen = hourly("00:40");
  RunSeen& ahead = add_stored(seen, "2027-01-01T00:00:00Z");
  ahead.made = at("00:34");
  add_deletion(ahead, "00:35", "Failed");
  EXPECT_EQ(plan(seen).status.last_schedule_time, std::nullopt) << "that is still to come";
  EXPECT_EQ(step_of(seen), "none");
  add_stored(seen, "01:00");
  seen.now = at("01:01");
  EXPECT_EQ(step_of(seen), "drop-deletion db-202701010000");
}

TEST(SchedulePlan, ADeletionThatDoesNotEndIsTriedAgain) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  add_deletion(seen.runs[0], "04:11");
  EXPECT_EQ(step_of(seen), "none");
  seen.now = at("04:31");
  EXPECT_EQ(step_of(seen), "none") << "our clock may be ahead";
  EXPECT_TRUE(condition(plan(seen), v1::kRetentionApplied).ends_with("does not end"));
  add_stored(seen, "05:00");
  seen.now = at("04:30");
  EXPECT_EQ(step_of(seen), "none") << "our clock is behind";
  seen.now = at("05:01");
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100");
  seen.runs[0].deletion->terminating = true;
  EXPECT_EQ(step_of(seen), "none") << "the next one waits for its Pod";
}

TEST(SchedulePlan, AClockThatIsOffDoesNotTryADeletionAgainAndAgain) {
  for (const char* now : {"00:05", "04:10", "12:00"}) {
    Observation seen = hourly(now);
    for (const char* planned : {"01:00", "03:00", "04:00"}) add_stored(seen, planned);
    seen.schedule.status.last_schedule_time = to_rfc3339(at(now));
    keep_last(seen, 1);
    add_deletion(seen.runs[0], "04:01", "Failed");
    EXPECT_EQ(step_of(seen), "none") << now;
    EXPECT_TRUE(condition(plan(seen), v1::kRetentionApplied).starts_with("False/RetentionFailed"));
  }
}

TEST(SchedulePlan, ARunOfTheSameSecondIsNotTheNext) {
  Observation seen = hourly("04:10");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  add_deletion(seen.runs[0], "04:00", "Failed");
  EXPECT_EQ(step_of(seen), "none");
}

/// For example, the bucket of the first is deleted.
TEST(SchedulePlan, ADeletionThatFailsHoldsUpTheOthersUntilTheNextRunOnly) {
  Observation seen = hourly("05:10");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00", "05:00"})
    add_stored(seen, planned);
  keep_last(seen, 2);
  add_deletion(seen.runs[0], "05:01", "Failed");
  seen.runs[0].expired = true;
  EXPECT_EQ(step_of(seen), "none") << "what it met, the next one may meet";
  seen.runs[0].deletion->made = at("04:01");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230200");
  EXPECT_TRUE(condition(plan(seen), v1::kRetentionApplied)
                  .starts_with("False/RetentionFailed: db-202611230100 has expired"));
  seen.runs[1].expired = true;
  add_deletion(seen.runs[1], "05:02");
  EXPECT_EQ(step_of(seen), "none") << "one at a time";
  add_deletion(seen.runs[1], "05:02", "Failed");
  EXPECT_EQ(step_of(seen), "none") << "and one that fails";
  seen.runs.erase(seen.runs.begin() + 1);
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230300");
  seen.runs.erase(seen.runs.begin() + 1);
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100") << "all others are gone";
  seen.runs[0].expired = false;  // A user removed the mark.
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100");
}

TEST(SchedulePlan, OfThoseThatFailedBeforeTheFirstIsTriedAgain) {
  Observation seen = hourly("04:10");
  for (const char* planned : {"01:00", "02:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  add_deletion(seen.runs[0], "03:02", "Failed");
  add_deletion(seen.runs[1], "03:01", "Failed");
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230200");
}

TEST(SchedulePlan, OnlyOfWhatMightGoItIsAskedWhoNeedsIt) {
  Observation seen = hourly("03:10");
  for (const char* planned : {"01:00", "02:00", "03:00"}) add_stored(seen, planned);
  EXPECT_TRUE(going(seen).empty());
  keep_last(seen, 2);
  EXPECT_EQ(going(seen), std::vector<std::string>{"db-202611230100"});
  seen.schedule.spec.schedule = "no cron";
  EXPECT_TRUE(going(seen).empty());
  seen.runs[1].expired = true;
  EXPECT_EQ(going(seen), std::vector<std::string>{"db-202611230200"});
  seen.runs[1].ours = false;
  EXPECT_TRUE(going(seen).empty());
}

TEST(SchedulePlan, WhatWasSaidToGoStaysWhereNothingElseIsStoredByThen) {
  Observation seen = hourly("02:10");
  add_stored(seen, "01:00").expired = true;
  add_stored(seen, "02:00").cluster_id = "another";
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: db-202611230100 has expired and stays: its cluster has no "
            "other good snapshot");
  seen.runs[1].cluster_id.clear();
  seen.runs[1].fault = "SnapshotBroken: cut off";
  EXPECT_EQ(step_of(seen), "none") << "of two the one that may be good stays";
  seen.runs[1].fault.clear();
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  seen.runs[1].terminating = true;
  EXPECT_EQ(step_of(seen), "none");
  seen.runs[1].terminating = false;
  seen.runs[0].proven = true;
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_TRUE(condition(plan(seen), v1::kRetentionApplied)
                  .ends_with("its cluster has no other verified snapshot"));
  seen.runs[1].proven = true;
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
}

TEST(SchedulePlan, ARunThatIsRefusedKeepsNothingFromBeingDeletedOrProven) {
  Observation seen = hourly("05:10");
  for (const char* planned : {"01:00", "02:00"}) add_stored(seen, planned);
  seen.schedule.status.last_schedule_time = "2026-11-23T04:00:00Z";
  keep_last(seen, 1);
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230500");
  seen.refused = {"create-snapshot", "exceeded quota"};
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kReady),
            "False/ObjectRejected: EtcdSnapshot db-202611230500 cannot be created: exceeded quota");
  keep_last(seen, 2);
  EXPECT_EQ(step_of(seen), "create-snapshot db-202611230500") << "nothing makes room";
}

TEST(SchedulePlan, WhatCannotBeDeletedAsAnObjectIsTold) {
  Observation seen = hourly("05:10");
  for (const char* planned : {"01:00", "05:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  add_deletion(seen.runs[0], "05:01", "Complete");
  seen.refused = {"delete-snapshot", "no deletions here"};
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/ObjectRejected: EtcdSnapshot db-202611230100 cannot be deleted: no deletions "
            "here");
  add_deletion(seen.runs[0], "04:01", "Failed");
  seen.refused->step = "drop-deletion";
  EXPECT_EQ(step_of(seen), "drop-deletion db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/ObjectRejected: Job db-202611230100-delete cannot be deleted: no deletions "
            "here");
}

TEST(SchedulePlan, WhatCannotBeDeletedForSureIsLeftAndTheNextIsNot) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  seen.runs[0].displaced = true;
  add_deletion(seen.runs[1], "04:00", "Complete").ours = false;
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230300");
  seen.runs.erase(seen.runs.begin() + 2);
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: Job db-202611230200-delete exists and does not belong to this "
            "EtcdSnapshot");
  seen.runs.erase(seen.runs.begin() + 1);
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/RetentionFailed: db-202611230100 has expired and stays: its data, "
            "s3://backups/db-202611230100.db, is not where its spec says");
}

TEST(SchedulePlan, WithoutAnImageOrAgainstAQuotaNothingIsDeleted) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  seen.refused = {"create-deletion", "exceeded quota"};
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied),
            "False/ObjectRejected: Job db-202611230100-delete cannot be created: exceeded quota");
  seen.refused->step = "create-snapshot";
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  EXPECT_EQ(condition(plan(seen), v1::kRetentionApplied), "none") << "no Job was refused";
  seen.has_image = false;
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_TRUE(
      condition(plan(seen), v1::kRetentionApplied).starts_with("False/OperatorImageNotConfigured"));
}

TEST(SchedulePlan, WhatIsLeftOfAClusterThatIsGoneIsNotPushedOutByItsSuccessor) {
  Observation seen = hourly("05:30");
  for (const char* planned : {"01:00", "02:00"}) add_stored(seen, planned).cluster_id = "old";
  for (const char* planned : {"03:00", "04:00", "05:00"})
    add_stored(seen, planned).cluster_id = "new";
  keep_last(seen, 3);
  EXPECT_EQ(step_of(seen), "none");
  keep_last(seen, 1);
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230300");
  seen.runs.erase(seen.runs.begin() + 2, seen.runs.begin() + 4);
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100") << "and 02:00 stays";
  seen.runs.erase(seen.runs.begin());
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, AClockThatIsAheadMakesNothingOld) {
  Observation seen = hourly("05:30");
  for (const char* planned : {"03:00", "04:00", "05:00"}) add_stored(seen, planned);
  seen.schedule.spec.retention.emplace().keep_for = "2h30m";
  seen = after(seen, "2027-01-01T05:30:00Z");
  seen.schedule.status.last_schedule_time = "2027-01-01T05:00:00Z";
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, ARunThatWasLateIsAsOldAsItIs) {
  Observation seen = hourly("06:30");
  add_stored(seen, "01:00").made = at("05:00");
  add_stored(seen, "06:00");
  seen.schedule.spec.retention.emplace().keep_for = "2h";
  EXPECT_EQ(step_of(seen), "none");
  seen.runs[0].made = at("03:00");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
}

TEST(SchedulePlan, TheNewestStaysWhateverItsAge) {
  Observation seen = hourly("2026-12-23T00:30:00Z");
  add_stored(seen, "01:00");
  seen.schedule.status.last_schedule_time = "2026-12-23T00:00:00Z";
  seen.schedule.spec.retention.emplace().keep_for = "1h30m";
  EXPECT_EQ(step_of(seen), "none");
  add_stored(seen, "2026-12-22T23:00:00Z");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
}

TEST(SchedulePlan, OfThoseThatFailedTheNewestThreeStay) {
  Observation seen = hourly("05:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00", "05:00"})
    add_failed(seen, planned);
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100");
  seen.runs[0].uri = "s3://backups/x.db";  // It has stored data: it is not deleted lightly.
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230200");
  seen.runs.erase(seen.runs.begin() + 1);
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, SnapshotsOfSomebodyElseAreNeverDeleted) {
  Observation seen = hourly("06:30");
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00", "05:00"})
    add_failed(seen, planned).ours = false;
  for (const char* planned : {"01:10", "02:10", "03:10"}) add_stored(seen, planned).ours = false;
  add_stored(seen, "06:00");
  keep_last(seen, 1);
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, APassAndWhatItSawSurviveJson) {
  Observation seen = hourly("04:30");
  for (const char* planned : {"01:00", "04:00"}) add_stored(seen, planned);
  keep_last(seen, 1);
  add_deletion(seen.runs[0], "04:10", "Failed");
  seen.refused = {"create-deletion", "no"};
  Observation read;
  ASSERT_TRUE(api::decode(api::encode(seen), read, "it"));
  EXPECT_EQ(read, seen);
  const Plan planned = plan(seen);
  Plan copy;
  ASSERT_TRUE(api::decode(api::encode(planned), copy, "it"));
  EXPECT_EQ(copy, planned);
}

// --- Objects -------------------------------------------------------------------------------------

TEST(BackupsObjects, ARunIsNamedByItsTimeAndReadBack) {
  EXPECT_EQ(run_name("db", at("19:30")), "db-202611231930");
  EXPECT_EQ(planned_of("db", "db-202611231930"), at("19:30"));
  for (const char* other :
       {"db-20261123193", "db-2026112319300", "db2-202611231930", "db-2026112319x0",
        "db-2026112319-1", "db-202613231930", "dbx202611231930", "db-202611231960"})
    EXPECT_EQ(planned_of("db", other), std::nullopt) << other;
}

TEST(BackupsObjects, TheSnapshotSaysWhoseItIsAndTakesTheTemplate) {
  Observation seen = hourly("01:00");
  v1::SnapshotTemplate& from = seen.schedule.spec.snapshot;
  from.destination.s3.emplace().bucket = "backups";
  from.metadata.emplace().labels = {{"team", "storage"}, {v1::kScheduleLabel, "other"}};
  from.pod.emplace().service_account_name = "writer";
  const Json made = snapshot(seen.schedule, "db-202611230100");
  EXPECT_EQ(made.at("metadata").at("labels"),
            (Json{{v1::kScheduleLabel, "db"}, {"team", "storage"}}));
  EXPECT_EQ(made.at("metadata").at("ownerReferences").at(0).at("uid").as_string(), "sch-1");
  v1::EtcdSnapshot read;
  ASSERT_TRUE(api::decode(made, read, "it"));
  EXPECT_EQ(read.spec.cluster_ref.name, "db");
  EXPECT_EQ(read.spec.destination, from.destination);
  EXPECT_EQ(read.spec.pod, from.pod);
}

TEST(BackupsObjects, TheDeletingPodKnowsTheDestinationAndNothingOfEtcd) {
  v1::EtcdSnapshot of;
  of.metadata.name = "db-202611230100";
  of.metadata.ns = "prod";
  of.metadata.uid = "s-1";
  of.spec.cluster_ref.name = "db";
  v1::S3Location& s3 = of.spec.destination.s3.emplace();
  s3.bucket = "backups";
  s3.key = "$(HOME)/nightly";
  s3.credentials_secret_ref.name = "keys";
  v1::EtcdCluster cluster;
  cluster.spec.image_pull_secrets.push_back({"pull"});
  const Json made = deletion(of, cluster, "op:1");
  EXPECT_EQ(made.at("metadata").at("name").as_string(), "db-202611230100-delete");
  EXPECT_EQ(made.at("metadata").at("labels"),
            (Json{{v1::kClusterLabel, "db"}, {v1::kSnapshotLabel, "db-202611230100"}}));
  EXPECT_EQ(made.at("metadata").at("ownerReferences").at(0).at("kind").as_string(), "EtcdSnapshot");
  const Json& spec = made.at("spec").at("template").at("spec");
  const Json& agent = spec.at("containers").at(0);
  EXPECT_EQ(agent.at("command"), (json::array{"/manager", "delete-agent"}));
  EXPECT_EQ(agent.at("image").as_string(), "op:1");
  EXPECT_EQ(spec.at("imagePullSecrets"), (json::array{json::object{{"name", "pull"}}}));
  std::string names;
  for (const Json& one : agent.at("env").as_array())
    names += std::string(one.at("name").as_string()) + " ";
  EXPECT_EQ(names,
            "SNAPSHOT_NAME SNAPSHOT_UID SNAPSHOT_DEST_KIND S3_ENDPOINT S3_BUCKET S3_KEY S3_REGION "
            "S3_FORCE_PATH_STYLE AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN ");
  EXPECT_EQ(agent.at("env").at(1).at("value").as_string(), "s-1");
  EXPECT_EQ(agent.at("env").at(5).at("value").as_string(), "$$(HOME)/nightly");
  EXPECT_EQ(made.at("spec").at("podFailurePolicy").at("rules").at(0).at("onExitCodes").at("values"),
            json::array{3});
  EXPECT_EQ(
      made.at("spec").at("template").at("metadata").at("labels").at(v1::kSnapshotLabel).as_string(),
      of.metadata.name);
  cluster.spec.additional_metadata.emplace().labels["team"] = "blue";
  const Json both = deletion(of, cluster, "op:1");
  EXPECT_EQ(both.at("metadata").at("labels").at("team").as_string(), "blue");
  EXPECT_EQ(both.at("spec").at("template").at("metadata").at("labels").at("team").as_string(),
            "blue");
}

TEST(BackupsObjects, ItIsSeenWhetherTheStoredSnapshotIsWhereTheSpecSays) {
  v1::EtcdSnapshot of;
  of.metadata.name = "x";
  of.spec.destination.s3.emplace().bucket = "b";
  EXPECT_FALSE(is_displaced(of)) << "nothing is stored";
  of.status.artifact.emplace().uri = "s3://b/x.db";
  EXPECT_FALSE(is_displaced(of));
  of.spec.destination.s3->key = "/a//b/";
  EXPECT_TRUE(is_displaced(of));
  of.status.artifact->uri = "s3://b/a/b/x.db";
  EXPECT_FALSE(is_displaced(of));
  of.spec.destination.s3->bucket = "c";
  EXPECT_TRUE(is_displaced(of));
  of.spec.destination.s3.reset();
  of.spec.destination.pvc.emplace().sub_path = "a";
  EXPECT_TRUE(is_displaced(of));
  of.status.artifact->uri = "file:///snapshot/data/a/x.db";
  EXPECT_FALSE(is_displaced(of));
}

// --- Proving -------------------------------------------------------------------------------------

/// Hourly; that many runs make a round.
Observation proving(const std::string& now, int every) {
  Observation seen = hourly(now);
  seen.schedule.spec.verify.emplace().every = every;
  return seen;
}
/// Its verification of that round has ended.
void prove(RunSeen& run, const std::string& round, const std::string& ended,
           const char* verdict = "True") {
  v1::SnapshotVerification& it = run.verification.emplace();
  it.request = run_name("db", at(round));
  it.time = to_rfc3339(at(ended));
  it.revision = 42;
  it.hash_kv = 7;
  it.keys = 3;
  it.duration_seconds = 5;
  run.verified = verdict;
  run.proven = run.verified == "True";
  run.fault = run.proven ? "" : "SnapshotDiffers: so it is";
}

TEST(SchedulePlan, WhatIsStoredIsVerifiedAndWithItAllThatIsKeptOneAtATime) {
  Observation seen = proving("01:10", 1);
  add_stored(seen, "01:00");
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230100, round db-202611230100");
  seen = after(seen, "02:10");
  prove(seen.runs[0], "01:00", "01:11");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "False/BackupVerified: db-202611230100 was verified at 2026-11-23T01:11:00Z");
  add_stored(seen, "02:00");
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230200, round db-202611230200");
  seen = after(seen, "02:11");
  seen.runs[1].verifying = true;
  EXPECT_EQ(step_of(seen), "none") << "one at a time";
  seen.runs[1].verifying = false;
  prove(seen.runs[1], "02:00", "02:11");
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230100, round db-202611230200");
  prove(seen.runs[0], "02:00", "02:12");
  EXPECT_EQ(step_of(seen), "none") << "that was the round";
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "False/BackupVerified: db-202611230200 was verified at 2026-11-23T02:11:00Z")
      << "it is not 02:12 yet";
  const auto& last = plan(seen).status.last_verified;
  ASSERT_TRUE(last);
  EXPECT_EQ(last->hash_kv, 7);
  EXPECT_EQ(last->keys, 3);
  EXPECT_EQ(last->duration_seconds, 5);
}

TEST(SchedulePlan, TheOneThatWasVerifiedLongestAgoComesFirst) {
  Observation seen = proving("04:10", 1);
  for (const char* planned : {"01:00", "02:00", "03:00", "04:00"}) add_stored(seen, planned);
  prove(seen.runs[0], "03:00", "03:12");
  prove(seen.runs[1], "03:00", "03:11");
  EXPECT_EQ(step_of(seen).substr(0, 33), "ask-verification db-202611230400,");
  prove(seen.runs[3], "04:00", "04:09");
  EXPECT_EQ(step_of(seen).substr(0, 33), "ask-verification db-202611230300,") << "it never was";
  prove(seen.runs[2], "04:00", "04:10");
  EXPECT_EQ(step_of(seen).substr(0, 33), "ask-verification db-202611230200,");
  prove(seen.runs[1], "03:00", "03:13");
  EXPECT_EQ(step_of(seen).substr(0, 33), "ask-verification db-202611230100,")
      << "not the newer one";
}

TEST(SchedulePlan, WhatIsReadOnBehalfOfOthersOrIsAboutToGoHoldsUpNoVerification) {
  Observation seen = proving("02:10", 1);
  add_stored(seen, "01:00").verifying = true;
  add_stored(seen, "02:00");
  EXPECT_EQ(step_of(seen), "none") << "one at a time";
  seen.runs[0].terminating = true;
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230200, round db-202611230200");
  seen.runs[0].terminating = false;
  seen.runs[0].ours = false;
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230200, round db-202611230200");
}

TEST(SchedulePlan, WhatHasAClockThatWasAheadToThankForItsNameIsOfNoRound) {
  Observation seen = proving("00:40", 1);
  add_stored(seen, "2027-01-01T00:00:00Z");
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(plan(seen).status.verify_round, "");
  seen.now = at("2027-01-01T00:00:00Z");
  EXPECT_EQ(step_of(seen), "ask-verification db-202701010000, round db-202701010000");
}

TEST(SchedulePlan, WhatHasEndedAndDoesNotSayWhatItStoredBeginsNoRound) {
  Observation seen = proving("02:10", 1);
  add_stored(seen, "01:00");
  add_run(seen, "02:00", v1::kSnapshotComplete);
  EXPECT_EQ(plan(seen).status.verify_round, "db-202611230100");
  seen = after(seen, "02:11");
  prove(seen.runs[0], "01:00", "02:11");
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(plan(seen).status.stored_since_round, 0);
}

TEST(SchedulePlan, TheLastVerificationIsOneThatSaysWhenItWas) {
  Observation seen = proving("03:10", 1);
  prove(add_stored(seen, "01:00"), "01:00", "01:11");
  seen = after(seen, "03:10");
  const auto first = seen.schedule.status.last_verified;
  ASSERT_TRUE(first);
  prove(add_stored(seen, "02:00"), "02:00", "02:11");
  RunSeen& newer = seen.runs.back();
  newer.verification->time = "this morning";
  EXPECT_EQ(plan(seen).status.last_verified, first);
  newer.verification->time.reset();
  EXPECT_EQ(plan(seen).status.last_verified, first);
  newer.verification.reset();
  EXPECT_EQ(plan(seen).status.last_verified, first);
  prove(newer, "02:00", "02:11");
  EXPECT_EQ(plan(seen).status.last_verified->snapshot, "db-202611230200");
}

TEST(SchedulePlan, AVerificationThatAClockAheadPutIntoTheFutureIsNone) {
  Observation seen = proving("03:59", 2);
  seen.schedule.status.last_verified.emplace().time = "2027-01-01T00:00:00Z";
  seen.schedule.status.last_verified->snapshot = "db-202701010000";
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "False/BackupVerified: no verification was due yet");
  seen.now = at("04:01");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationOverdue: no snapshot was verified since this schedule was created, "
            "2026-11-23T00:30:00Z");
  prove(add_stored(seen, "03:00"), "03:00", "03:30");
  EXPECT_EQ(plan(seen).status.last_verified->snapshot, "db-202611230300");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "False/BackupVerified: db-202611230300 was verified at 2026-11-23T03:30:00Z");
}

TEST(SchedulePlan, AnOlderVerificationIsNotTheLast) {
  Observation seen = proving("03:30", 2);
  seen.schedule.status.last_verified.emplace().time = "2026-11-23T03:30:00Z";  // Now.
  seen.schedule.status.last_verified->snapshot = "db-202611230300";
  prove(add_stored(seen, "02:00"), "02:00", "02:30");
  EXPECT_EQ(plan(seen).status.last_verified->snapshot, "db-202611230300");
}

TEST(SchedulePlan, ARoundBeginsAfterSoManyStoredSnapshots) {
  Observation seen = proving("01:10", 3);
  add_stored(seen, "01:00");
  EXPECT_EQ(plan(seen).status.verify_round, "db-202611230100") << "the first, at once";
  seen = after(seen, "01:11");
  prove(seen.runs[0], "01:00", "01:11");
  for (const char* planned : {"02:00", "03:00"}) {
    add_stored(seen, planned);
    seen.now = at(planned + std::string(":10"));
    seen = after(seen, planned + std::string(":20"));
    EXPECT_EQ(seen.schedule.status.verify_round, "db-202611230100");
    EXPECT_EQ(step_of(seen), "none");
  }
  EXPECT_EQ(seen.schedule.status.stored_since_round, 2);
  seen.runs.erase(seen.runs.begin());
  add_failed(seen, "04:00");
  seen.now = at("04:10");
  seen = after(seen, "04:11");
  EXPECT_EQ(seen.schedule.status.stored_since_round, 2) << "each counts once, if it is stored";
  add_stored(seen, "05:00");
  seen.now = at("05:10");
  seen = after(seen, "05:11");
  EXPECT_EQ(seen.schedule.status.verify_round, "db-202611230500");
  EXPECT_EQ(seen.schedule.status.stored_since_round, 0);
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230500, round db-202611230500");
  seen.schedule.spec.suspend = true;
  EXPECT_EQ(step_of(seen), "none");
  seen.schedule.spec.suspend = false;
  seen.schedule.spec.verify.reset();
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(plan(seen).status.verify_round, "");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified), "none");
}

TEST(SchedulePlan, WhatIsOnItsWayOutIsNotVerifiedAndWhatIsVerifiedNotDeleted) {
  Observation seen = proving("02:10", 1);
  keep_last(seen, 1);
  add_stored(seen, "01:00");
  add_stored(seen, "02:00");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  seen.runs[0].verifying = true;
  EXPECT_EQ(step_of(seen), "none") << "it is read, and one is verified at a time";
  EXPECT_EQ(plan(seen).again, 10s);
  seen.runs[0].verifying = false;
  prove(seen.runs[0], "01:00", "01:10");
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230200, round db-202611230200")
      << "the newest that is verified stays";
  seen.runs[0].verified = "False";
  seen.runs[0].fault = "SourceUnreachable: the store is away";
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230200, round db-202611230200")
      << "also when nobody could look at it again";
  prove(seen.runs[1], "02:00", "02:09");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  seen.runs[0].needed_by = "EtcdCluster prod/db-restored";
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(plan(seen).again, 10s);
}

TEST(SchedulePlan, WhatWasSaidToGoGoesWhateverIsToBeKeptByNow) {
  Observation seen = proving("02:10", 1);
  keep_last(seen, 9);
  add_stored(seen, "01:00").expired = true;
  add_stored(seen, "02:00");
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  seen.schedule.spec.retention.reset();
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  add_deletion(seen.runs[0], "02:10", "Complete");
  EXPECT_EQ(step_of(seen), "delete-snapshot db-202611230100");
}

TEST(SchedulePlan, WhatWasSaidToGoGoesOnceItCan) {
  Observation seen = hourly("02:10");
  add_stored(seen, "01:00").expired = true;
  add_stored(seen, "02:00");
  RunSeen& going = seen.runs.front();
  going.verifying = true;
  EXPECT_EQ(step_of(seen), "none") << "it is being read";
  EXPECT_EQ(plan(seen).again, 10s);
  going.verifying = false;
  EXPECT_EQ(step_of(seen), "create-deletion db-202611230100");
  going.terminating = true;
  EXPECT_EQ(step_of(seen), "none") << "somebody has deleted its object";
  going.terminating = false;
  for (const char* phase : {v1::kSnapshotStarted, v1::kSnapshotFailed}) {
    going.phase = phase;
    EXPECT_EQ(step_of(seen), "none") << phase;
  }
}

TEST(SchedulePlan, WhatIsBeingDeletedIsNotVerifiedAnyMore) {
  Observation seen = proving("02:10", 1);
  add_stored(seen, "01:00");
  prove(add_stored(seen, "02:00"), "02:00", "02:09");
  EXPECT_EQ(step_of(seen), "ask-verification db-202611230100, round db-202611230200");
  add_deletion(seen.runs[0], "02:09");
  EXPECT_EQ(step_of(seen), "none");
}

TEST(SchedulePlan, ItIsToldWhileOneThatIsKeptIsKnownToBeBad) {
  Observation seen = proving("02:10", 1);
  EXPECT_EQ(condition(plan(proving("00:40", 1)), v1::kBackupUnverified),
            "False/BackupVerified: no verification was due yet");
  prove(add_stored(seen, "01:00"), "02:00", "02:08", "False");
  prove(add_stored(seen, "02:00"), "02:00", "02:09");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationFailed: db-202611230100: SnapshotDiffers: so it is")
      << "though a newer one is good";
  prove(seen.runs[1], "02:00", "02:09", "False");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationFailed: db-202611230200: SnapshotDiffers: so it is; and 1 more");
  prove(seen.runs[1], "02:00", "02:09");
  seen.runs[0].verified = "Unknown";
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationFailed: db-202611230100: SnapshotDiffers: so it is")
      << "it is being verified again, which has not found anything yet";
  seen.runs[0].expired = true;
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "False/BackupVerified: db-202611230200 was verified at 2026-11-23T02:09:00Z");
}

TEST(SchedulePlan, ItIsOverdueOneAndAHalfIntervalsAfterItsRound) {
  Observation seen = proving("02:10", 2);
  prove(add_stored(seen, "01:00"), "01:00", "01:30");
  seen = after(seen, "04:59");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified).substr(0, 20), "False/BackupVerified");
  seen.now = at("05:01");
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationOverdue: no snapshot was verified since 2026-11-23T01:30:00Z");
  seen.refused = {"ask-verification", "no patches here"};
  EXPECT_TRUE(condition(plan(seen), v1::kBackupUnverified)
                  .ends_with("01:30:00Z; no verification can be requested: no patches here"));
  seen.now = at("04:59");
  EXPECT_TRUE(condition(plan(seen), v1::kBackupUnverified)
                  .ends_with("01:30:00Z; no verification can be requested: no patches here"));
  seen = proving("04:01", 2);
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified),
            "True/VerificationOverdue: no snapshot was verified since this schedule was created, "
            "2026-11-23T00:30:00Z");
  seen.schedule.spec.schedule = "no cron";
  EXPECT_EQ(condition(plan(seen), v1::kBackupUnverified).substr(0, 23), "Unknown/ScheduleInvalid");
}

}  // namespace
}  // namespace etcdop::snapshot_schedule
