// A table of the members that a CORRUPT alarm convicts; and what a cluster does and reports while
// one is raised.
#include "operator/cluster/alarms.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "api/v1alpha2/names.h"
#include "operator/cluster/plan.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// The peer URL of a member of prod/db, without TLS.
std::string url_of(const std::string& member) { return "http://" + member + ".db.prod.svc:2380"; }

constexpr WallTime kNow{1795233378s};

/// "a7" per voter: a letter and the hash of its data; "-" for a hash: no answer. Then: x without an
/// EtcdMember, l learner, ! its EtcdMember is terminating, ? it knows no leader, o it was compacted
/// at another revision. The first one leads.
Observation observe(const std::string& text, const std::string& accused = "") {
  Observation seen;
  seen.now = kNow;
  seen.cluster.metadata.name = "db";
  seen.cluster.metadata.ns = "prod";
  seen.cluster.metadata.uid = "u-1";
  seen.cluster.spec.replicas = 3;
  seen.cluster.spec.version = "3.6.16";
  seen.cluster.status.cluster_id = "00000000000000c1";
  seen.cluster.status.last_sequence = 9;
  v1::ObservedSpec& observed = seen.cluster.status.observed.emplace();
  observed.replicas = 3;
  observed.version = "3.6.16";
  seen.linearizable = true;
  seen.cluster_id = etcd::ClusterId{0xc1};
  seen.headless_service = seen.client_service = Child::AsMade;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto has = [&](char c) { return word.find(c, 2) != std::string::npos; };
    Seat& seat = seen.seats.emplace_back();
    seat.name = word.substr(0, 1);
    seat.peer_url = url_of(seat.name);
    seat.listed = Seat::Listed{{seen.seats.size()}, has('l'), true};
    seat.answer = Seat::Answer{"3.6.16", {has('?') ? 0U : 1U}};
    seat.pod = Seat::Pod{"node", true};
    if (word[1] != '-')
      seat.hash = Seat::Hash{static_cast<std::uint64_t>(word[1] - '0'), 100, has('o') ? 50 : 40};
    if (has('x')) continue;
    seat.object.emplace();
    seat.object->uid = "uid-" + seat.name;
    seat.object->terminating = has('!');
    seat.object->voter = !has('l');
    seat.object->ready = true;
    seat.object->initial_cluster = "published";
    seat.object->created = kNow + std::chrono::seconds(-3600);
  }
  for (const char id : accused)
    seen.alarms.push_back({{static_cast<std::uint64_t>(id - '0')}, etcd::AlarmKind::Corrupt});
  return seen;
}

std::string verdict(const Observation& seen) {
  const Suspicion found = suspicion_of(seen);
  switch (found.what) {
    case Corruption::None: return "none";
    case Corruption::Convicted: return "convicted " + found.who->name;
    case Corruption::Removed: return "removed";
    case Corruption::Open: return "open: " + found.why;
  }
  return "";
}

struct Row {
  const char *seats, *accused, *verdict, *step, *because;
};
// ST26: convicts only a member that etcd accuses and that differs from a majority of all voters.
const Row kRows[] = {
    {"a7 b7 c7", "", "none", "none", ""},
    {"a7 b7 c8", "", "none", "none", "nobody is suspected without an alarm"},
    {"a7 b7 c8", "3", "convicted c", "delete-member c", ""},
    {"a8 b7 c7", "1", "convicted a", "delete-member a", "also who leads"},
    {"a7 b7 c8!", "3", "convicted c", "remove-from-etcd c", "and out of etcd"},
    {"a8! b7 c7", "1", "convicted a", "move-leader a to b",
     "what joins has its data from who leads"},
    {"a7 b8 c7", "3", "open: its data is the same as the majority's", "none",
     "it blames the wrong one"},
    {"a7 b7 c7", "3", "open: its data is the same as the majority's", "none",
     "or did for a moment"},
    {"a7 b8 c9", "3", "open: no majority of the voters has the same data", "none", ""},
    {"a7 b7 c-", "3", "open: not all voters report a hash of their data", "none", ""},
    {"a7 b- c8", "3", "open: not all voters report a hash of their data", "none",
     "one is no majority"},
    {"a7 b7? c8", "3", "open: no majority of the voters has the same data", "none",
     "b cannot vote with a"},
    {"a7 b7 c8o", "3", "open: no majority of the voters has the same data", "none",
     "what was compacted otherwise does not compare"},
    {"a7 b7 c8 d8", "3", "open: no majority of the voters has the same data", "none", ""},
    {"a7 b7 c7 d8 e9", "4", "open: other voters differ, too", "none", ""},
    {"a7 b7 c8", "23", "open: more than one member is accused", "none", ""},
    {"a7 b8", "2", "open: no majority of the voters has the same data", "none", ""},
    {"a7", "1", "open: its data is the same as the majority's", "none", ""},
    {"a7 b7 c8x", "3", "open: the accused member is not a voter with an EtcdMember", "none", ""},
    {"a7 b7 c-l", "3", "open: the accused member is not a voter with an EtcdMember", "none", ""},
    {"a7 b7 c8", "0", "open: the accused member is not a voter with an EtcdMember", "none",
     "etcd does not know who it is"},
    {"a7 b7", "9", "removed", "create-member", "another takes the place of who was removed"},
    {"a7 b7 c-l", "9", "removed", "promote c", ""},
    {"a7 b7 c8", "93", "convicted c", "delete-member c", "the old alarm is of nobody"},
    {"a7 b8", "9", "open: no majority of the voters has the same data", "none", ""},
    {"a7 b7 c8", "9", "open: other voters differ, too", "none", "the wrong one went"},
    {"a7 b-", "9", "open: not all voters report a hash of their data", "none", ""},
    {"a7 b7 c7!", "3", "open: its data is the same as the majority's", "remove-from-etcd c",
     "a person has decided"},
    {"a7 b7 c7!", "2", "open: its data is the same as the majority's", "none",
     "but not on who is accused: a live one waits for another"},
};

TEST(ClusterAlarms, AMemberIsConvictedByAMajorityOnly) {
  for (const Row& row : kRows)
    EXPECT_EQ(verdict(observe(row.seats, row.accused)), row.verdict)
        << row.seats << ", accused " << row.accused << ": " << row.because;
}

TEST(ClusterAlarms, WhoIsConvictedIsReplacedAndNobodyElseIsAddedOrVotes) {
  for (const Row& row : kRows) {
    Observation seen = observe(row.seats, row.accused);
    if (std::string(row.accused).empty() || seen.seats.size() != 3) continue;
    EXPECT_TRUE(to_string(plan(seen).step).starts_with(row.step))
        << row.seats << ", accused " << row.accused << ": " << to_string(plan(seen).step);
  }
  EXPECT_TRUE(to_string(plan(observe("a7 b7", "9")).step).starts_with("create-member"));
  EXPECT_EQ(to_string(plan(observe("a7 b7", "0")).step), "none") << "a voter is missing";
  EXPECT_EQ(plan(observe("a7 b7", "0")).waiting_for, "a user to resolve the CORRUPT alarm");
}

TEST(ClusterAlarms, WhoIsConvictedStaysWhileManyClustersAreAway) {
  Observation seen = observe("a7 b7 c8", "3");
  seen.others = seen.others_unavailable = 3;
  EXPECT_EQ(to_string(plan(seen).step), "none");
}

TEST(ClusterAlarms, WhereEtcdHidesItsAlarmsNothingIsDone) {
  Observation seen = observe("a7 b7");
  seen.alarms_hidden = true;
  EXPECT_EQ(to_string(plan(seen).step), "none");
  EXPECT_EQ(plan(seen).waiting_for, "etcd to list its alarms");
}

/// "True NoSpace: ..."; empty: no condition.
std::string told(const Observation& seen, const char* type) {
  const v1::EtcdClusterStatus status = plan(seen).status;
  const api::Condition* c = runtime::find_condition(status.conditions, type);
  return c ? c->status + " " + c->reason + ": " + c->message : "";
}

TEST(ClusterAlarms, AreToldFromTheFirstToTheLast) {
  Observation seen = observe("a7 b7 c7");
  EXPECT_EQ(told(seen, v1::kAlarmed), "") << "a cluster at rest is not told of what never was";
  EXPECT_EQ(plan(seen).status.phase, v1::kPhaseReady);
  seen.alarms = {{{2}, etcd::AlarmKind::NoSpace}};
  EXPECT_EQ(told(seen, v1::kAlarmed),
            "True NoSpace: etcd has raised NOSPACE for b (0000000000000002): etcd accepts no "
            "writes; delete or compact keys, then create an EtcdDefrag, which disarms the alarm");
  EXPECT_EQ(told(seen, v1::kAvailable),
            "True QuorumHealthy: All members are ready; read-only, as the database is full");
  EXPECT_EQ(told(seen, v1::kDegraded), "True NoSpace: the database is full; see Alarmed");
  EXPECT_EQ(plan(seen).status.phase, v1::kPhaseDegraded);
  EXPECT_EQ(plan(seen).status.members[1].alarm, v1::kNoSpace);
  EXPECT_EQ(to_string(plan(seen).step), "none");

  seen.cluster.status = plan(seen).status;
  for (const auto& edit : {std::function([](Observation& o) { o.alarms_hidden = true; }),
                           std::function([](Observation& o) { o.linearizable = false; })}) {
    Observation unknown = seen;
    unknown.alarms.clear();
    edit(unknown);
    EXPECT_TRUE(told(unknown, v1::kAlarmed).starts_with("True NoSpace")) << "as it was told";
    EXPECT_EQ(plan(unknown).status.members[1].alarm, v1::kNoSpace);
  }
  seen.alarms.push_back({{0}, etcd::AlarmKind::Corrupt});
  EXPECT_EQ(
      told(seen, v1::kAlarmed),
      "True Corrupt: etcd has raised CORRUPT for an unknown member: the accused member is not "
      "a voter with an EtcdMember; the operator changes nothing until you decide: see Corrupt in "
      "docs/user/operations.md");
  EXPECT_EQ(told(seen, v1::kAvailable),
            "False Corrupt: etcd refuses to serve: it has raised CORRUPT for an unknown member");
  EXPECT_EQ(told(seen, v1::kDegraded), "True Corrupt: 3/3 members ready; see Alarmed");
  EXPECT_EQ(plan(seen).status.phase, v1::kPhaseCorrupt);
  seen.cluster.status = plan(seen).status;
  seen.alarms.clear();
  EXPECT_EQ(told(seen, v1::kAlarmed), "False Disarmed: no alarm is raised");
  EXPECT_EQ(plan(seen).status.phase, v1::kPhaseReady);
  EXPECT_EQ(plan(seen).status.members[1].alarm, "");
}

TEST(ClusterAlarms, WhatBecomesOfADamagedMemberIsTold) {
  EXPECT_EQ(told(observe("a7 b7 c8", "3"), v1::kAlarmed),
            "True Corrupt: etcd has raised CORRUPT for c (0000000000000003): its data differs from "
            "the majority's; the operator replaces it");
  EXPECT_EQ(plan(observe("a7 b7 c8", "3")).status.broken_members, 1);
  EXPECT_EQ(told(observe("a7 b7", "9"), v1::kAlarmed),
            "True Corrupt: etcd has raised CORRUPT for 0000000000000009: it is no longer a member, "
            "and a majority has the same data; run etcdctl alarm disarm to let etcd serve again");
  EXPECT_EQ(told(observe("a7 b8 c8", "32"), v1::kAlarmed),
            "True Corrupt: etcd has raised CORRUPT for b (0000000000000002), c (0000000000000003): "
            "more than one member is accused; the operator changes nothing until you decide: see "
            "Corrupt in docs/user/operations.md");
}

TEST(ClusterAlarms, OfTwoTheWorseIsTheMembers) {
  Observation seen = observe("a7 b7 c8", "3");
  seen.alarms.push_back({{3}, etcd::AlarmKind::NoSpace});
  EXPECT_EQ(alarm_of(seen, seen.seats[2]), v1::kCorrupt);
  EXPECT_EQ(alarm_of(seen, seen.seats[0]), "");
}

/// Three voters; c has been unreachable for so many seconds.
Observation away_for(std::int64_t seconds, const std::string& text = "a7 b7 c7") {
  Observation seen = observe(text);
  seen.replace_unreachable_s = 900;
  Seat& seat = seen.seats.back();
  seat.answer.reset();
  seat.object->ready = false;
  seat.unreachable_s = seconds;
  return seen;
}

// S24, W27.
TEST(ClusterAway, WhoIsAwayForTooLongIsReplacedLikeOneThatLostItsData) {
  EXPECT_EQ(to_string(plan(away_for(899)).step), "none");
  EXPECT_EQ(to_string(plan(away_for(900)).step), "delete-member c");
  EXPECT_EQ(to_string(plan(away_for(900, "a7 b7 c7!")).step), "remove-from-etcd c");
  EXPECT_EQ(told(away_for(900), v1::kDegraded),
            "True MembersUnhealthy: 2/3 members ready; c: unreachable for longer than "
            "replace-unreachable-members-after");
  EXPECT_EQ(to_string(plan(away_for(900, "a7 b7? c7")).step), "none") << "two of three are away";
  Observation seen = away_for(900);
  seen.replace_unreachable_s = 0;
  EXPECT_EQ(to_string(plan(seen).step), "none") << "it is not asked for";
  seen = away_for(900);
  seen.seats.back().answer = seen.seats.front().answer;
  EXPECT_EQ(to_string(plan(seen).step), "none") << "it is back";
  seen = away_for(900);
  seen.linearizable = false;
  EXPECT_EQ(to_string(plan(seen).step), "none");
  seen = away_for(900);
  seen.others = seen.others_unavailable = 3;
  EXPECT_EQ(to_string(plan(seen).step), "none") << "our network, or the storage of all";
  seen = away_for(900);
  seen.alarms = {{{0}, etcd::AlarmKind::Corrupt}};
  EXPECT_EQ(to_string(plan(seen).step), "none") << "nobody knows whose data is right";
}

TEST(ClusterAway, APolicyThatCannotBeReadIsToldWhereItMatters) {
  Observation seen = away_for(0);
  seen.replace_unreachable_s = 0;
  seen.policy_error = "not a duration";
  EXPECT_EQ(told(seen, v1::kDegraded), "True MembersUnhealthy: 2/3 members ready; not a duration");
}

}  // namespace
}  // namespace etcdop::cluster
