// A new cluster that starts from a snapshot: its conditions on the way, pass after pass.
#include "operator/cluster/restoring.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "operator/cluster/events.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/plan.h"
#include "operator/cluster/spec.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};

/// prod/db, restored from a volume, and the passes over it.
class RestoringTest : public ::testing::Test {
 protected:
  RestoringTest() {
    seen.now = kNow;
    seen.cluster.metadata.name = "db";
    seen.cluster.metadata.ns = "prod";
    seen.cluster.metadata.uid = "u-1";
    seen.cluster.spec.version = "3.6.16";
    seen.cluster.spec.bootstrap.emplace().restore.emplace().source.pvc = {"backups", "db.db"};
    const Plan first = pass();
    const auto& seed = std::get<CreateMember>(first.step);
    Seat seat;
    seat.name = seed.name;
    seat.peer_url = seed.peer_url;
    seat.object.emplace().uid = "m-1";
    seat.object->seed = seed.seed;
    seat.object->initial_cluster = seed.name + "=" + seed.peer_url;
    seat.object->created = kNow;
    seat.object->spec_version = seen.cluster.spec.version;
    seat.object->made_as = template_of(*first.status.observed);
    seen.seats = {seat};
  }

  /// The plan's status is stored.
  Plan pass(std::chrono::seconds later = 1s) {
    seen.now = seen.now + later;
    Plan out = plan(seen);
    seen.cluster.status = out.status;
    return out;
  }
  std::string told(const char* type) const {
    const auto* c = runtime::find_condition(seen.cluster.status.conditions, type);
    return c ? c->status + " " + c->reason + ": " + c->message : "";
  }
  std::string after_pass(std::chrono::seconds later = 1s) {
    (void)pass(later);
    return told(v1::kProgressing);
  }
  Seat& seed() { return seen.seats.front(); }
  void says(const char* reason, const char* trouble = "") {
    seed().object->reason = reason;
    seed().object->trouble = trouble;
  }
  /// Its etcd answers.
  void answers() {
    seed().pod = Seat::Pod{.node = "n", .founds = true};
    says(v1::kDiscoveringMemberId);
    seed().answer = Seat::Answer{"3.6.16", etcd::MemberId{1}};
    seed().listed = Seat::Listed{etcd::MemberId{1}, false, true};
    seen.linearizable = true;
    seen.cluster_id = etcd::ClusterId{0xc1};
  }

  Observation seen;
};

TEST_F(RestoringTest, TheFirstMemberAloneIsMadeWithTheSnapshot) {
  const auto made = [&](bool first) {
    v1::EtcdMemberSpec spec;
    const Json object = member(seen.cluster, {"db-x", "http://x", first});
    EXPECT_TRUE(api::decode(object.at("spec"), spec, "spec"));
    return spec.restore;
  };
  EXPECT_EQ(made(true), seen.cluster.spec.bootstrap->restore);
  EXPECT_FALSE(made(false));
}

TEST_F(RestoringTest, ItIsToldFromTheFirstMemberToItsAnswer) {
  const std::string restoring =
      "restoring file db.db of PersistentVolumeClaim backups into " + seed().name;
  EXPECT_EQ(after_pass(), "True Restoring: " + restoring);
  EXPECT_EQ(seen.cluster.status.phase, v1::kPhaseCreating);
  EXPECT_EQ(told(v1::kAvailable), "") << "there is no cluster yet";
  seed().pod = Seat::Pod{.node = "n", .founds = true, .restores = true};
  says(v1::kRestoring);
  EXPECT_EQ(after_pass(), "True Restoring: " + restoring);
  says(v1::kImagePullFailed, "the etcd image of version 3.6.16 cannot be pulled");
  EXPECT_EQ(after_pass(),
            "True Restoring: " + restoring + "; the etcd image of version 3.6.16 cannot be pulled");
  seed().pod->restores = false;
  says(v1::kPodNotReady);
  EXPECT_EQ(after_pass(), "True WaitingForSeed: waiting for the first member");
  answers();
  EXPECT_EQ(after_pass().substr(0, 20), "True InitialSnapshot");
  EXPECT_EQ(seen.cluster.status.cluster_id, "00000000000000c1");
}

TEST_F(RestoringTest, AnAnswerThatComesBeforeItIsSeenToBeRestoredIsABirth) {
  (void)pass();
  answers();
  EXPECT_EQ(after_pass().substr(0, 20), "True InitialSnapshot");
}

TEST_F(RestoringTest, ThatItWasRestoredIsAnEventOnce) {
  const auto told_of = [&] {
    std::string out;
    for (const auto& one : births(seen, plan(seen).status)) out += one.reason + ": " + one.note;
    return out;
  };
  seed().pod = Seat::Pod{.node = "n", .founds = true, .restores = true};
  EXPECT_EQ(told_of(), "");
  seed().pod->restores = false;
  EXPECT_EQ(told_of(), "") << "etcd has not answered";
  answers();
  EXPECT_EQ(told_of(), "Restored: " + seed().name +
                           " was restored from file db.db of PersistentVolumeClaim backups");
  Observation lost = seen;
  lost.seats.front().pod->founds = false;
  EXPECT_TRUE(births(lost, plan(lost).status).empty()) << "its status was lost, long after";
  Observation empty = seen;
  empty.cluster.spec.bootstrap.reset();
  EXPECT_TRUE(births(empty, plan(empty).status).empty());
  (void)pass();
  EXPECT_EQ(told_of(), "");
}

TEST_F(RestoringTest, AFailureIsToldAndItsEndIsToo) {
  seed().pod = Seat::Pod{.node = "n", .founds = true, .restores = true};
  says(v1::kRestoreFailed, "SnapshotBroken: its hash is wrong");
  EXPECT_EQ(after_pass(), "False RestoreFailed: SnapshotBroken: its hash is wrong");
  EXPECT_EQ(told(v1::kAvailable), "False RestoreFailed: SnapshotBroken: its hash is wrong");
  EXPECT_EQ(seen.cluster.status.phase, v1::kPhaseFailed);
  EXPECT_EQ(after_pass(700s), "False RestoreFailed: SnapshotBroken: its hash is wrong")
      << "which says more than that it is late";
  EXPECT_EQ(to_string(pass().step), "none") << "I4: nobody is founded in its place";
  seed().pod->restores = false;
  says(v1::kPodNotReady);
  EXPECT_EQ(after_pass().substr(0, 21), "False BootstrapFailed") << "late it is";
  answers();
  EXPECT_EQ(after_pass().substr(0, 22), "False DeadlineExceeded");
  seed().pod->founds = false;
  seed().object->ready = true;
  (void)pass();
  EXPECT_EQ(told(v1::kAvailable).substr(0, 22), "True ClusterDiscovered");
}

TEST_F(RestoringTest, AFailureThatIsMendedInTimeIsNoLongerTold) {
  seed().pod = Seat::Pod{.node = "n", .founds = true, .restores = true};
  says(v1::kRestoreFailed, "SourceNotFound: there is no db.db");
  (void)pass();
  seed().pod->restores = false;
  says(v1::kPodNotReady);
  EXPECT_EQ(after_pass(), "True WaitingForSeed: waiting for the first member");
  EXPECT_EQ(told(v1::kAvailable), "False WaitingForSeed: waiting for the first member");
  EXPECT_EQ(seen.cluster.status.phase, v1::kPhaseCreating);
  answers();
  EXPECT_EQ(after_pass().substr(0, 20), "True InitialSnapshot");
}

TEST_F(RestoringTest, AnOperatorWithoutItsImageSaysSo) {
  says(v1::kOperatorImageNotConfigured, "the operator was started without --operator-image");
  EXPECT_EQ(after_pass(),
            "False OperatorImageNotConfigured: the operator was started without --operator-image");
  EXPECT_EQ(told(v1::kAvailable).substr(0, 33), "False OperatorImageNotConfigured:");
  EXPECT_EQ(seen.cluster.status.phase, v1::kPhaseFailed);
  says("");
  EXPECT_EQ(after_pass().substr(0, 14), "True Restoring");
  EXPECT_EQ(told(v1::kAvailable).substr(0, 15), "False Restoring");
}

TEST_F(RestoringTest, ALongOneIsLateAndGoesOn) {
  EXPECT_EQ(after_pass(700s),
            "False BootstrapFailed: not done within 600 s: restoring file db.db of "
            "PersistentVolumeClaim backups into " +
                seed().name + "; still trying");
  EXPECT_EQ(to_string(pass().step), "none");
}

TEST_F(RestoringTest, AClusterThatWasRestoredLongAgoRestoresNothing) {
  seen.cluster.status = {};  // A tool restored the object without its status.
  seed().object->member_id = "0000000000000001";
  EXPECT_FALSE(restore_of(seen));
  EXPECT_EQ(after_pass().substr(0, 19), "True WaitingForSeed");
  seed().object->member_id.clear();
  seen.cluster.status.cluster_id = "00000000000000c1";
  EXPECT_FALSE(restore_of(seen));
}

}  // namespace
}  // namespace etcdop::cluster
