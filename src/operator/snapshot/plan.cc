#include "operator/snapshot/plan.h"

#include <algorithm>

#include "operator/credentials/passwords.h"
#include "operator/snapshot/conditions.h"
#include "operator/snapshot/verify_plan.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{10s};  // While it waits, or its Job runs; changes queue it, too.
constexpr milliseconds kFollowUp{1s};    // After a step.
constexpr auto kEnding = 120s;           // For a failed Job that waits for the end of its Pods.

/// The snapshot in this pass, while its status is being written.
class Taking {
 public:
  explicit Taking(const Observation& seen) : seen_(seen) { out_.status = seen.snapshot.status; }

  Plan plan() && {
    if (status().finished()) return std::move(out_);
    if (status().phase == v1::kSnapshotStarted) {
      go_on();
    } else if (status().phase != v1::kSnapshotPending) {
      status().phase = v1::kSnapshotPending;
      out_.again = kFollowUp;
    } else if (may_begin()) {
      begin();
    }
    return std::move(out_);
  }

 private:
  v1::EtcdSnapshotStatus& status() { return out_.status; }
  std::string job() const { return "Job " + job_name(seen_.snapshot.metadata.name); }

  void say(const Verdict& v) {
    runtime::set_condition(status().conditions, {v1::kReady, v.status, v.reason, v.message},
                           seen_.snapshot.metadata.generation, seen_.now);
  }
  /// False: a snapshot that waits may not begin.
  bool wait(const char* reason, std::string why) {
    say({"False", reason, std::move(why)});
    out_.again = kLookAgain;
    return false;
  }
  bool fail(const Verdict& why) {
    status().phase = v1::kSnapshotFailed;
    say(why);
    return false;
  }
  /// When it was first reported, as in each pass that has to wait: Ready has been False since then.
  /// No operator may have run for long before that.
  WallTime told_since() const {
    const auto* told = runtime::find_condition(seen_.snapshot.status.conditions, v1::kReady);
    return (told ? from_rfc3339(told->last_transition_time) : std::nullopt).value_or(seen_.now);
  }
  bool overdue() const { return seen_.now - told_since() >= kWaitMax; }

  // --- Before it begins --------------------------------------------------------------------------

  bool may_begin() {
    if (!seen_.has_image)
      return fail({"False", v1::kOperatorImageNotConfigured,
                   "the operator was started without --operator-image, the image of the Job: set "
                   "this flag"});
    if (!cluster_is_there()) return false;
    if (seen_.cluster->restoring()) return restored_first();
    if (seen_.cluster->spec.replicas == 0)
      return fail({"False", v1::kClusterPaused,
                   "EtcdCluster " + seen_.cluster->metadata.name + " is paused: no member runs"});
    return has_quorum() && authentication_is_known() && is_its_turn();
  }

  bool cluster_is_there() {
    const std::string& name = seen_.snapshot.spec.cluster_ref.name;
    if (!seen_.cluster)
      return fail({"False", v1::kClusterNotFound, "EtcdCluster " + name + " does not exist"});
    if (seen_.cluster->metadata.terminating())
      return fail({"False", v1::kClusterNotFound, "EtcdCluster " + name + " is being deleted"});
    return true;
  }

  /// It is undecided which data the snapshot would have.
  bool restored_first() {
    const std::string why = "the cluster goes back to a snapshot";
    return overdue() ? fail({"False", v1::kRestoring, why}) : wait(v1::kClusterNotHealthy, why);
  }

  /// An election must not cost a nightly backup, and a cluster that is being created or resumes may
  /// take longer.
  bool has_quorum() {
    const auto* available =
        runtime::find_condition(seen_.cluster->status.conditions, v1::kAvailable);
    // With CORRUPT raised it has one, and the agent asks only members that are not accused.
    const bool there =
        available && (available->status == "True" || available->reason == v1::kCorrupt);
    if (there && !seen_.endpoints.empty()) return true;
    const std::string why =
        available ? available->message : "the EtcdCluster has no condition Available yet";
    const bool on_its_way = !available || seen_.cluster->status.cluster_id.empty() ||
                            available->status == "True" || available->reason == v1::kPaused;
    if (on_its_way ? overdue() : lost_for_long(*available))
      return fail({"False", v1::kQuorumLost, "the cluster has no quorum: " + why});
    return wait(v1::kClusterNotHealthy, "waiting for the cluster's quorum: " + why);
  }
  bool lost_for_long(const api::Condition& available) const {
    auto lost = from_rfc3339(available.last_transition_time);
    // It has been Unknown for a minute before.
    if (lost && available.status == "False" && available.reason == v1::kClusterUnreachable)
      lost = *lost + -kUnknownFor;
    return lost && seen_.now - std::max(*lost, told_since()) > kQuorumLossMax;
  }

  bool authentication_is_known() {
    if (wants_auth(*seen_.cluster) && !seen_.cluster->status.auth_enabled) {
      const auto made = from_rfc3339(seen_.snapshot.metadata.creation_timestamp);
      if (made && seen_.now - *made < kWaitMax)
        return wait(v1::kClusterNotHealthy, "waiting until authentication is enabled");
      return fail({"False", v1::kAuthLatchTimeout,
                   "authentication was not turned on within 15 minutes: see the EtcdCluster"});
    }
    if (seen_.password_changing && !overdue())
      return wait(v1::kClusterNotHealthy, "waiting for a change of root's password");
    return true;
  }

  bool is_its_turn() {
    if (seen_.run_before.empty() || (overdue() && !seen_.run_under_way)) return true;
    return wait(v1::kAnotherRunFirst, "EtcdDefrag " + seen_.run_before + " goes first");
  }

  void begin() {
    status().phase = v1::kSnapshotStarted;
    status().attempts = 1;
    status().cluster_id = seen_.cluster->status.cluster_id;
    say({"False", v1::kJobCreated, job() + " is being created"});
    create();
  }

  // --- Its Job -----------------------------------------------------------------------------------

  void create() {
    out_.step = CreateJob{status().attempts};
    out_.again = kFollowUp;
  }

  void go_on() {
    if (const auto report = stored(seen_.pods)) return is_stored(*report);
    if (!seen_.job) return no_job();
    if (!seen_.job->ours) return not_ours();
    const std::int32_t nth = std::max(seen_.job->attempt, 1);
    status().attempts = std::max(status().attempts, nth);
    if (nth < status().attempts) return clear_away();
    status().job_uid = seen_.job->uid;
    if (const auto* failed = seen_.job->status.is("Failed")) return failed_with(*failed);
    if (seen_.job->status.is("Complete")) return ended_well();
    if (does_not_end()) return give_up();
    say(progress(seen_));
    out_.again = kLookAgain;
  }

  bool does_not_end() const {
    if (seen_.now - seen_.job->made >= kJobMax) return true;
    const auto* ending = seen_.job->status.is("FailureTarget");
    const auto since = ending ? from_rfc3339(ending->last_transition_time) : std::nullopt;
    return since && seen_.now - *since >= kEnding;
  }
  void give_up() {
    if (status().attempts < kAttemptsMax)
      return repeat(
          "it does not end: check whether it is suspended, or the node of its Pod is lost");
    (void)fail({"False", v1::kJobFailed,
                job() + " does not end, like the one before: check whether it is suspended, or the "
                        "nodes of its Pods are lost"});
    out_.step = DeleteJob{seen_.job->uid};
  }
  bool lasts_too_long() const { return seen_.now - told_since() >= kStartedMax; }

  /// The cluster id that it began with. An older status has none, nor has one whose field the API
  /// server drops: then the cluster's own.
  std::string wanted_cluster_id() const {
    const std::string& begun_with = seen_.snapshot.status.cluster_id;
    return begun_with.empty() && seen_.cluster ? seen_.cluster->status.cluster_id : begun_with;
  }

  /// Without TLS an agent knows its etcd only by a DNS name, and an address may soon belong to
  /// another Pod.
  void is_stored(const AgentReport& report) {
    const std::string wanted = wanted_cluster_id();
    if (wanted.empty() || report.cluster_id == wanted) return complete(report);
    (void)fail({"False", v1::kClusterReplaced,
                "the snapshot stored as " + report.uri + " is of etcd cluster " +
                    report.cluster_id + ", not of this cluster, " + wanted});
  }

  void complete(const AgentReport& report) {
    v1::SnapshotArtifact& artifact = status().artifact.emplace();
    artifact.uri = report.uri;
    artifact.size_bytes = report.size_bytes;
    artifact.checksum = report.checksum;
    artifact.etcd_version = report.etcd_version;
    artifact.cluster_id = report.cluster_id;
    artifact.member_id = report.member_id;
    artifact.revision = report.revision;
    artifact.compact_revision = report.compact_revision;
    artifact.hash_kv = report.hash_kv;
    artifact.keys = report.keys;
    artifact.digest = report.digest;
    artifact.key_id = report.key_id;
    artifact.auth_enabled = report.auth_enabled;
    status().phase = v1::kSnapshotComplete;
    say({"True", v1::kSnapshotStored,
         "stored as " + report.uri + ", " + std::to_string(report.size_bytes) + " bytes"});
  }

  /// A Job that was seen and is missing may have succeeded: its time to live was over while no
  /// operator ran, or a user deleted it.
  void no_job() {
    if (!status().job_uid.empty() && status().attempts >= kAttemptsMax)
      return void(
          fail({"False", v1::kSnapshotJobLost, job() + " was deleted before its report was read"}));
    if (!status().job_uid.empty()) count_attempt("it was deleted before its report was read");
    if (!cluster_is_there() || !can_be_asked()) return;
    status().attempts = std::max(status().attempts, 1);
    status().cluster_id = wanted_cluster_id();
    if (seen_.rejected) {
      const Verdict why{"False", v1::kObjectRejected, seen_.rejected->why};
      if (cannot_be_made(*seen_.rejected)) return void(fail(why));
      say(why);
    }
    create();
  }

  /// The second Job may find everything stored, so a longer wait is worth it.
  bool worth_waiting() const { return out_.status.attempts >= kAttemptsMax; }
  /// Not counted since the first report: it may have waited for its turn until now.
  bool cannot_be_made(const Rejection& rejected) const {
    const auto tried = seen_.now - rejected.since;
    return lasts_too_long() ? tried >= kRefusedMin : tried >= kWaitMax && !worth_waiting();
  }

  /// An agent that has no member to ask would fail for good.
  bool can_be_asked() {
    if (seen_.endpoints.empty()) return nobody_to_ask();
    if (!seen_.password_changing || lasts_too_long() || (overdue() && !worth_waiting()))
      return true;
    return wait(v1::kClusterNotHealthy, "waiting for a change of root's password");
  }
  bool nobody_to_ask() {
    const bool paused = seen_.cluster->spec.replicas == 0;
    if (lasts_too_long())
      return fail({"False", paused ? v1::kClusterPaused : v1::kQuorumLost,
                   "the cluster has no member that can give a snapshot"});
    return wait(v1::kClusterNotHealthy, "waiting for a member that can give a snapshot");
  }

  /// Such a Job is never taken over, and never deleted. One of an earlier EtcdSnapshot with this
  /// name is about to be deleted.
  void not_ours() {
    if (!status().job_uid.empty())
      return void(fail({"False", v1::kSnapshotJobLost, job() + " was replaced by another Job"}));
    if (!seen_.job->of_namesake || overdue())
      return void(fail({"False", v1::kObjectRejected, job() + " has another owner"}));
    (void)wait(
        v1::kObjectRejected,
        job() + " belongs to an earlier EtcdSnapshot with this name, and is about to be deleted");
  }

  void delete_job() {
    if (!seen_.job->terminating) out_.step = DeleteJob{seen_.job->uid};
    out_.again = seen_.job->terminating ? kLookAgain : kFollowUp;
  }
  /// Another owner's finalizer may keep it.
  void clear_away() {
    delete_job();
    if (!lasts_too_long()) return;
    (void)fail({"False", v1::kSnapshotJobLost,
                job() + " of an earlier attempt is not deleted: check its finalizers"});
    out_.again = 0ms;
  }

  void count_attempt(const std::string& why) {
    ++status().attempts;
    status().job_uid.clear();
    say({"False", v1::kJobCreated, job() + " is being created again: " + why});
  }
  void repeat(const std::string& why) {
    count_attempt(why);
    if (seen_.job->terminating) clear_away();
    else delete_job();
  }

  void failed_with(const kube::JobCondition& failed) {
    const auto* before = runtime::find_condition(status().conditions, v1::kReady);
    const Verdict why = why_failed(
        seen_, failed, before && before->reason == v1::kJobRunning ? before->message : "");
    if (why.reason == v1::kEtcdCredentialsRejected && status().attempts < kAttemptsMax)
      return repeat("etcd rejected root's password, which may just have been changed");
    (void)fail(why);
  }

  void ended_well() {
    if (status().attempts < kAttemptsMax)
      return repeat("it succeeded, but its report is missing or cannot be read");
    (void)fail({"False", v1::kSnapshotJobLost,
                job() + " succeeded twice, but its report is missing or cannot be read"});
  }

  const Observation& seen_;
  Plan out_;
};

}  // namespace

Plan plan(const Observation& seen) {
  if (seen.snapshot.status.phase == v1::kSnapshotComplete) return plan_verification(seen);
  return Taking(seen).plan();
}

}  // namespace etcdop::snapshot
