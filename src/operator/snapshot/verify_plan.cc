#include "operator/snapshot/verify_plan.h"

#include <algorithm>
#include <utility>

#include "operator/agents/agent_pod.h"
#include "operator/agents/verify_pod.h"
#include "operator/agents/verify_report.h"
#include "operator/snapshot/conditions.h"
#include "operator/snapshot/verify_job.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{10s};  // While its Job runs; changes queue it as well.
constexpr milliseconds kFollowUp{1s};    // After a step.

/// "3 keys at revision 42, HashKV 7: as in the cluster"
std::string words_of(const VerifyReport& report) {
  std::string out = report.keys ? std::to_string(*report.keys) + " keys" : "all keys";
  if (report.revision) out += " at revision " + std::to_string(*report.revision);
  if (report.hash_kv && report.hash_compared) out += ", HashKV " + std::to_string(*report.hash_kv);
  if (report.digest_compared) out += ", sha256 of all keys and values";
  return out + ": as in the cluster";
}

/// One verification, while its status is being written.
class Proving {
 public:
  explicit Proving(const Observation& seen) : seen_(seen) { out_.status = seen.snapshot.status; }

  Plan plan() && {
    if (!seen_.snapshot.verifying()) return std::move(out_);
    if (!out_.status.verification || out_.status.verification->time) begin();
    go_on();
    return std::move(out_);
  }

 private:
  v1::SnapshotVerification& it() { return *out_.status.verification; }
  std::string job() const { return "Job " + verify_job_name(seen_.snapshot.metadata.name); }

  void say(const char* status, const char* reason, const std::string& message) {
    runtime::set_condition(out_.status.conditions, {v1::kVerified, status, reason, message},
                           seen_.snapshot.metadata.generation, seen_.now);
  }
  void wait(const std::string& why) {
    say("Unknown", v1::kVerifying, why);
    out_.again = kLookAgain;
  }
  /// A finding revokes an earlier proof; a failed look does not.
  void end_badly(const std::string& reason, const std::string& message) {
    it().time = to_rfc3339(seen_.now);
    it().failure = reason + ": " + message;
    if (is_finding(reason)) it().proven_time.reset();
    say("False", v1::kVerificationFailed, it().failure);
    out_.again = 0ms;
  }
  void end_well(const VerifyReport& report) {
    it().time = it().proven_time = to_rfc3339(seen_.now);
    it().failure.clear();
    it().revision = report.revision;
    it().hash_kv = report.hash_kv;
    it().keys = report.keys;
    it().duration_seconds = report.duration_seconds;
    say("True", v1::kVerified, words_of(report));
  }
  /// Since it began: Verified has been Unknown since then.
  bool lasts_too_long() const {
    const auto* told = runtime::find_condition(seen_.snapshot.status.conditions, v1::kVerified);
    const auto since =
        told && told->status == "Unknown" ? from_rfc3339(told->last_transition_time) : std::nullopt;
    return since && seen_.now - *since >= kVerifyMax;
  }

  void begin() {
    const auto last = std::exchange(out_.status.verification, v1::SnapshotVerification{});
    v1::SnapshotVerification& made = it();
    if (last) {
      made.proven_time = last->proven_time;
      made.failure = last->failure;
    }
    made.request = seen_.snapshot.asked();
    made.attempts = 1;
    wait(job() + " is being created");
  }

  void go_on() {
    if (const auto report = verify_success(seen_.verify_pods)) return end_well(*report);
    if (!seen_.verify_job) return no_job();
    const JobSeen& seen = *seen_.verify_job;
    if (!seen.ours) return not_ours(seen);
    if (seen.request != it().request || seen.attempt < it().attempts) return clear_away();
    it().job_uid = seen.uid;
    if (const auto* failed = seen.status.is("Failed")) return failed_with(*failed);
    if (seen.status.is("Complete"))
      return repeat(v1::kJobFailed, "it succeeded, but its report is missing");
    if (seen_.now - seen.made >= kVerifyJobMax)
      return repeat(
          v1::kJobFailed,
          "it does not end: check whether it is suspended, or the node of its Pod is lost");
    const std::string waits = waiting(seen_.verify_pods, v1::kVerifyContainer, seen_.now);
    wait(waits.empty() ? job() + " is running" : waits);
  }

  void no_job() {
    if (!it().job_uid.empty() && !count("it was deleted before its report was read")) return;
    if (!seen_.has_image)
      return end_badly(
          v1::kOperatorImageNotConfigured,
          "the operator was started without --operator-image, the image of the Job: set this flag");
    if (verify_version(seen_).empty())
      return end_badly(v1::kClusterNotFound,
                       "neither the status of the EtcdCluster nor status.artifact has a version of "
                       "etcd such as 3.6.16");
    if (seen_.rejected) {
      if (seen_.now - seen_.rejected->since >= kWaitMax)
        return end_badly(v1::kObjectRejected, seen_.rejected->why);
      wait(job() + " cannot be created: " + seen_.rejected->why);
    }
    out_.step = CreateVerification{it().attempts};
    out_.again = kFollowUp;
  }

  /// Such a Job is never taken over, and never deleted. One of an earlier EtcdSnapshot with this
  /// name is about to be deleted.
  void not_ours(const JobSeen& seen) {
    if (!seen.of_namesake || lasts_too_long())
      return end_badly(v1::kObjectRejected, job() + " has another owner");
    wait(job() + " belongs to an earlier EtcdSnapshot with this name, and is about to be deleted");
  }

  /// Deletes the Job of an earlier attempt or verification. Another owner's finalizer may keep it.
  void clear_away() {
    if (lasts_too_long())
      return end_badly(v1::kJobFailed,
                       job() + " of an earlier attempt is not deleted: check its finalizers");
    // A user may have removed the condition, which has the start time.
    if (!runtime::find_condition(out_.status.conditions, v1::kVerified))
      wait(job() + " of an earlier attempt is about to be deleted");
    if (!seen_.verify_job->terminating) out_.step = DeleteVerification{seen_.verify_job->uid};
    out_.again = seen_.verify_job->terminating ? kLookAgain : kFollowUp;
  }

  /// False: that was the last attempt.
  bool count(const std::string& why) {
    if (it().attempts >= kVerifyJobsMax) {
      end_badly(v1::kJobFailed,
                job() + ", the last of " + std::to_string(kVerifyJobsMax) + ": " + why);
      return false;
    }
    ++it().attempts;
    it().job_uid.clear();
    wait(job() + " is being created again: " + why);
    return true;
  }
  void repeat(const std::string& reason, const std::string& why) {
    if (it().attempts >= kVerifyJobsMax) {
      end_badly(reason, why);
      if (!seen_.verify_job->status.is("Failed") && !seen_.verify_job->status.is("Complete") &&
          !seen_.verify_job->terminating)
        out_.step = DeleteVerification{seen_.verify_job->uid};
      return;
    }
    if (count(reason == v1::kJobFailed ? why : reason + ": " + why)) clear_away();
  }
  void failed_with(const kube::JobCondition& failed) {
    const VerifyFailure last = verify_failure(seen_.verify_pods, failed);
    if (last.for_good) return end_badly(last.reason, last.message);
    repeat(last.reason, last.message);
  }

  const Observation& seen_;
  Plan out_;
};

}  // namespace

Plan plan_verification(const Observation& seen) { return Proving(seen).plan(); }

}  // namespace etcdop::snapshot
