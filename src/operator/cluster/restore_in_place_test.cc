// A restore in place, stage after stage: each decision of its user, at each moment, in a small
// world that does what the plans say.
#include "operator/cluster/restore_in_place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/plan.h"
#include "operator/credentials/tls.h"
#include "runtime/conditions.h"
#include "test/support/every.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;
using v1::RestoreDecision;

constexpr WallTime kNow{1795233378s};
constexpr etcd::ClusterId kOld{0xc1}, kNew{0xc2};
constexpr std::int64_t kOldRevision = 5000;

/// prod/db and its members.
struct World {
  struct Member {
    std::string name, uid, token;
    bool seed = false, dormant = false, terminating = false, finalizer = true, voter = false;
    bool pod = false, founds = false;
    bool volume = true;
  };

  v1::EtcdCluster cluster;
  std::map<std::string, Member> members;
  std::set<std::string> volumes;
  std::vector<std::string> taken;
  bool fenced = false, service_is_foreign = false, in_memory = false;
  int uids = 0;
  std::optional<RestoreSeen> restore;
  WallTime now = kNow;
  std::vector<std::string> done;  ///< Steps, in their order.
  AuthSeen auth;                  ///< As seen at the member that restores.

  explicit World(int size) {
    cluster.metadata.name = "db";
    cluster.metadata.ns = "prod";
    cluster.metadata.uid = "u-1";
    cluster.spec.version = "3.6.16";
    cluster.spec.replicas = size;
    (void)plan(observe(false));
    v1::EtcdClusterStatus& status = cluster.status;
    status = plan(observe(false)).status;
    status.cluster_id = to_hex(kOld);
    status.pending_members.clear();
    for (int i = 0; i < size; ++i) {
      Member& made = add("db-old" + std::to_string(i), i == 0);
      made.pod = made.voter = true;
      volumes.insert(made.name);
    }
    restore = RestoreSeen{.name = "back",
                          .uid = "r-1",
                          .gone = false,
                          .decision = RestoreDecision::Restore,
                          .from = {}};
    restore->from.source.pvc = {"backups", "db.db"};
  }

  Member& add(const std::string& name, bool seed) {
    Member& made = members[name];
    made.name = name;
    made.uid = "m-" + std::to_string(++uids);
    made.token = cluster.status.cluster_token;
    made.seed = seed;
    return made;
  }

  bool is_old(const Member& member) const { return member.name.starts_with("db-old"); }

  Observation observe(bool answers = true) const {
    Observation seen;
    seen.now = now;
    seen.cluster = cluster;
    seen.restore = restore;
    seen.auth = auth;
    const bool wanted_fence = cluster.restoring() != nullptr;
    seen.headless_service = fenced == wanted_fence ? Child::AsMade : Child::Drifted;
    seen.client_service = service_is_foreign ? Child::Missing : seen.headless_service;
    for (const auto& [name, member] : members) {
      seen.taken_names.push_back(name);
      Seat seat;
      seat.name = name;
      seat.peer_url = peer_url(cluster, name);
      Seat::Object& object = seat.object.emplace();
      object.uid = member.uid;
      object.terminating = member.terminating;
      object.other_medium = in_memory;
      object.seed = member.seed;
      object.dormant = member.dormant;
      object.has_finalizer = member.finalizer;
      object.current = member.token == cluster.status.cluster_token;
      object.voter = object.ready = member.voter && member.pod;
      object.initial_cluster = name + "=" + seat.peer_url;
      object.spec_version = "3.6.16";
      object.created = kNow;
      if (member.pod) seat.pod = Seat::Pod{.node = "n", .founds = member.founds};
      if (cluster.restoring() && cluster.restoring()->keeps(member.uid)) {
        seen.kept.push_back(seat);
        continue;
      }
      if (answers && member.pod && !member.dormant) {
        const bool old = is_old(member);
        const auto id = static_cast<std::uint64_t>(std::hash<std::string>()(name) | 1);
        seat.listed = Seat::Listed{etcd::MemberId{id}, false, true};
        seat.answer = Seat::Answer{"3.6.16", etcd::MemberId{id}};
        seat.answer->revision = old ? kOldRevision : 2'000'000'000;
        seen.cluster_id = old ? kOld : kNew;
        seen.linearizable = true;
      }
      seen.seats.push_back(seat);
    }
    seen.have_volumes.assign(volumes.begin(), volumes.end());
    seen.taken_names = taken;
    return seen;
  }

  /// Applies the plan, then does what the member's controller and Kubernetes do about it.
  Plan pass() {
    now = now + 1s;
    const Plan out = plan(observe());
    cluster.status = out.status;
    if (out.make_headless_service) fenced = cluster.restoring() != nullptr;
    if (!std::holds_alternative<NoStep>(out.step)) done.push_back(to_string(out.step));
    std::visit([this](const auto& step) { carry_out(step); }, out.step);
    for (auto& [name, member] : members) {
      if (member.dormant) member.pod = false;
      else if (!member.pod && !member.terminating) start(member);
      else if (member.founds && !cluster.status.cluster_id.empty()) member.founds = false;
    }
    return out;
  }
  void start(Member& member) {
    member.pod = true;
    volumes.insert(member.name);
    member.founds = member.seed && !is_old(member) && cluster.status.cluster_id.empty();
    if (member.founds) member.voter = true;
  }
  template <class S>
  void carry_out(const S& step) {
    if constexpr (std::is_same_v<S, CreateMember>) {
      if (!members.contains(step.name)) (void)add(step.name, step.seed);
    } else if constexpr (std::is_same_v<S, PauseMember>) {
      members.at(step.name).dormant = true;
    } else if constexpr (std::is_same_v<S, WakeMember>) {
      members.at(step.name).dormant = false;
    } else if constexpr (std::is_same_v<S, DeleteMember>) {
      members.at(step.name).terminating = true;
    } else if constexpr (std::is_same_v<S, ReleaseMember>) {
      members.erase(step.name);
      volumes.erase(step.name);
    } else if constexpr (std::is_same_v<S, RecordPassword>) {
      auth.recorded = true;
      auth.step = PasswordStep::None;
    } else if constexpr (std::is_same_v<S, EnableAuth>) {
      auth.enabled = auth.entered = true;
    } else {
      static_assert(!std::is_same_v<S, void>);
    }
  }

  std::string stage() const {
    return cluster.status.restore ? to_string(cluster.status.restore->stage) : "";
  }
  int old_volumes() const {
    return static_cast<int>(
        std::ranges::count_if(volumes, [](const auto& v) { return v.starts_with("db-old"); }));
  }
  int old_pods() const {
    return static_cast<int>(std::ranges::count_if(
        members, [&](const auto& m) { return is_old(m.second) && m.second.pod; }));
  }
  int new_members() const {
    return static_cast<int>(
        std::ranges::count_if(members, [&](const auto& m) { return !is_old(m.second); }));
  }
  int new_pods() const {
    return static_cast<int>(std::ranges::count_if(
        members, [&](const auto& m) { return !is_old(m.second) && m.second.pod; }));
  }
  std::string says(const char* type) const {
    const auto* c = runtime::find_condition(cluster.status.conditions, type);
    return c ? c->status + "/" + c->reason : "";
  }
  /// Runs passes until it has reached that stage.
  ::testing::AssertionResult reaches(const char* wanted, int passes = 60) {
    for (int i = 0; i < passes; ++i) {
      if (stage() == wanted) return ::testing::AssertionSuccess();
      (void)pass();
    }
    return ::testing::AssertionFailure() << "stays " << stage();
  }
};

TEST(InPlace, ItIsRecordedWithAllThatIsNeededToTakeItBackBeforeAnythingIsDone) {
  World world(3);
  world.cluster.status.pending_members.push_back({9, "db-new", "http://x", "then"});
  world.cluster.status.auth_enabled = true;
  world.restore->from.checksum = "sha256:" + std::string(64, 'a');
  const Plan first = world.pass();
  ASSERT_TRUE(first.status.restore);
  const v1::RestoreRecord& record = *first.status.restore;
  EXPECT_EQ(first.step, Step(NoStep{}));
  EXPECT_EQ(record.stage, v1::RestoreStage::Stopping);
  EXPECT_EQ(record.cluster_id, to_hex(kOld));
  EXPECT_EQ(record.cluster_token, "prod-db-u-1");
  EXPECT_EQ(record.members.size(), 3U);
  EXPECT_EQ(record.pending_members.size(), 1U);
  EXPECT_TRUE(record.auth_enabled);
  EXPECT_EQ(first.status.revision_floor, kOldRevision);
  EXPECT_EQ(record.from.bump_revision, 1'000'000'000 + kOldRevision);
  EXPECT_EQ(record.from.checksum, world.restore->from.checksum) << "what was checked";
}

TEST(InPlace, ASecondRestoreOfTheSameSnapshotStartsAboveTheFirst) {
  World world(1);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(world.cluster.status.revision_floor, 2'000'000'000);
  for (int i = 0; i < 5; ++i) (void)world.pass();
  world.restore->uid = "r-2";
  world.restore->name = "again";
  (void)world.pass();
  ASSERT_EQ(world.stage(), "Stopping");
  EXPECT_EQ(world.cluster.status.restore->from.bump_revision, 3'000'000'000);
}

TEST(InPlace, WhatItsUserAsksForAtLeastIsAddedToAllThatClientsHaveSeen) {
  World world(1);
  world.restore->from.bump_revision = 1'000'000;
  (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->from.bump_revision, 1'000'000 + kOldRevision);
  World high(1);
  high.restore->from.bump_revision = 1'000'000'000'000'000'000;
  (void)high.pass();
  EXPECT_EQ(high.cluster.status.restore->from.bump_revision, 1'000'000'000'000'000'000);
}

/// Seeds 425774426 and 425777607: founded from the snapshot of a cluster whose revisions had been
/// raised before, and no member could report them any more.
TEST(InPlace, HowFarAClusterHadComeAtItsBirthIsRemembered) {
  World world(1);
  world.cluster.spec.bootstrap.emplace().restore.emplace().bump_revision = 0;
  world.cluster.status.cluster_id.clear();
  world.restore.reset();
  world.cluster.status = plan(world.observe()).status;
  EXPECT_EQ(world.cluster.status.cluster_id, to_hex(kOld));
  EXPECT_EQ(world.cluster.status.revision_floor, kOldRevision);
}

/// Seed 425771008, among others.
TEST(InPlace, AClusterThatWasBornAMomentAgoIsRecordedWithItsId) {
  World world(1);
  world.cluster.status.cluster_id.clear();
  const Plan first = world.pass();
  ASSERT_TRUE(first.status.restore);
  EXPECT_EQ(first.status.restore->cluster_id, to_hex(kOld));
}

TEST(InPlace, WhereNobodyTellsWhatClientsHaveSeenItIsAssumedToBeMuch) {
  World world(3);
  world.restore->from.bump_revision = 1'000'000;
  const auto begun = [&] { return plan(world.observe(false)).status.restore->from.bump_revision; };
  EXPECT_EQ(begun(), 1'000'000'000);
  world.cluster.spec.bootstrap.emplace().restore.emplace();
  EXPECT_EQ(begun(), 2'000'000'000) << "it began above a snapshot itself";
  world.cluster.spec.bootstrap->restore->bump_revision = 5;
  EXPECT_EQ(begun(), 1'000'000'005);
  world.cluster.status.revision_floor = 7'000'000'000;
  EXPECT_EQ(begun(), 8'000'000'000);
}

TEST(InPlace, RestoreStopsAndWaitsWithOneMemberThatNobodyReaches) {
  for (const int size : {1, 2, 3}) {
    World world(size);
    ASSERT_TRUE(world.reaches("Review"));
    for (int i = 0; i < 5; ++i) (void)world.pass();
    EXPECT_EQ(world.stage(), "Review");
    EXPECT_TRUE(world.fenced);
    EXPECT_EQ(world.old_pods(), 0);
    EXPECT_EQ(world.old_volumes(), size);
    EXPECT_EQ(world.new_members(), 1);
    EXPECT_EQ(world.cluster.status.cluster_id, to_hex(kNew));
    EXPECT_EQ(world.cluster.status.cluster_token, "prod-db-u-1-r-1");
    EXPECT_EQ(world.says(v1::kAvailable), "False/Restoring");
    EXPECT_EQ(world.says(v1::kProgressing), "True/Restoring");
    EXPECT_EQ(world.cluster.status.phase, v1::kPhaseRestoring);
  }
}

TEST(InPlace, WhoIsReadyIsCountedMeanwhile) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  Observation seen = world.observe();
  EXPECT_EQ(plan(seen).status.ready_members, 1);
  EXPECT_EQ(plan(seen).again, 60s) << "a person decides";
  for (Seat& seat : seen.seats) seat.object->ready = false;
  EXPECT_EQ(plan(seen).status.ready_members, 0);
}

TEST(InPlace, TheFounderIsMadeFromTheRecordAndNobodyElseIs) {
  World world(3);
  ASSERT_TRUE(world.reaches("Review"));
  EXPECT_EQ(std::ranges::count_if(world.done,
                                  [](const auto& step) { return step.starts_with("create"); }),
            1);
  v1::EtcdMemberSpec spec;
  const Json object = member(world.cluster, {"db-x", "http://x", true});
  ASSERT_TRUE(api::decode(object.at("spec"), spec, "spec"));
  EXPECT_EQ(spec.restore, world.cluster.status.restore->from);
  EXPECT_EQ(spec.cluster_token, "prod-db-u-1-r-1");
}

TEST(InPlace, CommitGivesUpTheVolumesOfBeforeAndThenLetsClientsIn) {
  World world(3);
  ASSERT_TRUE(world.reaches("Review"));
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committing"));
  EXPECT_EQ(world.old_volumes(), 3);
  while (world.stage() == "Committing") {
    EXPECT_TRUE(world.fenced);
    (void)world.pass();
  }
  EXPECT_EQ(world.stage(), "Committed");
  EXPECT_EQ(world.old_volumes(), 0);
  EXPECT_TRUE(world.cluster.status.restore->members.empty()) << "nothing of before is kept";
  (void)world.pass();
  EXPECT_FALSE(world.fenced);
  EXPECT_EQ(world.says(v1::kAvailable), "True/ClusterDiscovered");
  (void)world.pass();
  EXPECT_GT(world.new_members(), 1) << "it grows";
  EXPECT_EQ(world.cluster.status.restore->cluster_id, "") << "nothing of before is kept";
}

TEST(InPlace, AuthenticationComesBeforeClientsAndBeforeTheVolumesOfBeforeGo) {
  World world(1);
  world.cluster.spec.auth.emplace().enabled = true;
  world.cluster.status.auth_enabled = true;
  world.restore->decision = RestoreDecision::Commit;
  world.auth = {
      .refused = "Secret root does not exist", .step = PasswordStep::Record, .enabled = false};
  ASSERT_TRUE(world.reaches("Committing"));
  for (int i = 0; i < 5; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "Committing");
  EXPECT_TRUE(world.fenced);
  EXPECT_EQ(world.old_volumes(), 1);
  const auto* told = runtime::find_condition(world.cluster.status.conditions, v1::kProgressing);
  EXPECT_NE(told->message.find("Secret root does not exist"), std::string::npos);
  world.auth.refused.clear();
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_TRUE(world.cluster.status.auth_enabled);
  EXPECT_EQ(std::ranges::count(world.done, "record-password"), 1);
  EXPECT_EQ(std::ranges::count(world.done, "enable-auth"), 1);
}

TEST(InPlace, AuthenticationThatCameWithTheSnapshotIsEnteredFirst) {
  World world(1);
  world.cluster.spec.auth.emplace().enabled = true;
  world.restore->decision = RestoreDecision::Commit;
  world.auth.enabled = true;
  ASSERT_TRUE(world.reaches("Committing"));
  for (int i = 0; i < 5; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "Committing");
  world.auth.entered = true;
  world.auth.step = PasswordStep::Record;
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(std::ranges::count(world.done, "enable-auth"), 0);
}

TEST(InPlace, AVolumeThatStaysKeepsClientsOut) {
  World world(1);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committing"));
  for (int i = 0; i < 5; ++i) {
    (void)world.pass();
    world.volumes.insert("db-old0");
  }
  EXPECT_EQ(world.stage(), "Committing");
  EXPECT_TRUE(world.fenced);
  world.volumes.erase("db-old0");
  EXPECT_TRUE(world.reaches("Committed"));
}

/// Seed 207506: a user created an EtcdMember of before again. It waited for a volume that was gone.
TEST(InPlace, I17_AnotherObjectOfThatNameKeepsNobodyOut) {
  World world(1);
  world.restore->decision = RestoreDecision::Commit;
  world.taken = {"db-old0"};
  EXPECT_TRUE(world.reaches("Committed"));
}

TEST(InPlace, RollbackWakesTheMembersOfBeforeAsTheyWere) {
  World world(3);
  world.cluster.status.pending_members.push_back({9, "db-new", "http://x", "then"});
  world.cluster.status.auth_enabled = true;
  ASSERT_TRUE(world.reaches("Review"));
  EXPECT_FALSE(world.cluster.status.auth_enabled) << "the snapshot may have none";
  world.restore->decision = RestoreDecision::Rollback;
  ASSERT_TRUE(world.reaches("RolledBack"));
  EXPECT_EQ(world.new_members(), 0);
  EXPECT_EQ(world.new_pods(), 0);
  const v1::EtcdClusterStatus& status = world.cluster.status;
  EXPECT_EQ(status.cluster_id, to_hex(kOld));
  EXPECT_EQ(status.cluster_token, "prod-db-u-1");
  EXPECT_EQ(status.pending_members.size(), 1U);
  EXPECT_TRUE(status.auth_enabled);
  EXPECT_TRUE(status.restore->members.empty());
  for (int i = 0; i < 6; ++i) (void)world.pass();
  EXPECT_EQ(world.old_pods(), 3);
  EXPECT_FALSE(world.fenced);
}

TEST(InPlace, APausedClusterSleepsAgainAfterARollback) {
  World world(1);
  world.cluster.spec.replicas = 0;
  const auto asked = std::exchange(world.restore, std::nullopt);
  for (int i = 0; i < 4; ++i) (void)world.pass();
  ASSERT_EQ(world.old_pods(), 0);
  world.restore = asked;
  ASSERT_TRUE(world.reaches("Review"));
  world.restore->decision = RestoreDecision::Rollback;
  ASSERT_TRUE(world.reaches("RolledBack"));
  for (int i = 0; i < 4; ++i) (void)world.pass();
  EXPECT_EQ(world.old_pods(), 0);
  EXPECT_EQ(world.says(v1::kAvailable), "False/Paused");
}

TEST(InPlace, WhoIsUnknownIsKeptAndNeverDropped) {
  World world(2);
  ASSERT_TRUE(world.reaches("Review"));
  // An earlier member, only now in the caches.
  World::Member& late = world.add("db-old9", true);
  late.token = "prod-db-u-1";
  late.pod = late.voter = true;
  world.volumes.insert(late.name);
  (void)world.pass();
  EXPECT_TRUE(world.cluster.status.restore->keeps(late.uid));
  for (int i = 0; i < 4; ++i) (void)world.pass();
  EXPECT_EQ(world.old_pods(), 0) << "it is dormant, too";
  world.restore->decision = RestoreDecision::Rollback;
  ASSERT_TRUE(world.reaches("RolledBack"));
  EXPECT_EQ(world.old_volumes(), 3);
}

/// The new leader has an older list of members.
TEST(InPlace, WhoIsUnknownWhereNothingWasStoppedYetIsKeptToo) {
  World world(2);
  (void)world.pass();
  ASSERT_EQ(world.stage(), "Stopping");
  world.restore->decision = RestoreDecision::Rollback;
  ASSERT_TRUE(world.reaches("RollingBack"));
  World::Member& late = world.add("db-old9", true);
  late.pod = late.voter = true;
  world.volumes.insert(late.name);
  ASSERT_TRUE(world.reaches("RolledBack"));
  EXPECT_EQ(world.old_volumes(), 3);
  for (const std::string& step : world.done) EXPECT_EQ(step.find("delete"), step.npos) << step;
}

TEST(InPlace, WhereAServiceCannotBeKeptFromClientsNothingBegins) {
  World world(2);
  world.service_is_foreign = true;
  for (int i = 0; i < 5; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "");
  EXPECT_EQ(world.old_pods(), 2);
  world.service_is_foreign = false;
  EXPECT_TRUE(world.reaches("Review"));
}

/// Seed 71818: a user made the EtcdCluster the owner of an EtcdMember with data in memory.
TEST(InPlace, MembersWithDataInMemoryAreNotStopped) {
  World world(2);
  world.in_memory = true;
  for (int i = 0; i < 5; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "");
  EXPECT_EQ(world.old_pods(), 2);
}

/// A rollback would start both.
TEST(InPlace, I9_MembersOfTwoEtcdsAreNotStopped) {
  World world(2);
  Observation seen = world.observe();
  seen.cluster.status.cluster_id.clear();
  EXPECT_TRUE(plan(seen).status.restore);
  seen.seats[1].object->token = "prod-db-c-0";
  seen.seats[1].listed.reset();
  EXPECT_FALSE(plan(seen).status.restore);
}

/// Seed 202241: members that were counted before the restore stayed counted.
TEST(InPlace, I17_NoMemberThatWasStoppedIsCounted) {
  World world(2);
  ASSERT_TRUE(world.reaches("Review"));
  world.cluster.status.broken_members = world.cluster.status.updated_members = 2;
  const v1::EtcdClusterStatus status = plan(world.observe()).status;
  EXPECT_EQ(status.broken_members, 0);
  EXPECT_EQ(status.updated_members, 0) << "the new one has another spec";
}

TEST(InPlace, AFounderThatSomebodyDeletesIsReplaced) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  const std::string first = world.cluster.status.restore->founder;
  world.members.at(first).terminating = true;
  (void)world.pass();
  EXPECT_EQ(world.stage(), "Restoring");
  ASSERT_TRUE(world.reaches("Review"));
  EXPECT_NE(world.cluster.status.restore->founder, first);
  EXPECT_FALSE(world.members.contains(first));
  EXPECT_EQ(world.old_volumes(), 1);
}

TEST(InPlace, AFounderThatIsLostWhileItIsCommittedIsMadeOnceMoreAndNothingIsTakenBackAnyMore) {
  World world(3);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committing"));
  while (world.old_volumes() == 3) (void)world.pass();
  ASSERT_EQ(world.stage(), "Committing");
  world.members.at(world.cluster.status.restore->founder).terminating = true;
  (void)world.pass();
  EXPECT_EQ(world.stage(), "Restoring");
  world.restore->decision = RestoreDecision::Rollback;
  world.restore->gone = true;
  const int left = world.old_volumes();
  ASSERT_TRUE(world.reaches("Committing"));
  EXPECT_EQ(world.old_volumes(), left);
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(world.cluster.status.cluster_id, to_hex(kNew));
}

TEST(InPlace, VolumesOfBeforeStayWhileWhatWasRestoredDoesNotAnswer) {
  World world(3);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committing"));
  for (int i = 0; i < 5; ++i) {
    const Plan out = plan(world.observe(false));
    EXPECT_EQ(out.step, Step(NoStep{}));
    EXPECT_EQ(out.status.restore->stage, v1::RestoreStage::Committing);
  }
  EXPECT_EQ(world.old_volumes(), 3);
}

TEST(InPlace, WhatTheApiServerDoesNotSayIsWaitedFor) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  world.restore.reset();
  for (int i = 0; i < 5; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "Review");
}

TEST(InPlace, AnotherEtcdRestoreDecidesNothing) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  world.restore->uid = "r-9";
  for (const auto decision : {RestoreDecision::Commit, RestoreDecision::Rollback}) {
    world.restore->decision = decision;
    for (int i = 0; i < 3; ++i) (void)world.pass();
    EXPECT_EQ(world.stage(), "Review");
  }
}

/// Seed 657005649: a user broke the operator's certificate, and no member answered it any more.
TEST(InPlace, CertificatesOfOursAreMadeWhileItIsReviewedAndCommitted) {
  World world(1);
  world.cluster.spec.tls.emplace().client.emplace().operator_managed.emplace();
  ASSERT_TRUE(world.reaches("Review"));
  const std::string authority = "db-client-ca", shown = "db-operator-client-tls";
  CertificateSeen good{.secret = authority, .ours = true, .from = kNow, .until = kNow + 1000h};
  Observation seen = world.observe();
  seen.now = kNow + 1s;
  for (const ManagedSecret& secret : managed_secrets_of(world.cluster)) {
    good.secret = secret.name;
    good.authority = secret.authority.empty() ? secret.name : secret.authority;
    seen.tls.managed.push_back(good);
  }
  for (CertificateSeen& one : seen.tls.managed)
    one.names = server_names(world.cluster.metadata.key(), seen.cluster_domain,
                             members_to_name(seen, world.cluster.status));
  EXPECT_EQ(to_string(plan(seen).step), "none");
  const auto it = std::ranges::find(seen.tls.managed, shown, &CertificateSeen::secret);
  ASSERT_NE(it, seen.tls.managed.end());
  for (const v1::RestoreStage stage : {v1::RestoreStage::Review, v1::RestoreStage::Committing}) {
    Observation spoilt = seen;
    spoilt.cluster.status.restore->stage = stage;
    spoilt.tls.managed.at(static_cast<std::size_t>(it - seen.tls.managed.begin())).missing = true;
    EXPECT_EQ(to_string(plan(spoilt).step), "issue-certificate " + shown) << to_string(stage);
  }
  seen.now = kNow + 700h;  // Two thirds of its life have passed.
  EXPECT_TRUE(to_string(plan(seen).step).starts_with("issue-certificate")) << "while people decide";
}

TEST(InPlace, CertificatesAreAskedForAllTheTime) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  Observation seen = world.observe();
  seen.certificates = {{"db-server", Child::Missing}, {"db-peer", Child::AsMade}};
  EXPECT_TRUE(plan(seen).make_certificates.empty()) << "cert-manager is not there";
  seen.cert_manager = true;
  EXPECT_EQ(plan(seen).make_certificates, std::vector<std::string>{"db-server"});
  seen.budget = Child::AsMade;
  EXPECT_TRUE(plan(seen).drop_budget);
}

TEST(InPlace, AFounderWhoseDataIsLostIsMadeOnceMore) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  Observation seen = world.observe();
  seen.seats[0].object->lost = true;
  EXPECT_EQ(plan(seen).status.restore->stage, v1::RestoreStage::Restoring);
  seen.cluster.status.restore->stage = v1::RestoreStage::Restoring;
  Seat& founder = seen.seats[0];
  const std::string& uid = founder.object->uid;
  EXPECT_EQ(plan(seen).step, Step(DeleteMember{founder.name, uid}));
  founder.object->terminating = true;
  founder.object->lost = false;  // Its Pod may say something else by now.
  EXPECT_EQ(plan(seen).step, Step(PauseMember{founder.name, uid}));
  founder.object->dormant = true;
  EXPECT_EQ(plan(seen).waiting_for, "the Pod of " + founder.name + " to end");
  founder.pod.reset();
  EXPECT_EQ(plan(seen).step, Step(ReleaseMember{founder.name, uid}));
}

TEST(InPlace, I8_AFounderThatAUserMadeDormantIsWoken) {
  for (const auto stage :
       {v1::RestoreStage::Restoring, v1::RestoreStage::Review, v1::RestoreStage::Committing}) {
    World world(1);
    ASSERT_TRUE(world.reaches("Review"));
    Observation seen = world.observe();
    seen.cluster.status.restore->stage = stage;
    seen.seats[0].object->dormant = true;
    EXPECT_EQ(plan(seen).step, Step(WakeMember{seen.seats[0].name, seen.seats[0].object->uid}))
        << to_string(stage);
  }
}

TEST(InPlace, OneThatDoesNotAnswerIsNotCommitted) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  world.restore->decision = RestoreDecision::Commit;
  Observation seen = world.observe();
  EXPECT_EQ(plan(seen).status.restore->stage, v1::RestoreStage::Committing);
  seen.seats[0].answer.reset();
  EXPECT_EQ(plan(seen).status.restore->stage, v1::RestoreStage::Review);
  EXPECT_TRUE(plan(seen).waiting_for.ends_with("to answer before the commit"));
}

TEST(InPlace, NobodyIsStoppedBeforeNoClientIsLedThere) {
  World world(2);
  (void)world.pass();
  ASSERT_EQ(world.stage(), "Stopping");
  Observation seen = world.observe();
  for (auto service : {&Observation::headless_service, &Observation::client_service}) {
    seen.headless_service = seen.client_service = Child::AsMade;
    EXPECT_TRUE(to_string(plan(seen).step).starts_with("pause-member"));
    EXPECT_EQ(plan(seen).again, 300ms) << "after a step";
    seen.*service = Child::Drifted;
    EXPECT_EQ(to_string(plan(seen).step), "none");
    EXPECT_EQ(plan(seen).waiting_for, "the Services to select no Pod");
    EXPECT_EQ(plan(seen).again, 5s);
  }
}

TEST(InPlace, NothingIsRestoredWhileAPodOfBeforeRuns) {
  World world(2);
  (void)world.pass();
  ASSERT_EQ(world.stage(), "Stopping");
  for (int i = 0; i < 4; ++i) (void)world.pass();
  for (const v1::RestoreStage stage : {v1::RestoreStage::Stopping, v1::RestoreStage::Restoring}) {
    Observation seen = world.observe();
    seen.cluster.status.restore->stage = stage;
    seen.cluster.status.progress_deadline = "2026-11-23T00:00:00Z";
    ASSERT_EQ(seen.kept.size(), 2U);
    for (Seat& seat : seen.kept) seat.object->dormant = true;
    seen.kept[1].pod = Seat::Pod{.node = "n"};
    const Plan out = plan(seen);
    EXPECT_EQ(out.status.restore->stage, stage);
    EXPECT_EQ(to_string(out.step), "none");
    EXPECT_EQ(out.waiting_for, "the Pod of " + seen.kept[1].name + " to end");
    EXPECT_FALSE(out.status.progress_deadline);
  }
}

TEST(InPlace, WhyRootDoesNotGetInIsTold) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  const auto message = [](const Observation& seen) {
    const Plan out = plan(seen);
    return runtime::find_condition(out.status.conditions, v1::kDegraded)->message;
  };
  Observation seen = world.observe();
  seen.auth.refused = "root's password is another one";
  EXPECT_EQ(message(seen).find("another one"), std::string::npos) << "nobody asks for one";
  seen.auth.required = true;
  EXPECT_NE(message(seen).find("root's password is another one"), std::string::npos);
  seen.auth.entered = true;
  EXPECT_EQ(message(seen).find("another one"), std::string::npos);
}

TEST(InPlace, NothingIsShownBeforeTheFounderServesFromAPodThatFoundsNothing) {
  World world(1);
  ASSERT_TRUE(world.reaches("Restoring"));
  const auto stage_after = [](const Observation& seen) { return plan(seen).status.restore->stage; };
  Observation ready = world.observe();
  for (int i = 0; i < 60 && stage_after(ready) != v1::RestoreStage::Review; ++i) {
    (void)world.pass();
    ready = world.observe();
  }
  ASSERT_EQ(stage_after(ready), v1::RestoreStage::Review);
  ASSERT_EQ(ready.cluster.status.restore->stage, v1::RestoreStage::Restoring);
  void (*const lacks[])(Observation&) = {
      [](auto& s) { s.linearizable = false; }, [](auto& s) { s.seats[0].answer.reset(); },
      [](auto& s) { s.seats[0].pod.reset(); }, [](auto& s) { s.seats[0].pod->founds = true; }};
  for (const auto& lack : lacks) {
    Observation seen = ready;
    lack(seen);
    EXPECT_EQ(stage_after(seen), v1::RestoreStage::Restoring);
  }
}

/// etcd may list members that the operator did not create.
TEST(InPlace, TheFounderIsWhoWasMadeToFound) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  Observation seen = world.observe();
  Seat foreign, other = seen.seats.front();
  foreign.name = "db-aaaaa";
  foreign.listed = Seat::Listed{etcd::MemberId{7}, false, true};
  other.name = "db-aaaab";
  other.object->seed = false;
  seen.seats.insert(seen.seats.begin(), {foreign, other});
  EXPECT_EQ(plan(seen).status.restore->founder, world.cluster.status.restore->founder);
  EXPECT_EQ(plan(seen).status.restore->stage, v1::RestoreStage::Review);
}

TEST(InPlace, AFounderThatCannotRestoreIsTold) {
  World world(1);
  ASSERT_TRUE(world.reaches("Restoring"));
  while (world.new_members() == 0) (void)world.pass();
  Observation seen = world.observe(false);
  ASSERT_EQ(seen.seats.size(), 1U);
  seen.cluster.status.selector.clear();
  seen.seats[0].pod->restores = true;
  seen.seats[0].object->reason = v1::kRestoreFailed;
  seen.seats[0].object->trouble = "SourceNotFound: it is gone";
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.selector, std::string(v1::kClusterLabel) + "=db");
  for (const auto& [type, status] :
       {std::pair{v1::kAvailable, "False"}, {v1::kProgressing, "False"}, {v1::kDegraded, "True"}}) {
    const auto* told = runtime::find_condition(out.status.conditions, type);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->status + "/" + told->reason, std::string(status) + "/RestoreFailed") << type;
  }
}

TEST(InPlace, MembersThatDisagreeOnTheirClusterAreNotBelieved) {
  World world(1);
  ASSERT_TRUE(world.reaches("Restoring"));
  (void)world.pass();
  Observation seen = world.observe();
  ASSERT_TRUE(seen.cluster.status.cluster_id.empty());
  seen.split = true;
  seen.linearizable = false;
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.cluster_id, "");
  EXPECT_EQ(out.status.restore->stage, v1::RestoreStage::Restoring);
}

TEST(InPlace, CheckAloneStopsNothing) {
  World world(1);
  for (const auto decision : {RestoreDecision::Check, RestoreDecision::Rollback}) {
    world.restore->decision = decision;
    for (int i = 0; i < 3; ++i) (void)world.pass();
    EXPECT_FALSE(world.cluster.status.restore);
    EXPECT_EQ(world.old_pods(), 1);
  }
}

TEST(InPlace, WhatIsOverDoesNotBeginAgain) {
  World world(1);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committed"));
  for (int i = 0; i < 10; ++i) (void)world.pass();
  EXPECT_EQ(world.stage(), "Committed");
}

/// An EtcdRestore in Git is applied again days later: later writes stay.
TEST(InPlace, R15_ACommitIsNotDoneAgainUnlessItsUserAsksForAnotherRun) {
  World world(1);
  const auto apply = [&](const char* name, const char* uid, const char* file, const char* run) {
    world.restore->name = name;
    world.restore->uid = uid;
    world.restore->from.source.pvc = {"backups", file};
    world.restore->from.checksum = std::string("sha256:") + file;
    world.restore->run_id = run;
    world.restore->decision = RestoreDecision::Commit;
  };
  const auto commits = [&] {
    std::string out;
    for (const auto& commit : world.cluster.status.restores) out += commit.uid + " ";
    return out;
  };
  apply("a", "1", "a.db", "");
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(commits(), "1 ") << "remembered in the pass from which there is no way back";
  EXPECT_EQ(world.cluster.status.restores[0].checksum, "sha256:a.db");
  apply("a", "2", "a.db", "");
  for (int i = 0; i < 10; ++i) (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->uid, "1") << "A again: nothing is stopped";
  apply("b", "3", "b.db", "");
  world.cluster.status.restore->stage = v1::RestoreStage::Committed;
  (void)world.pass();
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(commits(), "1 3 ");
  apply("a", "4", "a.db", "");
  for (int i = 0; i < 10; ++i) (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->uid, "3") << "A, B, A from Git";
  apply("a", "5", "a.db", "again");
  (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->uid, "5") << "its user asks for it";
  ASSERT_TRUE(world.reaches("Committed"));
  EXPECT_EQ(commits(), "1 3 5 ");
}

/// It is not remembered, and the same EtcdRestore may run again.
TEST(InPlace, R15_WhatWasTakenBackMayComeAgain) {
  World world(1);
  ASSERT_TRUE(world.reaches("Review"));
  world.restore->decision = RestoreDecision::Rollback;
  ASSERT_TRUE(world.reaches("RolledBack"));
  EXPECT_TRUE(world.cluster.status.restores.empty());
  world.restore->uid = "r-2";
  world.restore->decision = RestoreDecision::Restore;
  for (int i = 0; i < 3; ++i) (void)world.pass();  // The Services select the members again.
  EXPECT_EQ(world.cluster.status.restore->uid, "r-2");
}

/// An earlier release kept one record: it counts, and is kept when the next restore begins.
TEST(InPlace, R15_WhatAnEarlierReleaseCommittedIsRemembered) {
  World world(1);
  world.restore->decision = RestoreDecision::Commit;
  ASSERT_TRUE(world.reaches("Committed"));
  world.cluster.status.restores.clear();
  world.restore->uid = "r-2";
  for (int i = 0; i < 10; ++i) (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->uid, "r-1");
  world.restore->name = "other";
  (void)world.pass();
  EXPECT_EQ(world.cluster.status.restore->uid, "r-2");
  ASSERT_EQ(world.cluster.status.restores.size(), 1U);
  EXPECT_EQ(world.cluster.status.restores[0].uid, "r-1");
}

/// The oldest restore that may begin is chosen, before it is read again from the API server.
TEST(InPlace, TheOldestThatMayBeginIsNext) {
  v1::EtcdCluster cluster;
  cluster.metadata.name = "db";
  cluster.metadata.uid = "u-1";
  const auto restore = [](const char* name, const char* created) {
    v1::EtcdRestore out;
    out.metadata.name = name;
    out.metadata.creation_timestamp = created;
    out.spec.cluster_ref.name = "db";
    out.spec.decision = RestoreDecision::Restore;
    out.status.phase = v1::kRestoreReady;
    out.status.cluster_uid = "u-1";
    return out;
  };
  const auto next = [&](const std::vector<v1::EtcdRestore>& known) {
    std::vector<std::shared_ptr<const v1::EtcdRestore>> all;
    for (const v1::EtcdRestore& one : known)
      all.push_back(std::make_shared<const v1::EtcdRestore>(one));
    return next_to_begin(all, cluster);
  };
  const v1::EtcdRestore old = restore("z", "2026-01-01T00:00:00Z"),
                        young = restore("a", "2026-01-02T00:00:00Z");
  EXPECT_EQ(next({}), "");
  EXPECT_EQ(next({young, old}), "z");
  EXPECT_EQ(next({restore("b", "2026-01-02T00:00:00Z"), young}), "a") << "by name, of equal age";
  const std::pair<const char*, void (*)(v1::EtcdRestore&)> rows[] = {
      {"being deleted", [](auto& r) { r.metadata.deletion_timestamp = "2026-01-03T00:00:00Z"; }},
      {"still checked", [](auto& r) { r.status.phase = v1::kRestoreChecking; }},
      {"of another cluster", [](auto& r) { r.spec.cluster_ref.name = "other"; }},
      {"of a deleted cluster", [](auto& r) { r.status.cluster_uid = "u-0"; }},
      {"only a check", [](auto& r) { r.spec.decision = RestoreDecision::Check; }},
      {"rolled back", [](auto& r) { r.spec.decision = RestoreDecision::Rollback; }}};
  for (const auto& [why, edit] : rows) {
    v1::EtcdRestore one = old;
    edit(one);
    EXPECT_EQ(next({one, young}), "a") << why;
  }
  v1::EtcdRestore at_once = old;
  at_once.spec.decision = RestoreDecision::Commit;
  EXPECT_EQ(next({at_once, young}), "z");
}

/// A user's decision at one moment.
struct Turn {
  const char* name;
  RestoreDecision decision;
  bool gone;
};
const Turn kTurns[] = {{"commit", RestoreDecision::Commit, false},
                       {"rollback", RestoreDecision::Rollback, false},
                       {"check", RestoreDecision::Check, false},
                       {"deleted", RestoreDecision::Restore, true}};

/// Every decision, at every moment, after every other. Old data is deleted only after a commit, no
/// client reaches data that may be rolled back, and old and new members never run together.
TEST(InPlace, EveryDecisionAtEveryMomentEndsInOneOfTwoWays) {
  testing::Sample sample(31);
  for (const int size : {1, 3})
    for (int first = 0; first < (size == 1 ? 14 : 18); first += size)
      for (const Turn& one : kTurns)
        for (int second = first; second < first + 6; second += size)
          for (const Turn& other : kTurns) {
            if (!sample.takes_next()) continue;
            World world(size);
            const std::string name = std::string(one.name) + " at " + std::to_string(first) + ", " +
                                     other.name + " at " + std::to_string(second) + ", of " +
                                     std::to_string(size);
            bool committing = false;
            for (int i = 0; i < 70; ++i) {
              if (i == first || i == second) {
                const Turn& turn = i == second ? other : one;
                world.restore->decision = turn.decision;
                world.restore->gone |= turn.gone;
              }
              (void)world.pass();
              committing |= world.stage() == "Committing";
              if (!committing) ASSERT_EQ(world.old_volumes(), size) << name;
              if (world.new_pods() > 0 && !committing) {
                ASSERT_EQ(world.old_pods(), 0) << name;
                ASSERT_TRUE(world.fenced) << name;
              }
              if (world.stage() == "Committing") ASSERT_TRUE(world.fenced) << name;
            }
            const bool began = world.cluster.status.restore.has_value();
            if (!began) continue;
            ASSERT_TRUE(world.cluster.status.restore->over()) << name << ": " << world.stage();
            ASSERT_EQ(world.stage() == "Committed", committing) << name;
            ASSERT_EQ(world.old_volumes(), committing ? 0 : size) << name;
            ASSERT_EQ(world.new_members() > 0, committing) << name;
            if (!committing) ASSERT_EQ(world.old_pods(), size) << name;
            ASSERT_FALSE(world.fenced) << name;
          }
}

}  // namespace
}  // namespace etcdop::cluster
