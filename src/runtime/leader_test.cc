// Leader election between several candidates, in virtual time.
#include "runtime/leader.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kube/typed.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;
using api::ObjectKey;
using kube::Call;
using kube::Lease;

const ObjectKey kKey{"ns", kLeaderLease};

/// One candidate's connection to the server, which can be cut.
class Link final : public kube::Api {
 public:
  Link(kube::Api& server, Executor& executor) : server_(server), executor_(executor) {}
  bool cut = false;  ///< Requests and answers get lost.
  bool lose_answers = false;
  Result<Json> call(const Call& call) override {
    requests.push_back(call.verb);
    Within limit(executor_, 10s);
    if (cut) return to_result(executor_.sleep(1h), "call").error();
    auto answer = server_.call(call);
    if (lose_answers || cut) return to_result(executor_.sleep(1h), "call").error();
    return answer;
  }
  Result<Done> watch(const Call& call, const std::function<bool(kube::WatchEvent)>& each) override {
    requests.push_back(call.verb);
    if (cut) return to_result(executor_.sleep(90s), "watch").error();
    return server_.watch(call,
                         [&](kube::WatchEvent event) { return !cut && each(std::move(event)); });
  }
  std::vector<kube::Verb> requests;

 private:
  kube::Api& server_;
  Executor& executor_;
};

/// A process: stands by, leads, and ends when it no longer leads.
struct Candidate {
  std::string name;
  Link link;
  testing::MemoryLog log;
  LeaderElection election;
  std::shared_ptr<Fiber> fiber;
  std::string end;  ///< Why it no longer leads.
  Candidate(kube::Api& server, Executor& executor, const WallClock& wall, Random& random,
            std::string identity)
      : name(std::move(identity)),
        link(server, executor),
        election(link, executor, wall, random, log, {.ns = "ns", .identity = name}) {
    fiber = executor.spawn([this] {
      if (election.acquire()) end = election.lead().message;
    });
  }
};

struct World {
  explicit World(std::uint64_t seed = 1) : time(seed), random(seed) {
    api.serve({.resource = Lease::resource});
    api.grant(leader_permissions());
    api.latency(10ms);
  }
  ~World() {
    for (auto& c : candidates) c->fiber->cancel();
    time.run();
  }
  Candidate& join(const std::string& name) {
    candidates.push_back(std::make_unique<Candidate>(api, time, wall, random, name));
    return *candidates.back();
  }
  void go(Duration d) { time.run_until(time.now() + d); }
  std::string leaders() {
    std::string out;
    for (auto& c : candidates)
      if (c->election.leading()) out += c->name[0];
    return out;
  }
  kube::LeaseSpec lease() { return kube::decoded<Lease>(*api.find(Lease::resource, kKey))->spec; }
  void edit(const std::string& holder) {
    api.change(Lease::resource, kKey,
               [&](json::object& lease) { lease["spec"].as_object()["holderIdentity"] = holder; });
  }

  sim::Scheduler time;
  testing::VirtualWallClock wall{time};
  testing::SeededRandom random;
  testing::FakeApi api{time};
  std::vector<std::unique_ptr<Candidate>> candidates;
};

TEST(LeaderElection, TheFirstOneMakesTheLeaseAndRenewsItEveryTwoSeconds) {
  World w;
  w.join("a");
  w.go(1s);
  EXPECT_EQ(w.leaders(), "a");
  kube::LeaseSpec lease = w.lease();
  EXPECT_EQ(lease.holder_identity, "a");
  EXPECT_EQ(lease.lease_duration_seconds, 15);
  EXPECT_EQ(lease.lease_transitions, 0);
  EXPECT_EQ(lease.acquire_time, "2026-01-01T00:00:00.000000Z");
  w.api.forget_requests();
  w.go(60s);
  EXPECT_EQ(w.leaders(), "a");
  EXPECT_EQ(w.lease().acquire_time, lease.acquire_time);
  EXPECT_GT(w.lease().renew_time, lease.renew_time);
  EXPECT_EQ(w.api.requests(), std::vector<std::string>(30, "patch leases ns/" + kKey.name))
      << "and asks for nothing else";
}

TEST(LeaderElection, AReleasedLeaseIsTakenAtOnceByTheOneThatWatches) {
  World w;
  Candidate& a = w.join("a");
  w.go(1s);
  Candidate& b = w.join("b");
  w.go(60s);
  EXPECT_EQ(w.leaders(), "a");
  a.fiber->cancel();
  w.time.spawn([&] { a.election.release(); });
  w.go(100ms);
  EXPECT_EQ(w.leaders(), "b");
  EXPECT_EQ(w.lease().lease_transitions, 1);
  EXPECT_EQ(b.log.count("info became leader"), 1);
}

TEST(LeaderElection, TheStandbyWatchesAndDoesNotPoll) {
  World w;
  w.join("a");
  w.go(1s);
  Candidate& b = w.join("b");
  w.go(590s);
  EXPECT_EQ(b.link.requests, (std::vector{kube::Verb::Get, kube::Verb::Watch}));
  w.go(20s);
  EXPECT_EQ(b.link.requests.size(), 4U) << "the server ended the watch";
  EXPECT_EQ(w.leaders(), "a");
}

TEST(LeaderElection, ADeadLeaderIsSucceededWhenItsTimeIsOverAndNotBefore) {
  World w;
  Candidate& a = w.join("a");
  w.go(1s);
  w.join("b");
  w.go(60s);
  a.fiber->cancel();  // Killed: releases nothing. Its last renewal is at most 2 s old.
  w.go(13s);
  EXPECT_EQ(w.leaders(), "");
  w.go(3s);
  EXPECT_EQ(w.leaders(), "b");
}

TEST(LeaderElection, TheStandbyCountsFromWhatItSawNotFromTheDateInTheLease) {
  World w;
  w.api.put(Lease::resource, {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}},
                              {"spec",
                               {{"holderIdentity", "z"},
                                {"leaseDurationSeconds", 15},
                                {"renewTime", "1999-01-01T00:00:00.000000Z"}}}});
  w.join("b");
  w.go(14s);
  EXPECT_EQ(w.leaders(), "") << "its clock may be wrong; z may live";
  w.go(2s);
  EXPECT_EQ(w.leaders(), "b");
}

TEST(LeaderElection, ALeaderThatCannotRenewEndsBeforeAnotherBegins) {
  for (const bool answers_only : {false, true}) {
    World w;
    Candidate& a = w.join("a");
    w.go(1s);
    w.join("b");
    w.go(60s);
    (answers_only ? a.link.lose_answers : a.link.cut) = true;
    w.go(10s);
    EXPECT_EQ(w.leaders(), "");
    EXPECT_EQ(a.end,
              "the leader lease could not be renewed in time: write the leader lease: call: "
              "deadline passed");
    w.go(answers_only ? 17s : 7s);
    EXPECT_EQ(w.leaders(), "b");
    EXPECT_EQ(a.log.count("error leader election failed; trying again"), 1);
  }
}

TEST(LeaderElection, AShortOutageCostsNothing) {
  World w;
  Candidate& a = w.join("a");
  w.go(1s);
  w.join("b");
  w.go(60s);
  a.link.cut = true;
  w.go(6s);
  a.link.cut = false;
  w.go(60s);
  EXPECT_EQ(w.leaders(), "a");
}

TEST(LeaderElection, ADeletedLeaseIsMadeAgainByItsHolder) {
  World w;
  w.join("a");
  w.go(1s);
  w.join("b");
  w.go(60s);
  for (int i = 0; i < 3; ++i) {
    w.api.erase(Lease::resource, kKey);
    w.go(61s);
    EXPECT_EQ(w.leaders(), "a");
    EXPECT_EQ(w.lease().holder_identity, "a");
  }
}

TEST(LeaderElection, T15_AnEditThatNamesAnotherHolderEndsLeadership) {
  World w;
  Candidate& a = w.join("a");
  w.go(60s);
  w.edit("z");
  w.go(3s);
  EXPECT_EQ(w.leaders(), "");
  EXPECT_EQ(a.end, "the leader lease is held by z");
}

TEST(LeaderElection, AnyOtherEditIsSurvived) {
  World w;
  w.join("a");
  w.go(60s);
  w.edit("");
  w.go(60s);
  w.api.change(Lease::resource, kKey, [](json::object& lease) { lease.erase("spec"); });
  w.go(60s);
  EXPECT_EQ(w.leaders(), "a");
  EXPECT_EQ(w.lease().holder_identity, "a");
}

TEST(LeaderElection, AnAbsurdDurationDoesNotLockEverybodyOut) {
  World w;
  w.api.put(Lease::resource,
            {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}},
             {"spec", {{"holderIdentity", "z"}, {"leaseDurationSeconds", 2000000000}}}});
  w.join("b");
  w.go(61s);
  EXPECT_EQ(w.leaders(), "b");
}

TEST(LeaderElection, WithoutPermissionToWatchTheStandbyPolls) {
  World w;
  Candidate& a = w.join("a");
  w.go(1s);
  w.api.before([](const Call& call) {
    return call.verb == kube::Verb::Watch ? std::optional(Error{Code::Denied, "no watch"})
                                          : std::nullopt;
  });
  Candidate& b = w.join("b");
  w.go(60s);
  EXPECT_EQ(b.log.count("error=no watch"), 1);
  EXPECT_EQ(w.leaders(), "a");
  a.fiber->cancel();
  w.time.spawn([&] { a.election.release(); });
  w.go(3s);
  EXPECT_EQ(w.leaders(), "b");
}

TEST(LeaderElection, AServerThatIsAwayIsAskedNowAndThenAndComplainedOfOnce) {
  World w;
  bool away = true;
  w.api.before([&](const Call&) {
    return away ? std::optional(Error{Code::Unavailable, "connection refused"}) : std::nullopt;
  });
  Candidate& a = w.join("a");
  w.go(60s);
  EXPECT_EQ(a.log.count("connection refused"), 1);
  EXPECT_LE(a.link.requests.size(), 31U);
  away = false;
  w.go(3s);
  EXPECT_EQ(w.leaders(), "a");
}

// Three candidates, restarted when they end, on links that are cut, lose answers and come back at
// random. The invariants: two candidates never lead at once; and when all links work, one leads.
TEST(LeaderElection, T15_ThereAreNeverTwoWhateverHappensToTheirLinks) {
  int terms = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    World w(seed);
    for (int i = 0; i < 3; ++i) w.join(std::string(1, static_cast<char>('a' + i)));
    for (int step = 0; step < 300; ++step) {
      Candidate& c = *w.candidates[w.random.next() % w.candidates.size()];
      switch (w.random.next() % 8) {
        case 0: c.link.cut = true; break;
        case 1: c.link.lose_answers = true; break;
        case 2: w.api.cut_watches(); break;
        default: c.link.cut = c.link.lose_answers = false; break;
      }
      for (int i = 0; i < 20; ++i) {
        w.go(Duration(w.random.next() % 1'000'000'000));
        ASSERT_LE(w.leaders().size(), 1U) << "seed " << seed << " step " << step;
      }
      for (std::size_t i = 0; i < 3; ++i)
        if (w.candidates[i]->fiber->done()) {
          ++terms;
          w.candidates[i] = std::make_unique<Candidate>(
              w.api, w.time, w.wall, w.random,
              std::string(1, static_cast<char>('a' + i)) + std::to_string(step));
        }
    }
    for (auto& c : w.candidates) c->link.cut = c->link.lose_answers = false;
    w.go(60s);
    EXPECT_EQ(w.leaders().size(), 1U) << "seed " << seed;
  }
  EXPECT_GT(terms, 100) << "leadership changes hands often enough to mean something";
}

TEST(LeaderIdentity, NamesTheHostAndIsNeverTheSame) {
  testing::SeededRandom random(1);
  const std::string one = leader_identity("host", random), two = leader_identity("host", random);
  EXPECT_NE(one, two);
  EXPECT_EQ(one.size(), std::string("host_").size() + 36);
  EXPECT_TRUE(one.starts_with("host_"));
}

}  // namespace
}  // namespace etcdop::runtime
