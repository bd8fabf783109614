#include "operator/backups/plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "operator/backups/conditions.h"
#include "operator/backups/objects.h"
#include "operator/backups/timetable.h"
#include "runtime/conditions.h"
#include "schedule/due.h"

namespace etcdop::backups {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kFollowUp{1s};    // After a step.
constexpr milliseconds kLookAgain{10s};  // While something is under way; changes wake it, too.
constexpr milliseconds kLookMax{5min};   // The clock may be set, and backups become stale.

/// One pass, while its status is being written.
class Keeping {
 public:
  explicit Keeping(const Observation& seen)
      : seen_(seen), spec_(seen.schedule.spec), timetable_(to_timetable(spec_)) {
    out_.status = seen.schedule.status;
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

  /// Ready.
  Verdict start(const schedule::Due& due) {
    if (spec_.suspend)
      return {"False", v1::kSuspended, "nothing is started or deleted: spec.suspend is true"};
    const std::string next =
        due.next ? "the next run is at " + to_rfc3339(*due.next) : "there is no further run";
    if (!due.run) return {"True", v1::kScheduled, next};
    const std::string name = run_name(seen_.schedule.metadata.name, *due.run);
    const auto there = std::ranges::find(seen_.runs, name, &RunSeen::name);
    if (there != seen_.runs.end() && !there->ours)
      return {"False", v1::kSnapshotNameTaken,
              "EtcdSnapshot " + name + " is there and is not of this schedule; " + next};
    if (std::string before = has_to_wait_for(); !before.empty())
      return {"True", v1::kScheduled,
              "the run of " + to_rfc3339(*due.run) + " waits for the end of " + before};
    out_.step = CreateSnapshot{name};
    if (seen_.refused && seen_.refused->step == CreateSnapshot::word)
      return {"False", v1::kObjectRejected,
              "EtcdSnapshot " + name + " cannot be made: " + seen_.refused->why};
    return {"True", v1::kScheduled, next};
  }

  /// Empty: nothing keeps the next run from being started. To replace it, what has not ended is
  /// deleted, and waited for.
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

  /// At most one stored snapshot is on its way out: what it meets, the next one would meet.
  void retain() {
    if (!timetable_->retention) forget(v1::kRetentionApplied);
    if (finish_deletion() || drop_failed() || go_on_deleting() || !timetable_->retention) return;
    if (delete_expired() || fell_short_) return;
    say(v1::kRetentionApplied, {"True", v1::kExpiredDeleted, "what has expired is deleted"});
  }

  void fall_short(const std::string& why, const char* reason = v1::kRetentionFailed) {
    fell_short_ = true;
    say(v1::kRetentionApplied, {"False", reason, why});
  }
  /// A run that is due goes first.
  void step(Step next) {
    if (!has_step()) out_.step = std::move(next);
  }

  /// What was begun is finished, whatever is to be kept by now: nobody knows what is left of it.
  /// True: nothing else may begin.
  bool finish_deletion() {
    const auto begun = std::ranges::find_if(seen_.runs, [](const RunSeen& run) {
      return run.ours && !run.terminating && run.deletion && run.deletion->ours;
    });
    if (begun == seen_.runs.end()) return false;
    const DeletionSeen& job = *begun->deletion;
    if (job.status.is("Complete")) {
      step(DeleteSnapshot{begun->name, begun->uid});
    } else if (const auto* failed = job.status.is("Failed")) {
      fall_short(begun->name + " has expired and cannot be deleted: " + why(job, *failed));
      if (is_past(job)) drop(*begun);
    } else if (seen_.now - job.made >= kDeletionMax) {
      fall_short(begun->name + " has expired and cannot be deleted: Job " +
                 deletion_name(begun->name) + " does not end");
      drop(*begun);
    }
    under_way_ = true;
    return true;
  }
  static std::string why(const DeletionSeen& job, const kube::JobCondition& failed) {
    if (!job.reason.empty()) return job.message + " (" + job.reason + ")";
    return "its Job failed (" + (failed.reason.empty() ? failed.message : failed.reason) +
           ") and did not say why";
  }
  /// It is tried again with the next run; also where a clock was wrong.
  bool is_past(const DeletionSeen& job) {
    const auto last = out_.status.last_schedule_time ? from_rfc3339(*out_.status.last_schedule_time)
                                                     : std::nullopt;
    return job.made > seen_.now || (last && *last > job.made);
  }
  void drop(const RunSeen& run) {
    if (!run.deletion->terminating) step(DropDeletion{run.name, run.deletion->uid});
  }

  /// They have stored nothing that they know of; whoever wants to know why finds the newest.
  bool drop_failed() {
    std::vector<const RunSeen*> failed;
    for (const RunSeen& run : seen_.runs)
      if (run.ours && !run.terminating && run.failed() && run.uri.empty()) failed.push_back(&run);
    if (failed.size() <= kFailedKept) return false;
    step(DeleteSnapshot{failed.front()->name, failed.front()->uid});
    return true;
  }

  /// Of one whose Job is not there yet, or was dropped to be made again: what is left of it may be
  /// without its manifest, and counts as no backup.
  bool go_on_deleting() {
    for (const RunSeen& run : seen_.runs)
      if (run.ours && run.expired && !run.terminating && run.complete() && can_delete(run))
        return make_deletion(run);
    return false;
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
      fall_short("the operator was started without --operator-image, which the Job would run",
                 v1::kOperatorImageNotConfigured);
      return true;
    }
    if (seen_.refused && seen_.refused->step == CreateDeletion::word)
      fall_short("Job " + deletion_name(run.name) + " cannot be made: " + seen_.refused->why,
                 v1::kObjectRejected);
    step(CreateDeletion{run.name, run.uid});
    return true;
  }
  /// Those of each etcd cluster by themselves: what one has stored pushes out nothing of the one
  /// that had the name before. Ages are counted from the newest, both by the API server's clock:
  /// with ours put forward, or with backups that fail, what is there does not grow old.
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
  /// What is being read is deleted later.
  bool can_delete(const RunSeen& run) {
    if (run.verifying || !run.needed_by.empty()) {
      under_way_ = true;
      return false;
    }
    if (run.deletion)
      fall_short("Job " + deletion_name(run.name) + " is there and is not of this EtcdSnapshot");
    else if (run.displaced)
      fall_short(run.name + " has expired, and what it stored as " + run.uri +
                 " is not where its spec says: it is left");
    return !run.deletion && !run.displaced;
  }

  // --- Proving -----------------------------------------------------------------------------------

  void tell_verification() {
    if (spec_.verify) return say(v1::kBackupUnverified, proof(seen_, *timetable_, status()));
    forget(v1::kBackupUnverified);
    status().verify_round.clear();
    status().stored_since_round = 0;
  }

  /// One at a time: first those that never were, the newest of them; then that of which it is
  /// longest ago. What is about to go is not worth it.
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

  // --- Until when --------------------------------------------------------------------------------

  /// Until something is to be done, or backups become stale.
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
  bool under_way_ = false;   // Something is being deleted.
  bool fell_short_ = false;  // Something that has expired stays.
  Plan out_;
};

}  // namespace

Plan plan(const Observation& seen) { return Keeping(seen).plan(); }

std::string word_of(const Step& step) {
  return std::visit([](const auto& one) { return std::string(one.word); }, step);
}

std::string to_string(const Step& step) {
  struct Words {
    std::string operator()(const NoStep&) const { return ""; }
    std::string operator()(const CreateSnapshot& s) const { return " " + s.name; }
    std::string operator()(const DeleteSnapshot& s) const {
      return " " + s.name + (s.replaced ? ", replaced" : "");
    }
    std::string operator()(const CreateDeletion& s) const { return " " + s.name; }
    std::string operator()(const DropDeletion& s) const { return " " + s.name; }
    std::string operator()(const AskVerification& s) const {
      return " " + s.name + ", round " + s.request;
    }
  };
  return word_of(step) + std::visit(Words{}, step);
}

}  // namespace etcdop::backups
