// The decision for one EtcdRestore, in reading order.
#include "operator/restore/plan.h"

#include <algorithm>
#include <utility>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "etcd/version_facts.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/restore_history.h"
#include "operator/agents/snapshot_env.h"
#include "operator/agents/verify_pod.h"
#include "operator/restore/conditions.h"
#include "operator/restore/objects.h"
#include "runtime/conditions.h"

namespace etcdop::restore {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using v1::RestoreDecision;

constexpr auto kLookAgain = 10s;  // While its Job runs; changes queue it as well.
constexpr auto kFollowUp = 1s;    // After a step.
/// A tenth below the API's limit of a bump: writes until the restore begins stay below that limit.
constexpr std::int64_t kRevisionMax = 900'000'000'000'000'000, kBumpDefault = 1'000'000'000;

class Pass {
 public:
  explicit Pass(const Observation& seen) : seen_(seen) { out_.status = seen.restore.status; }

  Plan plan() && {
    if (!status().finished()) next();
    return std::move(out_);
  }

 private:
  v1::EtcdRestoreStatus& status() { return out_.status; }
  std::string job() const { return "Job " + job_name(seen_.restore.metadata.name); }

  void say(const char* type, const char* value, const std::string& reason,
           const std::string& message) {
    restore::say(seen_, status(), type, value, reason, message);
  }
  void wait(const std::string& why) {
    say(v1::kChecked, "Unknown", v1::kChecking, why);
    out_.again = kLookAgain;
  }
  /// Since the check began: Checked has been Unknown since then.
  bool lasts_too_long() const {
    const auto* told = runtime::find_condition(seen_.restore.status.conditions, v1::kChecked);
    const auto since =
        told && told->status == "Unknown" ? from_rfc3339(told->last_transition_time) : std::nullopt;
    return since && seen_.now - *since >= kCheckMax;
  }
  void fail(const std::string& reason, const std::string& message) {
    status().phase = v1::kRestorePhaseFailed;
    status().completed_at = to_rfc3339(seen_.now);
    say(v1::kChecked, "False", reason, message + "; nothing was changed");
    out_.again = 0ms;
  }

  void next() {
    if (status().phase.empty()) status().phase = v1::kRestorePending;
    const auto& record = seen_.cluster ? seen_.cluster->status.restore : std::nullopt;
    if (record && record->uid == seen_.restore.metadata.uid)
      return report_stage(seen_, *record, status());
    const auto done = committed();
    if (done && done->uid == seen_.restore.metadata.uid) return end_well(*done);
    if (status().started_at) return end_without_cluster();
    if (seen_.restore.spec.decision == RestoreDecision::Rollback) return end_before();
    if (!seen_.cluster)
      return fail(v1::kClusterNotFound,
                  "EtcdCluster " + seen_.restore.spec.cluster_ref.name + " does not exist");
    if (done)
      return fail(
          v1::kAlreadyDone,
          "EtcdRestore " + done->name +
              " was already committed from this source, and a repeat would discard all writes "
              "since then; to repeat it, create an EtcdRestore with another spec.runId");
    if (const Refusal no = refusal(); no.reason && !may_have_begun())
      return fail(no.reason, no.message);
    const std::string& uid = seen_.cluster->metadata.uid;
    if (status().cluster_uid.empty()) status().cluster_uid = uid;
    if (status().cluster_uid != uid)
      return fail(v1::kClusterReplaced, "the EtcdCluster was deleted and created again");
    if (status().phase == v1::kRestoreReady) return await();
    check();
  }

  /// The commit that it would repeat, or its own commit, which its status does not report yet.
  std::optional<v1::CommittedRestore> committed() const {
    if (!seen_.cluster) return std::nullopt;
    const v1::EtcdRestore& restore = seen_.restore;
    const v1::EtcdClusterStatus& cluster = seen_.cluster->status;
    if (auto own = committed_as(cluster, restore.metadata.uid)) return own;
    const auto& found = restore.status.source;
    return committed_before(cluster, {restore.metadata.name, restore.spec.source,
                                      restore.spec.run_id, found ? found->checksum : ""});
  }

  /// The decision is made, and the cluster may have begun without its record being seen yet, so
  /// "nothing was changed" may be false. Its stages report a later problem, and the user can roll
  /// it back.
  bool may_have_begun() const {
    return seen_.restore.status.phase == v1::kRestoreReady && is_asked();
  }
  /// The user has decided to stop the cluster.
  bool is_asked() const {
    return seen_.restore.spec.decision == RestoreDecision::Restore ||
           seen_.restore.spec.decision == RestoreDecision::Commit;
  }

  std::string about_memory() const {
    return (seen_.in_memory.empty() ? "the cluster" : "EtcdMember " + seen_.in_memory) +
           " has its data in memory, so the old data could not be kept for a rollback";
  }

  struct Refusal {
    const char* reason = nullptr;  ///< Null: it may be tried.
    std::string message = {};
  };
  /// A fault that its Job would not notice, and that the cluster could not solve once it is
  /// stopped.
  Refusal refusal() const {
    const v1::EtcdClusterSpec& spec = seen_.cluster->spec;
    if (spec.storage.medium == v1::Medium::Memory || !seen_.in_memory.empty())
      return {v1::kNotImplemented, about_memory()};
    const std::string version = version_of(*seen_.cluster);
    const auto known = etcd::parse_version(version);
    if (known && !etcd::facts_of(*known).etcdutl_raises_revisions)
      return {v1::kUnsupportedVersion,
              "the etcdutl of etcd " + version +
                  " cannot raise revisions, so clients would read stale data: set the cluster's "
                  "spec.version to 3.5.10 or newer"};
    const std::int64_t floor = seen_.cluster->status.revision_floor;
    const std::int64_t bump = seen_.restore.spec.bump_revision.value_or(kBumpDefault);
    if (bump > kRevisionMax - std::min(floor, kRevisionMax))
      return {v1::kNotImplemented, "spec.bumpRevision, " + std::to_string(bump) +
                                       ", and the highest revision that clients may have seen, " +
                                       std::to_string(floor) + ", are together above " +
                                       std::to_string(kRevisionMax) +
                                       ": restore into a new EtcdCluster"};
    const auto& pod = seen_.restore.spec.pod;
    const std::string account = account_of(*seen_.cluster);
    if (is_keyless(seen_.restore.spec.source) && pod && !pod->service_account_name.empty() &&
        pod->service_account_name != account)
      return {v1::kNotImplemented,
              "spec.pod.serviceAccountName is not the ServiceAccount of the member that restores, "
              "which is " +
                  (account.empty() ? "the namespace's default" : account) +
                  ": spec.podTemplate.spec.serviceAccountName of the EtcdCluster"};
    return {};
  }

  /// It was committed, and the cluster has begun another restore since.
  void end_well(const v1::CommittedRestore& done) {
    v1::RestoreRecord record;
    record.name = done.name;
    record.uid = done.uid;
    record.stage = v1::RestoreStage::Committed;
    report_stage(seen_, record, status());
  }

  /// The cluster has no record of it any more: the cluster is deleted or replaced, or has begun
  /// another restore since. The outcome is unknown.
  void end_without_cluster() {
    status().phase = v1::kRestorePhaseFailed;
    status().completed_at = to_rfc3339(seen_.now);
    const char* const why = seen_.cluster ? v1::kClusterReplaced : v1::kClusterNotFound;
    for (const char* type : {v1::kStopped, v1::kRestoredData}) {
      const auto* told = runtime::find_condition(status().conditions, type);
      if (told && told->status != "False")
        say(type, "Unknown", why, "no EtcdCluster has a record of this restore any more");
    }
    say(v1::kCommitted, "Unknown", why, "no EtcdCluster has a record of this restore any more");
  }
  void end_before() {
    status().phase = v1::kRestoreRolledBack;
    status().completed_at = to_rfc3339(seen_.now);
    say(v1::kRolledBack, "True", v1::kRolledBack, "nothing had been changed");
  }

  void await() {
    const v1::RestoreRecord* other = seen_.cluster->restoring();
    if (other)
      return say(v1::kStopped, "False", v1::kAnotherRestoreFirst,
                 "EtcdRestore " + other->name + " is under way");
    if (!is_asked())
      return say(
          v1::kStopped, "False", v1::kAwaitingDecision,
          "the snapshot is good; if you set spec.decision to Restore, the operator stops the "
          "cluster and starts one member from the snapshot; clients cannot reach it");
    const auto* found = runtime::find_condition(seen_.cluster->status.conditions, v1::kProgressing);
    for (const char* reason : {v1::kVolumesFound, v1::kMembersFound})
      if (found && found->reason == reason)
        return say(v1::kStopped, "False", reason, found->message);
    if (!seen_.in_memory.empty())
      return say(v1::kStopped, "False", v1::kNotImplemented,
                 "the cluster is not stopped: " + about_memory() +
                     "; restore into a new EtcdCluster, and set spec.decision to Rollback here");
    // The cluster reports there what was refused, with all other problems.
    const auto* bad = runtime::find_condition(seen_.cluster->status.conditions, v1::kDegraded);
    const auto names_it = [&](const char* reason) { return bad && bad->reason == reason; };
    if (names_it(v1::kObjectRejected) || names_it(v1::kServiceRefused) || names_it(v1::kSplitBrain))
      return say(v1::kStopped, "False", bad->reason,
                 "the cluster cannot be stopped until you fix this: " + bad->message);
    say(v1::kStopped, "False", v1::kStopping,
        "the cluster stops when both its Services are as the operator creates them" +
            (bad && bad->status == "True" ? "; now: " + bad->message : ""));
  }

  // --- the check

  void check() {
    if (status().attempts == 0) {
      status().attempts = 1;
      status().phase = v1::kRestoreChecking;
      return wait(job() + " is being created");
    }
    if (const auto report = verify_success(seen_.pods)) return found_good(*report);
    if (!seen_.job) return no_job();
    const JobSeen& seen = *seen_.job;
    if (!seen.ours) return not_ours(seen);
    if (seen.attempt < status().attempts) return clear_away();
    status().job_uid = seen.uid;
    if (const auto* failed = seen.status.is("Failed")) return failed_with(*failed);
    if (seen.status.is("Complete"))
      return repeat(v1::kJobFailed, "it succeeded, but its report is missing");
    if (seen_.now - seen.made >= kJobMax)
      return repeat(
          v1::kJobFailed,
          "it does not end: check whether it is suspended, or the node of its Pod is lost");
    const std::string waits = waiting(seen_.pods, v1::kVerifyContainer, seen_.now);
    wait(waits.empty() ? job() + " is running" : waits);
  }

  void found_good(const VerifyReport& report) {
    status().phase = v1::kRestoreReady;
    status().source = v1::RestoreSource{.uri = report.uri,
                                        .checksum = report.checksum,
                                        .etcd_version = report.etcd_version,
                                        .revision = report.revision,
                                        .keys = report.keys};
    say(v1::kChecked, "True", v1::kChecked, words_of(report));
    await();
  }

  void no_job() {
    if (!status().job_uid.empty() && !count("it was deleted before its report was read")) return;
    if (!seen_.has_image)
      return fail(
          v1::kOperatorImageNotConfigured,
          "the operator was started without --operator-image, the image of the Job: set this flag");
    if (seen_.rejected) {
      if (seen_.now - seen_.rejected->since >= kWaitMax)
        return fail(v1::kObjectRejected, seen_.rejected->why);
      wait(job() + " cannot be created: " + seen_.rejected->why);
    }
    out_.step = CreateCheck{status().attempts};
    out_.again = kFollowUp;
  }

  /// Such a Job is never taken over, and never deleted. One of an earlier EtcdRestore with this
  /// name is about to be deleted.
  void not_ours(const JobSeen& seen) {
    if (!seen.of_namesake || lasts_too_long())
      return fail(v1::kObjectRejected, job() + " has another owner");
    wait(job() + " belongs to an earlier EtcdRestore with this name, and is about to be deleted");
  }

  /// Deletes the Job of the earlier attempt. Another owner's finalizer may keep it.
  void clear_away() {
    if (lasts_too_long())
      return fail(v1::kJobFailed,
                  job() + " of an earlier attempt is not deleted: check its finalizers");
    // A user may have removed the condition, which has the start time.
    if (!runtime::find_condition(status().conditions, v1::kChecked))
      wait(job() + " of an earlier attempt is about to be deleted");
    if (!seen_.job->terminating) out_.step = DeleteCheck{seen_.job->uid};
    out_.again = seen_.job->terminating ? kLookAgain : kFollowUp;
  }

  /// False: that was the last attempt.
  bool count(const std::string& why) {
    if (status().attempts >= kAttemptsMax) {
      fail(v1::kJobFailed, job() + ", the last of " + std::to_string(kAttemptsMax) + ": " + why);
      return false;
    }
    ++status().attempts;
    status().job_uid.clear();
    wait(job() + " is being created again: " + why);
    return true;
  }
  void repeat(const std::string& reason, const std::string& why) {
    if (status().attempts >= kAttemptsMax) {
      fail(reason, why);
      if (!seen_.job->has_ended() && !seen_.job->terminating)
        out_.step = DeleteCheck{seen_.job->uid};
      return;
    }
    if (count(reason == v1::kJobFailed ? why : reason + ": " + why)) clear_away();
  }
  void failed_with(const kube::JobCondition& failed) {
    const VerifyFailure last = verify_failure(seen_.pods, failed);
    if (last.for_good) return fail(last.reason, last.message);
    repeat(last.reason, last.message);
  }

  const Observation& seen_;
  Plan out_;
};

}  // namespace

Plan plan(const Observation& seen) { return Pass(seen).plan(); }

}  // namespace etcdop::restore
