// Every small world: each cluster of up to four members, with every state of a member, every member
// that can lead, and every target. The plan drives it until nothing is left to do; then all that
// was broken heals, and the plan drives it on. After each step: safety. At the end: convergence.
// The world below follows etcd's own rules and refuses what etcd would refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "api/v1alpha2/names.h"
#include "operator/cluster/census.h"
#include "operator/cluster/plan.h"
#include "operator/cluster/spec.h"
#include "operator/pods/member_name.h"
#include "test/support/every.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// The peer URL of a member of prod/db, without TLS.
std::string url_of(const std::string& member) { return "http://" + member + ".db.prod.svc:2380"; }

constexpr WallTime kStart{1795233378s};

/// A member's fault. All heal but NoVolume.
enum class Matter { Running, NoVolume, Unready, NoPod };

struct Body {
  std::string name;
  bool in_etcd = false, learner = false, started = false;
  bool object = true, terminating = false, voted = false, dormant = false;
  Matter matter = Matter::Running;
  std::string list;  ///< spec.initialCluster
  WallTime created = kStart;
  bool alive() const { return in_etcd && started && !dormant && matter == Matter::Running; }
};

class World {
 public:
  World(int replicas, bool many_learners) : many_learners_(many_learners) {
    cluster_.metadata.name = "db";
    cluster_.metadata.ns = "prod";
    cluster_.metadata.uid = "u-1";
    cluster_.spec.version = "3.6.16";
    cluster_.spec.replicas = replicas;
    cluster_.status.cluster_id = "00000000000000c1";
    cluster_.status.cluster_token = "prod-db-u-1";
    cluster_.status.observed.emplace();
    cluster_.status.observed->replicas = replicas;
    cluster_.status.observed->version = "3.6.16";
    cluster_.status.observed->storage = cluster_.spec.storage;
  }

  std::vector<Body> bodies;
  WallTime now = kStart;

  int voters() const {
    return count([](const Body& b) { return b.in_etcd && !b.learner; });
  }
  int alive_voters() const {
    return count([](const Body& b) { return b.alive() && !b.learner; });
  }
  int learners() const {
    return count([](const Body& b) { return b.in_etcd && b.learner; });
  }
  bool has_quorum() const { return alive_voters() >= quorum(voters()) && voters() > 0; }
  std::string list() const {
    std::vector<std::string> members;
    for (const Body& b : bodies)
      if (b.in_etcd) members.push_back(b.name + "=" + url_of(b.name));
    std::ranges::sort(members);
    std::string out;
    for (const auto& m : members) out += (out.empty() ? "" : ",") + m;
    return out;
  }

  /// The chosen leader, while it can lead; else the live voter with the smallest name.
  const Body* leader() const {
    if (!has_quorum()) return nullptr;
    const Body* found = nullptr;
    for (const Body& b : bodies)
      if (b.alive() && !b.learner &&
          (!found || (b.name == leader_name_) ||
           (found->name != leader_name_ && b.name < found->name)))
        found = &b;
    return found;
  }

  std::vector<std::string> able_to_lead() const {
    std::vector<std::string> out;
    if (!has_quorum()) return out;
    for (const Body& b : bodies)
      if (b.alive() && !b.learner) out.push_back(b.name);
    return out;
  }
  void lead(const std::string& name) { leader_name_ = name; }

  /// Records a member in the status before it exists.
  void intend(const std::string& name) {
    cluster_.status.pending_members.push_back({1, name, url_of(name), to_rfc3339(kStart)});
  }
  /// The number of members that stay; in a pause 1, the dormant one.
  int target() const { return std::max(1, cluster_.status.observed->replicas); }
  int dormant() const {
    return count([](const Body& b) { return b.dormant; });
  }

  Observation observe() const {
    Observation seen;
    seen.now = now;
    seen.cluster = cluster_;
    seen.headless_service = seen.client_service = Child::AsMade;
    seen.linearizable = has_quorum();
    if (seen.linearizable) seen.cluster_id = etcd::ClusterId{0xc1};
    for (const Body& b : bodies) {
      Seat seat;
      seat.name = b.name;
      seat.peer_url = url_of(b.name);
      if (b.object) {
        seat.object = Seat::Object();
        seat.object->uid = "uid-" + b.name;
        seat.object->terminating = b.terminating;
        seat.object->dormant = b.dormant;
        seat.object->voter = b.voted;
        seat.object->initial_cluster = b.list;
        seat.object->ready = b.alive() && !b.learner;
        seat.object->lost = b.matter == Matter::NoVolume && b.started;
        seat.object->created = b.created;
        if (b.matter != Matter::NoPod && !b.list.empty()) seat.pod = Seat::Pod{"n", many_learners_};
      }
      if (seen.linearizable && b.in_etcd) seat.listed = Seat::Listed{id(b), b.learner, b.started};
      if (b.alive())
        seat.answer = Seat::Answer{"3.6.16", leader() ? id(*leader()) : etcd::MemberId{}};
      if (seat.object || seat.listed) seen.seats.push_back(std::move(seat));
    }
    std::ranges::sort(seen.seats, {}, &Seat::name);
    return seen;
  }

  /// Carries out a step as the API server and etcd would, with their checks and ours.
  void apply(const Plan& p) {
    cluster_.status = p.status;
    for (const MemberFacts& f : p.facts) body(f.name).voted = f.voter;
    std::visit([this](const auto& step) { carry_out(step); }, p.step);
    start_members();
  }

  void heal() {
    for (Body& b : bodies)
      if (b.matter != Matter::NoVolume) b.matter = Matter::Running;
    start_members();
  }

  /// A member that has etcd's own list starts, unless it has a fault.
  void start_members() {
    for (Body& b : bodies)
      if (b.in_etcd && !b.started && b.object && b.matter == Matter::Running && b.list == list())
        b.started = true;
  }

  std::string text() const {
    std::string out = "replicas " + std::to_string(cluster_.spec.replicas) + ":";
    for (const Body& b : bodies)
      out += " " + b.name + (b.in_etcd ? (b.learner ? " learner" : " voter") : " out") +
             (b.started ? "" : " unstarted") + (b.object ? "" : " foreign") +
             (b.terminating ? " terminating" : "") + (b.dormant ? " dormant" : "") + " matter" +
             std::to_string(static_cast<int>(b.matter)) + (b.list.empty() ? "" : " published") +
             (b.name == leader_name_ ? " leads;" : ";");
    for (const auto& p : cluster_.status.pending_members) out += " " + p.name + " intended;";
    return out;
  }

  bool converged() const {
    const bool all_dormant =
        std::ranges::all_of(bodies, [](const Body& b) { return b.dormant && b.object; });
    if (cluster_.spec.replicas == 0) return all_dormant && !bodies.empty();
    return count([](const Body& b) { return b.in_etcd && !b.learner && b.object; }) == target() &&
           count([](const Body& b) { return b.object; }) == target() &&
           cluster_.status.pending_members.empty();
  }
  bool any_foreign() const {
    return count([](const Body& b) { return b.in_etcd && !b.object; }) > 0;
  }
  bool any_dead() const {
    return count([](const Body& b) {
             return b.in_etcd && !b.alive() && !b.dormant &&
                    (b.matter != Matter::NoVolume || !b.started);
           }) > 0;
  }

 private:
  template <class Test>
  int count(Test test) const {
    return static_cast<int>(std::ranges::count_if(bodies, test));
  }
  static etcd::MemberId id(const Body& b) { return {std::hash<std::string>{}(b.name) | 1}; }
  Body& body(const std::string& name) {
    const auto found = std::ranges::find(bodies, name, &Body::name);
    if (found == bodies.end()) ADD_FAILURE() << "no member " << name << " in " << text();
    return *found;
  }
  bool can_change() const { return has_quorum(); }

  void carry_out(const NoStep&) {}
  // These worlds have neither certificates, passwords nor members without an owner.
  void carry_out(const AdoptMembers&) { ADD_FAILURE() << text(); }
  void carry_out(const LabelMembers&) { ADD_FAILURE() << text(); }
  void carry_out(const CorrectFounder&) { ADD_FAILURE() << text(); }  // The cluster is founded.
  void carry_out(const KeepVersion&) { ADD_FAILURE() << text(); }     // And in its second Pod.
  void carry_out(const IssueCertificate&) { ADD_FAILURE() << text(); }
  void carry_out(const OwnSecret&) { ADD_FAILURE() << text(); }
  void carry_out(const RecordPassword&) { ADD_FAILURE() << text(); }
  void carry_out(const EnableAuth&) { ADD_FAILURE() << text(); }
  void carry_out(const ChangePassword&) { ADD_FAILURE() << text(); }
  void carry_out(const CreateMember& s) {
    EXPECT_FALSE(s.seed) << text();
    EXPECT_TRUE(std::ranges::none_of(bodies, [&](auto& b) { return b.name == s.name; }))
        << "the name is free";
    bodies.push_back({.name = s.name, .list = "", .created = now});
  }
  void carry_out(const AddLearner& s) {
    EXPECT_TRUE(can_change());
    EXPECT_EQ(learners(), 0) << "K15: never a second learner: " << text();
    EXPECT_LT(count([](const Body& b) {
                return b.in_etcd && !b.learner && b.object && !b.terminating;
              }) + count([](const Body& b) {
                return b.in_etcd && b.learner && b.object && !b.terminating;
              }),
              target())
        << "I3: never more learners than voters are missing: " << text();
    body(s.name).in_etcd = body(s.name).learner = true;
  }
  void carry_out(const Publish& s) {
    EXPECT_EQ(s.initial_cluster, list()) << "the exact list: " << text();
    EXPECT_FALSE(body(s.name).started);
    body(s.name).list = s.initial_cluster;
  }
  void carry_out(const Promote& s) {
    Body& b = body(s.name);
    EXPECT_TRUE(can_change() && b.alive() && b.learner) << text();
    b.learner = false;
    EXPECT_TRUE(has_quorum()) << "I1: a promotion costs no quorum: " << text();
  }
  void carry_out(const MoveLeader& s) {
    EXPECT_TRUE(body(s.name).alive() && !body(s.name).learner) << text();
    leader_name_ = s.name;
  }
  void carry_out(const DeleteMember& s) {
    EXPECT_FALSE(body(s.name).terminating);
    body(s.name).terminating = true;
  }
  void carry_out(const RemoveFromEtcd& s) {
    Body& b = body(s.name);
    EXPECT_TRUE(can_change() && b.in_etcd) << text();
    EXPECT_TRUE(!b.object || b.terminating) << "the EtcdMember is deleted first: " << text();
    EXPECT_TRUE(b.learner || leader() != &b) << "never the leader: " << text();
    b.in_etcd = b.started = false;
    EXPECT_TRUE(has_quorum()) << "I1: a removal costs no quorum: " << text();
    leave();
  }
  void carry_out(const PauseMember& s) {
    EXPECT_EQ(cluster_.spec.replicas, 0) << text();
    EXPECT_EQ(voters(), 1) << "I1: nobody is left without a quorum: " << text();
    EXPECT_FALSE(body(s.name).learner || body(s.name).terminating);
    body(s.name).dormant = true;
  }
  void carry_out(const WakeMember& s) {
    EXPECT_TRUE(body(s.name).dormant);
    body(s.name).dormant = false;
  }
  void carry_out(const ReleaseMember& s) {
    const Body& b = body(s.name);
    EXPECT_TRUE(b.terminating && !b.in_etcd)
        << "I5: nobody's volume goes while etcd counts on it: " << text();
    std::erase_if(bodies, [&](const Body& x) { return x.name == s.name; });
  }
  void leave() {
    std::erase_if(bodies, [](const Body& x) { return !x.object && !x.in_etcd; });
  }

  v1::EtcdCluster cluster_;
  bool many_learners_;
  std::string leader_name_;
};

/// Plans and applies until nothing is left to do. Returns the number of steps, or -1.
int drive(World& world) {
  for (int steps = 0; steps < 60; ++steps) {
    const Plan p = plan(world.observe());
    const bool idle = std::holds_alternative<NoStep>(p.step);
    world.apply(p);
    if (::testing::Test::HasFailure()) return -1;
    if (idle) return steps;
  }
  return -1;
}

/// Every state that a member can have at the start.
void place(World& world, int state, std::size_t index) {
  Body b;
  b.name = std::string(1, static_cast<char>('a' + index));
  b.in_etcd = b.started = true;
  b.list = "once";
  switch (state) {
    case 0: break;
    case 1: b.matter = Matter::Unready; break;
    case 2: b.matter = Matter::NoPod; break;
    case 3: b.matter = Matter::NoVolume; break;
    case 4: b.object = false; break;      // A foreign voter.
    case 5: b.terminating = true; break;  // A user deleted its EtcdMember.
    case 6:
      b.terminating = true;
      b.matter = Matter::Unready;
      break;
    case 7: b.learner = true; break;
    case 8:
      b.learner = true;
      b.matter = Matter::Unready;
      break;
    case 9:
      b.learner = true;
      b.started = false;
      b.list = "";
      break;  // Added, not published.
    case 10:
      b.learner = true;
      b.started = false;
      b.matter = Matter::NoVolume;
      break;  // Never starts.
    case 11:
      b.in_etcd = b.started = false;
      b.list = "";
      break;  // Created, not added.
    case 12:
      b.in_etcd = b.started = false;
      b.list = "";
      b.terminating = true;
      b.voted = true;
      break;  // Removed, kept.
    case 13:
      b.learner = true;
      b.terminating = true;
      break;
    case 14: return world.intend(b.name);  // Nothing of it exists yet.
    case 15:
      b.learner = true;
      b.object = b.started = false;
      b.list = "";
      world.intend(b.name);
      break;  // A learner that we added and whose EtcdMember a user deleted.
    case 16: b.dormant = true; break;  // A user made it dormant, or it was dormant alone.
    default: FAIL();
  }
  b.voted |= b.in_etcd && !b.learner;
  world.bodies.push_back(std::move(b));
}
constexpr int kStates = 17;
constexpr int kSample = 500;

TEST(ClusterPlan, EverySmallWorldStaysSafeAndConverges) {
  int worlds = 0, with_quorum = 0, converged = 0;
  testing::Every pick(kSample);
  do {
    const int replicas = pick(6);
    const bool many_learners = pick(2) == 1;
    World world(replicas, many_learners);
    int least = 0;  // Members differ only in their state, so their order does not matter.
    const int members = 1 + pick(4);
    for (int i = 0; i < members; ++i)
      place(world, least += pick(kStates - least), static_cast<std::size_t>(i));
    if (const auto able = world.able_to_lead(); !able.empty())
      world.lead(able[static_cast<std::size_t>(pick(static_cast<int>(able.size())))]);
    ++worlds;
    const std::string start = world.text();
    if (!world.has_quorum()) {
      const int dormant = world.dormant();
      const int steps = drive(world);
      if (!world.has_quorum() && world.dormant() == 0) {
        ASSERT_LE(steps, dormant) << "nobody but a dormant_member is touched without quorum: "
                                  << start;
        ASSERT_GE(steps, 0) << start;
        continue;
      }
    }
    ++with_quorum;
    ASSERT_GE(drive(world), 0) << "comes to rest from " << start << "\nat " << world.text();
    world.heal();
    ASSERT_GE(drive(world), 0) << "comes to rest, healed, from " << start << "\nat "
                               << world.text();
    world.now = world.now + 700s;  // Past the deadline of members that never start.
    ASSERT_GE(drive(world), 0) << "and after the deadline from " << start << "\nat "
                               << world.text();
    ASSERT_TRUE(world.has_quorum() || world.dormant() > 0) << start;
    if (world.any_foreign() || world.any_dead())
      continue;  // A user must decide; self-healing replaces it later.
    ASSERT_TRUE(world.converged()) << "from " << start << "\nstopped at " << world.text();
    ++converged;
  } while (pick.next());
  // Six targets, two limits of learners, 17 + 153 + 969 + 4845 unordered choices of states: 71,808;
  // and each again for every member that can lead.
  EXPECT_EQ(worlds, testing::kSanitized ? kSample : 83508);
  EXPECT_GT(with_quorum, worlds / 4);
  EXPECT_EQ(converged, testing::kSanitized ? 180 : 21494)
      << "fewer is a loss; the others have a dead or a foreign member";
  std::printf("%d worlds, %d with quorum, %d converged to their target\n", worlds, with_quorum,
              converged);
}

/// I4, before a cluster id exists: at most one seed is made, and only if no member exists.
TEST(ClusterPlan, EveryBeginningMakesOneSeedAtMost) {
  int worlds = 0, seeds = 0;
  testing::Every pick;
  do {
    Observation seen;
    seen.now = kStart;
    seen.cluster.metadata.name = "db";
    seen.cluster.metadata.ns = "prod";
    seen.cluster.metadata.uid = "u-1";
    seen.cluster.spec.version = "3.6.16";
    seen.cluster.spec.replicas = 1 + 2 * pick(2);
    const std::string first = member_name("db", "u-1", 1);
    if (pick(2) == 1) {  // Recorded before.
      seen.cluster.status.pending_members = {{1, first, url_of(first), ""}};
      seen.cluster.status.last_sequence = 1;
    }
    const int objects = pick(3);
    for (int i = 0; i < objects; ++i) {
      Seat seat;
      seat.name = i == 0 ? first : "db-other";
      seat.object = Seat::Object();
      seat.object->uid = "uid-" + seat.name;
      seat.object->seed = pick(2) == 1;
      seat.object->terminating = pick(2) == 1;
      seat.object->made_as = template_of(seen.cluster.spec);
      seat.peer_url = url_of(seat.name);
      seat.object->initial_cluster = seat.name + "=" + seat.peer_url;
      if (pick(2) == 1) seat.pod = Seat::Pod{"n", true};
      seen.seats.push_back(seat);
    }
    const Plan p = plan(seen);
    ++worlds;
    const bool makes_seed =
        std::holds_alternative<CreateMember>(p.step) && std::get<CreateMember>(p.step).seed;
    seeds += makes_seed ? 1 : 0;
    EXPECT_EQ(makes_seed, objects == 0);
    EXPECT_EQ(makes_seed, !std::holds_alternative<NoStep>(p.step)) << "and nothing else is done";
    if (makes_seed) {
      EXPECT_EQ(std::get<CreateMember>(p.step).name, first);
      ASSERT_EQ(p.status.pending_members.size(), 1U) << "it is recorded first";
      EXPECT_EQ(p.status.pending_members[0].name, first);
    }
  } while (pick.next());
  EXPECT_EQ(worlds, 2 * 2 * (1 + 8 + 64));
  EXPECT_EQ(seeds, 4);
}

}  // namespace
}  // namespace etcdop::cluster
