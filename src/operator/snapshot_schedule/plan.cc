#include "operator/snapshot_schedule/plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "operator/snapshot_schedule/conditions.h"
#include "operator/snapshot_schedule/objects.h"
#include "operator/snapshot_schedule/timetable.h"
#include "runtime/conditions.h"
#include "schedule/due.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kFollowUp{1s};    // After a step.
constexpr milliseconds kLookAgain{10s};  // While something is under way; changes queue it as well.
constexpr milliseconds kLookMax{5min};   // The clock may jump, and backups may become stale.

/// One pass, while its status is being written.
class Keeping {
 public:
  explicit Keeping(const Observation& seen)
      : seen_(seen), spec_(seen.schedule.spec), timetable_(to_timetable(spec_)) {
    out_.status = seen.schedule.status;
  }

  /// The runs that are marked as expired, or no longer kept.
  std::vector<std::string> going() {
    std::vector<std::string> out;
    if (timetable_ && timetable_->retention) out = expired();
    for (const RunSeen& run : seen_.runs)
      if (run.ours && run.expired) out.push_back(run.name);
    return out;
  }

  Plan plan() && {
    tell_runs(seen_, status());
    if (!timetable_) {
      invalid(timetable_.error().message);
      return std::move(out_);
    }
    const schedule::Due due = due_now();
    status().next_schedule_time = due.next ? std::optional(to_rfc3339(*due.next)) : std::nullopt;
    say(v1::kBackupStale, staleness(seen_, *timetable_, status()));
    say(v1::kReady, start(due));
    tell_verification();
    if (!spec_.suspend) retain();
    if (!spec_.suspend && spec_.verify) verify();
    out_.again = again(due);
    return std::move(out_);
  }

 private:
  v1::EtcdSnapshotScheduleStatus& status() { return out_.status; }
  bool has_step() const { return !std::holds_alternative<NoStep>(out_.step); }

  void say(const char* type, const Verdict& v) {
    runtime::set_condition(status().conditions, {type, v.status, v.reason, v.message},
                           seen_.schedule.metadata.generation, seen_.now);
  }

  void forget(const char* type) {
    std::erase_if(status().conditions, [type](const auto& c) { return c.type == type; });
  }

  void invalid(const std::string& why) {
    status().next_schedule_time.reset();
    say(v1::kReady, {"False", v1::kScheduleInvalid, why});
    say(v1::kBackupStale, {"Unknown", v1::kScheduleInvalid, why});
    if (!spec_.verify) forget(v1::kBackupUnverified);
    else say(v1::kBackupUnverified, {"Unknown", v1::kScheduleInvalid, why});
    out_.again = status().active.empty() ? kLookMax : kLookAgain;
  }

  // --- Starting ----------------------------------------------------------------------------------

  WallTime made() const {
    const auto made = from_rfc3339(seen_.schedule.metadata.creation_timestamp);
    return std::min(made.value_or(seen_.now), seen_.now);
  }

  schedule::Due due_now() {
    const auto& last = status().last_schedule_time;
    schedule::DueQuestion asked;
    asked.last = (last ? from_rfc3339(*last) : std::nullopt).value_or(made());
    asked.now = seen_.now;
    if (const auto& most = spec_.starting_deadline_seconds)
      asked.starting_deadline = std::chrono::seconds(std::min(*most, kDeadlineMax));
    asked.suspended = spec_.suspend;
    return schedule::due(timetable_->cron, timetable_->zone, asked);
  }
  static constexpr std::int64_t kDeadlineMax = 10LL * 366 * 86400;

  /// The condition Ready.
  Verdict start(const schedule::Due& due) {
    if (spec_.suspend)
      return {"False", v1::kSuspended,
              "nothing is started, deleted or verified: spec.suspend is true"};
    const std::string next =
        due.next ? "the next run is at " + to_rfc3339(*due.next) : "there is no further run";
    if (!due.run) return {"True", v1::kScheduled, next};
    const std::string name = run_name(seen_.schedule.metadata.name, *due.run);
    const auto there = std::ranges::find(seen_.runs, name, &RunSeen::name);
    if (there != seen_.runs.end() && !there->ours)
      return {"False", v1::kSnapshotNameTaken,
              "EtcdSnapshot " + name + " exists and does not belong to this schedule; " + next};
    const std::string before = has_to_wait_for();
    const bool replaces = has_step();
    if (replaces && is_refused(DeleteSnapshot::traits.word))
      return {"False", v1::kObjectRejected,
              "EtcdSnapshot " + before +
                  " has not ended, and cannot be deleted: " + seen_.refused->why};
    if (!before.empty())
      return {"True", v1::kScheduled,
              "the run of " + to_rfc3339(*due.run) + " waits for the end of " + before};
    out_.step = CreateSnapshot{name};
    if (is_refused(CreateSnapshot::traits.word))
      return {"False", v1::kObjectRejected,
              "EtcdSnapshot " + name + " cannot be created: " + seen_.refused->why};
    return {"True", v1::kScheduled, next};
  }

  /// The run that the next run waits for; empty: none. With Replace, it is deleted first.
  std::string has_to_wait_for() {
    const auto active = std::ranges::find_if(
        seen_.runs, [](const RunSeen& run) { return run.ours && run.active(); });
    if (spec_.concurrency_policy == v1::ConcurrencyPolicy::Allow || active == seen_.runs.end())
      return "";
    if (spec_.concurrency_policy == v1::ConcurrencyPolicy::Replace && !active->terminating)
      out_.step = DeleteSnapshot{active->name, active->uid, true};
    return active->name;
  }

  // --- Keeping -----------------------------------------------------------------------------------

  /// Deletes at most one stored snapshot at a time, and between two runs at most one deletion
  /// fails: the next one may fail for the same reason. After the next run the others have their
  /// turn before it is tried again, as it may be the only one that fails, for example if its bucket
  /// is deleted.
  void retain() {
    if (!timetable_->retention) forget(v1::kRetentionApplied);
    if (is_deleting() || drop_failed() || go_on_deleting()) return;
    if (timetable_->retention && delete_expired()) return;
    if (try_again() || !timetable_->retention || fell_short_) return;
    say(v1::kRetentionApplied, {"True", v1::kExpiredDeleted, "all expired snapshots are deleted"});
  }

  void fall_short(const std::string& why, const char* reason = v1::kRetentionFailed) {
    fell_short_ = true;
    say(v1::kRetentionApplied, {"False", reason, why});
  }
  /// A run that is due goes first, unless it is refused, for example for a quota in which this
  /// makes room.
  void step(Step next) {
    const bool refused = std::holds_alternative<CreateSnapshot>(out_.step) &&
                         is_refused(CreateSnapshot::traits.word);
    if (!has_step() || refused) out_.step = std::move(next);
  }

  static bool has_job(const RunSeen& run) {
    return run.ours && !run.terminating && run.deletion && run.deletion->ours;
  }
  /// True: nothing else may begin.
  bool is_deleting() {
    bool out = false;
    for (const RunSeen& run : seen_.runs)
      if (has_job(run)) {
        under_way_ = true;
        out = holds_up_others(run) || out;
      }
    return out;
  }
  /// A deletion that has begun is finished, whatever is to be kept now: it is unknown how much is
  /// left.
  bool holds_up_others(const RunSeen& run) {
    const DeletionSeen& job = *run.deletion;
    if (job.status.is("Complete")) {
      remove_object(run);
      return true;
    }
    if (const auto* failed = job.status.is("Failed")) {
      cannot_delete(run, why(job, *failed));
      return job.terminating || !is_past(job);
    }
    if (seen_.now - job.made >= kDeletionMax) {
      cannot_delete(run, "Job " + deletion_name(run.name) + " does not end");
      if (is_past(job)) drop(run);
    }
    return true;
  }
  void cannot_delete(const RunSeen& run, const std::string& because) {
    if (!fell_short_) fall_short(run.name + " has expired and cannot be deleted: " + because);
  }
  /// If the deletion is refused, the refusal is reported.
  void remove_object(const RunSeen& run) {
    if (is_refused(DeleteSnapshot::traits.word))
      fall_short("EtcdSnapshot " + run.name + " cannot be deleted: " + seen_.refused->why,
                 v1::kObjectRejected);
    step(DeleteSnapshot{run.name, run.uid});
  }
  bool is_refused(const char* word) const { return seen_.refused && seen_.refused->step == word; }
  static std::string why(const DeletionSeen& job, const kube::JobCondition& failed) {
    if (!job.reason.empty()) return job.message + " (" + job.reason + ")";
    return "its Job failed (" + (failed.reason.empty() ? failed.message : failed.reason) +
           ") without a report";
  }
  /// Whether a run was created since, by the API server's clock: ours may be a little off, and
  /// would retry at once, again and again. A difference of a day means that the API server's clock
  /// was wrong.
  bool is_past(const DeletionSeen& job) const {
    return job.made > seen_.now + 24h || std::ranges::any_of(seen_.runs, [&](const RunSeen& run) {
             return run.ours && run.made > job.made;
           });
  }
  void drop(const RunSeen& run) {
    if (run.deletion->terminating) return;
    if (is_refused(DropDeletion::traits.word))
      fall_short("Job " + deletion_name(run.name) + " cannot be deleted: " + seen_.refused->why,
                 v1::kObjectRejected);
    step(DropDeletion{run.name, run.deletion->uid});
  }
  /// Retries the deletion that failed first, of those that failed before the last run.
  bool try_again() {
    const RunSeen* first = nullptr;
    for (const RunSeen& run : seen_.runs)
      if (has_job(run) && (!first || run.deletion->made < first->deletion->made)) first = &run;
    if (first) drop(*first);
    return first;
  }

  /// They have no known stored data; the newest ones stay to show the cause.
  bool drop_failed() {
    std::vector<const RunSeen*> failed;
    for (const RunSeen& run : seen_.runs)
      if (run.ours && !run.terminating && run.failed() && run.uri.empty()) failed.push_back(&run);
    if (failed.size() <= kFailedKept) return false;
    remove_object(*failed.front());
    return true;
  }

  /// For a run whose Job does not exist yet, or was dropped to be created again: its remaining data
  /// may be without its manifest, and does not count as a backup.
  bool go_on_deleting() {
    for (const RunSeen& run : seen_.runs)
      if (run.ours && run.expired && !run.terminating && run.complete() && can_delete(run) &&
          !is_the_last(run))
        return make_deletion(run);
    return false;
  }
  /// Perhaps nothing of it is deleted yet, and the snapshots that were to be kept in its place may
  /// be deleted, or known to be bad, by now.
  bool is_the_last(const RunSeen& run) {
    const bool last = std::ranges::none_of(seen_.runs, [&](const RunSeen& other) {
      return other.kept() && other.cluster_id == run.cluster_id &&
             (other.proven || (!run.proven && other.fault.empty()));
    });
    if (last)
      fall_short(run.name + " has expired and stays: its cluster has no other " +
                 (run.proven ? "verified" : "good") + " snapshot");
    return last;
  }

  bool delete_expired() {
    for (const std::string& name : expired()) {
      const RunSeen& run = *std::ranges::find(seen_.runs, name, &RunSeen::name);
      if (can_delete(run)) return make_deletion(run);
    }
    return false;
  }
  bool make_deletion(const RunSeen& run) {
    if (!seen_.has_image) {
      fall_short(
          "the operator was started without --operator-image, the image of the Job: set this flag",
          v1::kOperatorImageNotConfigured);
      return true;
    }
    if (is_refused(CreateDeletion::traits.word))
      fall_short("Job " + deletion_name(run.name) + " cannot be created: " + seen_.refused->why,
                 v1::kObjectRejected);
    step(CreateDeletion{run.name, run.uid});
    return true;
  }
  /// Computed for each etcd cluster by itself: a new cluster's snapshots do not push out those of
  /// an earlier cluster with the same name. Ages are counted from the newest one, by the API
  /// server's clock: existing snapshots do not grow old if our clock is put forward, or if backups
  /// fail.
  std::vector<std::string> expired() {
    std::map<std::string, std::vector<schedule::StoredSnapshot>> stored;
    WallTime newest{};
    for (const RunSeen& run : seen_.runs) {
      if (!run.kept()) continue;
      stored[run.cluster_id].push_back(
          {run.name, run.made, run.proven ? schedule::Proof::Verified : schedule::Proof::Complete});
      newest = std::max(newest, run.made);
    }
    std::vector<std::string> out;
    for (auto& [cluster, of_it] : stored)
      std::ranges::move(schedule::expired(std::move(of_it), *timetable_->retention,
                                          timetable_->zone, std::min(seen_.now, newest)),
                        std::back_inserter(out));
    return out;
  }
  /// A snapshot that is being read is deleted later.
  bool can_delete(const RunSeen& run) {
    if (run.verifying || !run.needed_by.empty()) {
      under_way_ = true;
      return false;
    }
    if (has_job(run)) return false;  // It has failed.
    if (run.deletion)
      fall_short("Job " + deletion_name(run.name) +
                 " exists and does not belong to this EtcdSnapshot");
    else if (run.displaced)
      fall_short(run.name + " has expired and stays: its data, " + run.uri +
                 ", is not where its spec says");
    return !run.deletion && !run.displaced;
  }

  // --- Verifying ---------------------------------------------------------------------------------

  void tell_verification() {
    if (spec_.verify) return say(v1::kBackupUnverified, proof(seen_, *timetable_, status()));
    forget(v1::kBackupUnverified);
    status().verify_round.clear();
    status().stored_since_round = 0;
  }

  /// One at a time: first the newest of those never verified, then the one verified longest ago. A
  /// snapshot that is about to be deleted is not worth it.
  void verify() {
    const auto is_open = [](const RunSeen& run) {
      return run.ours && !run.terminating && run.verifying;
    };
    if (std::ranges::any_of(seen_.runs, is_open)) {
      under_way_ = true;
      return;
    }
    const RunSeen* next = nullptr;
    const std::vector<std::string> going =
        timetable_->retention ? expired() : std::vector<std::string>();
    for (const RunSeen& run : seen_.runs)
      if (is_due(run) && std::ranges::find(going, run.name) == going.end() &&
          (!next || goes_before(run, *next)))
        next = &run;
    if (next) step(AskVerification{next->name, next->uid, status().verify_round});
  }
  bool is_due(const RunSeen& run) {
    const std::string& round = status().verify_round;
    const auto began = planned_of(seen_.schedule.metadata.name, round);
    if (!run.kept() || run.deletion || !began || run.planned > *began) return false;
    return !run.verification || run.verification->request != round;
  }
  static bool goes_before(const RunSeen& a, const RunSeen& b) {
    const auto last = [](const RunSeen& run) {
      return run.verification ? run.verification->time.value_or("") : "";
    };
    return last(a) == last(b) ? a.planned > b.planned : last(a) < last(b);
  }

  // --- The next pass -----------------------------------------------------------------------------

  /// The time until there is something to do, or backups become stale.
  milliseconds again(const schedule::Due& due) {
    if (has_step()) return kFollowUp;
    milliseconds out = kLookMax;
    if (under_way_ || !out_.status.active.empty() || due.run) out = kLookAgain;
    const auto next = schedule::next_run(timetable_->cron, timetable_->zone, seen_.now);
    if (next) out = std::min<milliseconds>(out, *next - seen_.now);
    const auto stale =
        exceeded_at(*timetable_, stored_last(seen_, out_.status), kStaleAfterIntervals, seen_.now);
    if (stale && *stale > seen_.now) out = std::min<milliseconds>(out, *stale - seen_.now);
    return std::max(out, kFollowUp);
  }

  const Observation& seen_;
  const v1::EtcdSnapshotScheduleSpec& spec_;
  Result<Timetable> timetable_;
  bool under_way_ = false;   // A deletion or verification, or a read that delays a deletion.
  bool fell_short_ = false;  // Something that has expired stays.
  Plan out_;
};

}  // namespace

Plan plan(const Observation& seen) { return Keeping(seen).plan(); }

std::vector<std::string> going(const Observation& seen) { return Keeping(seen).going(); }

}  // namespace etcdop::snapshot_schedule
