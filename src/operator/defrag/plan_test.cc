// The plan of a run as a table, the rule, and whole runs without faults.
#include "operator/defrag/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "operator/defrag/health.h"
#include "operator/defrag/rule.h"
#include "runtime/conditions.h"

namespace etcdop::defrag {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
constexpr std::int64_t kMiB = 1 << 20;

/// A database of that size; member 2 leads.
MemberAnswer sized(std::int64_t db_size, std::int64_t db_in_use) {
  MemberAnswer out;
  out.leader = {2};
  out.db_size = db_size;
  out.db_in_use = db_in_use;
  return out;
}

/// Three healthy voters, a, b and c; b leads. 500 MiB each, of which 100 are in use.
Observation whole() {
  Observation seen;
  seen.now = kNow;
  seen.run.metadata.name = "nightly";
  seen.run.metadata.ns = "prod";
  seen.run.metadata.generation = 1;
  seen.run.spec.cluster_ref.name = "db";
  seen.cluster.emplace();
  seen.cluster->metadata.uid = "c-1";
  seen.cluster->spec.replicas = 3;
  seen.cluster->status.cluster_id = "c1";
  seen.cluster->status.observed.emplace().replicas = 3;
  for (const auto& [name, id] : {std::pair{"db-a", 1}, {"db-b", 2}, {"db-c", 3}}) {
    MemberSeen member;
    member.name = name;
    member.voter = true;
    member.quota = 2048 * kMiB;
    member.id = {static_cast<std::uint64_t>(id)};
    member.answer = sized(500 * kMiB, 100 * kMiB);
    seen.members.push_back(member);
  }
  seen.linearizable = true;
  seen.corrupt = false;
  return seen;
}

const api::Condition& checked(const v1::EtcdDefragStatus& status) {
  static const api::Condition none;
  const auto* found = runtime::find_condition(status.conditions, v1::kDefragChecked);
  return found ? *found : none;
}

/// "Running; defragment db-a, attempt 1; True/ClusterHealthy"
std::string told(const Plan& plan) {
  const api::Condition& c = checked(plan.status);
  return plan.status.phase + "; " + to_string(plan.step) + "; " + c.status + "/" + c.reason;
}

/// The first letter of each member's outcome, and its attempts: "D1 P0 S0".
std::string outcomes(const v1::EtcdDefragStatus& status) {
  std::string out;
  for (const auto& one : status.members)
    out += (out.empty() ? "" : " ") + one.outcome.substr(0, 1) + std::to_string(one.attempts);
  return out;
}

/// A run that has begun, with that many attempts at its members.
Observation running(const std::vector<std::int32_t>& attempts) {
  Observation seen = whole();
  seen.run.status = plan(seen).status;
  for (std::size_t i = 0; i < attempts.size(); ++i)
    seen.run.status.members.at(i).attempts = attempts[i];
  seen.now = kNow + 1min;
  return seen;
}

TEST(DefragPlan, K9_AMemberWhoseProbeIsTooShortForItsDatabaseIsPassedOverAndTold) {
  Observation seen = running({0, 0, 0});
  for (MemberSeen& member : seen.members) member.answer = sized(3000 * kMiB, 1001 * kMiB);
  seen.members[0].patience_s = 50;   // As Pods of earlier releases have it.
  seen.members[1].patience_s = 140;  // New Pods.
  seen.members[2].patience_s = 0;    // It does not read.
  const Plan p = plan(seen);
  EXPECT_EQ(told(p), "Running; defragment db-c, attempt 1; True/ClusterHealthy");
  EXPECT_EQ(outcomes(p.status), "S0 P0 P1");
  EXPECT_EQ(p.status.members[0].reason,
            "passed over: the liveness probe of its Pod allows 50 s, too little for 1001 MiB: "
            "delete the Pod, so that the operator creates one with a longer probe");
  seen.run.status = p.status;
  for (auto& one : seen.run.status.members)
    if (one.outcome == v1::kDefragPending) one.outcome = v1::kDefragDefragmented;
  EXPECT_EQ(told(plan(seen)), "Complete; none; False/DefragmentedInPart");
  EXPECT_NE(checked(plan(seen).status).message.find("1 member passed over, as a liveness probe"),
            std::string::npos);
}

TEST(DefragPlan, K9_AnOldProbeIsLongEnoughForASmallDatabase) {
  Observation seen = running({0, 0, 0});
  for (MemberSeen& member : seen.members) {
    member.patience_s = 50;
    member.answer = sized(3000 * kMiB, 1000 * kMiB);
  }
  EXPECT_EQ(told(plan(seen)), "Running; defragment db-a, attempt 1; True/ClusterHealthy");
}

TEST(DefragPlan, AfterAStepItIsLookedAtInASecond) {
  EXPECT_NE(to_string(plan(running({})).step), "none");
  EXPECT_EQ(plan(running({})).again, 1s);
}

TEST(DefragPlan, ARunThatHasBegunWaitsBeforeEachMemberWhileASnapshotIsTaken) {
  Observation seen = running({});
  seen.snapshot = "nightly";
  EXPECT_EQ(told(plan(seen)), "Running; none; False/SnapshotFirst");
  EXPECT_EQ(plan(seen).again, 5s);
  seen.snapshot = "";
  EXPECT_EQ(told(plan(seen)), "Running; defragment db-a, attempt 1; True/ClusterHealthy");
}

TEST(DefragPlan, WhatStopsARunThatHasNotBegun) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* reason;
    const char* message;
  };
  const Row rows[] = {
      {[](auto& o) { o.ahead = "other"; }, v1::kAnotherRunFirst, "EtcdDefrag other goes first"},
      {[](auto& o) { o.snapshot = "nightly"; }, v1::kSnapshotFirst,
       "EtcdSnapshot nightly goes first"},
      {[](auto& o) { o.snapshot = "nightly", o.members[1].answer.reset(); }, v1::kClusterNotHealthy,
       "member db-b does not answer"},
      {[](auto& o) { o.cluster.reset(); }, v1::kClusterNotFound, "EtcdCluster db does not exist"},
      {[](auto& o) { o.cluster->metadata.deletion_timestamp = "t"; }, v1::kClusterNotHealthy,
       "the cluster is being deleted"},
      {[](auto& o) { o.cluster->spec.replicas = 0; }, v1::kClusterNotHealthy,
       "the cluster is paused"},
      {[](auto& o) { o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review; },
       v1::kClusterNotHealthy, "the cluster goes back to a snapshot"},
      {[](auto& o) { o.cluster->status.cluster_id = ""; }, v1::kClusterNotHealthy,
       "the cluster is being founded"},
      {[](auto& o) { o.cluster->status.observed.reset(); }, v1::kClusterNotHealthy,
       "the cluster is being founded"},
      {[](auto& o) { o.cluster->spec.replicas = 5; }, v1::kClusterNotHealthy,
       "the cluster is about to change to 5 members"},
      {[](auto& o) { o.cluster->status.pending_members.push_back({4, "db-d", "u", "t"}); },
       v1::kClusterNotHealthy, "member db-d is joining the cluster"},
      {[](auto& o) { o.members[1].terminating = true; }, v1::kClusterNotHealthy,
       "member db-b is leaving the cluster"},
      {[](auto& o) { o.members[2].voter = false; }, v1::kClusterNotHealthy,
       "member db-c does not vote yet"},
      {[](auto& o) { o.members.pop_back(); }, v1::kClusterNotHealthy,
       "the cluster does not have 3 members"},
      {[](auto& o) { o.members[0].answer.reset(); }, v1::kClusterNotHealthy,
       "member db-a does not answer"},
      {[](auto& o) { o.members[0].answer->leader = {}; }, v1::kClusterNotHealthy,
       "member db-a knows no leader"},
      {[](auto& o) { o.members[2].answer->leader = {1}; }, v1::kClusterNotHealthy,
       "the members do not agree on the leader"},
      {[](auto& o) {
         for (auto& m : o.members) m.answer->leader = {9};
       },
       v1::kClusterNotHealthy, "the members do not agree on the leader"},
      {[](auto& o) { o.linearizable = false; }, v1::kClusterNotHealthy,
       "etcd does not list its members with a quorum"},
      {[](auto& o) { o.members[1].id = {}; }, v1::kClusterNotHealthy,
       "etcd does not list member db-b"},
      {[](auto& o) { o.members[1].learner = true; }, v1::kClusterNotHealthy,
       "member db-b is a learner"},
      {[](auto& o) { o.strangers = {"db-x"}; }, v1::kClusterNotHealthy,
       "etcd lists db-x, which has no EtcdMember"},
      {[](auto& o) { o.members[2].answer->applied = 5001; }, v1::kClusterNotHealthy,
       "member db-a has not caught up"},
      {[](auto& o) { o.corrupt.reset(); }, v1::kClusterNotHealthy,
       "etcd does not report its alarms"},
      {[](auto& o) { o.corrupt = true; }, v1::kClusterNotHealthy,
       "a CORRUPT alarm is raised: members do not have the same data"},
  };
  for (const Row& row : rows) {
    Observation seen = whole();
    row.edit(seen);
    const Plan todo = plan(seen);
    EXPECT_EQ(told(todo), std::string("Pending; none; False/") + row.reason) << row.message;
    EXPECT_EQ(checked(todo.status).message, row.message);
    EXPECT_EQ(todo.status.started_at, std::nullopt) << row.message;
    EXPECT_EQ(todo.again, 30s) << row.message;
    // It says so once, and stays as it is.
    seen.run.status = todo.status;
    seen.now = kNow + 48h;
    EXPECT_EQ(plan(seen).status, todo.status) << row.message;
    // The same in the middle of a run: it waits there, and for its deadline.
    Observation later = running({1});
    row.edit(later);
    const Plan waiting = plan(later);
    EXPECT_EQ(to_string(waiting.step), "none") << row.message;
    EXPECT_EQ(outcomes(waiting.status), "P1 P0 P0") << row.message;
    if (later.cluster) EXPECT_EQ(waiting.again, 5s) << row.message;
  }
}

TEST(DefragPlan, WhoLeadsIsKnownWhenAllSayTheSame) {
  Observation seen = whole();
  ASSERT_TRUE(leader_of(seen));
  EXPECT_EQ(leader_of(seen)->name, "db-b");
  for (auto& m : seen.members) m.answer->leader = {};
  EXPECT_EQ(leader_of(seen), nullptr) << "all know none";
  seen.members[0].answer.reset();
  EXPECT_EQ(leader_of(seen), nullptr);
  seen.members.clear();
  EXPECT_EQ(leader_of(seen), nullptr);
  seen.cluster.reset();
  EXPECT_EQ(not_healthy_by_objects(seen), "the cluster does not exist");
}

TEST(DefragPlan, AMemberThatIsAFewEntriesBehindIsThere) {
  Observation seen = whole();
  seen.members[1].answer->applied = 5000;
  EXPECT_EQ(not_healthy(seen), "");
}

TEST(DefragPlan, ItBeginsWithAFollowerAndWritesDownWhoIsWhoFirst) {
  const Plan todo = plan(whole());
  EXPECT_EQ(told(todo), "Running; defragment db-a, attempt 1; True/ClusterHealthy");
  EXPECT_EQ(outcomes(todo.status), "P1 P0 P0");
  EXPECT_EQ(todo.status.started_at, to_rfc3339(kNow));
  EXPECT_EQ(todo.status.cluster_uid, "c-1");
  EXPECT_EQ(todo.status.members[0].role, "follower");
  EXPECT_EQ(todo.status.members[1].role, "leader");
  EXPECT_EQ(todo.status.members[0].db_size_before, 500 * kMiB);
}

TEST(DefragPlan, Running) {
  struct Row {
    std::function<void(Observation&)> edit;
    std::vector<std::int32_t> attempts;
    const char* says;
    const char* outcomes;
    const char* because;
  };
  const auto smaller = [](std::size_t i) {
    return [i](Observation& o) { o.members[i].answer->db_size = 110 * kMiB; };
  };
  const auto done = [](Observation& o, std::initializer_list<std::size_t> which) {
    for (const std::size_t i : which) {
      o.run.status.members[i].outcome = v1::kDefragDefragmented;
      o.members[i].answer->db_size = 100 * kMiB;
      ++o.run.status.defragmented;
    }
  };
  const Row rows[] = {
      {[](auto& o) { o.tried = Tried{"db-a", 1, ""}; },
       {1},
       "Running; defragment db-c, attempt 1; True/ClusterHealthy",
       "D1 P0 P1",
       "etcd said so"},
      {smaller(0),
       {1},
       "Running; defragment db-c, attempt 1; True/ClusterHealthy",
       "D1 P0 P1",
       "the answer was lost, the database is smaller"},
      {[](auto&) {},
       {1},
       "Running; defragment db-a, attempt 1; True/ClusterHealthy",
       "P1 P0 P0",
       "a crash: it may not have happened, and does not count"},
      {[](auto& o) { o.tried = Tried{"db-a", 1, "no answer"}; },
       {1},
       "Running; defragment db-a, attempt 2; True/ClusterHealthy",
       "P2 P0 P0",
       "it failed once"},
      {[](auto& o) { o.tried = Tried{"db-a", 1, ""}; },
       {2},
       "Running; defragment db-a, attempt 2; True/ClusterHealthy",
       "P2 P0 P0",
       "what is known is of the attempt before"},
      {[](auto& o) { o.tried = Tried{"db-a", 3, "no answer"}; },
       {3},
       "Running; defragment db-c, attempt 1; True/ClusterHealthy",
       "F3 P0 P1",
       "a follower that fails does not stop the others"},
      {[](auto&) {},
       {3},
       "Running; defragment db-a, attempt 3; True/ClusterHealthy",
       "P3 P0 P0",
       "nobody knows what came of the last attempt: it is made again"},
      {[](auto&) {},
       {0, 0, 1},
       "Running; defragment db-c, attempt 1; True/ClusterHealthy",
       "P0 P0 P1",
       "who is in hand comes before others"},
      {[&](auto& o) { done(o, {0, 2}); },
       {1, 0, 1},
       "Running; move-leader from db-b to db-a; True/ClusterHealthy",
       "D1 P0 D1",
       "the leader last, and not before another one leads"},
      {[&](auto& o) {
         done(o, {0, 2});
         for (auto& m : o.members) m.answer->leader = {1};
       },
       {1, 0, 1},
       "Running; defragment db-b, attempt 1; True/ClusterHealthy",
       "D1 P1 D1",
       "another one leads"},
      {[](auto& o) {
         for (auto& m : o.members) m.answer->leader = {1};
       },
       {1},
       "Running; move-leader from db-a to db-b; True/ClusterHealthy",
       "P1 P0 P0",
       "who is in hand was elected meanwhile"},
      {[&](auto& o) {
         done(o, {0, 2});
         o.run.status.leader_moves = o.moved = kLeaderMovesMax;
       },
       {1, 0, 1},
       "Failed; none; False/LeaderNotDefragmented",
       "D1 F0 D1",
       "leadership cannot be moved"},
      {[&](auto& o) {
         done(o, {0, 2});
         o.run.status.leader_moves = kLeaderMovesMax;
       },
       {1, 0, 1},
       "Running; move-leader from db-b to db-a; True/ClusterHealthy",
       "D1 P0 D1",
       "a crash: the last move may not have been made, and does not count"},
      {[&](auto& o) {
         done(o, {0, 2});
         for (auto& m : o.members) m.answer->leader = {1};
         o.tried = Tried{"db-b", 3, "no answer"};
       },
       {1, 3, 1},
       "Failed; none; False/LeaderNotDefragmented",
       "D1 F3 D1",
       "the leader of the beginning fails, and the run with it"},
      {[&](auto& o) {
         done(o, {0, 1});
         o.tried = Tried{"db-c", 3, "no answer"};
       },
       {1, 1, 3},
       "Complete; none; False/DefragmentedInPart",
       "D1 D1 F3",
       ""},
      {[&](auto& o) {
         done(o, {0, 1});
         o.tried = Tried{"db-c", 1, ""};
       },
       {1, 1, 1},
       "Complete; none; True/Defragmented",
       "D1 D1 D1",
       ""},
      {[](auto& o) {
         for (auto& m : o.members) m.answer->db_in_use = m.answer->db_size;
       },
       {},
       "Complete; none; True/Defragmented",
       "S0 S0 S0",
       "nothing to give back"},
      {[](auto& o) { o.members[1].answer->db_in_use = 500 * kMiB; },
       {},
       "Running; defragment db-a, attempt 1; True/ClusterHealthy",
       "P1 S0 P0",
       "a leader that has nothing to give back need not hand over"},
      {[](auto& o) { o.run.status.members[0].name = "db-gone"; },
       {},
       "Running; defragment db-c, attempt 1; True/ClusterHealthy",
       "S0 P0 P1",
       "no member any more"},
      {[](auto& o) { o.cluster->metadata.uid = "c-2"; },
       {1},
       "Failed; none; False/ClusterReplaced",
       "P1 P0 P0",
       "another cluster of that name"},
      {[](auto& o) { o.cluster.reset(); },
       {1},
       "Failed; none; False/ClusterReplaced",
       "P1 P0 P0",
       ""},
      {[](auto& o) { o.now = kNow + kRunMax; },
       {1},
       "Failed; none; False/DefragTimedOut",
       "P1 P0 P0",
       ""},
      {[](auto& o) { o.now = kNow + (kRunMax - 1s); },
       {1},
       "Running; defragment db-a, attempt 1; True/ClusterHealthy",
       "P1 P0 P0",
       "not yet"},
      {[](auto& o) {
         o.now = kNow + kRunMax;
         o.members[0].answer.reset();
       },
       {1},
       "Failed; none; False/DefragTimedOut",
       "P1 P0 P0",
       "a member that never comes back"},
      {[&](auto& o) {
         done(o, {0, 1});
         o.tried = Tried{"db-c", 1, ""};
         o.now = kNow + kRunMax;
       },
       {1, 1, 1},
       "Complete; none; True/Defragmented",
       "D1 D1 D1",
       "in the last second"},
      {[](auto& o) {
         o.members.resize(1);
         o.run.status.members.resize(1);
         o.cluster->spec.replicas = o.cluster->status.observed->replicas = 1;
         o.members[0].answer->leader = {1};
       },
       {},
       "Running; defragment db-a, attempt 1; True/ClusterHealthy",
       "P1",
       "a single member has nobody to hand over to"},
  };
  for (const Row& row : rows) {
    Observation seen = running(row.attempts);
    if (row.attempts.empty()) seen = running({0, 0, 0});
    row.edit(seen);
    const Plan todo = plan(seen);
    EXPECT_EQ(told(todo), row.says) << row.because;
    EXPECT_EQ(outcomes(todo.status), row.outcomes) << row.because;
    EXPECT_LE(todo.status.leader_moves, kLeaderMovesMax) << row.because;
  }
}

TEST(DefragPlan, AMoveIsCountedBeforeItIsMade) {
  Observation seen = running({0, 0, 0});
  for (const std::size_t follower : {0U, 2U})
    seen.run.status.members[follower].outcome = v1::kDefragDefragmented;
  EXPECT_EQ(plan(seen).status.leader_moves, 1);
  seen.run.status.leader_moves = 1;
  EXPECT_EQ(plan(seen).status.leader_moves, 1) << "nobody knows whether it was made";
  seen.moved = 1;
  EXPECT_EQ(plan(seen).status.leader_moves, 2) << "it was, and came back";
}

/// All three are done, and NOSPACE was raised for two.
Observation done_while_full() {
  Observation seen = running({1, 1, 1});
  for (auto& one : seen.run.status.members) one.outcome = v1::kDefragDefragmented;
  seen.no_space = {{1}, {3}};
  seen.was_full = true;
  return seen;
}

TEST(DefragPlan, WhereThereIsRoomAgainTheAlarmIsDisarmed) {
  Observation seen = done_while_full();
  EXPECT_EQ(told(plan(seen)), "Running; disarm at db-b; True/ClusterHealthy");
  EXPECT_EQ(std::get<Disarm>(plan(seen).step).alarms, seen.no_space);
  seen.disarms = 1;
  EXPECT_EQ(to_string(plan(seen).step), "disarm at db-b") << "it is still raised";
  seen.no_space.clear();
  EXPECT_EQ(told(plan(seen)), "Complete; none; True/Defragmented");
  EXPECT_TRUE(checked(plan(seen).status).message.ends_with("; NOSPACE was disarmed"));
}

TEST(DefragPlan, WithoutRoomTheAlarmStays) {
  Observation seen = done_while_full();
  seen.members[2].answer->db_size = 1900 * kMiB;
  EXPECT_EQ(told(plan(seen)), "Complete; none; True/Defragmented");
  EXPECT_TRUE(checked(plan(seen).status)
                  .message.ends_with(
                      "; NOSPACE stays raised: member db-c uses more than 90% of its quota"));
  seen.members[2].answer->db_size = 1800 * kMiB;
  EXPECT_EQ(to_string(plan(seen).step), "disarm at db-b");
}

TEST(DefragPlan, TheAlarmOfAFullDatabaseIsWaitedForUntilTheRunIsOver) {
  Observation seen = done_while_full();
  seen.no_space.clear();
  seen.members[1].answer.reset();
  EXPECT_EQ(told(plan(seen)), "Running; none; False/ClusterNotHealthy");
  seen.now = kNow + kRunMax;
  EXPECT_EQ(told(plan(seen)), "Complete; none; True/Defragmented");
  seen.now = kNow + 1min;
  seen.was_full = false;
  EXPECT_EQ(told(plan(seen)), "Complete; none; True/Defragmented");
}

TEST(DefragPlan, WhatWasGivenBackIsTold) {
  Observation seen = running({1});
  seen.members[0].answer->db_size = 110 * kMiB;
  const auto one = plan(seen).status.members[0];
  EXPECT_EQ(one.db_size_before, 500 * kMiB);
  EXPECT_EQ(one.db_size_after, 110 * kMiB);
  EXPECT_EQ(one.reclaimed_bytes, 390 * kMiB);
  EXPECT_EQ(one.finished_at, to_rfc3339(seen.now));
  seen.members[0].answer->db_size = 510 * kMiB;  // Written to meanwhile.
  seen.tried = Tried{"db-a", 1, ""};
  EXPECT_EQ(plan(seen).status.members[0].reclaimed_bytes, 0);
}

TEST(DefragPlan, OfTwoTheLeaderHandsOverToo) {
  Observation seen = whole();
  seen.members.pop_back();
  seen.cluster->spec.replicas = seen.cluster->status.observed->replicas = 2;
  seen.run.status = plan(seen).status;
  seen.members[0].answer->db_size = 110 * kMiB;
  EXPECT_EQ(to_string(plan(seen).step), "move-leader from db-b to db-a");
}

TEST(DefragPlan, TheLeaderHandsOverToOneThatIsDone) {
  Observation seen = running({1, 0, 1});
  for (auto& m : seen.members) m.answer->leader = {1};
  seen.members[2].answer->db_size = 110 * kMiB;
  EXPECT_EQ(to_string(plan(seen).step), "move-leader from db-a to db-c");
}

TEST(DefragPlan, HowManyWereSkippedIsTold) {
  Observation seen = running({0});
  for (auto& m : seen.members) m.answer->db_in_use = m.answer->db_size;
  EXPECT_EQ(checked(plan(seen).status).message,
            "0 members defragmented, 3 skipped, 0 failed; 0 bytes given back");
}

TEST(DefragPlan, ARunThatHasEndedStaysSoAndGoesWhenItsTimeIsOver) {
  for (const char* phase : {v1::kDefragComplete, v1::kDefragFailed}) {
    Observation seen = running({1});
    seen.run.status.phase = phase;
    seen.run.status.completed_at = to_rfc3339(kNow);
    EXPECT_EQ(plan(seen), (Plan{seen.run.status, NoStep{}, 0ms})) << "kept";
    seen.run.spec.ttl_seconds_after_finished = 90;
    EXPECT_EQ(plan(seen), (Plan{seen.run.status, NoStep{}, 30s}));
    seen.now = kNow + 89s;
    EXPECT_EQ(plan(seen), (Plan{seen.run.status, NoStep{}, 1s}));
    seen.now = kNow + 90s;
    EXPECT_EQ(to_string(plan(seen).step), "delete-run");
    EXPECT_EQ(plan(seen).again, 30s);
    seen.now = kNow + -48h;
    EXPECT_EQ(plan(seen).again, 1h) << "the date may come back";
  }
}

/// Until nothing is left to do; each step succeeds. Returns the steps, in order.
std::vector<std::string> run_through(Observation seen) {
  std::vector<std::string> out;
  for (int i = 0; i < 50; ++i) {
    const Plan todo = plan(seen);
    seen.run.status = todo.status;
    seen.now = seen.now + 1s;
    if (todo.status.finished()) break;
    out.push_back(to_string(todo.step));
    if (const auto* step = std::get_if<Defragment>(&todo.step)) {
      const auto member = std::ranges::find(seen.members, step->name, &MemberSeen::name);
      member->answer->db_size = member->answer->db_in_use;
      seen.tried = Tried{step->name, step->attempt, ""};
    }
    if (const auto* step = std::get_if<MoveLeader>(&todo.step))
      for (MemberSeen& member : seen.members) member.answer->leader = step->to_id;
  }
  out.push_back(told({seen.run.status, NoStep{}, {}}));
  return out;
}

TEST(DefragPlan, AWholeRunTakesTheFollowersAndThenWhoLed) {
  EXPECT_EQ(run_through(whole()),
            (std::vector<std::string>{"defragment db-a, attempt 1", "defragment db-c, attempt 1",
                                      "move-leader from db-b to db-a", "defragment db-b, attempt 1",
                                      "Complete; none; True/Defragmented"}));
  Observation all = whole();
  for (MemberSeen& member : all.members) member.answer->db_size = member.answer->db_in_use;
  EXPECT_EQ(run_through(all), (std::vector<std::string>{"Complete; none; True/Defragmented"}));
  all.run.spec.rule.emplace().all = true;
  EXPECT_EQ(run_through(all).size(), 5U) << "also those that have nothing to give back";
}

TEST(DefragRule, WhichMembersAreWorthIt) {
  struct Row {
    const char *free_space_above, *quota_usage_above, *min_reclaim;
    std::int64_t size, in_use;  ///< MiB; the quota is 1000.
    bool worth_it;
    const char* because;
  };
  const Row rows[] = {
      {"", "", "", 500, 299, true, "more than 200Mi are free"},
      {"", "", "", 500, 300, false, "exactly 200Mi are"},
      {"64Mi", "", "", 500, 435, true, ""},
      {"64Mi", "", "", 500, 436, false, ""},
      {"", "80%", "", 801, 769, true, "above 80 % and 32Mi are free"},
      {"", "80%", "", 801, 770, false, "less than 32Mi are free"},
      {"", "80%", "", 800, 100, false, "not above, and free space does not count by itself"},
      {"", "80%", "100Mi", 900, 801, false, ""},
      {"", "80%", "100Mi", 900, 800, true, ""},
      {"600Mi", "80%", "", 900, 200, true, "by either"},
      {"600Mi", "80%", "", 700, 150, false, "by neither"},
      {"600Mi", "80%", "", 700, 50, true, "by free space"},
      {"", "100%", "", 1001, 1, true, ""},
      {"", "100%", "", 1000, 1, false, ""},
  };
  for (const Row& row : rows) {
    v1::DefragRule rule;
    rule.free_space_above = row.free_space_above;
    rule.quota_usage_above = row.quota_usage_above;
    rule.min_reclaim = row.min_reclaim;
    const MemberAnswer answer = sized(row.size * kMiB, row.in_use * kMiB);
    EXPECT_EQ(not_worth_it(rule, answer, 1000 * kMiB).empty(), row.worth_it)
        << row.size << " " << row.in_use << " " << row.because;
  }
  EXPECT_EQ(not_worth_it(std::nullopt, sized(500, 400), 1000 * kMiB),
            "100 bytes are free, not more than 209715200");
}

/// The schema refuses them; an older one may have accepted them.
TEST(DefragRule, AShareThatIsNoneIsTheWholeQuota) {
  v1::DefragRule rule;
  MemberAnswer answer;
  for (const char* share : {"0%", "x%", "101%", "1234%", "100%"}) {
    rule.quota_usage_above = share;
    answer.db_size = 2000 * kMiB;
    EXPECT_NE(not_worth_it(rule, answer, 2048 * kMiB), "") << share;
    answer.db_size = 2049 * kMiB;
    EXPECT_EQ(not_worth_it(rule, answer, 2048 * kMiB), "") << share;
  }
  answer.db_size = 2000 * kMiB;
  rule.quota_usage_above = "90%";
  EXPECT_EQ(not_worth_it(rule, answer, 2048 * kMiB), "");
  rule.quota_usage_above = "99%";
  EXPECT_EQ(
      not_worth_it(rule, answer, 2048 * kMiB),
      "2097152000 bytes are free; the database has 2097152000, not more than 99% of its quota");
}

}  // namespace
}  // namespace etcdop::defrag
