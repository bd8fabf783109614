// An EtcdRestore as tables: what its Job says of the snapshot, and what the cluster's record says.
#include "operator/restore/plan.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "operator/agents/verify_report.h"
#include "runtime/conditions.h"

namespace etcdop::restore {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};

Observation asked() {
  Observation seen;
  seen.now = kNow;
  seen.has_image = true;
  seen.restore.metadata.name = "back";
  seen.restore.metadata.ns = "prod";
  seen.restore.metadata.uid = "r-1";
  seen.restore.spec.cluster_ref.name = "db";
  v1::S3Location& s3 = seen.restore.spec.source.s3.emplace();
  s3.endpoint = "https://s3.example.com";
  s3.bucket = "backups";
  s3.key = "prod/nightly.db";
  v1::EtcdCluster& cluster = seen.cluster.emplace();
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  cluster.metadata.uid = "c-1";
  cluster.spec.version = "3.6.16";
  return seen;
}

Observation after(Observation seen) {
  seen.restore.status = plan(seen).status;
  return seen;
}

/// With the Job of its attempt.
Observation checking() {
  Observation seen = after(asked());
  JobSeen& job = seen.job.emplace();
  job.uid = "j-1";
  job.ours = true;
  job.attempt = 1;
  job.made = kNow;
  return seen;
}

kube::Pod ended(int code, const VerifyReport& report, const std::string& message = "") {
  kube::Pod pod;
  pod.metadata.name = "back-check-abcde";
  kube::ContainerStatus agent;
  agent.name = v1::kVerifyContainer;
  kube::ContainerTerminated& end = agent.state.terminated.emplace();
  end.exit_code = code;
  end.message = message.empty() ? to_text(report) : message;
  pod.status.container_statuses.push_back(agent);
  return pod;
}

VerifyReport good() {
  VerifyReport out;
  out.uri = "s3://backups/prod/nightly.db";
  out.checksum = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  out.etcd_version = "3.6.16";
  out.revision = 42;
  out.keys = 3;
  return out;
}

VerifyReport bad(const char* reason, bool for_good) {
  VerifyReport out;
  out.reason = reason;
  out.message = "s3://backups/prod/nightly.db is not whole";
  out.for_good = for_good;
  return out;
}

Observation ready() {
  Observation seen = checking();
  seen.pods = {ended(0, good())};
  return after(seen);
}

Observation at(v1::RestoreStage stage) {
  Observation seen = ready();
  v1::RestoreRecord& record = seen.cluster->status.restore.emplace();
  record.name = "back";
  record.uid = "r-1";
  record.stage = stage;
  record.founder = "db-abcde";
  runtime::set_condition(seen.cluster->status.conditions,
                         {v1::kProgressing, "True", v1::kRestoring, "on its way"}, 1, kNow);
  return seen;
}

/// "False/AwaitingDecision"; empty: no such condition.
std::string says(const Plan& plan, const char* type) {
  const auto* c = runtime::find_condition(plan.status.conditions, type);
  return c ? c->status + "/" + c->reason : "";
}
std::string words(const Plan& plan, const char* type) {
  const auto* c = runtime::find_condition(plan.status.conditions, type);
  return c ? c->message : "";
}

TEST(RestorePlan, TheAttemptIsRecordedBeforeItsJobIsMade) {
  const Plan first = plan(asked());
  EXPECT_EQ(first.status.phase, v1::kRestoreChecking);
  EXPECT_EQ(first.status.attempts, 1);
  EXPECT_EQ(first.status.cluster_uid, "c-1");
  EXPECT_EQ(first.step, Step(NoStep{}));
  const Plan second = plan(after(asked()));
  EXPECT_EQ(second.step, Step(CreateCheck{1}));
  EXPECT_EQ(says(second, v1::kChecked), "Unknown/Checking");
}

TEST(RestorePlan, WhatTheAgentFoundIsToldAndADecisionWaitedFor) {
  Observation seen = checking();
  seen.pods = {ended(0, good())};
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.phase, v1::kRestoreReady);
  EXPECT_EQ(says(out, v1::kChecked), "True/Checked");
  EXPECT_EQ(words(out, v1::kChecked), "3 keys at revision 42, of etcd 3.6.16");
  EXPECT_EQ(says(out, v1::kStopped), "False/AwaitingDecision");
  ASSERT_TRUE(out.status.source);
  EXPECT_EQ(out.status.source->revision, 42);
  EXPECT_EQ(out.status.source->uri, "s3://backups/prod/nightly.db");
}

TEST(RestorePlan, WhatIsWrongForGoodFailsAndTheRestIsTriedOnceMore) {
  for (const bool for_good : {true, false}) {
    Observation seen = checking();
    seen.job->status.conditions.push_back({"Failed", "True", "BackoffLimitExceeded", "", ""});
    seen.pods = {
        ended(for_good ? 3 : 1, bad(for_good ? "SnapshotBroken" : "SourceFailed", for_good))};
    const Plan first = plan(seen);
    EXPECT_EQ(first.status.phase, for_good ? v1::kRestorePhaseFailed : v1::kRestoreChecking);
    if (for_good) {
      EXPECT_EQ(says(first, v1::kChecked), "False/SnapshotBroken");
      EXPECT_EQ(words(first, v1::kChecked),
                "s3://backups/prod/nightly.db is not whole; nothing was changed");
      EXPECT_TRUE(first.status.completed_at);
      continue;
    }
    EXPECT_EQ(first.status.attempts, 2);
    EXPECT_EQ(first.step, Step(DeleteCheck{"j-1"}));
    seen.restore.status = first.status;
    seen.job->attempt = 2;
    const Plan second = plan(seen);
    EXPECT_EQ(second.status.phase, v1::kRestorePhaseFailed);
    EXPECT_EQ(says(second, v1::kChecked), "False/SourceFailed");
    EXPECT_EQ(second.step, Step(NoStep{})) << "its Job has ended, and is there to be looked at";
  }
}

struct Refused {
  const char* because;
  void (*change)(Observation&);
  const char* says;
};
const Refused kRefused[] = {
    {"there is no cluster", [](Observation& s) { s.cluster.reset(); }, "False/ClusterNotFound"},
    {"its data is in memory",
     [](Observation& s) { s.cluster->spec.storage.medium = v1::Medium::Memory; },
     "False/NotImplemented"},
    {"one member has its data in memory", [](Observation& s) { s.in_memory = "db-a"; },
     "False/NotImplemented"},
    {"its etcdutl cannot raise revisions",
     [](Observation& s) { s.cluster->spec.version = "3.5.9"; }, "False/UnsupportedVersion"},
    {"revisions are at their end",
     [](Observation& s) { s.cluster->status.revision_floor = 899'999'999'000'000'001; },
     "False/NotImplemented"},
    {"they would be",
     [](Observation& s) { s.restore.spec.bump_revision = 900'000'000'000'000'001; },
     "False/NotImplemented"},
    {"who restores is not who checks",
     [](Observation& s) {
       s.restore.spec.source.s3->credentials_secret_ref.name.clear();
       s.restore.spec.pod.emplace().service_account_name = "reader";
     },
     "False/NotImplemented"},
    {"the cluster is another one", [](Observation& s) { s.restore.status.cluster_uid = "c-0"; },
     "False/ClusterReplaced"},
    {"nobody knows the operator's image",
     [](Observation& s) {
       s = after(s);
       s.has_image = false;
     },
     "False/OperatorImageNotConfigured"},
    {"the Job is somebody else's",
     [](Observation& s) {
       s = checking();
       s.job->ours = false;
     },
     "False/ObjectRejected"},
    {"no Job can be made for long",
     [](Observation& s) {
       s = after(s);
       s.rejected = Rejection{"no quota", kNow + -kWaitMax};
     },
     "False/ObjectRejected"},
    {"its Job does not end, twice",
     [](Observation& s) {
       s = checking();
       s.restore.status.attempts = s.job->attempt = kAttemptsMax;
       s.job->made = kNow + -kJobMax;
     },
     "False/JobFailed"},
    {"its Job is gone, twice",
     [](Observation& s) {
       s = checking();
       s.restore.status.attempts = kAttemptsMax;
       s.restore.status.job_uid = "j-1";
       s.job.reset();
     },
     "False/JobFailed"},
};

TEST(RestorePlan, WhatKeepsItFromBeginningIsToldAndNothingIsChanged) {
  for (const Refused& row : kRefused) {
    SCOPED_TRACE(row.because);
    Observation seen = asked();
    row.change(seen);
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.phase, v1::kRestorePhaseFailed);
    EXPECT_EQ(says(out, v1::kChecked), row.says);
    EXPECT_TRUE(words(out, v1::kChecked).ends_with("; nothing was changed"));
    EXPECT_FALSE(out.status.started_at);
  }
}

TEST(RestorePlan, WhatIsRefusedOfTheClustersSpecDoesNotCount) {
  Observation seen = asked();
  seen.cluster->spec.version = "3.5.9";
  seen.cluster->status.observed.emplace().version = "3.6.16";
  EXPECT_EQ(plan(seen).status.phase, v1::kRestoreChecking);
}

TEST(RestorePlan, RevisionsMayComeNearTheirEnd) {
  Observation seen = asked();
  seen.cluster->status.revision_floor = 899'999'999'000'000'000;
  EXPECT_EQ(plan(seen).status.phase, v1::kRestoreChecking);
  seen.cluster->status.revision_floor = 0;
  seen.restore.spec.bump_revision = 900'000'000'000'000'000;
  EXPECT_EQ(plan(seen).status.phase, v1::kRestoreChecking);
}

TEST(RestorePlan, AClusterThatCannotKeepClientsOutIsTold) {
  Observation seen = ready();
  seen.restore.spec.decision = v1::RestoreDecision::Restore;
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/Stopping");
  runtime::set_condition(
      seen.cluster->status.conditions,
      {v1::kDegraded, "True", v1::kObjectRejected, "Service db-client belongs to another owner"}, 1,
      kNow);
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/ObjectRejected");
  EXPECT_EQ(
      words(plan(seen), v1::kStopped),
      "the cluster cannot be stopped until you fix this: Service db-client belongs to another "
      "owner");
  runtime::set_condition(seen.cluster->status.conditions,
                         {v1::kDegraded, "True", v1::kSplitBrain, "members of two etcds"}, 1, kNow);
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/SplitBrain");
  runtime::set_condition(
      seen.cluster->status.conditions,
      {v1::kDegraded, "True", v1::kQuorumLost,
       "1/3 members ready, quorum lost; Service db-client belongs to another owner"},
      1, kNow);
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/Stopping");
  EXPECT_EQ(words(plan(seen), v1::kStopped),
            "the cluster stops when both its Services are as the operator creates them; now: 1/3 "
            "members ready, quorum lost; Service db-client belongs to another owner");
}

/// Seed 71818: the cluster got such a member after the check.
TEST(RestorePlan, AClusterWithAMemberInMemoryIsSaidNotToBeStopped) {
  Observation seen = ready();
  seen.restore.spec.decision = v1::RestoreDecision::Commit;
  seen.in_memory = "db-a";
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/NotImplemented");
  EXPECT_EQ(words(plan(seen), v1::kStopped),
            "the cluster is not stopped: EtcdMember db-a has its data in memory, so the old data "
            "could not be kept for a rollback; restore into a new EtcdCluster, and set "
            "spec.decision to Rollback here");
}

/// The decision is made, and it is unknown whether the cluster has begun.
TEST(RestorePlan, WhatMayHaveBegunIsNotSaidToHaveChangedNothing) {
  Observation seen = ready();
  seen.cluster->spec.storage.medium = v1::Medium::Memory;
  for (const auto decision : {v1::RestoreDecision::Restore, v1::RestoreDecision::Commit}) {
    seen.restore.spec.decision = decision;
    EXPECT_EQ(plan(seen).status.phase, v1::kRestoreReady);
  }
  seen.restore.spec.decision = v1::RestoreDecision::Check;
  EXPECT_EQ(plan(seen).status.phase, v1::kRestorePhaseFailed);
}

TEST(RestorePlan, WhereTheStoreTakesAPodForItsAccountTheMembersHasToBeTheOneThatChecked) {
  Observation seen = asked();
  seen.restore.spec.pod.emplace().service_account_name = "reader";
  seen.restore.spec.source.s3->credentials_secret_ref.name = "store";
  EXPECT_EQ(plan(seen).status.phase, v1::kRestoreChecking) << "its keys are the same for both";
  seen.restore.spec.source.s3->credentials_secret_ref.name.clear();
  EXPECT_EQ(words(plan(seen), v1::kChecked),
            "spec.pod.serviceAccountName is not the ServiceAccount of the member that restores, "
            "which is the namespace's default: spec.podTemplate.spec.serviceAccountName of the "
            "EtcdCluster; nothing was changed");
  seen.cluster->spec.pod_template.emplace().spec = json::object{{"serviceAccountName", "reader"}};
  EXPECT_EQ(plan(seen).status.phase, v1::kRestoreChecking);
}

TEST(RestorePlan, AJobThatIsGoneOrUselessIsMadeOnceMore) {
  Observation gone = checking();
  gone.restore.status.job_uid = "j-1";
  gone.job.reset();
  const Plan made = plan(gone);
  EXPECT_EQ(made.status.attempts, 2);
  EXPECT_EQ(made.step, Step(CreateCheck{2}));
  EXPECT_EQ(made.again, 1s);
  EXPECT_EQ(made.status.job_uid, "") << "the second one is not known yet";
  gone.restore.status.attempts = kAttemptsMax;
  EXPECT_EQ(plan(gone).step, Step(NoStep{})) << "that was the last";
  Observation mute = checking();
  mute.job->status.conditions.push_back({"Complete", "True", "", "", ""});
  EXPECT_EQ(plan(mute).step, Step(DeleteCheck{"j-1"}));
  Observation before = checking();
  before.restore.status.attempts = 2;
  EXPECT_EQ(plan(before).step, Step(DeleteCheck{"j-1"})) << "of the attempt before";
}

TEST(RestorePlan, WhatIsBeingDeletedIsWaitedForAndNotDeletedTwice) {
  Observation before = checking();
  before.restore.status.attempts = 2;
  EXPECT_EQ(plan(before).again, 1s);
  before.job->terminating = true;
  EXPECT_EQ(plan(before).step, Step(NoStep{}));
  EXPECT_EQ(plan(before).again, 10s);
  Observation last = checking();
  last.restore.status.attempts = last.job->attempt = kAttemptsMax;
  last.now = kNow + kJobMax;
  EXPECT_EQ(plan(last).step, Step(DeleteCheck{"j-1"})) << "it would run on for nobody";
  last.job->terminating = true;
  EXPECT_EQ(plan(last).step, Step(NoStep{}));
  EXPECT_EQ(says(plan(last), v1::kChecked), "False/JobFailed");
}

TEST(RestorePlan, AJobOfANamesakeBeforeIsLeftAndWaitedFor) {
  Observation seen = checking();
  seen.job->ours = false;
  seen.job->of_namesake = true;
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.phase, v1::kRestoreChecking);
  EXPECT_EQ(says(out, v1::kChecked), "Unknown/Checking");
  EXPECT_EQ(words(out, v1::kChecked),
            "Job back-check belongs to an earlier EtcdRestore with this name, and is about to be "
            "deleted");
  EXPECT_EQ(out.status.job_uid, "") << "it is not the one that tells of the snapshot";
  EXPECT_EQ(out.step, Step(NoStep{}));
  EXPECT_EQ(out.again, 10s);
  seen = after(seen);
  seen.job.reset();
  EXPECT_EQ(plan(seen).step, Step(CreateCheck{1}));
}

TEST(RestorePlan, AJobOfBeforeThatAFinalizerKeepsIsNotWaitedForWithoutEnd) {
  for (const bool namesake : {false, true}) {
    Observation seen = checking();
    seen.job->ours = !namesake;
    seen.job->of_namesake = namesake;
    seen.job->terminating = true;
    seen.restore.status.attempts = 2;
    seen.restore.status.conditions.clear();  // By a user; the time counts from now on.
    EXPECT_EQ(says(plan(seen), v1::kChecked), "Unknown/Checking");
    EXPECT_EQ(plan(seen).again, 10s);
    seen = after(seen);
    seen.now = kNow + (kCheckMax - 1s);
    EXPECT_EQ(says(plan(seen), v1::kChecked), "Unknown/Checking");
    seen.now = kNow + kCheckMax;
    EXPECT_EQ(says(plan(seen), v1::kChecked),
              namesake ? "False/ObjectRejected" : "False/JobFailed");
    EXPECT_EQ(plan(seen).step, Step(NoStep{}));
    EXPECT_EQ(plan(seen).status.phase, v1::kRestorePhaseFailed);
  }
}

TEST(RestorePlan, WhatKeepsThePodOfItsJobFromRunningIsTold) {
  Observation seen = checking();
  kube::Pod& pod = seen.pods.emplace_back();
  pod.metadata.name = "back-check-abcde";
  pod.metadata.creation_timestamp = to_rfc3339(kNow);
  pod.status.phase = "Pending";
  EXPECT_EQ(words(plan(seen), v1::kChecked), "Job back-check is running") << "that takes a moment";
  seen.now = kNow + 60s;
  EXPECT_EQ(words(plan(seen), v1::kChecked),
            "Pod back-check-abcde waits: no node is assigned to it yet");
  EXPECT_EQ(says(plan(seen), v1::kChecked), "Unknown/Checking");
  EXPECT_EQ(plan(seen).again, 10s);
}

TEST(RestorePlan, RollbackBeforeAnythingWasDoneEndsIt) {
  for (Observation seen : {asked(), checking(), ready()}) {
    seen.restore.spec.decision = v1::RestoreDecision::Rollback;
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.phase, v1::kRestoreRolledBack);
    EXPECT_EQ(says(out, v1::kRolledBack), "True/RolledBack");
    EXPECT_EQ(words(out, v1::kRolledBack), "nothing had been changed");
    EXPECT_EQ(out.step, Step(NoStep{}));
  }
}

TEST(RestorePlan, AnotherOneThatIsUnderWayIsWaitedFor) {
  Observation seen = at(v1::RestoreStage::Review);
  seen.cluster->status.restore->uid = "r-0";
  seen.cluster->status.restore->name = "first";
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/AnotherRestoreFirst");
  seen.cluster->status.restore->stage = v1::RestoreStage::Committed;
  seen.restore.spec.decision = v1::RestoreDecision::Restore;
  EXPECT_EQ(says(plan(seen), v1::kStopped), "False/Stopping");
}

struct Stage {
  v1::RestoreStage stage;
  const char* phase;
  std::string stopped, data, committed, rolled_back;
};
const Stage kStages[] = {
    {v1::RestoreStage::Stopping, v1::kRestoreStopping, "False/Stopping", "", "", ""},
    {v1::RestoreStage::Restoring, v1::kRestoreRestoring, "True/Stopped", "Unknown/Restoring", "",
     ""},
    {v1::RestoreStage::Review, v1::kRestoreReview, "True/Stopped", "True/DataRestored",
     "False/AwaitingDecision", ""},
    {v1::RestoreStage::Committing, v1::kRestoreCommitting, "True/Stopped", "", "Unknown/Committing",
     ""},
    {v1::RestoreStage::Committed, v1::kRestoreComplete, "False/Committed", "", "True/Committed",
     ""},
    {v1::RestoreStage::RollingBack, v1::kRestoreRollingBack, "False/AwaitingDecision",
     "False/RolledBack", "", "Unknown/RollingBack"},
    {v1::RestoreStage::RolledBack, v1::kRestoreRolledBack, "False/RolledBack", "False/RolledBack",
     "", "True/RolledBack"},
};

TEST(RestorePlan, WhatWasToBeCommittedAndIsTakenBackSaysSo) {
  Observation seen = after(at(v1::RestoreStage::Review));
  seen.cluster->status.restore->stage = v1::RestoreStage::RollingBack;
  EXPECT_EQ(says(plan(seen), v1::kCommitted), "False/RolledBack");
}

TEST(RestorePlan, EachStageOfTheClusterHasAPhaseAndItsConditions) {
  for (const Stage& row : kStages) {
    SCOPED_TRACE(to_string(row.stage));
    const Plan out = plan(at(row.stage));
    EXPECT_EQ(out.status.phase, row.phase);
    EXPECT_EQ(says(out, v1::kStopped), row.stopped);
    EXPECT_EQ(says(out, v1::kRestoredData), row.data);
    EXPECT_EQ(says(out, v1::kCommitted), row.committed);
    EXPECT_EQ(says(out, v1::kRolledBack), row.rolled_back);
    EXPECT_TRUE(out.status.started_at);
    EXPECT_EQ(out.status.completed_at.has_value(), out.status.finished());
    EXPECT_EQ(out.step, Step(NoStep{}));
  }
}

TEST(RestorePlan, AFounderThatCannotRestoreIsToldInItsOwnWords) {
  Observation seen = at(v1::RestoreStage::Restoring);
  runtime::set_condition(seen.cluster->status.conditions,
                         {v1::kProgressing, "False", v1::kRestoreFailed, "SourceNotFound: gone"}, 1,
                         kNow);
  const Plan out = plan(seen);
  EXPECT_EQ(says(out, v1::kRestoredData), "False/RestoreFailed");
  EXPECT_EQ(words(out, v1::kRestoredData), "SourceNotFound: gone");
}

TEST(RestorePlan, AClusterWithoutWordsIsToldOfAllTheSame) {
  Observation seen = at(v1::RestoreStage::Restoring);
  seen.cluster->status.conditions.clear();
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.phase, v1::kRestoreRestoring);
  EXPECT_EQ(says(out, v1::kRestoredData), "Unknown/Restoring") << "nobody says that it failed";
  EXPECT_EQ(words(out, v1::kRestoredData), "");
}

TEST(RestorePlan, WhenItStartedIsWhenItWasFirstSeenToHave) {
  Observation seen = after(at(v1::RestoreStage::Stopping));
  const auto started = seen.restore.status.started_at;
  EXPECT_EQ(started, to_rfc3339(kNow));
  seen.now = kNow + 1h;
  seen.cluster->status.restore->stage = v1::RestoreStage::Committed;
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.started_at, started);
  EXPECT_EQ(out.status.completed_at, to_rfc3339(kNow + 1h));
}

TEST(RestorePlan, WhatWasSaidOfAClusterThatIsGoneIsTakenBack) {
  const std::string gone = "Unknown/ClusterNotFound";
  struct Row {
    v1::RestoreStage stage;
    std::string stopped, data;
  };
  for (const Row& row :
       {Row{v1::RestoreStage::Stopping, "False/Stopping", ""},
        Row{v1::RestoreStage::Restoring, gone, gone}, Row{v1::RestoreStage::Review, gone, gone},
        Row{v1::RestoreStage::RollingBack, "False/AwaitingDecision", "False/RolledBack"}}) {
    SCOPED_TRACE(to_string(row.stage));
    Observation seen = after(at(row.stage));
    seen.cluster.reset();
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.phase, v1::kRestorePhaseFailed);
    EXPECT_EQ(says(out, v1::kStopped), row.stopped);
    EXPECT_EQ(says(out, v1::kRestoredData), row.data);
    EXPECT_EQ(says(out, v1::kCommitted), gone);
  }
}

TEST(RestorePlan, AClusterThatKnowsNothingOfItAnyMoreEndsIt) {
  for (const bool gone : {true, false}) {
    Observation seen = after(at(v1::RestoreStage::Review));
    if (gone) seen.cluster.reset();
    else seen.cluster->status.restore.reset();
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.phase, v1::kRestorePhaseFailed);
    EXPECT_EQ(says(out, v1::kCommitted),
              gone ? "Unknown/ClusterNotFound" : "Unknown/ClusterReplaced");
  }
}

/// It lives in Git, and is applied again days later.
TEST(RestorePlan, R15_WhatWasCommittedBeforeIsNotDoneAgain) {
  v1::CommittedRestore done;
  done.name = "back";
  done.uid = "r-0";
  done.source = asked().restore.spec.source;
  for (const Observation& fresh : {asked(), checking(), ready()}) {
    Observation seen = fresh;
    seen.restore.spec.decision = v1::RestoreDecision::Commit;
    EXPECT_EQ(plan(seen).status.phase == v1::kRestorePhaseFailed, false);
    seen.cluster->status.restores = {done};
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.phase, v1::kRestorePhaseFailed);
    EXPECT_EQ(says(out, v1::kChecked), "False/AlreadyDone");
    EXPECT_NE(words(out, v1::kChecked).find("spec.runId"), std::string::npos);
    EXPECT_EQ(out.step, Step(NoStep{}));
    Observation another = seen;
    another.restore.spec.run_id = "2";
    EXPECT_NE(plan(another).status.phase, v1::kRestorePhaseFailed) << "its user asks for it";
    another = seen;
    another.restore.spec.source.s3->key = "prod/other.db";
    EXPECT_NE(plan(another).status.phase, v1::kRestorePhaseFailed) << "another snapshot";
    another = seen;
    another.cluster->status.restores.clear();
    v1::RestoreRecord& last = another.cluster->status.restore.emplace();
    last.name = "back";
    last.uid = "r-0";
    last.stage = v1::RestoreStage::Committed;
    last.from.source = done.source;
    EXPECT_EQ(says(plan(another), v1::kChecked), "False/AlreadyDone")
        << "an earlier release kept no other record";
    another.cluster->status.restore->stage = v1::RestoreStage::RolledBack;
    EXPECT_NE(plan(another).status.phase, v1::kRestorePhaseFailed) << "it may come again";
  }
}

TEST(RestorePlan, R15_OneThatWasCommittedSaysSoAlthoughAnotherHasBegunSince) {
  Observation seen = after(at(v1::RestoreStage::Committing));
  seen.cluster->status.restores.push_back({.name = "back",
                                           .uid = "r-1",
                                           .run_id = "",
                                           .source = seen.restore.spec.source,
                                           .checksum = ""});
  seen.cluster->status.restore->uid = "r-2";
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.phase, v1::kRestoreComplete);
  EXPECT_EQ(says(out, v1::kCommitted), "True/Committed");
}

TEST(RestorePlan, R15_WhoCommitsFromTheBeginningIsAskedForNothing) {
  Observation seen = at(v1::RestoreStage::Review);
  EXPECT_EQ(says(plan(seen), v1::kCommitted), "False/AwaitingDecision");
  seen.restore.spec.decision = v1::RestoreDecision::Commit;
  EXPECT_EQ(says(plan(seen), v1::kCommitted), "Unknown/Committing");
}

TEST(RestorePlan, K14_AClusterBesideStrangeVolumesIsNotStarted) {
  Observation seen = ready();
  seen.restore.spec.decision = v1::RestoreDecision::Commit;
  runtime::set_condition(seen.cluster->status.conditions,
                         {v1::kProgressing, "False", v1::kVolumesFound, "volumes: data-db-a"}, 1,
                         kNow);
  const Plan out = plan(seen);
  EXPECT_EQ(says(out, v1::kStopped), "False/VolumesFound");
  EXPECT_EQ(words(out, v1::kStopped), "volumes: data-db-a");
}

TEST(RestorePlan, WhatHasEndedIsLeftAlone) {
  for (const char* phase :
       {v1::kRestoreComplete, v1::kRestoreRolledBack, v1::kRestorePhaseFailed}) {
    Observation seen = asked();
    seen.restore.status.phase = phase;
    const Plan out = plan(seen);
    EXPECT_EQ(out.status, seen.restore.status);
    EXPECT_EQ(out.step, Step(NoStep{}));
  }
}

}  // namespace
}  // namespace etcdop::restore
