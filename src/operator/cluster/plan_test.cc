// The plan as a table that you can check by hand.
#include "operator/cluster/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <sstream>

#include "api/v1alpha2/names.h"
#include "operator/cluster/census.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/spec.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// The peer URL of a member of prod/db, without TLS.
std::string url_of(const std::string& member) { return "http://" + member + ".db.prod.svc:2380"; }

constexpr WallTime kNow{1795233378s};

v1::EtcdCluster cluster_of(int replicas) {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  c.metadata.generation = 1;
  c.spec.version = "3.6.16";
  c.spec.replicas = replicas;
  return c;
}

/// A cluster that was formed with the spec it has.
v1::EtcdCluster formed(int replicas) {
  v1::EtcdCluster c = cluster_of(replicas);
  c.status.cluster_id = "00000000000000c1";
  c.status.cluster_token = "prod-db-u-1";
  c.status.last_sequence = 9;
  v1::ObservedSpec observed;
  observed.replicas = replicas;
  observed.version = c.spec.version;
  observed.storage = c.spec.storage;
  c.status.observed = observed;
  return c;
}

/// "a:V+" per member, oldest first. V: voter, L: started learner, U: learner that has not started,
/// N: not in etcd, X: as V, but without an EtcdMember (x: as U). Then: + healthy and ready, - no
/// answer, * leads (and is healthy), ! its EtcdMember is terminating, f without our finalizer, p
/// published long ago, s with the list of now, m its Pod has --max-learners, d past the
/// deadline, g past the grace of a start, v voted before, e its data is gone, 1..9
/// its node.
Seat seat_of(const std::string& word, std::size_t index) {
  Seat seat;
  seat.name = word.substr(0, word.find(':'));
  const std::string marks = word.substr(word.find(':') + 1);
  const char kind = marks.at(0);
  const auto has = [&](char c) { return marks.find(c, 1) != std::string::npos; };
  const etcd::MemberId id{index + 1};
  seat.peer_url = url_of(seat.name);
  if (kind != 'N')
    seat.listed =
        Seat::Listed{id, kind == 'L' || kind == 'U' || kind == 'x', kind != 'U' && kind != 'x'};
  if (has('+') || has('*'))
    seat.answer = Seat::Answer{"3.6.16", has('*') ? id : etcd::MemberId{99}};
  if (kind == 'X' || kind == 'x') return seat;
  Seat::Object object;
  object.uid = "uid-" + seat.name;
  object.terminating = has('!');
  object.has_finalizer = !has('f');
  object.dormant = has('z');
  object.voter = kind == 'V' || has('v');
  object.lost = has('e');
  object.ready = seat.answer && kind == 'V' && !object.lost;
  object.member_id = seat.listed && seat.listed->started ? to_hex(id) : "";
  object.version = seat.answer ? "3.6.16" : "";
  object.made_as = template_of(*formed(3).status.observed);
  if (kind == 'V' || kind == 'L' || has('p')) object.initial_cluster = "published";
  object.created = kNow + std::chrono::seconds((has('d') ? -700 : -20) + static_cast<int>(index));
  seat.object = object;
  std::string node = "n";
  for (char c = '1'; c <= '9'; ++c)
    if (has(c)) node += c;
  if (kind != 'N' && kind != 'U') seat.pod = Seat::Pod{node, has('m')};
  return seat;
}

Observation observe(int replicas, const std::string& text) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = formed(replicas);
  seen.linearizable = true;
  seen.cluster_id = etcd::ClusterId{0xc1};
  seen.headless_service = seen.client_service = Child::AsMade;
  std::istringstream words(text);
  etcd::MemberId leader;
  for (std::string word; words >> word;) {
    seen.seats.push_back(seat_of(word, seen.seats.size()));
    if (word.find('*') != std::string::npos) leader = seen.seats.back().listed->id;
  }
  for (Seat& seat : seen.seats)
    if (seat.answer) seat.answer->leader = leader;
  std::ranges::sort(seen.seats, {}, &Seat::name);
  std::string list;
  for (const Seat& seat : seen.seats)
    if (seat.listed) list += (list.empty() ? "" : ",") + seat.name + "=" + seat.peer_url;
  std::istringstream again(text);
  for (std::string word; again >> word;)
    for (Seat& seat : seen.seats)
      if (seat.name == word.substr(0, word.find(':')) &&
          word.find('s', word.find(':')) != std::string::npos)
        seat.object->initial_cluster = list;
  return seen;
}

/// The names of new members follow from the UID: "#1" stands for the first, as sequence 10 has it.
std::string step_of(const Observation& seen) {
  std::string out = to_string(plan(seen).step);
  for (int i = 1; i < 5; ++i) {
    const std::string name = member_name("db", "u-1", 9 + i);
    if (const auto at = out.find(name); at != std::string::npos)
      out.replace(at, name.size(), "#" + std::to_string(i));
  }
  return out;
}

struct Row {
  int replicas;
  const char *seats, *step, *because;
};

void expect_steps(std::span<const Row> rows) {
  for (const Row& row : rows)
    EXPECT_EQ(step_of(observe(row.replicas, row.seats)), row.step)
        << row.replicas << " of " << row.seats << ": " << row.because;
}

TEST(ClusterPlan, Table) {
  const Row rows[] = {
      // Growing.
      {3, "a:V*", "create-member #1", "intents and EtcdMembers first"},
      {3, "a:V* b:N", "add-learner b", "K15: one learner at a time"},
      {3, "a:V* b:N c:N", "add-learner b", ""},
      {3, "a:V* b:U", "publish b", "K15: no second EtcdMember before the first votes"},
      {3, "a:V* b:Us c:N", "none", "b starts"},
      {3, "a:V* b:Up c:N", "publish b", "the list changed before it started"},
      {3, "a:V* b:L+ c:N", "promote b", "K15: c is added when b votes"},
      {3, "a:V* b:L- c:N", "none", "K15: a learner that does not answer is a learner"},
      {3, "a:V* b:V+ c:N", "add-learner c", ""},
      // An earlier release may have added both.
      {3, "a:V* b:L+ c:U", "publish c", ""},
      {3, "a:V* b:L+ c:Us", "promote b", "a vote adds nobody to the list that c starts with"},
      {3, "a:V* b:L- c:Up", "publish c", ""},
      {3, "a:V* b:L+ c:L+", "promote b", "the oldest, one at a time"},
      {3, "c:V* b:L+ a:L+", "promote b", "whatever its name"},
      {3, "a:V* b:L- c:L+", "promote c", "a stuck learner does not hold up a good one"},
      {3, "a:V* b:V+ c:L+", "promote c", ""},
      {3, "a:V* b:V+ c:V+", "none", "converged"},
      {4, "a:V* b:V+ c:V+", "create-member #1", "even sizes are allowed"},
      {4, "a:V* b:V+ c:V- d:L+", "promote d", "three of four are healthy"},
      {3, "a:V*m b:L-m c:N", "none", "K15: also where the members' own limit is eight"},
      // Learners that do not start.
      {3, "a:V* b:V+ c:Upd", "delete-member c", "at its deadline"},
      {3, "a:V* b:V+ c:U!", "remove-from-etcd c", ""},
      {3, "a:V* b:V+ c:N!", "release-member c",
       "it never voted: nothing of value is in its volume"},
      {3, "a:V* b:V+ c:Np", "delete-member c", "somebody removed it from etcd"},
      {1, "a:V* b:Up", "delete-member b", "nobody wants it any more"},
      {1, "a:V* b:L+", "delete-member b", ""},
      {2, "a:V* b:L+ c:Up", "delete-member c", "the one that has not started goes first"},
      {2, "a:V* b:Up c:L+", "delete-member b", "also if it is the older"},
      {3, "a:V* b:V+ c:V- d:L+", "delete-member c", "a broken voter goes before a good learner"},
      {3, "a:V* b:V+ c:V- d:L-", "delete-member d", "a learner that is no better does not stay"},
      {3, "a:V* b:V+ c:V-! d:L+", "remove-from-etcd c", ""},
      // Shrinking.
      {1, "a:V* b:V+ c:V+", "delete-member c", "the newest follower"},
      {1, "a:V+ b:V+ c:V*", "delete-member b", "the leader last"},
      {1, "a:V* b:V- c:V+", "delete-member b", "the dead one first"},
      {2, "a:V*1 b:V+2 c:V+2 d:V+3", "delete-member c", "where two share a node"},
      {2, "a:V* b:V- c:V+!", "none", "the two that remain would be one short of a quorum"},
      {2, "a:V* b:V+! c:V- d:L+", "delete-member c", "seed 86584: without c, b can go"},
      {2, "a:V* b:V+! c:V-! d:L+", "remove-from-etcd c", ""},
      {2, "a:V- b:V*! c:V- d:L+", "none", "of two broken ones, neither can go"},
      {2, "a:V* b:V-! c:V- d:L+", "none", "a broken one does not need it"},
      {1, "a:V* b:V+ c:V+!", "remove-from-etcd c", ""},
      {1, "a:V+ b:V+ c:V*!", "move-leader c to a", "clients feel nothing"},
      {1, "a:V* b:V+ c:N!v", "release-member c", "confirmed by a linearizable list"},
      {1, "a:V* b:V+ c:Up", "delete-member c", "joiners go before voters do"},
      {1, "a:V* b:V+ c:N!vf", "none", "released already: it goes"},
      // EtcdMembers deleted by a user.
      {3, "a:V* b:V+ c:V+!", "create-member #1", "a live one is replaced, then removed"},
      {3, "a:V* b:V+ c:V+! d:L+", "promote d", ""},
      {3, "a:V* b:V+ c:V+! d:V+", "remove-from-etcd c", ""},
      {3, "a:V* b:V+ c:V-!", "remove-from-etcd c", "a dead one is removed, then replaced"},
      {3, "a:V* b:V+ c:N!v", "create-member #1", "its volume stays until the replacement votes"},
      {3, "a:V* b:V+ c:N!v d:V+", "release-member c", ""},
      {1, "a:V*!", "create-member #1", "a sole voter goes only when another votes"},
      {1, "a:V*! b:V+", "move-leader a to b", ""},
      {1, "a:V+! b:V*", "remove-from-etcd a", ""},
      {3, "a:V*! b:V+! c:V+!", "create-member #1", "all at once: still no vote is lost"},
      {3, "a:V* b:V+ c:V-! d:Up", "publish d", "no removal while a joiner starts"},
      // Foreign members.
      {3, "a:V* b:V+ c:V+ y:X+", "none", "a foreign voter is a person's to remove"},
      {3, "a:V* b:V+ y:x", "none", "a foreign learner takes the only place"},
      {3, "a:V* b:N c:N y:x", "none", "K15, W11: and is waited for; ForeignMember says so"},
  };
  expect_steps(rows);
}

Seat& seat(Observation& seen, const std::string& name) {
  return *std::ranges::find(seen.seats, name, &Seat::name);
}

TEST(ClusterPlan, AMemberThatKnowsNoLeaderIsBroken) {
  Observation seen = observe(3, "a:V* b:V+ c:V+!");
  seat(seen, "c").answer->leader = {};
  EXPECT_EQ(step_of(seen), "remove-from-etcd c") << "before its replacement, as a dead one";
}

TEST(ClusterPlan, InAnElectionTheMajorityIsBelieved) {
  Observation seen = observe(1, "a:V* b:V+ c:V+!");
  seat(seen, "c").answer->leader = seat(seen, "c").listed->id;
  EXPECT_EQ(step_of(seen), "remove-from-etcd c");
  seat(seen, "b").answer->leader = seat(seen, "c").listed->id;
  EXPECT_EQ(step_of(seen), "move-leader c to a");
  seen = observe(1, "c:V*! a:V+ b:V+");
  for (const char* name : {"a", "b"}) seat(seen, name).answer->leader = etcd::MemberId{99};
  EXPECT_EQ(step_of(seen), "remove-from-etcd c") << "they follow one that we do not know";
}

TEST(ClusterPlan, AVoterThatSomebodyAddedAndNobodyStartedHoldsUpNoGrowth) {
  Observation seen = observe(4, "a:V* b:N y:X");
  seat(seen, "y").listed->started = false;
  EXPECT_EQ(step_of(seen), "add-learner b");
}

/// The operator finishes what an earlier release has begun: it gives up no learner for being the
/// second.
TEST(ClusterPlan, K15_LearnersThatAnEarlierReleaseAddedVoteOneAfterTheOther) {
  EXPECT_EQ(step_of(observe(3, "a:V*m b:L+m c:L+m")), "promote b");
  EXPECT_EQ(step_of(observe(3, "a:V*m b:V+m c:L+m")), "promote c");
  EXPECT_EQ(step_of(observe(4, "a:V*m b:L+m c:L+m d:N")), "promote b");
}

TEST(ClusterPlan, K15_TheFlagIsKeptWhereAnEarlierReleaseMayHaveAddedSeveralLearners) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  EXPECT_EQ(plan(seen).status.max_learners, v1::kManyLearners)
      << "formed, grown or taken over before the first look";
  seen = observe(0, "a:V-z");
  EXPECT_EQ(plan(seen).status.max_learners, v1::kManyLearners) << "a paused one, too";
  seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status.cluster_id.clear();
  EXPECT_EQ(plan(seen).status.max_learners, v1::kManyLearners) << "its status was lost";
  seen.cluster.status.max_learners = 1;
  EXPECT_EQ(plan(seen).status.max_learners, 1) << "what this release has founded";
  seen = observe(3, "a:V* b:V+m c:V+");
  seen.cluster.status.max_learners = 1;
  EXPECT_EQ(plan(seen).status.max_learners, v1::kManyLearners)
      << "an earlier release has had it in hand since";
  seat(seen, "b").pod->founds = true;
  EXPECT_EQ(plan(seen).status.max_learners, 1) << "such a Pod is made anew before others join";
}

TEST(ClusterPlan, WhoLostItsDataIsReplacedOneAtATime) {
  const Row rows[] = {
      {3, "a:V* b:V+ c:V-e", "delete-member c", ""},
      {3, "a:V* b:V+ c:V+e", "delete-member c", "whatever it answers"},
      {3, "a:V* b:V+e c:V-e", "none", "one copy is left of three"},
      {3, "a:V* b:V- c:V-e", "none", "the same"},
      {2, "a:V* b:V+e", "none", "both are the quorum"},
      {4, "a:V* b:V+ c:V-e d:V-", "none", "two of four are no quorum"},
      {5, "a:V* b:V+ c:V+ d:V-e e:V-e", "delete-member d", "one of them"},
      {5, "a:V* b:V+ c:V+ d:V-e! e:V-e", "remove-from-etcd d", "and out of etcd"},
      {5, "a:V* b:V+ c:V+ d:Nv! e:V-e", "delete-member e", "then the other"},
      {5, "a:V* b:V+ c:V-e d:Ups", "none", "after the joiner, which has its list"},
      {3, "a:V* b:V+ c:V-e!", "remove-from-etcd c", ""},
      {3, "a:V* b:V+ c:V+e!", "remove-from-etcd c", "it is no use to wait for another"},
      {3, "a:V* b:V+ c:Nv!", "create-member #1", "its volume stays until another votes"},
      {3, "a:V* b:V+ c:L-e", "delete-member c", "a joiner, too"},
      {3, "a:V* b:V+ c:L+e", "delete-member c", ""},
  };
  expect_steps(rows);
}

TEST(ClusterPlan, NobodyIsReplacedWhileManyClustersAreAway) {
  const auto step_among = [](int others, int away) {
    Observation seen = observe(3, "a:V* b:V+ c:V-e");
    seen.others = others;
    seen.others_unavailable = away;
    return step_of(seen);
  };
  EXPECT_EQ(step_among(2, 2), "delete-member c") << "too few to tell";
  EXPECT_EQ(step_among(3, 3), "none");
  EXPECT_EQ(step_among(15, 3), "none") << "one in five";
  EXPECT_EQ(step_among(16, 3), "delete-member c");
}

TEST(ClusterPlan, K13_ShrinkingTakesAMemberOfTheFullestZone) {
  Observation seen = observe(3, "a:V*1 b:V+2 c:V+3 d:V+4");
  for (const char* name : {"a", "b"}) seat(seen, name).pod->zone = "east";
  seat(seen, "c").pod->zone = "west";
  EXPECT_EQ(step_of(seen), "delete-member b") << "the leader stays";
  for (const char* name : {"c", "d"}) seat(seen, name).pod->node = "n3";
  EXPECT_EQ(step_of(seen), "delete-member b") << "a zone counts more than a node";
  for (const char* name : {"a", "b", "c"}) seat(seen, name).pod->zone = "";
  EXPECT_EQ(step_of(seen), "delete-member d") << "unknown zones are not one zone";
}

TEST(ClusterPlan, K13_TheLeadershipGoesToWhoHasAppliedMostAndThenToAnother) {
  Observation seen = observe(2, "a:V+ b:V+ c:V*!");
  seat(seen, "a").answer->applied = 90;
  seat(seen, "b").answer->applied = 100;
  EXPECT_EQ(step_of(seen), "move-leader c to b");
  seen.tried_heirs = {"b"};
  EXPECT_EQ(step_of(seen), "move-leader c to a");
  seen.tried_heirs = {"b", "a"};
  EXPECT_EQ(step_of(seen), "move-leader c to b");
}

TEST(ClusterPlan, K13_ADormantMemberWhoseWakingIsRefusedHoldsUpNoOther) {
  Observation seen = observe(3, "a:Vz b:Vz c:Vz");
  EXPECT_EQ(step_of(seen), "wake-member a");
  seen.failing_step = "children, wake-member a";
  EXPECT_EQ(step_of(seen), "wake-member b");
  seat(seen, "b").object->dormant = seat(seen, "c").object->dormant = false;
  EXPECT_EQ(step_of(seen), "wake-member a") << "it is tried again";
}

TEST(ClusterPlan, PodsWithoutANodeShareNone) {
  Observation seen = observe(2, "a:V*1 b:V+2 c:V+2 d:V+3");
  seat(seen, "b").pod->node = seat(seen, "c").pod->node = "";
  EXPECT_EQ(step_of(seen), "delete-member d") << "the newest";
}

Plan without_quorum(const std::string& seats) {
  Observation seen = observe(3, seats);
  seen.linearizable = false;
  for (Seat& seat : seen.seats) seat.listed.reset();
  return plan(seen);
}

const api::Condition& condition(const Plan& p, const char* type) {
  static const api::Condition none;
  const api::Condition* found = runtime::find_condition(p.status.conditions, type);
  return found ? *found : none;
}

std::string told(const Plan& p, const char* type) {
  const api::Condition& c = condition(p, type);
  return c.status + " " + c.reason + ": " + c.message;
}

TEST(ClusterPlan, K2_AMemberWaitsForOtherClustersForABoundedTimeAndSaysSo) {
  Observation seen = observe(3, "a:V* b:V+ c:V-e");
  seen.others = seen.others_unavailable = 3;
  const auto told = [&] { return condition(plan(seen), v1::kDegraded).message; };
  seat(seen, "c").condemned_s = 15 * 60 - 1;
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_TRUE(told().find("c is not replaced for up to 15 min: many other clusters") !=
              std::string::npos)
      << told();
  seat(seen, "c").condemned_s = 15 * 60;
  EXPECT_EQ(step_of(seen), "delete-member c");
  EXPECT_EQ(told().find("not replaced"), std::string::npos) << told();
}

TEST(ClusterPlan, WithoutALinearizableListNothingIsChanged) {
  for (const char* seats : {"a:V+ b:V- c:V-!", "a:V- b:V- c:V-", "a:V+ b:Upd", "a:V+! b:N"})
    EXPECT_EQ(to_string(without_quorum(seats).step), "none") << seats;
}

TEST(ClusterPlan, AvailableTellsWhatWasObserved) {
  EXPECT_EQ(condition(plan(observe(3, "a:V* b:V+ c:V+")), v1::kAvailable).reason,
            v1::kQuorumHealthy);
  EXPECT_EQ(condition(plan(observe(3, "a:V* b:V+ c:V-")), v1::kAvailable).reason,
            v1::kQuorumAvailable);
  EXPECT_EQ(condition(plan(observe(3, "a:V* b:V+ c:V-")), v1::kDegraded).message,
            "2/3 members ready");
  const Plan lost = without_quorum("a:V+ b:V- c:V-");
  EXPECT_EQ(condition(lost, v1::kAvailable).status, "False");
  EXPECT_EQ(condition(lost, v1::kAvailable).reason, v1::kQuorumLost);
  const Plan silent = without_quorum("a:V- b:V- c:V-");
  EXPECT_EQ(condition(silent, v1::kAvailable).status, "Unknown");
  EXPECT_EQ(condition(silent, v1::kAvailable).reason, v1::kClusterUnreachable);
}

TEST(ClusterPlan, TheFoundersPodIsMadeAnewBeforeAnybodyJoinsOrIsTold) {
  Observation seen = observe(3, "a:V*");
  seen.seats[0].name = member_name("db", "u-1", 9);  // The last recorded member.
  seen.seats[0].pod->founds = true;
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(p.waiting_for, "the first member to restart");
  EXPECT_FALSE(runtime::find_condition(p.status.conditions, v1::kAvailable));
  EXPECT_FALSE(runtime::find_condition(p.status.conditions, v1::kDegraded));

  Observation late = seen;  // The deadline has passed.
  late.cluster.status = p.status;
  late.now = kNow + 601s;
  EXPECT_EQ(condition(plan(late), v1::kProgressing).reason, v1::kDeadlineExceeded);
  late.cluster.status = plan(late).status;
  EXPECT_FALSE(runtime::find_condition(plan(late).status.conditions, v1::kAvailable));

  Observation away = seen;  // Its Pod is missing for a moment.
  away.seats[0].pod.reset();
  away.seats[0].answer.reset();
  away.seats[0].listed.reset();
  away.linearizable = false;
  EXPECT_FALSE(runtime::find_condition(plan(away).status.conditions, v1::kAvailable));

  seen.seats[0].pod->founds = false;
  EXPECT_EQ(step_of(seen), "create-member #1");
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kClusterDiscovered);
  seen.seats[0].pod->founds = true;  // Made by another operator, or before others were recorded.
  seen.seats[0].name = "db-abcde";
  EXPECT_EQ(step_of(seen), "create-member #1");
}

/// Seed 10018: the version was lowered while the first member's Pod was on its way. Its next Pod
/// would never have started.
TEST(ClusterPlan, K4_AFirstMemberKeepsTheMinorVersionThatItHasStartedWith) {
  Observation seen = observe(3, "a:V*");
  Seat& first = seen.seats[0];
  first.name = member_name("db", "u-1", 9);
  first.pod->founds = true;
  first.answer->version = first.object->version = "3.6.16";
  for (const char* good : {"3.6.16", "3.6.4", "3.7.3"}) {
    first.object->spec_version = good;
    EXPECT_EQ(step_of(seen), "none") << good;
  }
  first.object->spec_version = seen.cluster.spec.version = "3.5.35";
  seen.cluster.status.observed->version = "3.5.35";
  const std::string kept = "keep-version " + first.name + " 3.6.16";
  EXPECT_EQ(step_of(seen), kept);
  Observation away = seen;  // Its Pod was evicted, and the next one waits.
  away.seats[0].pod.reset();
  away.seats[0].answer.reset();
  away.seats[0].listed.reset();
  away.linearizable = false;
  EXPECT_EQ(step_of(away), kept);
  first.answer->version = "3.5.35";
  first.object->spec_version = "3.7.3";
  EXPECT_EQ(step_of(seen), "keep-version " + first.name + " 3.5.35");
  first.pod->founds = false;
  EXPECT_EQ(step_of(seen), "create-member #1") << "it is in its second Pod";
}

TEST(ClusterPlan, WhatIsTheMatterWithAMemberIsTold) {
  Observation seen = observe(3, "a:V* b:V+ c:V-");
  seat(seen, "c").object->trouble = "no node can run the Pod";
  EXPECT_EQ(condition(plan(seen), v1::kDegraded).message,
            "2/3 members ready; c: no node can run the Pod");
}

/// A user took the owner, or the label, away from EtcdMembers of a running cluster.
TEST(ClusterPlan, K17_MembersThatLostTheirOwnerGetItBackIfEtcdConfirmsThem) {
  struct Edit {
    const char* seats;
    std::function<void(Observation&)> edit;
    const char* step;
    const char* because;
  };
  const auto nothing = [](Observation&) {};
  const Edit rows[] = {
      {"a:V* b:V+ c:V+", nothing, "adopt-members c", ""},
      {"a:V* b:V+ c:V-e", nothing, "adopt-members c", "then it is replaced"},
      {"a:V* b:V+ c:V+!", nothing, "adopt-members c", "then it leaves as any other"},
      {"a:V* b:V+ c:V+", [](auto& o) { o.failing_step = "children, adopt-members c"; }, "none",
       "the others do not wait for what is refused, and no second one is made"},
      {"a:V* b:V+ c:V+", [](auto& o) { seat(o, "c").object->member_id = "00000000000000ff"; },
       "create-member #1", "etcd has another member of that name"},
      {"a:V* b:V+ c:V+", [](auto& o) { seat(o, "c").object->member_id.clear(); }, "adopt-members c",
       "seeds 21285 and 27187: its id was not written yet"},
      {"a:V* b:V+ c:V+",
       [](auto& o) {
         seat(o, "c").object->member_id.clear();
         seat(o, "c").listed->started = false;
       },
       "adopt-members c", "seed 64319: nor had its etcd started"},
      {"a:V* b:V+ c:V+", [](auto& o) { seat(o, "c").listed->started = false; }, "create-member #1",
       "it has an id, and etcd lists another member with its address"},
      {"a:V* b:V+ c:N", nothing, "create-member #1", "neither etcd nor the record knows it"},
      {"a:V* b:V+ c:N!", nothing, "adopt-members c",
       "seed 1330: etcd has removed it, and nobody else lets it go"},
      {"a:V* b:V+ c:N",
       [](auto& o) {
         o.cluster.status.pending_members = {{9, "c", url_of("c"), to_rfc3339(kNow)}};
       },
       "adopt-members c", "it is recorded, and is to join"},
      {"a:V- b:V- c:V-",
       [](auto& o) {
         o.linearizable = false;
         for (Seat& s : o.seats) s.listed.reset();
       },
       "none", "without a quorum nothing is confirmed"},
      {"a:V- b:V- c:V-",
       [](auto& o) {
         o.linearizable = false;
         for (Seat& s : o.seats) s.listed.reset();
         o.cluster.status.members.emplace_back().name = "c";
       },
       "adopt-members c", "but it is recorded: without its label its Pod is never made again"},
      {"a:V- b:V- c:V-",
       [](auto& o) {
         o.linearizable = false;
         for (Seat& s : o.seats) s.listed.reset();
         o.cluster.status.members.emplace_back().name = "c";
         seat(o, "c").object->disowned = true;
         seat(o, "c").object->member_id.clear();
       },
       "none", "it may be a copy, which would vote on an empty volume"},
      {"c:N",
       [](auto& o) {
         o.cluster.status.cluster_id.clear();
         o.cluster_id.reset();
         o.linearizable = false;
         o.cluster.status.pending_members = {{1, "c", url_of("c"), to_rfc3339(kNow)}};
       },
       "adopt-members c", "seed 181: a first member that is recorded"},
  };
  for (const Edit& row : rows) {
    Observation seen = observe(3, row.seats);
    seat(seen, "c").object->astray = true;
    row.edit(seen);
    EXPECT_EQ(step_of(seen), row.step) << row.seats << ": " << row.because;
  }
}

TEST(ClusterPlan, K17_AHealthyVoterWithoutAnOwnerIsNoForeignMember) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seat(seen, "c").object->astray = true;
  EXPECT_EQ(condition(plan(seen), v1::kDegraded).status, "False");
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kQuorumHealthy);
  seat(seen, "c").object->member_id = "00000000000000ff";
  EXPECT_EQ(condition(plan(seen), v1::kDegraded).reason, v1::kForeignMember)
      << "its EtcdMember is about another one";
}

/// Seed 1330: its Pod failed for ever, and all conditions said that all was well.
TEST(ClusterPlan, I17_AnEtcdMemberWithoutAnOwnerThatEtcdDoesNotListIsTold) {
  Observation seen = observe(3, "a:V* b:V+ c:V+ d:N");
  seat(seen, "d").object->astray = true;
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none") << "its data may be wanted";
  EXPECT_EQ(condition(p, v1::kDegraded).reason, v1::kForeignMember);
  EXPECT_EQ(condition(p, v1::kDegraded).message,
            "etcd does not list these EtcdMembers, which have lost their owner or label: d; delete "
            "them if their data is not needed");
  seat(seen, "d").object->terminating = true;
  p = plan(seen);
  EXPECT_EQ(to_string(p.step), "adopt-members d");
  seat(seen, "d").object->astray = false;
  EXPECT_EQ(to_string(plan(seen).step), "release-member d");
}

TEST(ClusterPlan, K17_PodsOfOthersThatTheBudgetCountsAreAddedToIt) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  EXPECT_EQ(plan(seen).budget, 2);
  seen.stray_voters = 2;
  EXPECT_EQ(plan(seen).budget, 4) << "two of ours must stay all the same";
  seen.budget = Child::AsMade;
  seen.budget_min = 4;
  EXPECT_EQ(plan(seen).budget, std::nullopt);
  seen.stray_voters = 0;
  EXPECT_EQ(plan(seen).budget, 2);
  Observation sole = observe(1, "a:V*");
  sole.stray_voters = 1;
  EXPECT_EQ(plan(sole).budget, 0) << "it may be drained";
}

TEST(ClusterPlan, TheFirstMemberIsADiscoveryUntilTheSecondVotes) {
  Observation seen = observe(3, "a:V*");
  seen.cluster.status.cluster_id.clear();
  seen.cluster.status = plan(seen).status;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kClusterDiscovered);
  Observation two = observe(3, "a:V* b:V+");
  two.cluster.status = seen.cluster.status;
  EXPECT_EQ(condition(plan(two), v1::kAvailable).reason, v1::kQuorumAvailable);
  seen.cluster.spec.replicas = 1;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kQuorumHealthy);
}

TEST(ClusterPlan, ProgressIsAboutTheTargetHealthIsNot) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  const v1::EtcdClusterStatus reconciled = plan(seen).status;
  const auto reason_of = [&](Observation now) {
    now.cluster.status = reconciled;
    return condition(plan(now), v1::kProgressing).reason;
  };
  EXPECT_EQ(reason_of(observe(3, "a:V* b:V+ c:V-")), v1::kReconciled) << "Degraded tells of it";
  EXPECT_EQ(reason_of(observe(3, "a:V* b:V+ c:V+ d:L+")), v1::kMemberReplacing);
  EXPECT_EQ(reason_of(observe(3, "a:V* b:V+ c:V+!")), v1::kMemberReplacing);
  Observation silent = observe(3, "a:V- b:V- c:V-!");
  silent.linearizable = false;
  EXPECT_EQ(reason_of(silent), v1::kReconciled) << "nothing is known";
}

TEST(ClusterPlan, TheFirstMembersWayIsTold) {
  Observation seen = observe(3, "a:V*");
  seen.cluster.status.cluster_id.clear();
  seen.linearizable = false;
  seen.cluster_id.reset();
  for (Seat& s : seen.seats) {
    s.listed.reset();
    s.answer.reset();
  }
  seen.cluster.status = plan(seen).status;
  const auto progressing = [&] { return condition(plan(seen), v1::kProgressing).reason; };
  EXPECT_EQ(progressing(), v1::kWaitingForSeed);
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, "") << "there is no cluster yet";
  Observation born = observe(3, "a:V*");
  born.cluster.status = seen.cluster.status;
  EXPECT_EQ(condition(plan(born), v1::kProgressing).reason, v1::kInitialSnapshot);
  EXPECT_EQ(condition(plan(born), v1::kProgressing).status, "True");
}

/// The first member of a cluster without an id, which waits in a Pod without a node.
Observation with_idle_founder() {
  Observation seen = observe(3, "a:V-");
  seen.cluster.status.cluster_id.clear();
  seen.cluster_id.reset();
  seen.linearizable = false;
  Seat& first = seen.seats.front();
  first.listed.reset();
  first.object->seed = true;
  first.object->initial_cluster = "a=" + first.peer_url;
  first.object->voter = first.object->ready = false;
  first.object->member_id.clear();
  first.pod->idle = true;
  return seen;
}

TEST(ClusterPlan, K4_ACorrectedSpecReachesAFirstMemberWhoseEtcdDoesNotRun) {
  struct Edit {
    std::function<void(Observation&)> edit;
    const char* step;
    const char* because;
  };
  const auto corrected = [](Observation& o) { o.cluster.spec.node_selector = {{"disk", "ssd"}}; };
  const Edit rows[] = {
      {[](auto&) {}, "none", "it has the spec"},
      {[](auto& o) { o.seats[0].object->initial_cluster = "edited"; }, "publish a",
       "seed 335061: a user edited the EtcdMember"},
      {[](auto& o) {
         o.seats[0].object->initial_cluster = "edited";
         o.seats[0].object->other_tls = true;
       },
       "none", "its etcd would found without the TLS of the cluster"},
      {[](auto& o) { o.cluster.spec.replicas = 5; }, "none", "which no member has"},
      {corrected, "correct-founder a", ""},
      {[](auto& o) { o.cluster.spec.version = "3.5.35"; }, "correct-founder a",
       "no data of the later minor is known"},
      {[](auto& o) { o.cluster.spec.storage.size = "2Gi"; }, "correct-founder a", ""},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].pod.reset();
       },
       "correct-founder a", "its Pod is refused"},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].object->other_medium = true;
       },
       "none", "its data in memory, if it had any, would go with its Pod (seed 21112)"},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].object->terminating = true;
       },
       "correct-founder a", "it may have run, so it stays, and is replaced once it serves"},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].pod->idle = false;
       },
       "none", "its etcd runs, and will answer"},
      {[](auto& o) {
         o.cluster.spec.version = "3.5.35";
         o.seats[0].pod->idle = false;
       },
       "none", "the same"},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].object->member_id = "1";
       },
       "none", "it has answered"},
      {[&](auto& o) {
         corrected(o);
         o.seats[0].object->seed = false;
       },
       "none", "it joins"},
      {[&](auto& o) {
         corrected(o);
         o.cluster.status.cluster_id = "00000000000000c1";
       },
       "none", "the cluster is founded"},
      {[&](auto& o) {
         corrected(o);
         o.seats.push_back(o.seats[0]);
         o.seats[1].name = "b";
       },
       "none", "two: a user decides"},
  };
  for (const Edit& row : rows) {
    Observation seen = with_idle_founder();
    row.edit(seen);
    EXPECT_EQ(step_of(seen), row.step) << &row - rows << ": " << row.because;
  }
}

TEST(ClusterPlan, K4_AFirstMemberThatCannotBeReplacedIsToldWithTheRemedy) {
  const auto message = [](const std::function<void(Seat::Object&)>& edit) {
    Observation seen = with_idle_founder();
    edit(*seen.seats[0].object);
    return condition(plan(seen), v1::kProgressing).message;
  };
  EXPECT_EQ(message([](auto&) {}), "waiting for the first member");
  EXPECT_EQ(message([](auto& o) { o.terminating = true; }),
            "waiting for the first member; the etcd of a may have run, so it stays until another "
            "member has its data; edit the EtcdCluster so that its Pod can start, or delete the "
            "EtcdCluster");
  EXPECT_EQ(message([](auto& o) { o.terminating = o.unborn = true; }),
            "waiting for the first member")
      << "it goes at once";
  EXPECT_EQ(
      message([](auto& o) { o.other_medium = true; }),
      "waiting for the first member; the etcd of a may have run, so its storage.medium stays, "
      "and edits of the EtcdCluster do not reach it; to keep its data, delete the "
      "EtcdCluster with --cascade=orphan and create it again with the storage.medium of "
      "EtcdMember a; to discard it, delete the EtcdCluster and create it again");
  EXPECT_EQ(message([](auto& o) { o.other_medium = o.unborn = true; }),
            "waiting for the first member; its storage.medium stays, and edits of the EtcdCluster "
            "do not reach it; delete EtcdMember a");
  EXPECT_EQ(message([](auto& o) { o.other_medium = o.unborn = o.terminating = true; }),
            "waiting for the first member");
  Observation starts = with_idle_founder();
  starts.seats[0].object->other_medium = true;
  starts.seats[0].pod->idle = false;
  EXPECT_EQ(condition(plan(starts), v1::kProgressing).message, "waiting for the first member");
  EXPECT_EQ(message([](auto& o) { o.lost = true; }),
            "waiting for the first member; the etcd of a may have run, so no other member founds "
            "the cluster; delete the EtcdCluster and create it again");
}

/// Seed 10607: a user made a new EtcdCluster the owner of the one member that was left of three.
TEST(ClusterPlan, K17_MembersWithoutAQuorumThatAUserGaveToTheClusterAreTold) {
  Observation seen = with_idle_founder();
  seen.seats[0].object->seed = false;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "waiting for the first member");
  seen.seats[0].answer = Seat::Answer{"3.6.16", {}};
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message,
            "waiting for the first member; etcd has no leader; if too many of its members are "
            "gone for good, delete the EtcdCluster and create it again from a snapshot");
  seen.seats[0].answer->leader = etcd::MemberId{7};
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "waiting for the first member");
  seen.seats[0].answer.reset();
  seen.seats[0].silent_s = 119;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "waiting for the first member");
  seen.seats[0].silent_s = 120;
  EXPECT_NE(condition(plan(seen), v1::kProgressing).message.find("no leader"), std::string::npos)
      << "a joiner whose peers are gone never serves";
  seen.seats[0].object->seed = true;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "waiting for the first member");
  seen.seats[0].object->member_id = "00000000000000c1";
  EXPECT_NE(condition(plan(seen), v1::kProgressing).message.find("no leader"), std::string::npos)
      << "it founded an etcd before";
}

TEST(ClusterPlan, ADeadlineThatNobodyCanReadIsNone) {
  Observation seen = observe(3, "a:V*");
  seen.cluster.status.progress_deadline = "soon";
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).status, "True");
}

TEST(ClusterPlan, AMemberOfAnotherClusterStopsEverything) {
  Observation seen = observe(3, "a:V* b:V+ c:V+!");
  seen.split = true;
  EXPECT_EQ(to_string(plan(seen).step), "none");
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kSplitBrain);
  seen.cluster.status.cluster_id.clear();
  EXPECT_EQ(plan(seen).status.cluster_id, "") << "whose it is cannot be told";
}

TEST(ClusterPlan, TheFirstPassRecordsTokenTargetDeadlineAndTheSeedBeforeItIsCreated) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.cluster_token, "prod-db-u-1");
  EXPECT_EQ(p.status.observed->replicas, 3);
  EXPECT_EQ(p.status.progress_deadline, to_rfc3339(kNow + 600s));
  EXPECT_EQ(p.status.last_sequence, 1);
  ASSERT_EQ(p.status.pending_members.size(), 1U);
  const std::string name = member_name("db", "u-1", 1);
  EXPECT_EQ(p.status.pending_members[0].name, name);
  EXPECT_EQ(p.step, Step(CreateMember{name, "http://" + name + ".db.prod.svc:2380", true}));
  EXPECT_TRUE(p.make_headless_service && p.make_client_service);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kInitialSnapshot);
}

TEST(ClusterPlan, WhoLagsBehindTheSpecIsCounted) {
  Observation seen = observe(3, "a:V* b:V+ c:V+ d:X+");
  EXPECT_EQ(plan(seen).status.updated_members, 3) << "who is not ours was not made at all";
  seen = observe(3, "a:V* b:V+ c:V+");
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "the cluster matches its spec");
  seen.cluster.spec.image_pull_secrets = {{"regcred"}};
  seen.seats[2].object->made_as = [&] {
    v1::ObservedSpec target = *seen.cluster.status.observed;
    target.image_pull_secrets = {{"regcred"}};
    return template_of(target);
  }();
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.updated_members, 1);
  seen.cluster.status = p.status;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message,
            "2 of 3 members were created from an older spec");
}

TEST(ClusterPlan, TheBudgetLeavesAQuorum) {
  struct Row {
    int replicas;
    const char* seats;
    int min;
  };
  const Row rows[] = {
      {1, "a:V*", 0},                      // A drain costs a restart.
      {2, "a:V*", 2},                      // In growth voters to come count,
      {3, "a:V* b:U", 2},                  //
      {3, "a:V* b:V+ c:V+", 2},            //
      {3, "a:V* b:V+ c:V- d:V+ e:V+", 3},  // in shrinking members that still vote,
      {1, "a:V* b:V+", 2},                 //
      {3, "a:V* b:V+ c:V+ x:X+", 3},       // and foreign members.
      {7, "a:V*", 4},
  };
  for (const Row& row : rows) {
    Observation seen = observe(row.replicas, row.seats);
    EXPECT_EQ(plan(seen).budget, row.min) << row.seats;
    seen.budget = Child::AsMade;
    seen.budget_min = row.min;
    EXPECT_EQ(plan(seen).budget, std::nullopt) << row.seats;
    seen.budget = Child::Drifted;
    EXPECT_EQ(plan(seen).budget, row.min) << row.seats;
  }
}

TEST(ClusterPlan, WithoutEtcdsWordTheBudgetIsNotLowered) {
  Observation seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  for (Seat& seat : seen.seats) seat.listed.reset();
  EXPECT_EQ(plan(seen).budget, 2) << "but made";
  seen.budget = Child::AsMade;
  seen.budget_min = 3;
  EXPECT_EQ(plan(seen).budget, std::nullopt) << "there were five";
  seen.budget_min = 1;
  EXPECT_EQ(plan(seen).budget, 2);
  seen.cluster.status.observed->replicas = seen.cluster.spec.replicas = 1;
  EXPECT_EQ(plan(seen).budget, 2) << "three have voted";
}

TEST(ClusterPlan, APassThatSawLessMakesTheSameSeedAgain) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  const Plan first = plan(seen);
  // The EtcdMember exists, but our cache does not know it yet.
  seen.cluster.status = first.status;
  EXPECT_EQ(plan(seen).step, first.step);
}

TEST(ClusterPlan, ASecondSeedIsNeverMade) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.cluster.status = plan(seen).status;
  Seat seed = seat_of("x:Np", 0);
  seed.name = seen.cluster.status.pending_members[0].name;
  seed.object->seed = true;
  seed.object->initial_cluster = seed.name + "=" + seed.peer_url;
  for (const bool terminating : {false, true}) {
    seed.object->terminating = terminating;
    seen.seats = {seed};
    EXPECT_EQ(to_string(plan(seen).step), "none");
  }
  seen.seats.clear();
  seen.cluster.status.cluster_id = "00000000000000c1";
  EXPECT_EQ(to_string(plan(seen).step), "none") << "once there was a cluster, there is no other";
}

TEST(ClusterPlan, TheClusterIdIsLatchedFromWhoeverAnswers) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status.cluster_id.clear();
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.cluster_id, "00000000000000c1");
  EXPECT_EQ(condition(p, v1::kAvailable).reason, v1::kClusterDiscovered);
  EXPECT_EQ(to_string(p.step), "none") << "nobody is bootstrapped again";
}

TEST(ClusterPlan, ANameThatIsTakenIsSkipped) {
  Observation seen = observe(3, "a:V* b:V+");
  seen.taken_names = {member_name("db", "u-1", 10)};
  seen.have_volumes = {member_name("db", "u-1", 11)};
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.last_sequence, 12);
  EXPECT_EQ(to_string(p.step), "create-member " + member_name("db", "u-1", 12));
}

TEST(ClusterPlan, ANameOfAMemberOfEtcdIsSkippedToo) {
  const std::string tenth = member_name("db", "u-1", 10);
  EXPECT_EQ(plan(observe(4, "a:V* " + tenth + ":X")).status.last_sequence, 11);
}

TEST(ClusterPlan, ANameOfAnIntentIsSkippedToo) {
  const Observation seen = observe(3, "a:V* b:V+");  // The last sequence is 9.
  v1::EtcdClusterStatus status = seen.cluster.status;
  status.pending_members.push_back({3, member_name("db", "u-1", 10), "", to_rfc3339(kNow)});
  EXPECT_EQ(record_intent(seen, status).name, member_name("db", "u-1", 11));
  EXPECT_EQ(status.last_sequence, 11);
}

TEST(ClusterPlan, AnIntentIsForgottenWhenItVotesOrGoes) {
  Observation seen = observe(3, "a:V* b:V+ c:N! d:Up e:U!");
  for (const char* name : {"b", "c", "d", "e"})
    seen.cluster.status.pending_members.push_back({1, name, "", to_rfc3339(kNow + -500s)});
  const Plan p = plan(seen);
  ASSERT_EQ(p.status.pending_members.size(), 2U);
  EXPECT_EQ(p.status.pending_members[0].name, "d");
  EXPECT_EQ(p.status.pending_members[1].name, "e") << "etcd lists it still";
  EXPECT_EQ(p.status.pending_members[0].since, to_rfc3339(kNow)) << "there was progress";
  seen.cluster.status = p.status;
  seen.now = kNow + 5s;
  EXPECT_EQ(plan(seen).status.pending_members, p.status.pending_members);
}

TEST(ClusterPlan, OneThatVotesGivesTheOthersTheirTime) {
  Observation seen = observe(3, "a:V* b:V+ c:Up");
  for (const char* name : {"b", "c"})
    seen.cluster.status.pending_members.push_back({1, name, "", to_rfc3339(kNow + -500s)});
  const auto pending = plan(seen).status.pending_members;
  ASSERT_EQ(pending.size(), 1U);
  EXPECT_EQ(pending[0].since, to_rfc3339(kNow));
}

TEST(ClusterPlan, AJoinerFromTheFutureGetsItsTimeFromNow) {
  Observation seen = observe(3, "a:V* b:Us");
  seen.cluster.status.pending_members = {
      {1, "b", seen.seats[1].peer_url, to_rfc3339(kNow + 7000s)}};
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.pending_members[0].since, to_rfc3339(kNow)) << "the date went back";
  seen.cluster.status = p.status;
  seen.now = kNow + 601s;
  EXPECT_EQ(step_of(seen), "delete-member b");
}

TEST(ClusterPlan, AJoinersTimeBeginsWhenItIsItsTurn) {
  Observation seen = observe(3, "a:V* b:V+ c:Usd");
  seen.cluster.status.pending_members = {{1, "c", "", to_rfc3339(kNow + -599s)}};
  EXPECT_EQ(step_of(seen), "none") << "made long ago, and kept waiting by the one before";
  seen.cluster.status.pending_members[0].since = to_rfc3339(kNow + -601s);
  EXPECT_EQ(step_of(seen), "delete-member c");
  seen.cluster.status.pending_members[0].since = "long ago";
  EXPECT_EQ(step_of(seen), "delete-member c") << "then its own age counts";
}

TEST(ClusterPlan, WhoHasCaughtUpFurthestIsPromoted) {
  Observation seen = observe(3, "a:V* b:L+ c:L+");
  seat(seen, "b").answer->applied = 7;
  seat(seen, "c").answer->applied = 8;
  EXPECT_EQ(step_of(seen), "promote c");
  seat(seen, "b").answer->applied = 9;
  EXPECT_EQ(step_of(seen), "promote b");
  seat(seen, "b").object->created = kNow;
  EXPECT_EQ(step_of(seen), "promote b") << "also if it is the newer";
}

TEST(ClusterPlan, OurOwnGhostIsRemovedAtItsDeadline) {
  Observation seen = observe(3, "a:V* b:V+ y:x");
  seen.cluster.status.pending_members.push_back({1, "y", url_of("y"), to_rfc3339(kNow + -601s)});
  EXPECT_EQ(step_of(seen), "remove-from-etcd y");
  for (const std::string& since : {to_rfc3339(kNow), std::string("long ago")}) {
    seen.cluster.status.pending_members[0].since = since;
    EXPECT_NE(step_of(seen), "remove-from-etcd y") << since;
  }
  seen.cluster.status.pending_members[0].since = to_rfc3339(kNow + -601s);
  seat(seen, "y").listed->started = true;
  EXPECT_NE(step_of(seen), "remove-from-etcd y") << "it has started: somebody stands for it";
}

/// One of two operators forgot the learner that the other was just adding.
TEST(ClusterPlan, AForgottenLearnerOfOursIsRememberedByItsName) {
  const std::string ours = member_name("db", "u-1", 7);
  Observation seen = observe(3, "a:V* b:V+ " + ours + ":x");
  Plan p = plan(seen);
  ASSERT_EQ(p.status.pending_members.size(), 1U) << "the missing one comes when it is gone";
  EXPECT_EQ(p.status.pending_members[0],
            (v1::PendingMember{7, ours, url_of(ours), to_rfc3339(kNow)}));
  seen.cluster.status.pending_members = {p.status.pending_members[0]};
  EXPECT_EQ(plan(seen).status.pending_members, p.status.pending_members) << "once";
  seen.now = kNow + 601s;
  EXPECT_EQ(step_of(seen), "remove-from-etcd " + ours);

  const auto remembered = [](const Observation& world) {
    const auto& pending = plan(world).status.pending_members;
    return std::ranges::any_of(pending, [](const auto& m) { return m.sequence <= 9; });
  };
  EXPECT_FALSE(remembered(observe(2, "a:V* b:V+ y:x"))) << "a name that we never gave";
  EXPECT_FALSE(remembered(observe(2, "a:V* b:V+ " + member_name("db", "u-1", 10) + ":x")))
      << "a number that was never drawn";
  for (const int number : {1, 9})
    EXPECT_TRUE(remembered(observe(2, "a:V* b:V+ " + member_name("db", "u-1", number) + ":x")))
        << "the first and the last";
  EXPECT_FALSE(remembered(observe(2, "a:V* b:V+ " + ours + ":X"))) << "it votes";
  EXPECT_FALSE(remembered(observe(3, "a:V* b:V+ " + ours + ":U"))) << "its EtcdMember is there";
  seen = observe(2, "a:V* b:V+ " + ours + ":x");
  seat(seen, ours).listed->started = true;
  EXPECT_FALSE(remembered(seen)) << "it has started: somebody stands for it";
  seen = observe(2, "a:V* b:V+ " + ours + ":X");
  seat(seen, ours).listed->started = false;
  EXPECT_FALSE(remembered(seen)) << "it votes, and nobody started it";
  seen = observe(2, "a:V* b:V+ " + ours + ":x");
  seat(seen, ours).peer_url = "http://elsewhere:2380";
  EXPECT_FALSE(remembered(seen)) << "a place that we never gave";
}

TEST(ClusterPlan, WhatEtcdSaysOfAMemberIsRecorded) {
  Observation seen = observe(3, "a:V* b:V+ c:L+");
  seen.seats[1].object->voter = false;
  const Plan p = plan(seen);
  ASSERT_EQ(p.facts.size(), 1U);
  EXPECT_EQ(p.facts[0], (MemberFacts{"b", "uid-b", "0000000000000002", "3.6.16", true}));
  seen.seats[1].object->voter = true;
  seen.seats[1].object->version = "3.5.35";
  EXPECT_EQ(plan(seen).facts, p.facts);
}

TEST(ClusterPlan, ASpecWeCannotDoMakesNothingForANewCluster) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.cluster.spec.replicas = 65;
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_FALSE(p.make_headless_service || p.make_client_service || p.budget);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kNotImplemented);
  EXPECT_NE(condition(p, v1::kProgressing).message.find("replicas: 65"), std::string::npos);
  EXPECT_FALSE(p.status.observed);
}

TEST(ClusterPlan, AnEtcdWeDoNotKnowIsNotStarted) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  for (const char* version : {"3.4.34", "newest"}) {
    seen.cluster.spec.version = version;
    const Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step), "none");
    EXPECT_FALSE(p.make_headless_service || p.make_client_service);
    EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kUnsupportedVersion);
  }
}

/// On the way back to an older minor, the member of the newer one leaves, leader or not.
TEST(ClusterPlan, TheLastOfTheOlderMinorStays) {
  Observation seen = observe(1, "a:V+ b:V*");
  seat(seen, "b").answer->version = "3.7.3";
  EXPECT_EQ(step_of(seen), "delete-member b");
}

/// No member of the target's minor votes any more.
TEST(ClusterPlan, NobodyIsMadeWhoCouldNotJoin) {
  Observation seen = observe(3, "a:V* b:V+");
  for (const char* name : {"a", "b"}) seat(seen, name).answer->version = "3.7.3";
  const Plan out = plan(seen);
  EXPECT_EQ(to_string(out.step), "none");
  EXPECT_EQ(condition(out, v1::kProgressing).reason, v1::kUnsupportedVersion);
}

TEST(ClusterPlan, WhatTheApiServerRefusedIsTold) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.rejected = "create Service db: forbidden";
  EXPECT_NE(condition(plan(seen), v1::kProgressing).message.find("create Service db: forbidden"),
            std::string::npos);
}

TEST(ClusterPlan, AnEditWeCannotDoLeavesTheClusterAsItIs) {
  struct Row {
    const char* what;
    std::function<void(v1::EtcdClusterSpec&)> edit;
  };
  const Row rows[] = {{v1::kUnsupportedVersion, [](auto& s) { s.version = "3.5.35"; }},
                      {v1::kNotImplemented, [](auto& s) { s.replicas = 65; }}};
  for (const Row& row : rows) {
    Observation seen = observe(3, "a:V* b:V+");
    row.edit(seen.cluster.spec);
    const Plan p = plan(seen);
    EXPECT_EQ(p.status.observed, seen.cluster.status.observed) << row.what;
    EXPECT_EQ(condition(p, v1::kProgressing).reason, row.what);
    EXPECT_EQ(to_string(p.step).substr(0, 13), "create-member")
        << row.what << ": the old target is still tended";
  }
}

/// Other members would reject a member with a bad certificate. The existing members stay, and what
/// a user asked for is done.
TEST(ClusterPlan, WhereWeCannotMakeMembersNobodyIsAddedReplacedOrGivenUp) {
  struct Row {
    const char* seats;
    const char* step;
  };
  const Row rows[] = {{"a:V* b:V+", "none"},           {"a:V* b:V+ c:V+e", "none"},
                      {"a:V* b:V+ c:Nd", "none"},      {"a:V* b:V+ c:Ud", "none"},
                      {"a:V* b:V+ c:Udp", "none"},     {"a:V* b:V+ c:L+", "none"},
                      {"a:V* b:V+ c:V+ d:V+", "none"}, {"a:V* b:V+ c:V-!", "remove-from-etcd c"},
                      {"a:V* b:V+ c:V+!", "none"},     {"a:V* b:V+ c:N!", "release-member c"}};
  for (const Row& row : rows) {
    Observation seen = observe(3, row.seats);
    seen.tls.peer.emplace().secret = "db-peer-tls";
    seen.tls.peer->faults = {"tls.crt: no PEM certificate in it"};
    const Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step), row.step) << row.seats;
    EXPECT_EQ(condition(p, v1::kTlsReady).reason, v1::kCertificateInvalid) << row.seats;
  }
}

/// A cluster migrated from an older operator: no founder is known, and its members use another
/// Service.
TEST(ClusterPlan, AnAdoptedClusterWithoutAFounderGrowsAndShrinks) {
  const auto adopted = [](int replicas, const char* seats) {
    Observation seen = observe(replicas, seats);
    seen.cluster.status.last_sequence = 0;
    for (Seat& seat : seen.seats)
      seat.peer_url = "http://" + seat.name + ".db-headless.prod.svc:2380";
    return seen;
  };
  EXPECT_EQ(to_string(plan(adopted(3, "db-0:V* db-1:V+ db-2:V+")).step), "none");
  const Plan grows = plan(adopted(4, "db-0:V* db-1:V+ db-2:V+"));
  const auto* made = std::get_if<CreateMember>(&grows.step);
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->seed);
  EXPECT_EQ(made->peer_url, url_of(made->name));
  const Plan tells = plan(adopted(4, "db-0:V* db-1:V+ db-2:V+ db-x:U"));
  const auto* told_list = std::get_if<Publish>(&tells.step);
  ASSERT_TRUE(told_list);
  EXPECT_TRUE(told_list->initial_cluster.starts_with("db-0=http://db-0.db-headless.prod.svc:2380,"))
      << told_list->initial_cluster;
  EXPECT_EQ(to_string(plan(adopted(2, "db-0:V* db-1:V+ db-2:V+")).step), "delete-member db-2");
  EXPECT_EQ(to_string(plan(adopted(3, "db-0:V* db-1:V+")).step).substr(0, 14), "create-member ");
}

/// A new cluster may still be left alone altogether; one that has begun or exists may not.
TEST(ClusterPlan, AnEtcdWeDoNotKnowIsAnEditOfAClusterThatHasBegun) {
  Observation begun = observe(3, "a:V*");
  begun.cluster.status.cluster_id.clear();
  begun.linearizable = false;
  begun.cluster_id.reset();
  Observation intended = begun;
  intended.seats.clear();
  intended.cluster.status.pending_members = {{10, "x", url_of("x"), to_rfc3339(kNow)}};
  for (Observation seen : {begun, intended, observe(3, "a:V* b:V+ c:V+"), observe(3, "")}) {
    seen.cluster.spec.version = "3.4.34";
    const Plan p = plan(seen);
    EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kUnsupportedVersion);
    EXPECT_EQ(p.status.selector, "etcd-operator.cozystack.io/cluster=db") << "it is tended";
  }
}

/// A tool restored the object without its status.
TEST(ClusterPlan, AClusterWhoseStatusWasLostKeepsItsMembers) {
  Observation unlike = observe(3, "a:V* b:V+ c:V+");
  unlike.cluster.status = {};
  unlike.cluster.spec.replicas = 65;
  Plan p = plan(unlike);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kNotImplemented);
  EXPECT_TRUE(condition(p, v1::kProgressing).message.ends_with("the cluster is kept as it is"));
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status = {};
  p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none") << "nobody is bootstrapped again";
  EXPECT_EQ(p.status.cluster_id, "00000000000000c1");
  EXPECT_EQ(p.status.observed->replicas, 3);
}

/// The objects were restored from Git, or by a tool that leaves the status out.
TEST(ClusterPlan, K14_NoEtcdIsFoundedBesideVolumesThatMayHaveTheData) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.headless_service = seen.client_service = Child::AsMade;
  seen.stray_volumes = {"data-db-a", "data-db-b"};
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_TRUE(p.status.pending_members.empty());
  EXPECT_EQ(p.status.max_learners, 0) << "nobody knows yet what is in their logs";
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
    EXPECT_EQ(condition(p, type).reason, v1::kVolumesFound) << type;
    EXPECT_NE(condition(p, type).message.find("data-db-a, data-db-b"), std::string::npos);
  }
  EXPECT_EQ(p.status.phase, v1::kPhaseRefused);
  ASSERT_TRUE(p.status.observed) << "the runbook needs clusterToken";

  Observation paused = seen;
  paused.cluster.spec.replicas = 0;
  EXPECT_EQ(condition(plan(paused), v1::kAvailable).reason, v1::kVolumesFound)
      << "\"no data has been written\" would not be so";

  Observation restore = seen;
  restore.cluster.status = p.status;
  restore.restore = RestoreSeen{
      .name = "back", .uid = "r-1", .decision = v1::RestoreDecision::Commit, .from = {}};
  EXPECT_FALSE(plan(restore).status.restore) << "an EtcdRestore that stands in Git is no consent";

  Observation wrong = seen;
  wrong.cluster.metadata.annotations[v1::kFoundBesideVolumesAnnotation] = "true";
  EXPECT_EQ(to_string(plan(wrong).step), "none") << "not what the condition shows";
  Observation agreed = seen;
  agreed.cluster.status = p.status;
  const std::string message = condition(p, v1::kProgressing).message;
  const std::string consent = founding_consent(seen.cluster);
  EXPECT_NE(message.find(consent), std::string::npos);
  agreed.cluster.metadata.annotations[v1::kFoundBesideVolumesAnnotation] = consent;
  p = plan(agreed);
  EXPECT_TRUE(std::holds_alternative<CreateMember>(p.step));
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kInitialSnapshot);
  EXPECT_EQ(p.status.max_learners, 1);
  Observation another = agreed;
  another.cluster.metadata.uid = "u-2";
  EXPECT_EQ(to_string(plan(another).step), "none")
      << "applied from Git once more, it is no consent";

  Observation born = agreed;
  born.cluster.status = p.status;
  born.seats = observe(3, "a:N").seats;
  p = plan(born);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kWaitingForSeed);
  for (const api::Condition& c : p.status.conditions) EXPECT_NE(c.reason, v1::kVolumesFound);

  Observation gone = seen;
  gone.cluster.status = plan(seen).status;
  gone.stray_volumes.clear();
  gone.cluster.spec.tls.emplace().peer.emplace().cert_manager.emplace();
  for (const api::Condition& c : plan(gone).status.conditions)
    EXPECT_NE(c.reason, v1::kVolumesFound) << "whatever else keeps it from being founded";
}

TEST(ClusterPlan, K17_NothingIsFoundedBesideMembersOrPodsOfAnotherOwner) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.headless_service = seen.client_service = Child::AsMade;
  seen.stray_members = {"EtcdMember db-a", "Pod db-a"};
  seen.stray_volumes = {"data-db-a"};
  seen.cluster.metadata.annotations[v1::kFoundBesideVolumesAnnotation] =
      founding_consent(seen.cluster);
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none") << "the consent is about volumes";
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
    EXPECT_EQ(condition(p, type).reason, v1::kMembersFound) << type;
    EXPECT_NE(condition(p, type).message.find("EtcdMember db-a, Pod db-a"), std::string::npos);
  }
  EXPECT_EQ(p.status.phase, v1::kPhaseRefused);
  seen.cluster.status = p.status;
  seen.stray_members.clear();
  p = plan(seen);
  EXPECT_TRUE(std::holds_alternative<CreateMember>(p.step));
  for (const api::Condition& c : p.status.conditions) EXPECT_NE(c.reason, v1::kMembersFound);
}

/// Three members without an owner, of an EtcdCluster of that name that was deleted.
Observation orphaned() {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status = {};
  for (Seat& seat : seen.seats) {
    seat.object->orphan = true;
    seat.object->token = "prod-db-u-0";
  }
  return seen;
}

/// Seed 14780: a user had taken its owner, and its member was removed. The Services led to it.
TEST(ClusterPlan, I17_APodOfNoMemberIsTold) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.stray_pods = {"db-d"};
  EXPECT_EQ(told(plan(seen), v1::kDegraded),
            "True ForeignMember: the Services lead to Pods that belong to no member: db-d; delete "
            "them");
}

TEST(ClusterPlan, K17_OrphansThatAreDeletedAreAdoptedAsTheOthers) {
  Observation seen = orphaned();
  seen.seats[2].object->terminating = true;
  EXPECT_EQ(step_of(seen), "adopt-members a b c") << "it has a vote, and is replaced";
  seen.seats[2].listed.reset();
  EXPECT_EQ(step_of(seen), "adopt-members a b c") << "etcd has removed it, and it is released";
  seen.seats[2].object->dormant = true;
  EXPECT_EQ(step_of(seen), "adopt-members a b c") << "from before a restore in place, likewise";
}

TEST(ClusterPlan, K17_OrphansThatEtcdKnowsAreAdopted) {
  Observation seen = orphaned();
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "adopt-members a b c");
  EXPECT_EQ(p.status.cluster_token, "prod-db-u-0") << "their etcd was founded with it";
  EXPECT_EQ(p.status.cluster_id, "") << "not before they are ours";
  EXPECT_EQ(p.status.observed->replicas, 3);
  EXPECT_FALSE(p.make_headless_service || p.make_client_service || p.budget || p.drop_budget);
  EXPECT_TRUE(p.facts.empty());
  seen.cluster.status = p.status;
  seen.seats[0].object->orphan = false;
  EXPECT_EQ(to_string(plan(seen).step), "adopt-members a b c") << "it was interrupted";
  for (Seat& seat : seen.seats) seat.object->orphan = false;
  p = plan(seen);
  EXPECT_EQ(p.status.cluster_id, "00000000000000c1");
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(p.status.max_learners, v1::kManyLearners) << "nobody knows who has grown it";
}

/// Seed 17862 (I4): they were deleted as they were adopted. The etcd that was founded then had
/// their token.
TEST(ClusterPlan, K17_WhatIsFoundedAfterOrphansThatHaveGoneHasATokenOfItsOwn) {
  Observation seen = orphaned();
  seen.cluster.status = plan(seen).status;
  seen.seats.clear();
  seen.linearizable = false;
  seen.cluster_id.reset();
  const Plan p = plan(seen);
  EXPECT_TRUE(to_string(p.step).starts_with("create-seed")) << to_string(p.step);
  EXPECT_EQ(p.status.cluster_token, "prod-db-u-1");
}

/// Seed 33844: a first member of another token could never start after a restore was rolled back.
TEST(ClusterPlan, K17_MembersThatAUserGaveToTheClusterKeepTheirToken) {
  const auto token = [](const std::function<void(Observation&)>& edit) {
    Observation seen = with_idle_founder();
    seen.seats[0].object->token = "prod-db-u-0";
    seen.seats[0].silent_s = 0;
    edit(seen);
    return plan(seen).status.cluster_token;
  };
  EXPECT_EQ(token([](auto&) {}), "prod-db-u-0");
  EXPECT_EQ(token([](auto& o) { o.seats[0].object->token.clear(); }), "prod-db-u-1");
  EXPECT_EQ(token([](auto& o) { o.cluster.status.cluster_id = "00000000000000c1"; }),
            "prod-db-u-1");
  EXPECT_EQ(token([](auto& o) {
              o.seats.push_back(o.seats[0]);
              o.seats[1].name = "b";
              o.seats[1].object->token = "prod-db-u-2";
            }),
            "prod-db-u-1")
      << "they are of two etcds";
}

/// Seeds 236 and 595: no watch told of it, and an etcd was founded beside it.
TEST(ClusterPlan, K17_AnOrphanThatLostItsLabelGetsItFirst) {
  Observation seen = orphaned();
  seen.seats[1].object->astray = true;
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "label-members b");
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kMembersFound);
  EXPECT_NE(condition(p, v1::kProgressing).message.find("lost their label"), std::string::npos);
  seen.rejected = "the API server refuses it";
  p = plan(seen);
  EXPECT_EQ(to_string(p.step), "label-members b");
  EXPECT_NE(condition(p, v1::kProgressing).message.find(seen.rejected), std::string::npos);
}

TEST(ClusterPlan, K17_OrphansOfARefusedSpecAreToldInEachCondition) {
  Observation seen = orphaned();
  seen.cluster.spec.version = "3.5.35";
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
    EXPECT_EQ(condition(p, type).reason, v1::kUnsupportedVersion) << type;
    EXPECT_NE(condition(p, type).message.find("without an owner are kept"), std::string::npos)
        << condition(p, type).message;
  }
}

/// Seed 1108: an etcd of 3.7 was started beside one of 3.5.
TEST(ClusterPlan, K17_ATargetFromBeforeTheFirstLookAtOrphansIsNoneForThem) {
  for (const bool orphans : {true, false}) {  // Or a user made the EtcdCluster their owner.
    Observation seen = orphaned();
    for (Seat& seat : seen.seats) seat.object->orphan = orphans;
    seen.cluster.spec.version = "3.5.35";
    seen.cluster.status.observed.emplace().version = "3.5.35";
    for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
      runtime::set_condition(seen.cluster.status.conditions,
                             {type, "False", v1::kMembersFound, "without an owner"}, 1, kNow);
    Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step), "none");
    EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kUnsupportedVersion);
    for (const char* type : {v1::kAvailable, v1::kDegraded})
      EXPECT_EQ(condition(p, type).reason, orphans ? v1::kUnsupportedVersion : "") << type;
    EXPECT_FALSE(p.status.observed);
    EXPECT_EQ(p.status.cluster_id, "");
    seen.cluster.status = p.status;
    EXPECT_EQ(plan(seen).status, p.status) << "no write";
    seen.cluster.spec.version = "3.6.16";
    p = plan(seen);
    EXPECT_EQ(to_string(p.step), orphans ? "adopt-members a b c" : "none");
    EXPECT_EQ(p.status.observed->version, "3.6.16");
    EXPECT_EQ(p.status.cluster_id, orphans ? "" : "00000000000000c1");
  }
}

/// Seed 1050: the operator asked for ever without TLS, and no condition named the cause.
TEST(ClusterPlan, K17_MembersOfAnotherTlsAreNotTakenOver) {
  for (const bool orphans : {true, false}) {
    Observation seen = orphaned();
    for (Seat& seat : seen.seats) seat.object->orphan = orphans;
    seen.seats[1].object->other_tls = true;
    seen.cluster.status.observed.emplace().version = "3.6.16";
    Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step), "none");
    for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
      EXPECT_EQ(condition(p, type).reason, v1::kMembersFound) << type;
      EXPECT_TRUE(condition(p, type).message.starts_with(
          "EtcdMember b has TLS at other ports than spec.tls says"))
          << condition(p, type).message;
    }
    EXPECT_EQ(p.status.cluster_id, "");
    seen.cluster.status = p.status;
    EXPECT_EQ(plan(seen).status, p.status) << "no write";
    seen.seats[1].object->other_tls = false;
    p = plan(seen);
    EXPECT_EQ(to_string(p.step), orphans ? "adopt-members a b c" : "none");
    for (const api::Condition& c : p.status.conditions)
      EXPECT_TRUE(orphans || c.reason != v1::kMembersFound) << c.type;
  }
}

/// Seed 1099: a user made the EtcdCluster the owner of a member that had no data.
TEST(ClusterPlan, I17_ACauseOfNoBirthIsToldWithItsRemedy) {
  Observation seen = orphaned();
  for (Seat& seat : seen.seats) {
    seat.object->orphan = false;
    seat.answer.reset();
    seat.listed.reset();
  }
  seen.linearizable = false;
  seen.cluster_id.reset();
  seen.etcd_error = "Status at 10.0.0.3: EOF";
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message,
            "waiting for the first member; Status at 10.0.0.3: EOF");
  for (Seat& seat : seen.seats) seat.object->ready = false;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message, "waiting for the first member")
      << "it starts";
  for (Seat& seat : seen.seats) seat.object->lost = true;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).message,
            "waiting for the first member; no member with data is left; delete the EtcdCluster and "
            "create it again");
}

/// An EtcdMember without an owner that the reconciler found.
TEST(ClusterPlan, I17_AnEtcdMemberThatEtcdListsIsNotSaidToBeUnlisted) {
  Observation seen = observe(3, "a:V* b:V+ c:V+ y:X+");
  const auto words = [&] { return condition(plan(seen), v1::kDegraded).message; };
  seen.strangers = {"y"};
  EXPECT_EQ(words().find("does not list"), std::string::npos) << words();
  seen.strangers = {"y", "z"};
  EXPECT_NE(words().find("have lost their owner or label: z;"), std::string::npos) << words();
}

/// Seed 107263: a user made the EtcdCluster the owner of members of two etcds.
TEST(ClusterPlan, I17_GivenMembersOfDifferentEtcdsAreTold) {
  Observation seen = observe(3, "a:V+ b:V+");
  seen.cluster.status.cluster_id.clear();
  seen.cluster_id.reset();
  seen.linearizable = false;
  seen.split = true;
  const std::string told = condition(plan(seen), v1::kProgressing).message;
  EXPECT_EQ(told,
            "waiting for the first member; the members belong to different etcd clusters; see "
            "SplitBrain in docs/user/operations.md");
}

/// A user made a cluster without an id the owner of a, which serves, and of b, which was founded as
/// another etcd.
Observation with_members_of_two_etcds() {
  Observation seen = observe(1, "a:V* b:V+");
  seen.cluster.status.cluster_id.clear();
  seat(seen, "a").object->token = "prod-db-c-0";
  Seat& b = seat(seen, "b");
  b.object->token = "prod-db-c-0-r-1";
  b.object->member_id = "b1";
  b.object->dormant = true;
  b.answer.reset();
  b.listed.reset();
  return seen;
}

/// Seed 143981: one of them is from before a restore in place, so it is dormant. The operator woke
/// it, and the Services led clients to both.
TEST(ClusterPlan, I9_GivenMembersOfDifferentEtcdsAreNotWoken) {
  const auto is_left_alone = [](const std::function<void(Observation&)>& edit) {
    Observation seen = with_members_of_two_etcds();
    edit(seen);
    const Plan out = plan(seen);
    return !acts(out.step) && out.status.cluster_id.empty() &&
           condition(out, v1::kProgressing)
               .message.ends_with(
                   "the members belong to different etcd clusters; see SplitBrain in "
                   "docs/user/operations.md");
  };
  EXPECT_TRUE(is_left_alone([](auto&) {}));
  EXPECT_TRUE(is_left_alone([](auto& o) {
    o.cluster.status.restore.emplace().stage = v1::RestoreStage::RolledBack;
  })) << "it woke both";
  EXPECT_TRUE(is_left_alone([](auto& o) { o.linearizable = false; }));
  EXPECT_FALSE(
      is_left_alone([](auto& o) { seat(o, "b").object->token = seat(o, "a").object->token; }));
}

/// The others of its etcd need Pods until it answers: their token must be the cluster's.
TEST(ClusterPlan, I9_TheTokenIsThatOfTheEtcdThatAnswersOrThatTheUserKeeps) {
  Observation seen = with_members_of_two_etcds();
  seen.cluster.status.cluster_token = "prod-db-c-0-r-1";
  EXPECT_EQ(plan(seen).status.cluster_token, "prod-db-c-0");
  seen.linearizable = false;
  seen.cluster_id.reset();
  EXPECT_EQ(plan(seen).status.cluster_token, "prod-db-c-0-r-1") << "nothing tells";
  seat(seen, "b").object->terminating = true;
  const Plan out = plan(seen);
  EXPECT_EQ(out.status.cluster_token, "prod-db-c-0");
  EXPECT_EQ(told(out, v1::kDegraded).substr(0, 16), "True SplitBrain:") << "b may still run";
  seen.seats.pop_back();
  seen.cluster.status.conditions = out.status.conditions;
  EXPECT_EQ(condition(plan(seen), v1::kDegraded).reason, "");
}

TEST(ClusterPlan, I9_OfGivenMembersEtcdsListAndTheUserDecide) {
  Observation seen = with_members_of_two_etcds();
  seat(seen, "b").object->terminating = true;
  EXPECT_EQ(plan(seen).status.cluster_id, "00000000000000c1") << "the user gave the other one up";
  EXPECT_EQ(plan(seen).status.cluster_token, "prod-db-c-0");
  seen.cluster.status.cluster_id = "00000000000000c1";
  EXPECT_FALSE(std::holds_alternative<WakeMember>(plan(seen).step)) << "etcd does not list it";

  seen = observe(2, "a:V* b:V+");
  seen.cluster.status.cluster_id.clear();
  seat(seen, "a").object->token = "prod-db-c-0";
  seat(seen, "b").object->token = "prod-db-c-1";
  EXPECT_EQ(plan(seen).status.cluster_id, "00000000000000c1") << "etcd lists both";
}

/// It is of c's etcd, whose list may have it.
TEST(ClusterPlan, I17_AnotherEtcdsListDoesNotSayThatAMemberWasRemoved) {
  Observation seen = with_members_of_two_etcds();
  seen.seats.push_back(seat(seen, "b"));
  seen.seats.back().name = "c";
  seat(seen, "b").object->terminating = true;
  for (const bool split : {true, false}) {
    if (!split) seen.seats.pop_back();
    const Plan out = plan(seen);
    EXPECT_EQ(std::ranges::count(out.facts, "b", &MemberFacts::name), split ? 0 : 1);
  }
}

TEST(ClusterPlan, I17_ThatPausedMembersAreOfTwoEtcdsIsTold) {
  Observation seen = with_members_of_two_etcds();
  seen.cluster.spec.replicas = 0;
  seen.cluster.status.observed->replicas = 0;
  seen.seats[0] = seen.seats[1];
  seen.seats[0].name = "a";
  seen.seats[0].object->token = "prod-db-c-0";
  seen.linearizable = false;
  EXPECT_NE(told(plan(seen), v1::kAvailable).find("belong to different etcd clusters"),
            std::string::npos);
}

/// A backup tool created the first member again, beside its volume. The etcd on it had three
/// members.
TEST(ClusterPlan, I17_AFirstMemberWhoseEtcdDoesNotServeIsTold) {
  Observation seen = with_idle_founder();
  seen.seats[0].pod->idle = false;
  const auto words = [&] { return condition(plan(seen), v1::kProgressing).message; };
  seen.seats[0].silent_s = 119;
  EXPECT_EQ(words(), "waiting for the first member");
  seen.seats[0].silent_s = 120;
  EXPECT_EQ(words(),
            "waiting for the first member; the etcd of a does not serve; if its volume has no "
            "data, or that of an etcd whose other members are gone for good, delete the "
            "EtcdCluster and create it again from a snapshot");
  seen.seats[0].object->reason = v1::kCrashLooping;
  seen.seats[0].object->token = "prod-db-u-0";
  EXPECT_NE(words().find("does not serve"), std::string::npos) << "seed 144575: of an earlier one";
  seen.seats[0].object->token = "prod-db-u-1";
  EXPECT_EQ(words(), "waiting for the first member") << "its own words are the cause";
  seen.seats[0].object->reason.clear();
  seen.seats[0].pod->idle = true;
  EXPECT_EQ(words(), "waiting for the first member") << "it has no node, or no image";
}

/// Seed 88173: a user made the EtcdCluster the owner of a member that an earlier one was to add.
TEST(ClusterPlan, I17_AMemberThatWasNeverAddedFoundsNothing) {
  Observation seen = observe(3, "a:N");
  seen.cluster.status.cluster_id.clear();
  seen.linearizable = false;
  seen.cluster_id.reset();
  const auto words = [&] { return condition(plan(seen), v1::kProgressing).message; };
  const std::string remedy = "delete the EtcdCluster and create it again";
  EXPECT_TRUE(words().ends_with("no member with data is left; " + remedy)) << words();
  seen.seats[0].object->member_id = "a1";
  EXPECT_EQ(words().find(remedy), std::string::npos) << "its etcd has run: " << words();
  seen.seats[0].object->member_id.clear();
  seen.seats[0].object->seed = true;
  EXPECT_EQ(words().find(remedy), std::string::npos) << "it founds: " << words();
}

/// Seed 672: the EtcdCluster came back while a member joined, and was refused for ever.
TEST(ClusterPlan, K17_AnOrphanThatHasNotStartedHasNoVersionThatMatters) {
  Observation seen = orphaned();
  Seat joiner;
  joiner.name = "d";
  joiner.object.emplace();
  joiner.object->uid = "m-d";
  joiner.object->orphan = true;
  joiner.object->token = seen.seats.front().object->token;
  seen.seats.push_back(joiner);
  EXPECT_NE(condition(plan(seen), v1::kProgressing).reason, v1::kUnsupportedVersion);
  seen.seats.back().object->member_id = "4";
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).reason, v1::kUnsupportedVersion);
  seen.seats.back().object.reset();
  seen.seats.back().listed = seen.seats.front().listed;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).reason, v1::kMembersFound)
      << "its EtcdMember was deleted meanwhile";
}

TEST(ClusterPlan, K17_OrphansThatEtcdDoesNotConfirmAreNotAdopted) {
  struct Row {
    void (*edit)(Observation&);
    const char* why;
  };
  const Row rows[] = {
      {[](auto& o) { o.linearizable = false; }, "etcd does not answer with quorum"},
      {[](auto& o) {
         o.linearizable = false;
         o.etcd_error = "no route";
       },
       "etcd does not answer with quorum: no route"},
      {[](auto& o) {
         o.linearizable = false;
         for (Seat& seat : o.seats) seat.listed.reset();
         o.seats[1].object->ready = false;
         o.seats[1].object->trouble = "Pod b failed: OutOfpods";
       },
       "etcd does not answer with quorum; b: Pod b failed: OutOfpods"},
      {[](auto& o) { o.split = true; }, "they answer with different cluster ids"},
      {[](auto& o) { o.seats[1].object->token = "prod-db-u-00"; },
       "they have different cluster tokens"},
      {[](auto& o) { o.seats[1].object->member_id = "00000000000000ff"; },
       "etcd does not list b with the id 00000000000000ff"},
      {[](auto& o) { o.seats[2].listed.reset(); }, "etcd does not list c with the id"},
      {[](auto& o) { o.seats[2].object.reset(); }, "etcd lists c, which has no EtcdMember"},
      {[](auto& o) { o.seats[0].object->dormant = true; }, "EtcdMember a is dormant"},
      {[](auto& o) { o.stray_members = {"EtcdMember d"}; }, "others belong to another owner"},
      {[](auto& o) {
         for (Seat& seat : o.seats) seat.object->lost = true;
       },
       "the data of all of them is lost"},
  };
  for (const Row& row : rows) {
    Observation seen = orphaned();
    row.edit(seen);
    const Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step), "none") << row.why;
    for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
      EXPECT_EQ(condition(p, type).reason, v1::kMembersFound) << row.why;
    EXPECT_NE(condition(p, v1::kProgressing).message.find(row.why), std::string::npos)
        << condition(p, v1::kProgressing).message;
    EXPECT_EQ(p.status.cluster_id, "");
  }
}

TEST(ClusterPlan, K17_ARefusedNewClusterIsNotAvailableAndDegraded) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(65);
  Plan p = plan(seen);
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
    EXPECT_EQ(condition(p, type).reason, v1::kNotImplemented) << type;
  EXPECT_EQ(condition(p, v1::kAvailable).status, "False");
  EXPECT_EQ(condition(p, v1::kDegraded).status, "True");
  EXPECT_EQ(p.status.phase, v1::kPhaseRefused);
  seen.cluster.status = p.status;
  EXPECT_EQ(plan(seen).status, p.status) << "no write";
  seen.cluster.spec.replicas = 3;
  p = plan(seen);
  EXPECT_TRUE(std::holds_alternative<CreateMember>(p.step));
  for (const api::Condition& c : p.status.conditions) EXPECT_NE(c.reason, v1::kNotImplemented);
}

TEST(ClusterPlan, ANewClusterOfNoMembersIsPaused) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(0);
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_FALSE(p.make_headless_service || p.make_client_service);
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
    EXPECT_EQ(condition(p, type).reason, v1::kPaused) << type;
}

/// The Services that keep clients out must exist before the restore begins.
TEST(ClusterPlan, ANewClusterOfNoMembersThatIsToBeRestoredHasServices) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(0);
  seen.cluster.status = plan(seen).status;
  seen.restore = RestoreSeen{
      .name = "back", .uid = "r-1", .decision = v1::RestoreDecision::Restore, .from = {}};
  Plan p = plan(seen);
  EXPECT_TRUE(p.make_headless_service && p.make_client_service);
  EXPECT_FALSE(p.status.restore);
  seen.client_service = Child::AsMade;
  p = plan(seen);
  EXPECT_TRUE(p.make_headless_service && !p.make_client_service);
  seen.headless_service = Child::AsMade;
  EXPECT_EQ(plan(seen).status.restore->stage, v1::RestoreStage::Stopping);
}

// Marks as above; z: dormant.
TEST(ClusterPlan, ToNoneAndBack) {
  const Row rows[] = {
      {0, "a:V* b:V+ c:V+", "delete-member c", "down to one, as to any size"},
      {0, "a:V* b:V+ c:L+", "delete-member c", ""},
      {0, "a:V* b:V+!", "remove-from-etcd b", ""},
      {0, "a:V* b:N!v", "release-member b", ""},
      {0, "a:V*", "pause-member a", "the last one becomes dormant"},
      {0, "a:V* x:X+", "none", "a voter that is not ours would be left without a quorum"},
      {0, "a:Vz", "none", "it is dormant"},
      {1, "a:Vz", "wake-member a", ""},
      {3, "a:Vz", "wake-member a", "and then the others"},
      {1, "a:Vz!", "wake-member a", "who takes its place needs what it has"},
      {0, "a:Vz!", "none", "it is dormant, and its data stays"},
      {3, "a:V- b:N", "none", "nobody answers yet"},
  };
  for (const Row& row : rows) {
    Observation seen = observe(row.replicas, row.seats);
    seen.cluster.status.observed->replicas = row.replicas;
    const bool answered =
        std::ranges::any_of(seen.seats, [](const Seat& s) { return s.answer.has_value(); });
    seen.linearizable = answered;
    for (Seat& s : seen.seats)
      if (!answered) s.listed.reset();
    EXPECT_EQ(step_of(seen), row.step) << row.replicas << " of " << row.seats << row.because;
  }
}

TEST(ClusterPlan, WhoSleepsIsTold) {
  Observation seen = observe(0, "a:Vz");
  seen.linearizable = false;
  seen.seats[0].listed.reset();
  seen.budget = Child::AsMade;
  const Plan p = plan(seen);
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
    EXPECT_EQ(told(p, type),
              "False Paused: paused: data is preserved on PVC data-a; set spec.replicas to resume "
              "the same etcd cluster");
  EXPECT_TRUE(p.drop_budget);
  EXPECT_FALSE(p.budget);
  EXPECT_EQ(p.status.ready_members, 0);
  EXPECT_FALSE(p.status.progress_deadline);
  EXPECT_EQ(p.again, 60s);
  seen.cluster.status = p.status;
  seen.budget = Child::Missing;
  EXPECT_FALSE(plan(seen).drop_budget);
  EXPECT_EQ(plan(seen).status, p.status) << "nothing is written at rest";
}

/// The user has set spec.replicas, with an edit that is refused.
TEST(ClusterPlan, K10_APausedClusterReportsThatItsEditIsRefused) {
  Observation seen = observe(0, "a:Vz");
  seen.linearizable = false;
  seen.seats[0].listed.reset();
  seen.cluster.spec.replicas = 3;
  seen.cluster.spec.version = "3.4.9";
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kUnsupportedVersion);
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
    EXPECT_NE(told(p, type).find("3.4.9"), std::string::npos) << told(p, type);
    EXPECT_EQ(told(p, type).find("set spec.replicas"), std::string::npos) << told(p, type);
  }
  EXPECT_EQ(p.status.phase, v1::kPhasePaused);
  Observation empty = observe(0, "");
  empty.cluster.status.cluster_id.clear();
  empty.cluster_id.reset();
  empty.linearizable = false;
  empty.cluster.spec.replicas = 3;
  empty.cluster.spec.version = "3.4.9";
  EXPECT_EQ(condition(plan(empty), v1::kProgressing).reason, v1::kUnsupportedVersion);
}

/// For example, its image cannot be pulled.
TEST(ClusterPlan, K7_ACorrectedSpecReachesAJoinerThatHasNotStartedAtOnce) {
  const auto recorded_as = [](const char* seats, const std::string& made_as) {
    Observation seen = observe(3, seats);
    for (const Seat& seat : seen.seats)
      if (!seat.listed || !seat.listed->started)
        seen.cluster.status.pending_members.push_back(
            {1, seat.name, seat.peer_url, to_rfc3339(kNow), made_as});
    return seen;
  };
  const std::string now = template_of(*formed(3).status.observed);
  EXPECT_EQ(step_of(recorded_as("a:V* b:V+ c:Us", "older")), "delete-member c");
  EXPECT_EQ(step_of(recorded_as("a:V* b:V+ c:N", "older")), "delete-member c");
  EXPECT_EQ(step_of(recorded_as("a:V* b:V+ c:Us", now)), "none");
  EXPECT_EQ(step_of(recorded_as("a:V* b:V+ c:Us", "")), "none") << "an earlier release made it";
  EXPECT_EQ(step_of(recorded_as("a:V* b:V+ c:U+s", "older")), "none") << "it runs: it goes on";

  // An older CRD prunes a field of the EtcdMember: its own spec never equals the wanted one.
  Observation pruned = recorded_as("a:V* b:V+ c:Us", now);
  seat(pruned, "c").object->made_as = "pruned";
  EXPECT_EQ(step_of(pruned), "none") << "or it would be made anew for ever";

  Observation seen = observe(3, "a:V* b:V+");
  const Plan made = plan(seen);
  ASSERT_TRUE(std::holds_alternative<CreateMember>(made.step));
  EXPECT_EQ(made.status.pending_members.back().made_as, now) << "recorded before it is created";
}

TEST(ClusterPlan, K3_ALearnerWithoutProgressForTheDeadlineIsReplaced) {
  const auto stalled_for = [](const char* seats, std::int64_t seconds, bool receives = false) {
    Observation seen = observe(3, seats);
    seat(seen, "c").stalled_s = seconds;
    seat(seen, "c").receives_snapshot = receives;
    return step_of(seen);
  };
  EXPECT_EQ(stalled_for("a:V* b:V+ c:L-", 601), "delete-member c") << "it started, and is gone";
  EXPECT_EQ(stalled_for("a:V* b:V+ c:L-", 600), "none");
  EXPECT_EQ(stalled_for("a:V* b:V+ c:L-", 601, true), "none") << "a large snapshot is progress";
  EXPECT_EQ(stalled_for("a:V* b:V+ c:Upds", 601, true), "none") << "also before its first start";
  EXPECT_EQ(stalled_for("a:V* b:V+ c:Upds", 601), "delete-member c");
  EXPECT_EQ(stalled_for("a:V* b:V+ c:V-", 601), "none") << "a voter is no learner";
}

/// A removed member's Pod keeps its node, or its share of a quota, from its replacement.
TEST(ClusterPlan, K1_AMemberThatEtcdHasRemovedIsReportedToItsController) {
  Observation seen = observe(3, "a:V* b:V+ c:N!v");
  seat(seen, "c").object->member_id = "3";
  Plan p = plan(seen);
  ASSERT_EQ(p.facts.size(), 1U);
  EXPECT_EQ(p.facts[0].name, "c");
  EXPECT_TRUE(p.facts[0].removed);
  EXPECT_TRUE(p.facts[0].voter) << "its volume waits, as a voter's";
  EXPECT_EQ(p.facts[0].member_id, "3");
  EXPECT_EQ(to_string(p.step).substr(0, 13), "create-member");
  seat(seen, "c").object->removed = true;
  EXPECT_TRUE(plan(seen).facts.empty()) << "once";
  seat(seen, "c").object->removed = false;
  seen.linearizable = false;
  EXPECT_TRUE(plan(seen).facts.empty()) << "nobody knows";
  seen = observe(3, "a:V* b:V+ c:Nv");
  EXPECT_TRUE(plan(seen).facts.empty()) << "it is not being deleted";
}

TEST(ClusterPlan, K1_AHealthyMemberLeavesFirstIfItsReplacementHasNoPlace) {
  const auto blocked_for = [](const char* seats, std::int64_t seconds,
                              const std::function<void(Observation&)>& edit = {}) {
    Observation seen = observe(3, seats);
    seat(seen, "d").blocked_s = seconds;
    if (edit) edit(seen);
    return plan(seen);
  };
  const auto step_for = [&](auto... args) { return to_string(blocked_for(args...).step); };
  EXPECT_EQ(step_for("a:V* b:V+ c:V+! d:Us", 120), "remove-from-etcd c");
  EXPECT_EQ(step_for("a:V* b:V+ c:V+! d:Us", 119), "none") << "schedulers need a moment";
  EXPECT_EQ(step_for("a:V* b:V- c:V+! d:Us", 120), "none") << "another one is broken";
  EXPECT_EQ(step_for("a:V+ b:V+ c:V*! d:Us", 120), "move-leader c to a");
  EXPECT_EQ(step_for("c:V*! d:Us", 120), "none") << "a sole voter stays until another votes";
  EXPECT_EQ(step_for("a:V*! b:V+! c:V+! d:Us", 120), "remove-from-etcd b")
      << "seed 33853: all leave, so the leader stays until another can lead";
  EXPECT_EQ(step_for("a:V*! c:V+! d:Us", 120), "none") << "one makes room, not all";
  EXPECT_EQ(step_for("a:V* b:V+ c:V+! d:Us", 120,
                     [](Observation& o) { seat(o, "b").answer->index = 5000; }),
            "none")
      << "the others lag";
  EXPECT_EQ(step_for("a:V* b:V+ c:V+! d:Us", 120,
                     [](Observation& o) {
                       o.cluster.spec.storage.medium = v1::Medium::Memory;
                       o.cluster.status.observed->storage = o.cluster.spec.storage;
                     }),
            "remove-from-etcd c")
      << "seed 470: then its Pod goes, too";
  const auto in_memory = [](Observation& o) {
    o.cluster.spec.storage.medium = v1::Medium::Memory;
    o.cluster.status.observed->storage = o.cluster.spec.storage;
  };
  const auto no_step = [](Observation&) {};
  EXPECT_EQ(step_for("a:V* b:V+ c:N!v d:Us", 120, in_memory), "release-member c")
      << "seed 470: its Pod has the data, and the place of its replacement";
  EXPECT_EQ(step_for("a:V* b:V+ c:N!v d:Us", 119, in_memory), "none");
  EXPECT_EQ(step_for("a:V* b:V- c:N!v d:Us", 120, in_memory), "none") << "another one is broken";
  EXPECT_EQ(step_for("a:V* c:N!v d:Us", 120, in_memory), "release-member c")
      << "seed 235: one of three is left, and is all that etcd has";
  EXPECT_EQ(step_for("a:V* b:V+ c:N!v d:Us", 120, no_step), "none") << "its volume takes no place";
  const auto other_medium = [](Observation& o) { seat(o, "c").object->other_medium = true; };
  EXPECT_EQ(step_for("a:V* b:V+ c:N!v d:Us", 120, other_medium), "release-member c")
      << "seed 402274: an earlier EtcdCluster had its data in memory";
  EXPECT_EQ(step_for("a:V* b:V+ c:N!v d:Us", 120,
                     [&](Observation& o) {
                       in_memory(o);
                       other_medium(o);
                     }),
            "none")
      << "it has a volume";
  bool memory = false, has_pod = true;
  const auto waits_for = [&](std::int64_t seconds, const char* seats) {
    return step_for(seats, std::int64_t{0}, [&](Observation& o) {
      if (memory) in_memory(o);
      if (has_pod && seat_named(o, "c")) seat(o, "c").pod.emplace();
      o.cluster.spec.progress_deadline_seconds = 30;
      o.now = kNow + std::chrono::seconds(seconds);
      seat(o, "d").object->created = kNow;
    });
  };
  EXPECT_EQ(waits_for(239, "a:V* b:V+ c:V+! d:Us"), "none") << "seed 167: a short deadline";
  EXPECT_EQ(waits_for(241, "a:V* b:V+ c:V+! d:Us"), "delete-member d");
  EXPECT_EQ(waits_for(31, "a:V* b:V+ d:Us"), "delete-member d") << "nothing is in its way";
  EXPECT_EQ(waits_for(31, "a:V* b:V+ c:N!v d:Us"), "delete-member d")
      << "its volume takes no place";
  memory = true;
  EXPECT_EQ(waits_for(239, "a:V* b:V+ c:N!v d:Us"), "none") << "seed 2205: its Pod has the place";
  EXPECT_EQ(waits_for(241, "a:V* b:V+ c:N!v d:Us"), "delete-member d");
  EXPECT_EQ(waits_for(31, "a:V* b:V+ c:N! d:Us"), "release-member c") << "it never voted";
  has_pod = false;
  EXPECT_EQ(waits_for(31, "a:V* b:V+ c:N!v d:Us"), "delete-member d") << "its Pod is gone";
  const Plan p = blocked_for("a:V* b:V+ c:V+! d:Us", 120);
  EXPECT_NE(told(p, v1::kProgressing).find("c is removed before its replacement votes"),
            std::string::npos)
      << told(p, v1::kProgressing);
}

/// ST4: another cluster's data is on its volume. The majority is served, and repaired.
TEST(ClusterPlan, K5_AMemberOfAnotherClusterFreezesNothing) {
  Observation seen = observe(3, "a:V* b:V+ c:V-");
  seat(seen, "c").elsewhere = true;
  Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none") << "its data is a person's to judge";
  EXPECT_EQ(condition(p, v1::kAvailable).status, "True");
  EXPECT_EQ(condition(p, v1::kDegraded).reason, v1::kSplitBrain);
  EXPECT_NE(told(p, v1::kDegraded).find("delete this EtcdMember to replace it"), std::string::npos);
  const auto is_fenced = [&] {
    return told(plan(seen), v1::kDegraded).find("keeps clients away") != std::string::npos;
  };
  EXPECT_FALSE(is_fenced()) << "I17, seed 11250: its controller does not know yet";
  ASSERT_EQ(p.facts.size(), 1U);
  EXPECT_TRUE(p.facts[0].elsewhere) << "its controller takes it out of the Services";
  seat(seen, "c").object->elsewhere = true;
  EXPECT_TRUE(plan(seen).facts.empty());
  EXPECT_TRUE(is_fenced());
  seat(seen, "c").elsewhere = false;
  EXPECT_FALSE(plan(seen).facts.at(0).elsewhere) << "it is back";

  seen = observe(3, "a:V* b:V+ c:V-!");
  seat(seen, "c").elsewhere = true;
  EXPECT_EQ(step_of(seen), "remove-from-etcd c") << "a user has deleted it";
  p = without_quorum("a:V- b:V- c:V-");
  seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  for (Seat& one : seen.seats) one.listed.reset();
  seat(seen, "c").elsewhere = true;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kSplitBrain);
  p = plan(seen);
  ASSERT_EQ(p.facts.size(), 1U) << "seed 37394: it may be all that the Services lead to";
  EXPECT_TRUE(p.facts[0].elsewhere);
  EXPECT_EQ(p.facts[0].member_id, seat(seen, "c").object->member_id);
  seat(seen, "c").object->elsewhere = true;
  EXPECT_TRUE(plan(seen).facts.empty());
  seat(seen, "c").elsewhere = false;
  seat(seen, "c").answer = Seat::Answer{"3.6.16", {}};
  ASSERT_EQ(plan(seen).facts.size(), 1U) << "its peers find it again, so that a quorum can form";
  EXPECT_FALSE(plan(seen).facts[0].elsewhere);
  seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  for (Seat& one : seen.seats) {
    one.listed.reset();
    one.elsewhere = one.name != "a";
  }
  EXPECT_TRUE(plan(seen).facts.empty()) << "the recorded id may be the wrong one";
}

/// The kubelet reports the end of a container some seconds late.
TEST(ClusterPlan, K18_LastWordsCountOnlyAfterTenSecondsWithoutAnAnswer) {
  const auto said = [](const char* seats, std::int64_t silent_s) {
    Observation seen = observe(3, seats);
    seat(seen, "c").object->says_lost = true;
    seat(seen, "c").silent_s = silent_s;
    return plan(seen);
  };
  EXPECT_EQ(to_string(said("a:V* b:V+ c:V+", 60).step), "none") << "it answers";
  EXPECT_EQ(to_string(said("a:V* b:V+ c:V-", 9).step), "none");
  const Plan p = said("a:V* b:V+ c:V-", 10);
  EXPECT_EQ(to_string(p.step), "delete-member c");
  EXPECT_TRUE(std::get<DeleteMember>(p.step).if_silent) << "and is asked once more right before";
  Observation waits = observe(3, "a:V* b:V+ c:V-");
  EXPECT_EQ(pace(waits, waits.cluster.status), 5s);
  seat(waits, "c").object->says_lost = true;
  EXPECT_EQ(pace(waits, waits.cluster.status), 1s) << "the next look comes soon";

  Observation gone = observe(3, "a:V* b:V+ c:V-e");
  EXPECT_FALSE(std::get<DeleteMember>(plan(gone).step).if_silent) << "its volume is gone";
}

TEST(ClusterPlan, K6_AnOnlyMemberThatEndsAgainAndAgainIsNotAvailableInBetween) {
  Observation seen = observe(1, "a:V*");
  runtime::set_condition(seen.cluster.status.conditions,
                         {v1::kAvailable, "True", v1::kQuorumHealthy, ""}, 1, kNow);
  seat(seen, "a").object->ready = false;
  seat(seen, "a").object->reason = v1::kCrashLooping;
  seat(seen, "a").object->trouble = "etcd restarted twice within five minutes";
  EXPECT_EQ(told(plan(seen), v1::kAvailable),
            "False CrashLooping: a: etcd restarted twice within five minutes");
  seen = observe(3, "a:V* b:V+ c:V+");
  seat(seen, "a").object->ready = false;
  seat(seen, "a").object->reason = v1::kCrashLooping;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).status, "True") << "the others serve";
}

/// An older CRD admits spec.auth.enabled without a Secret.
TEST(ClusterPlan, I17_AuthenticationThatStaysOffIsReported) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.spec.auth = v1::AuthSpec{true, std::nullopt};
  seen.auth.enabled = false;
  EXPECT_EQ(condition(plan(seen), v1::kDegraded).status, "False") << "it is about to be enabled";
  seen.auth.refused = "spec.auth names no Secret";
  EXPECT_EQ(told(plan(seen), v1::kDegraded),
            "True AuthCredentialsRejected: spec.auth names no Secret; authentication stays off "
            "until this is fixed");
}

TEST(ClusterPlan, ASeedThatNeverAnsweredMaySleep) {
  Observation seen = observe(0, "a:N");
  seen.cluster.status.cluster_id.clear();
  seen.cluster_id.reset();
  seen.linearizable = false;
  EXPECT_EQ(step_of(seen), "pause-member a");
  seen.seats.push_back(seen.seats[0]);
  seen.seats[1].name = "b";
  EXPECT_EQ(step_of(seen), "none") << "there was more than a seed: it is not known what";
  seen.seats.clear();
  seen.cluster.status.pending_members = {{1, "a", url_of("a"), ""}};
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none") << "nobody is born";
  EXPECT_EQ(p.status.pending_members, seen.cluster.status.pending_members) << "or might be";
}

TEST(ClusterPlan, ProgressIsToldUntilTheTargetIsReachedOrTheDeadlinePasses) {
  Observation seen = observe(3, "a:V*");
  seen.cluster.spec.replicas = 5;
  Plan p = plan(seen);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kSpecChanged);
  EXPECT_EQ(condition(p, v1::kProgressing).status, "True");

  seen.cluster.status = p.status;
  seen.now = kNow + 601s;
  p = plan(seen);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kDeadlineExceeded);
  EXPECT_EQ(condition(p, v1::kAvailable).status, "True") << "it still serves";
  EXPECT_EQ(to_string(p.step).substr(0, 13), "create-member") << "work goes on";

  seen.cluster.status = p.status;
  seen.cluster.spec.replicas = 3;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).reason, v1::kRetryAfterDeadline);

  Observation done = observe(3, "a:V* b:V+ c:V+");
  done.cluster.status.progress_deadline = to_rfc3339(kNow + -10s);
  p = plan(done);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kReconciled);
  EXPECT_FALSE(p.status.progress_deadline);
}

TEST(ClusterPlan, ABootstrapThatTakesTooLongIsReportedAndTriedOn) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.cluster.status = plan(seen).status;
  seen.now = kNow + 600s;
  const Plan p = plan(seen);
  EXPECT_EQ(condition(p, v1::kProgressing).reason, v1::kBootstrapFailed);
  EXPECT_EQ(condition(p, v1::kAvailable).status, "False");
  EXPECT_EQ(to_string(p.step).substr(0, 11), "create-seed");
  seen.cluster.status = p.status;
  seen.cluster.spec.replicas = 5;
  EXPECT_EQ(condition(plan(seen), v1::kProgressing).reason, v1::kRetryAfterDeadline);
}

TEST(ClusterPlan, APassOverWhatIsDoneChangesNothing) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status = plan(seen).status;
  EXPECT_EQ(seen.cluster.status.max_learners, v1::kManyLearners);
  seen.now = kNow + 3600s;
  const Plan p = plan(seen);
  EXPECT_EQ(p.status, seen.cluster.status);
  EXPECT_EQ(p.again, 60s);
}

TEST(ClusterPlan, LooksLessOftenTheLongerItWaits) {
  Observation seen = observe(3, "a:V* b:V+ c:Us");
  seen.cluster.spec.progress_deadline_seconds = 9000;
  const auto after = [&](int seconds, int joiner_seconds) {
    seen.cluster.status.progress_deadline = to_rfc3339(kNow + std::chrono::seconds(9000 - seconds));
    seen.seats[2].object->created = kNow + std::chrono::seconds(-joiner_seconds);
    return plan(seen).again;
  };
  EXPECT_EQ(after(0, 0), 300ms);
  EXPECT_EQ(after(200, 200), 10s);
  EXPECT_EQ(after(200, 20), 1s) << "a new joiner is news";
  EXPECT_EQ(after(7200, 7200), 60s);
}

TEST(ClusterPlan, LooksEveryFiveSecondsWhereNothingOfOursIsUnderWay) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status = plan(seen).status;
  Observation ill = observe(3, "a:V* b:V+ c:V-");
  ill.cluster.status = seen.cluster.status;
  EXPECT_EQ(plan(ill).again, 5s);
}

TEST(ClusterPlan, LooksLessOftenTheLongerNobodyAnswers) {
  Observation seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  seen.cluster.status = plan(seen).status;
  const auto after = [&](int seconds) {
    seen.now = kNow + std::chrono::seconds(seconds);
    return plan(seen).again;
  };
  EXPECT_EQ(after(0), 300ms);
  EXPECT_EQ(after(200), 10s);
  EXPECT_EQ(after(7200), 60s);
}

TEST(ClusterPlan, LooksLessOftenTheLongerAClusterThatWasDoneIsSilent) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.status = plan(seen).status;
  const auto after = [&](int seconds) {
    Observation silent = observe(3, "a:V- b:V- c:V-");
    silent.linearizable = false;
    silent.now = kNow + std::chrono::seconds(seconds);
    silent.cluster.status = seen.cluster.status;
    const Plan p = plan(silent);
    seen.cluster.status = p.status;
    return p.again;
  };
  EXPECT_EQ(after(0), 300ms);
  EXPECT_EQ(after(200), 10s);
}

/// "True QuorumHealthy: All members are ready"
TEST(ClusterPlan, ConditionsTable) {
  struct Row {
    const char* seats;
    std::function<void(Observation&)> edit;
    const char *available, *degraded, *progressing;
  };
  const auto nothing = [](Observation&) {};
  const auto silent = [](Observation& o) {
    o.linearizable = false;
    for (Seat& s : o.seats) s.listed.reset();
  };
  const Row rows[] = {
      {"a:V* b:V+ c:V+", nothing, "True QuorumHealthy: All members are ready",
       "False QuorumHealthy: All members are ready",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V-", nothing, "True QuorumAvailable: 2/3 members ready",
       "True MembersUnhealthy: 2/3 members ready", "True MemberReplacing: 3 of 3 members vote"},
      {"a:V* b:V+ c:V-",
       [](auto& o) {
         seat(o, "a").object->trouble = "old news of one that is ready";
         seat(o, "c").object->trouble = "no node can run the Pod";
       },
       "True QuorumAvailable: 2/3 members ready",
       "True MembersUnhealthy: 2/3 members ready; c: no node can run the Pod",
       "True MemberReplacing: 3 of 3 members vote; c: no node can run the Pod"},
      {"a:V* b:V+ c:V-",
       [](auto& o) {
         o.rejected = "exceeded quota";
         seat(o, "c").object->trouble = "no node can run the Pod";
       },
       "True QuorumAvailable: 2/3 members ready",
       "True MembersUnhealthy: 2/3 members ready; exceeded quota",
       "True MemberReplacing: 3 of 3 members vote; exceeded quota"},
      {"a:V* b:V+ c:V+",
       [](auto& o) { o.service_refused = o.rejected = "create Service db-client: full"; },
       "True QuorumHealthy: All members are ready; Service db-client does not exist, so its name "
       "leads to no member",
       "True ServiceRefused: Service db-client does not exist, so its name leads to no member; "
       "create Service db-client: full; 3/3 members ready",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V-", [](auto& o) { o.service_refused = "create Service db-client: full"; },
       "True QuorumAvailable: 2/3 members ready; Service db-client does not exist, so its name "
       "leads to no member",
       "True ServiceRefused: Service db-client does not exist, so its name leads to no member; "
       "create Service db-client: full; 2/3 members ready",
       "True MemberReplacing: 3 of 3 members vote"},
      {"a:V* b:V+ c:V+", [](auto& o) { o.rejected = "Service db-client belongs to another owner"; },
       "True QuorumHealthy: All members are ready",
       "True ObjectRejected: Service db-client belongs to another owner",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V+",
       [](auto& o) {
         o.cluster.spec.auth.emplace().enabled = true;
         o.cluster.status.auth_enabled = true;
         o.auth.refused = "wrong";
       },
       "True QuorumHealthy: All members are ready", "True AuthCredentialsRejected: wrong",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V+",
       [](auto& o) {
         o.cluster.spec.auth.emplace().enabled = true;
         o.cluster.status.auth_enabled = true;
         o.auth.entered = true;
         o.auth.refused = "Secret root has no password";
       },
       "True QuorumHealthy: All members are ready",
       "True AuthCredentialsRejected: Secret root has no password; root keeps its current password",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V+ d:L+", [](auto& o) { o.rejected = "not yet"; },
       "True QuorumHealthy: All members are ready", "False QuorumHealthy: All members are ready",
       "True MemberReplacing: 3 of 3 members vote; not yet"},
      {"a:V* b:V+ c:V+!", nothing, "True QuorumHealthy: All members are ready",
       "False QuorumHealthy: All members are ready",
       "True MemberReplacing: 2 of 3 members vote, 1 leaving"},
      {"a:V* b:V+ c:V+ y:X+ z:x", nothing, "True QuorumHealthy: All members are ready",
       "True ForeignMember: etcd lists members without an EtcdMember of this cluster: y "
       "(0000000000000004), "
       "z (0000000000000005); remove them with etcdctl if they are not wanted",
       "False Reconciled: the cluster matches its spec"},
      {"a:V* b:V+ c:V+ y:x",
       [](auto& o) {
         o.cluster.status.pending_members = {{1, "y", url_of("y"), to_rfc3339(kNow)}};
       },
       "True QuorumHealthy: All members are ready", "False QuorumHealthy: All members are ready",
       "False Reconciled: the cluster matches its spec"},
      {"a:V+ b:V- c:V-", silent, "False QuorumLost: 1/3 members ready, quorum lost",
       "True QuorumLost: 1/3 members ready, quorum lost", nullptr},
      {"a:V- b:V- c:V-", silent, "Unknown ClusterUnreachable: no member answers",
       "True ClusterUnreachable: no member answers", nullptr},
      {"a:V- b:V- c:V-",
       [silent](auto& o) {
         silent(o);
         o.etcd_error = "dial: refused";
         seat(o, "b").object->trouble = "etcd exits repeatedly";
       },
       "Unknown ClusterUnreachable: no member answers; b: etcd exits repeatedly; dial: refused",
       "True ClusterUnreachable: no member answers; b: etcd exits repeatedly; dial: refused",
       nullptr},
      {"a:V* b:V+ c:V+",
       [](auto& o) {
         o.split = true;
         o.etcd_error = "another cluster";
       },
       "Unknown SplitBrain: members answer with different cluster ids: another cluster",
       "True SplitBrain: members answer with different cluster ids; the operator changes nothing",
       nullptr},
  };
  for (const Row& row : rows) {
    Observation seen = observe(3, row.seats);
    row.edit(seen);
    const Plan p = plan(seen);
    EXPECT_EQ(told(p, v1::kAvailable), row.available) << row.seats;
    EXPECT_EQ(told(p, v1::kDegraded), row.degraded) << row.seats;
    if (row.progressing) EXPECT_EQ(told(p, v1::kProgressing), row.progressing) << row.seats;
  }
}

TEST(ClusterPlan, K13_AnOutageIsUnknownForAMinuteAndThenFalseWithTheTimeOfTheLastAnswer) {
  Observation seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  for (Seat& seat : seen.seats) seat.listed.reset();
  const auto after = [&](std::chrono::seconds s) {
    seen.now = kNow + s;
    seen.cluster.status = plan(seen).status;
    return told(plan(seen), v1::kAvailable);
  };
  seen.last_answer = kNow + -50s;
  EXPECT_EQ(after(0s), "Unknown ClusterUnreachable: no member answers");
  EXPECT_EQ(after(59s), "Unknown ClusterUnreachable: no member answers");
  const std::string outage =
      "False ClusterUnreachable: no member has answered since " + to_rfc3339(kNow + -50s);
  EXPECT_EQ(after(60s), outage);
  seen.last_answer.reset();  // The operator starts again.
  EXPECT_EQ(after(3h), outage) << "one write, and no age";
  EXPECT_EQ(seen.cluster.status.phase, "Unreachable");
}

TEST(ClusterPlan, K13_AnOutageThatAnotherOperatorSawBeginIsToldFromThenOn) {
  Observation seen = observe(3, "a:V- b:V- c:V-");
  seen.linearizable = false;
  for (Seat& seat : seen.seats) seat.listed.reset();
  seen.cluster.status = plan(seen).status;
  seen.now = kNow + 60s;
  EXPECT_EQ(told(plan(seen), v1::kAvailable),
            "False ClusterUnreachable: no member has answered since " + to_rfc3339(kNow));
  seen.now = kNow + -1h;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).status, "False") << "the clock was set back";
}

TEST(ClusterPlan, StatusCountsAndSelects) {
  const Plan p = plan(observe(3, "a:V* b:V+ c:V-"));
  EXPECT_EQ(p.status.ready_members, 2);
  EXPECT_EQ(p.status.selector, "etcd-operator.cozystack.io/cluster=db");
  for (const api::Condition& c : p.status.conditions) {
    EXPECT_EQ(c.observed_generation, 1);
    EXPECT_EQ(c.last_transition_time, to_rfc3339(kNow));
  }
}

TEST(ClusterPlan, DiscoveryIsToldWithTheClustersId) {
  Observation seen = observe(3, "a:V*");
  seen.cluster.status.cluster_id.clear();
  seen.cluster.status = plan(seen).status;
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(told(plan(seen), v1::kAvailable),
              "True ClusterDiscovered: etcd cluster 00000000000000c1 discovered");
  seen.linearizable = false;
  seat(seen, "a").listed.reset();
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kQuorumLost) << "not for ever";
}

TEST(ClusterPlan, ASoleMemberIsDiscoveredOnceAndThenHealthy) {
  Observation seen = observe(1, "a:V*");
  const api::ObjectMeta& meta = seen.cluster.metadata;
  seen.seats[0].name = member_name(meta.name, meta.uid, seen.cluster.status.last_sequence);
  seen.cluster.status = plan(seen).status;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kQuorumHealthy);
}

TEST(ClusterPlan, ASplitIsToldOfASoleMemberToo) {
  Observation seen = observe(3, "a:V*");
  const api::ObjectMeta& meta = seen.cluster.metadata;
  seen.seats[0].name = member_name(meta.name, meta.uid, seen.cluster.status.last_sequence);
  seen.seats[0].listed.reset();
  seen.linearizable = false;
  seen.split = true;
  EXPECT_EQ(condition(plan(seen), v1::kAvailable).reason, v1::kSplitBrain);
}

TEST(ClusterPlan, WhereAllDataIsLostBothConditionsSaySo) {
  Plan p = without_quorum("a:V-e b:V-e c:V-e");
  EXPECT_EQ(condition(p, v1::kAvailable).reason, v1::kDataLost);
  EXPECT_EQ(condition(p, v1::kDegraded).reason, v1::kDataLost);
  Observation seen = observe(3, "a:V-e b:V-e c:V-e");
  seen.linearizable = false;
  seen.rejected = "Service db-client belongs to another owner";
  p = plan(seen);
  EXPECT_EQ(condition(p, v1::kDegraded).reason, v1::kDataLost);
  EXPECT_TRUE(condition(p, v1::kDegraded).message.ends_with("; " + seen.rejected))
      << "an EtcdRestore waits for that";
}

TEST(ClusterPlan, ABootstrapThatFailedIsTriedOnForEver) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.cluster.status = plan(seen).status;
  for (const auto late : {600s, 601s, 9000s}) {
    seen.now = kNow + late;
    const Plan p = plan(seen);
    EXPECT_EQ(to_string(p.step).substr(0, 11), "create-seed");
    EXPECT_EQ(told(p, v1::kProgressing),
              "False BootstrapFailed: not done within 600 s: waiting for the first member; still "
              "trying");
    EXPECT_EQ(told(p, v1::kAvailable), "False BootstrapFailed: waiting for the first member");
    EXPECT_EQ(condition(p, v1::kDegraded).reason, "") << "there is nothing to be degraded";
    seen.cluster.status = p.status;
  }
}

TEST(ClusterPlan, WhoCouldJoinAnewIsNotPromoted) {
  Observation seen = observe(4, "a:V* b:V+ c:L+ d:L+");
  seat(seen, "c").answer->applied = 9;
  EXPECT_EQ(step_of(seen), "promote c");
  seat(seen, "c").pod.emplace().may_join = true;
  EXPECT_EQ(step_of(seen), "promote d");
  seat(seen, "d").pod.emplace().may_join = true;
  EXPECT_NE(step_of(seen).substr(0, 7), "promote");
}

TEST(ClusterPlan, ALearnerThatKnowsNoLeaderIsNotPromoted) {
  Observation seen = observe(3, "a:V* b:V+ c:L+");
  seat(seen, "c").answer->leader = {};
  EXPECT_EQ(step_of(seen), "none");
}

TEST(ClusterPlan, WhatItWaitsForIsSaid) {
  struct Row {
    int replicas;
    const char *seats, *waiting;
  };
  const Row rows[] = {
      {3, "a:V* b:V+ c:V+", ""},
      {3, "a:V* b:V+ c:V-", "members to become ready"},
      {3, "a:V* b:Us", "joiners to start"},
      {3, "a:V* b:Us c:N", "b to vote before c is added"},
      {3, "a:V* b:V+ c:V-! d:Us", "joiners to start before c is removed"},
      {2, "a:V* b:V- c:V+!", "a quorum without c"},
      {1, "a:V*! b:V-", "a quorum without a"},
      {3, "a:V* b:L- c:N", "b to vote before c is added"},
      {3, "a:V* b:L+ c:N", ""},
      {3, "a:V* b:V+ c:V-! d:Up", ""},  // Publishing comes first.
  };
  for (const Row& row : rows)
    EXPECT_EQ(plan(observe(row.replicas, row.seats)).waiting_for, row.waiting) << row.seats;
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.split = true;
  EXPECT_EQ(plan(seen).waiting_for, "members that agree on one cluster");
  seen.split = seen.linearizable = false;
  EXPECT_EQ(plan(seen).waiting_for, "etcd to answer with quorum");
  seen.cluster.status.cluster_id.clear();
  seen.cluster_id.reset();
  EXPECT_EQ(plan(seen).waiting_for, "the first member to answer");
}

TEST(ClusterPlan, AnEditReachesTheMembersThatAreMadeFromNowOn) {
  Observation seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.spec.version = "3.7.3";
  seen.cluster.spec.storage.size = "9Gi";
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.observed->version, "3.7.3");
  EXPECT_EQ(p.status.observed->storage.size, seen.cluster.spec.storage.size);
  EXPECT_EQ(p.status.updated_members, 0);
  EXPECT_EQ(told(p, v1::kProgressing),
            "False Reconciled: 3 of 3 members were created from an older spec");
  EXPECT_EQ(to_string(p.step), "none") << "whoever runs is left alone";
}

TEST(ClusterPlan, MembersInMemoryAreNotPausedAndTheOnlyOneIsNotDrained) {
  Observation seen = observe(1, "a:V*");
  seen.cluster.spec.storage.medium = v1::Medium::Memory;
  seen.cluster.status.observed->storage.medium = v1::Medium::Memory;
  EXPECT_EQ(plan(seen).budget, 1) << "its Pod is its data";
  seen.seats.clear();
  EXPECT_EQ(plan(seen).budget, 1) << "from the first pass on";
  seen = observe(1, "a:V*");
  seen.cluster.spec.storage.medium = v1::Medium::Memory;
  seen.cluster.status.observed->storage.medium = v1::Medium::Memory;
  Observation earlier = observe(1, "a:V*");
  earlier.seats[0].object->other_medium = true;
  EXPECT_EQ(plan(earlier).budget, 1) << "I5: an earlier EtcdCluster had that medium";
  earlier = seen;
  earlier.seats[0].object->other_medium = true;
  EXPECT_EQ(plan(earlier).budget, 0) << "it has a volume";
  seen.cluster.spec.replicas = 0;
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(told(p, v1::kProgressing),
            "False NotImplemented: this release does not implement replicas: 0 with storage.medium "
            "Memory, which would lose the data, remove it from the spec; the cluster is kept as it "
            "is");
}

/// W10: scaled up, and down again.
TEST(ClusterPlan, WhoIsAsTheSpecWasGoesFirst) {
  Observation seen = observe(3, "a:V* b:V+ c:V+ d:V+");
  const std::string wanted = seat(seen, "c").object->made_as;
  for (const char* old : {"a", "b"}) seat(seen, old).object->made_as = "before";
  EXPECT_EQ(step_of(seen), "delete-member b") << "d is the newest, and a leads";
  seat(seen, "b").object->made_as = wanted;
  EXPECT_EQ(step_of(seen), "delete-member a") << "it hands over first";
}

TEST(ClusterPlan, WhatIsNotStartedIsSaidInOnePlace) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster_of(3);
  seen.cluster.spec.version = "3.4.34";
  Plan p = plan(seen);
  EXPECT_EQ(told(p, v1::kProgressing),
            "False UnsupportedVersion: spec.version 3.4.34 is not an etcd that this release runs "
            "(3.5, 3.6, 3.7); nothing was created");
  EXPECT_EQ(p.again, 60s);
  EXPECT_EQ(p.status.observed, std::nullopt);

  seen.cluster = cluster_of(65);
  p = plan(seen);
  EXPECT_EQ(told(p, v1::kProgressing),
            "False NotImplemented: this release does not implement replicas: 65 (0 to 64), remove "
            "it from the spec; nothing was created");

  seen.cluster = cluster_of(0);
  seen.cluster.status.progress_deadline = to_rfc3339(kNow);
  p = plan(seen);
  for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing})
    EXPECT_EQ(told(p, type),
              "False Paused: paused: no data has been written (cluster never bootstrapped); set "
              "spec.replicas to start it");
  EXPECT_EQ(p.status.selector, "etcd-operator.cozystack.io/cluster=db");
  EXPECT_FALSE(p.status.progress_deadline);
  EXPECT_EQ(p.again, 60s);

  seen = observe(3, "a:V* b:V+ c:V+");
  seen.cluster.spec.version = "3.5.35";
  p = plan(seen);
  EXPECT_EQ(
      told(p, v1::kProgressing),
      "False UnsupportedVersion: spec.version 3.5.35: a runs 3.6.16, and etcd takes no member "
      "of an older minor; the cluster is kept as it is");
}

// Authentication and certificates.

Observation with_auth(const std::string& seats) {
  Observation seen = observe(3, seats);
  seen.cluster.spec.auth = v1::AuthSpec{true, v1::LocalObjectReference{"root"}};
  seen.auth.enabled = false;
  return seen;
}

TEST(ClusterPlan, AuthenticationTable) {
  using enum PasswordStep;
  struct Row {
    const char* seats;
    std::function<void(Observation&)> edit;
    const char *step, *waiting, *because;
  };
  const auto is_on = [](PasswordStep step) {
    return [step](Observation& o) {
      o.cluster.status.auth_enabled = true;
      o.auth = {.required = true,
                .entered = true,
                .refused = "",
                .step = step,
                .recorded = true,
                .enabled = {}};
    };
  };
  const auto came_with_the_data = [](Observation& o) {
    o.auth = {.required = true, .entered = true, .refused = "", .step = Record, .enabled = true};
  };
  const char* const all = "a:V* b:V+ c:V+";
  const Row rows[] = {
      {all, [](auto& o) { o.auth.step = Record; }, "record-password", "", "before root is made"},
      {all, [](auto&) {}, "enable-auth", "", "what is recorded is what root will have"},
      {"a:V* b:V+", [](auto&) {}, "create-member #1", "", "not before all are there"},
      {"a:V* b:V+ c:V-", [](auto&) {}, "none", "members to become ready", "and ready"},
      {"a:V* b:V+ c:V-", [](auto& o) { o.auth.step = Record; }, "none", "members to become ready",
       "so that the user has time to correct it"},
      {all, [](auto& o) { o.auth.enabled.reset(); }, "none",
       "etcd to say whether authentication is on", "etcd has not said that it is off"},
      {all, [](auto& o) { o.auth.refused = "Secret root does not exist"; }, "none",
       "the root password: Secret root does not exist", ""},
      {all,
       [](auto& o) {
         o.cluster.spec.auth->enabled = false;
         o.auth.step = Record;
       },
       "none", "", "nobody wants it"},
      {all, [](auto& o) { o.cluster.spec.auth.reset(); }, "none", "", ""},
      {all, came_with_the_data, "record-password", "",
       "whoever edits the Secret then, root gets in"},
      {"a:V* b:V+ c:V-", came_with_the_data, "record-password", "", "nothing is waited for"},
      {"a:V* b:V+", came_with_the_data, "record-password", "", "nor done before"},
      {"a:V* b:V+",
       [&](auto& o) {
         came_with_the_data(o);
         o.rejected = "Secret db-operator-auth belongs to another owner";
       },
       "create-member #1", "", "but what is refused is in nobody's way"},
      {"a:V* b:V+",
       [&](auto& o) {
         came_with_the_data(o);
         o.cluster.status.auth_enabled = true;
       },
       "record-password", "", "as the Go operator leaves it"},
      {all,
       [&](auto& o) {
         came_with_the_data(o);
         o.auth.entered = false;
       },
       "none", "root to log in", "with what nobody got in with is nothing recorded"},
      {all, is_on(None), "none", "", "at rest"},
      {all, is_on(Record), "record-password", "", "before etcd is told"},
      {all, is_on(Change), "change-password", "", ""},
      {"a:V* b:V+ c:V-", is_on(Change), "change-password", "", "a quorum is enough"},
      {"a:V* b:V+", is_on(Change), "create-member #1", "", "members come first"},
      {all,
       [&](auto& o) {
         is_on(Change)(o);
         o.auth.entered = false;
       },
       "none", "", "root has not logged in"},
      {all,
       [&](auto& o) {
         is_on(None)(o);
         o.auth.entered = false;
         o.auth.enabled = false;
       },
       "none", "", "who has turned it off by hand is not overruled"},
  };
  for (const Row& row : rows) {
    Observation seen = with_auth(row.seats);
    row.edit(seen);
    EXPECT_EQ(step_of(seen), row.step) << row.seats << ": " << row.because;
    EXPECT_EQ(plan(seen).waiting_for, row.waiting) << row.seats << ": " << row.because;
  }
}

TEST(ClusterPlan, ThatAuthenticationIsOnIsRecordedForEver) {
  Observation seen = with_auth("a:V* b:V+ c:V+");
  EXPECT_FALSE(plan(seen).status.auth_enabled) << "it is not on before etcd says so";
  seen.auth.enabled = true;
  EXPECT_FALSE(plan(seen).status.auth_enabled)
      << "nor before the password is recorded: from then on its Secret may be edited";
  seen.auth.recorded = true;
  const Plan p = plan(seen);
  EXPECT_TRUE(p.status.auth_enabled);
  EXPECT_EQ(to_string(p.step), "none");
  seen.cluster.status = p.status;
  seen.auth.enabled = false;
  EXPECT_TRUE(plan(seen).status.auth_enabled);
  seen.auth.enabled.reset();
  seen.cluster.spec.auth.reset();
  EXPECT_TRUE(plan(seen).status.auth_enabled);
}

TEST(ClusterPlan, WhatNoWatchTellsOfIsLookedAtSoon) {
  Observation seen = with_auth("a:V* b:V+ c:V+");
  EXPECT_EQ(plan(seen).again, 300ms) << "enable-auth";
  seen.auth.step = PasswordStep::Record;
  EXPECT_EQ(plan(seen).again, 300ms);
}

/// TLS of the operator's own making for the client port; the certificates have these names.
Observation managed(const std::string& seats, const std::vector<std::string>& names) {
  Observation seen = observe(3, seats);
  seen.cluster_domain = "cluster.local";
  seen.cluster.spec.tls.emplace().client.emplace().operator_managed.emplace();
  for (const ManagedSecret& one : managed_secrets_of(seen.cluster))
    seen.tls.managed.push_back({.secret = one.name,
                                .ours = true,
                                .names = names,
                                .serial = "51",
                                .authority = "f1",
                                .from = kNow,
                                .until = kNow + 9h});
  seen.tls.server = seen.tls.managed[1];
  return seen;
}

TEST(ClusterPlan, CertificatesComeBeforeAnythingElse) {
  const auto missing = [](CertificateSeen& one) {
    one = {.secret = one.secret, .missing = true, .unread = "does not exist"};
  };
  const auto names = [](const std::vector<std::string>& members) {
    return server_names({"prod", "db"}, "cluster.local", members);
  };
  EXPECT_EQ(step_of(managed("a:V* b:N c:N", names({"a", "b", "c"}))), "add-learner b");
  EXPECT_EQ(step_of(managed("a:V* b:N c:N", names({"a", "c"}))), "issue-certificate db-server-tls")
      << "b must be named before it starts";
  Observation seen = managed("a:V* b:N c:N!", names({"a", "b", "c"}));
  EXPECT_EQ(step_of(seen), "release-member c");
  missing(seen.tls.managed[3]);
  EXPECT_EQ(step_of(seen), "issue-certificate db-client-tls");
  EXPECT_EQ(plan(seen).again, 300ms);
  seen.linearizable = false;
  EXPECT_EQ(step_of(seen), "issue-certificate db-client-tls") << "whatever etcd says";

  // A renewal waits for the members.
  const auto old = [&](const char* seats) {
    Observation aged = managed(seats, names({"a", "b", "c"}));
    for (CertificateSeen& one : aged.tls.managed) one.from = kNow + -24h;
    aged.tls.server = aged.tls.managed[1];
    return step_of(aged);
  };
  EXPECT_EQ(old("a:V* b:N c:N"), "add-learner b");
  EXPECT_EQ(old("a:V* b:V+ c:V-"), "issue-certificate db-server-tls");
  EXPECT_EQ(old("a:V* b:V+ c:V+"), "issue-certificate db-server-tls");

  // K17: a user took an owner away.
  Observation disowned = managed("a:V* b:V+ c:V+", names({"a", "b", "c"}));
  disowned.tls.managed[0].ownerless = true;
  EXPECT_EQ(step_of(disowned), "none") << "it may have been made for another EtcdCluster";
  disowned.tls.managed[0].disowned = true;
  EXPECT_EQ(step_of(disowned), "own-secret db-client-ca");
  Observation joining = managed("a:V* b:N c:N", names({"a", "b", "c"}));
  joining.tls.managed[0].disowned = true;
  EXPECT_EQ(step_of(joining), "add-learner b") << "it blocks nothing";
  Observation secured = observe(3, "a:V* b:V+ c:V+");
  secured.auth.disowned = true;
  EXPECT_EQ(step_of(secured), "own-secret db-operator-auth");

  Observation fresh = managed("", {});
  fresh.cluster.status = {};
  fresh.cluster_id.reset();
  fresh.linearizable = false;
  EXPECT_EQ(step_of(fresh), "issue-certificate db-server-tls");
  for (CertificateSeen& one : fresh.tls.managed) missing(one);
  EXPECT_EQ(step_of(fresh), "issue-certificate db-client-ca");
  fresh.tls.managed[0] = managed("", {}).tls.managed[0];
  for (std::size_t i = 1; i < 4; ++i) fresh.tls.managed[i] = managed("", names({})).tls.managed[i];
  EXPECT_EQ(to_string(plan(fresh).step).substr(0, 11), "create-seed");
  fresh.tls.managed[1].ours = false;
  EXPECT_EQ(to_string(plan(fresh).step), "none") << "no cluster begins with somebody else's";
  EXPECT_EQ(plan(fresh).waiting_for,
            "Secret db-server-tls belongs to another owner: rename it or the cluster");
}

TEST(ClusterPlan, WhereNothingGoodCanBeMadeOnlyWhatWasAskedForIsDone) {
  for (const auto& [seats, step] : {std::pair("a:V* b:V+", "none"),
                                    {"a:V* b:V+ c:L+", "none"},
                                    {"a:V* b:V+ c:V-!", "remove-from-etcd c"}}) {
    Observation seen = managed(seats, {"*.db.prod.svc"});
    seen.tls.managed[0] = {.secret = "db-client-ca", .missing = true, .unread = "does not exist"};
    seen.tls.server->faults = {"tls.crt is bad"};
    EXPECT_EQ(step_of(seen), step) << seats;
    EXPECT_EQ(condition(plan(seen), v1::kTlsReady).reason, v1::kAuthorityLost) << seats;
  }
}

TEST(ClusterPlan, NobodyIsMadeWithCertificatesOfNoUse) {
  Observation seen = observe(3, "a:V* b:V+");
  seen.tls.server = CertificateSeen{.secret = "mine", .faults = {"tls.crt is bad"}};
  EXPECT_EQ(step_of(seen), "none");
  EXPECT_EQ(plan(seen).waiting_for, "usable certificates: Secret mine: tls.crt is bad");
  EXPECT_EQ(condition(plan(seen), v1::kTlsReady).reason, v1::kCertificateInvalid);
  seen.tls.server = CertificateSeen{
      .secret = "mine", .names = {"*.db.prod.svc"}, .serial = "51", .until = kNow + 1h};
  EXPECT_EQ(step_of(seen), "create-member #1");
}

TEST(MemberName, IsAsGenerateNameMakesThem) {
  const std::string name = member_name("db", "u-1", 1);
  EXPECT_EQ(name.substr(0, 3), "db-");
  EXPECT_EQ(name.size(), 8U);
  EXPECT_EQ(name.find_first_not_of("bcdfghjklmnpqrstvwxz2456789", 3), std::string::npos);
  EXPECT_EQ(name, member_name("db", "u-1", 1));
  EXPECT_NE(name, member_name("db", "u-1", 2));
  EXPECT_NE(name, member_name("db", "u-2", 1));
  EXPECT_EQ(name, "db-fhj8b") << "the next release knows the members of this one by it";
}

}  // namespace
}  // namespace etcdop::cluster
