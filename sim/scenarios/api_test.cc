// Scenarios of API server calls and watches.
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

using kube::Call;
using kube::Verb;
using Answer = std::optional<Result<Json>>;

/// From `kubectl apply` to three members at rest, Events included. A change that needs more writes
/// says why. On real nodes (test/e2e/golden_requests.txt) it depends on the machine's speed, too.
TEST_F(Scenario, ThreeMembersTakeSoManyWrites) {
  settled_cluster(3);
  EXPECT_LE(world.writes(), 70U);
}

TEST_F(Scenario, S02_TheAnswerToTheMakingOfTheSeedIsLost) {
  (void)world.start_operator();
  lose_answer("create etcdmembers");
  world.create_cluster(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(world.net().births().size(), 1U);
}

TEST_F(Scenario, S02_TheAnswerToTheMakingOfTheSeedIsLostAndSoIsTheOperator) {
  (void)world.start_operator();
  const auto die = [&](Life& life, const Call& call) -> Answer {
    if (call.verb != Verb::Create || !(call.resource == v1::EtcdMember::resource)) return {};
    instead = nullptr;
    (void)world.server().perform(call);
    world.kill(life, 1s);
    return Result<Json>(Error{Code::Lost, "connection cut"});
  };
  instead = die;
  world.create_cluster(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(world.net().births().size(), 1U);
}

TEST_F(Scenario, S07_WhoStartsIsToldWhatWasSoAMinuteAgo) {
  settled_cluster(3);
  std::map<std::string, Json> then;
  for (const api::Resource& r : {v1::EtcdCluster::resource, v1::EtcdMember::resource,
                                 kube::Pod::resource, kube::PersistentVolumeClaim::resource,
                                 kube::Service::resource, kube::PodDisruptionBudget::resource}) {
    Call list;
    list.verb = Verb::List;
    list.resource = r;
    then[r.plural] = *world.server().perform(list);
  }
  world.delete_cluster(kKey);
  world.run_for(20s);
  world.create_cluster(kKey, 3);  // Another cluster with the same name.
  rest();
  const auto reborn = members();
  const std::string uid = uid_of(v1::EtcdMember::resource, {"prod", reborn.at(0).name});
  const std::size_t ended = gone(v1::EtcdMember::resource);

  std::map<std::string, int> lists;
  instead = [&](Life&, const Call& call) -> Answer {
    if (call.verb != Verb::List || lists[call.resource.plural]++ > 0) return {};
    const auto old = then.find(call.resource.plural);
    return old == then.end() ? Answer() : Answer(old->second);
  };
  world.kill(world.life(0), std::nullopt);
  world.run_for(1s);
  silence(world.start_operator(), 1min);
  world.run_for(1min);
  EXPECT_GE(lists.size(), 5U);
  EXPECT_EQ(members(), reborn);
  EXPECT_EQ(uid_of(v1::EtcdMember::resource, {"prod", reborn.at(0).name}), uid);
  EXPECT_EQ(gone(v1::EtcdMember::resource), ended);
  world.must_converge(5min);
  EXPECT_EQ(members(), reborn);
}

TEST_F(Scenario, S08_NobodyTellsThatAPodAndAServiceWereDeleted) {
  settled_cluster(3);
  Life& life = world.life(0);
  silence(life, 24h);
  const api::ObjectKey pod = world.members_of(kKey).front(), service{"prod", "db-client"};
  const std::string old = uid_of(kube::Pod::resource, pod);
  world.checker().struck();
  (void)world.server().remove(kube::Pod::resource, pod, /*at_once=*/true);
  (void)world.server().remove(kube::Service::resource, service);
  world.run_for(5s);
  ASSERT_EQ(uid_of(kube::Pod::resource, pod), "");
  world.server().forget_history();
  silence(life, 0s);
  EXPECT_TRUE(world.run_until(
      [&] {
        return !uid_of(kube::Pod::resource, pod).empty() &&
               !uid_of(kube::Service::resource, service).empty();
      },
      30s));
  EXPECT_NE(uid_of(kube::Pod::resource, pod), old);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
}

TEST_F(Scenario, S09_WatchesSayNothingForTenMinutes) {
  settled_cluster(1);
  silence(world.life(0), 10min);
  world.scale(kKey, 3);
  // Each kind is listed again once its watch has been silent for too long. One member votes before
  // the next is added: two rounds.
  EXPECT_TRUE(world.run_until([&] { return voters() == 2; }, 10min)) << world.missing();
  EXPECT_TRUE(world.run_until([&] { return voters() == 3; }, 10min)) << world.missing();
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  world.must_converge(5min);
}

TEST_F(Scenario, S10_EveryStatusWriteMeetsANewerVersionForAMinute) {
  settled_cluster(1);
  const Instant begin = world.time().now();
  instead = [&](Life&, const Call& call) -> Answer {
    if (call.subresource != "status" || world.time().now() > begin + 1min) return {};
    return Result<Json>(Error{Code::Conflict, "the object has been modified"});
  };
  world.scale(kKey, 3);
  world.run_for(1min);
  EXPECT_EQ(voters(), 1U);
  EXPECT_LE(busiest_minute(begin), 12U);
  world.must_converge(5min);
  const auto cluster = read<v1::EtcdCluster>(kKey);
  EXPECT_EQ(cluster->status.last_sequence, 3);
  EXPECT_EQ(cluster->status.observed->replicas, 3);
}

/// How the server fails for a minute: which calls, and whether refused writes happened.
struct Failure {
  const char* name;
  Code code;
  bool reads, writes, happens;
};
class Failing : public Scenario, public ::testing::WithParamInterface<Failure> {};
using ScenarioOfFailures = Failing;

TEST_P(ScenarioOfFailures, S11_TheServerFailsForAMinute) {
  const Failure& how = GetParam();
  settled_cluster(1);
  const Instant begin = world.time().now();
  instead = [&](Life&, const Call& call) -> Answer {
    const bool read = kube::reads(call.verb);
    if (call.resource == kube::Lease::resource || world.time().now() > begin + 1min) return {};
    if (!(read ? how.reads : how.writes)) return {};
    if (!read && how.happens) (void)world.server().perform(call);
    return Result<Json>(Error{how.code, "the server is not well"});
  };
  world.run_for(1s);
  if (how.reads)
    for (const std::string& kind : world.life(0).api().watched())
      world.life(0).api().line(kind).cut(Error{Code::Unavailable, "connection cut"});
  world.scale(kKey, 3);
  world.run_for(1min);
  EXPECT_LE(busiest_minute(begin), 12U);
  world.must_converge(5min);
  EXPECT_EQ(made(v1::EtcdMember::resource), 3U);
  EXPECT_EQ(gone(v1::EtcdMember::resource), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ScenarioOfFailures,
    ::testing::Values(Failure{"ReadsRefused", Code::Unavailable, true, false, false},
                      Failure{"WritesRefused", Code::Unavailable, false, true, false},
                      Failure{"AllRefused", Code::Unavailable, true, true, false},
                      Failure{"WritesLost", Code::Lost, false, true, false},
                      Failure{"WritesDoneAndAnswersLost", Code::Lost, false, true, true},
                      Failure{"WritesTimeOut", Code::TimedOut, false, true, false}),
    [](const auto& p) { return std::string(p.param.name); });

// --- found by random worlds ------------------------------------------------------------------

TEST_F(Scenario, Found_AStatusWriteWasDoneItsAnswerLostAndTheWatchIsSilent) {
  settled_cluster(1);
  world.life(0).api().line("etcdclusters").silent_until(world.time().now() + 20s);
  lose_answer("patch etcdclusters/status");
  const std::size_t tries = tried("patch etcdclusters/status");
  // A change to report, which another kind's watch shows.
  world.delete_object(kube::Pod::resource, world.members_of(kKey).front());
  world.run_for(20s);
  EXPECT_GE(tried("patch etcdclusters/status") - tries, 1U);
  // The bound for one recreated Pod; with the bug, the write was sent 45 times and more.
  EXPECT_LE(tried("patch etcdclusters/status") - tries, 6U);
  world.must_converge(5min);
}

}  // namespace
}  // namespace etcdop::sim
