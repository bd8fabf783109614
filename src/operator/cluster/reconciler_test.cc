// What a pass does when etcd refuses: whom it asks next, and whom it tells. Three members of etcd
// as a script, the API server as a fake.
#include "operator/cluster/reconciler.h"

#include <gtest/gtest.h>

#include <utility>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

const api::ObjectKey kKey{"prod", "db"};
constexpr etcd::ClusterId kCluster{0xc1};

/// Three voters, a, b and c; b leads. Who refuses says so as etcd does.
struct Etcd final : etcd::Clients {
  struct Member final : etcd::Client {
    Member(Etcd& all, const etcd::Endpoint& at)
        : all_(all), address_(at.address), pinned_(at.cluster.has_value()) {}
    bool foreign() const { return all_.foreign.find(address_.back()) != std::string::npos; }
    etcd::ClusterId cluster() const { return foreign() ? etcd::ClusterId{0xbad} : kCluster; }
    etcd::MemberId id() const { return {static_cast<std::uint64_t>(address_.back() - '0')}; }
    Result<etcd::Status> status() override {
      if (foreign() && pinned_) return Error{Code::Corrupt, "another cluster"};
      etcd::Status out;
      out.header = {cluster(), id()};
      out.version = "3.6.16";
      out.leader = {2};
      return out;
    }
    Result<etcd::MemberList> member_list(bool) override {
      if (foreign() && pinned_) return Error{Code::Corrupt, "another cluster"};
      return etcd::MemberList{{cluster(), id()}, foreign() ? all_.theirs : all_.members};
    }
    Result<etcd::MemberId> add_learner(const std::string& peer_url) override {
      all_.asked += address_.back();
      if (all_.refusing.find(address_.back()) != std::string::npos)
        return Error{Code::Unavailable, "etcdserver: unhealthy cluster"};
      if (!all_.forgetful) all_.members.push_back({{9}, "", {peer_url}, {}, true});
      return etcd::MemberId{9};
    }
    Result<Done> promote(etcd::MemberId) override { return Done{}; }
    Result<Done> remove(etcd::MemberId) override {
      all_.asked += address_.back();
      return Error{Code::Unavailable, "etcdserver: unhealthy cluster"};
    }
    Result<Done> move_leader(etcd::MemberId) override { return Done{}; }

   private:
    Etcd& all_;
    std::string address_;
    bool pinned_;
  };
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint& to) override {
    return std::make_shared<Member>(*this, to);
  }
  std::vector<etcd::Member> members, theirs;  // As ours list them, and as foreign ones do.
  std::string refusing, foreign, asked;       // Last digits of addresses.
  bool forgetful = false;                     // Accepts, and does nothing.
};

class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() {
    for (const api::Resource& kind : {v1::EtcdCluster::resource, v1::EtcdMember::resource})
      api.serve({.resource = kind, .status = true, .generation = true});
    api.serve({.resource = kube::Service::resource});
    stores.clusters.saw(stored<v1::EtcdCluster>(formed()));
    for (const char* name : {"db-a", "db-b", "db-c"}) put_voter(name);
    put_joiner("db-d");
  }

  template <class T>
  T stored(Json manifest) {
    T out;
    EXPECT_TRUE(api::decode(api.put(T::resource, std::move(manifest)), out, "it"));
    return out;
  }
  static json::object meta(const std::string& name) {
    return {{"name", name}, {"namespace", kKey.ns}, {"labels", {{v1::kClusterLabel, kKey.name}}}};
  }
  /// Three voters are there, four are wanted.
  static Json formed() {
    const Json storage{{"size", "1Gi"}};
    const Json spec{{"replicas", 4}, {"version", "3.6.16"}, {"storage", storage}};
    return {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}},
            {"spec", spec},
            {"status",
             {{"clusterID", "00000000000000c1"},
              {"clusterToken", "prod-db"},
              {"lastSequence", 4},
              {"observed", spec}}}};
  }
  static Json owned(json::object meta, const std::string& uid) {
    meta["ownerReferences"] = json::array{json::object{
        {"apiVersion", "v1"}, {"kind", "K"}, {"name", "n"}, {"uid", uid}, {"controller", true}}};
    return meta;
  }
  v1::EtcdMember put_member(const std::string& name, const std::string& initial_cluster,
                            Json status) {
    const std::string uid = stores.clusters.get(kKey)->metadata.uid;
    auto member = stored<v1::EtcdMember>({{"metadata", owned(meta(name), uid)},
                                          {"spec",
                                           {{"clusterName", kKey.name},
                                            {"version", "3.6.16"},
                                            {"storage", {{"size", "1Gi"}}},
                                            {"bootstrap", false},
                                            {"initialCluster", initial_cluster},
                                            {"clusterToken", "prod-db"}}},
                                          {"status", std::move(status)}});
    stores.members.saw(member);
    return member;
  }
  void put_voter(const std::string& name) {
    const auto number = static_cast<std::uint64_t>(name.back() - 'a' + 1);
    const auto member = put_member(
        name, "x", {{"memberID", etcd::to_hex(number)}, {"isVoter", true}, {"version", "3.6.16"}});
    etcd.members.push_back({{number}, name, {peer_url(kKey, name)}, {}, false});
    kube::Pod pod;
    pod.metadata.name = name;
    pod.metadata.ns = kKey.ns;
    pod.metadata.labels[v1::kClusterLabel] = kKey.name;
    pod.metadata.owner_references.emplace_back().uid = member.metadata.uid;
    pod.status.phase = "Running";
    pod.status.pod_ip = "10.0.0." + std::to_string(number);
    stores.pods.saw(std::move(pod));
  }
  /// As if the API server had it so all along.
  v1::EtcdCluster stored_again(v1::EtcdCluster cluster) {
    api.change(v1::EtcdCluster::resource, kKey, [&](json::object& object) {
      object["spec"] = api::encode(cluster.spec);
      object["status"] = api::encode(cluster.status);
    });
    EXPECT_TRUE(api::decode(*api.find(v1::EtcdCluster::resource, kKey), cluster, "it"));
    return cluster;
  }
  void put_joiner(const std::string& name) { (void)put_member(name, "", json::object{}); }

  void pass() {
    world.spawn([&] {
      auto done = reconciler.reconcile(kKey);
      EXPECT_TRUE(done) << done.error().message;
      if (done) again = done->after.value_or(Duration::max());
    });
    world.run();
  }
  std::string progress() {
    const auto cluster = stores.clusters.get(kKey);
    const auto* c = runtime::find_condition(cluster->status.conditions, v1::kProgressing);
    return c ? c->message : "";
  }

  Duration again{};  // As the last pass asked for.
  sim::Scheduler world{1};
  FakeApi api{world};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  Etcd etcd;
  Reconciler reconciler{{world, api, stores, etcd, clock, log}};
};

TEST_F(ReconcilerTest, AsksTheLeaderForAChange) {
  pass();
  EXPECT_EQ(etcd.asked, "2");
}

/// etcd's issue 14523: the leader took one that had restarted for inactive, and no member was added
/// for as long as it led.
TEST_F(ReconcilerTest, AsksTheNextMemberWhereOneRefusesForNow) {
  etcd.refusing = "21";
  pass();
  EXPECT_EQ(etcd.asked, "213");
  EXPECT_EQ(etcd.members.size(), 4U);
  EXPECT_EQ(log.count("refused"), 0);
}

TEST_F(ReconcilerTest, SaysWhatIsRefusedForLong) {
  etcd.refusing = "123";
  pass();
  pass();
  EXPECT_EQ(log.count("refused for now"), 1) << "once, not with each try";
  EXPECT_EQ(progress(), "3 of 4 members vote") << "for some seconds that is to be expected";
  world.run_until(world.now() + 15s);
  pass();
  pass();
  EXPECT_TRUE(progress().ends_with("unhealthy cluster")) << progress();
  etcd.refusing = "";
  pass();
  pass();
  EXPECT_EQ(progress(), "3 of 4 members vote");
}

TEST_F(ReconcilerTest, WhatHasNoEffectIsNotDoneAgainAtOnce) {
  etcd.forgetful = true;
  pass();
  EXPECT_EQ(again, 0s);
  pass();
  EXPECT_EQ(etcd.asked, "22");
  EXPECT_GE(again, 300ms);
}

TEST_F(ReconcilerTest, AMemberThatIsGoneWithoutAWordIsForgotten) {
  v1::EtcdCluster cluster = *stores.clusters.get(kKey);
  cluster.spec.replicas = cluster.status.observed->replicas = 3;
  stores.clusters.saw(stored_again(cluster));
  api.erase(v1::EtcdMember::resource, {kKey.ns, "db-d"});
  pass();
  EXPECT_EQ(api.requests("delete etcdmembers prod/db-d"), 1);
  EXPECT_EQ(stores.members.get({kKey.ns, "db-d"}), nullptr);
}

TEST_F(ReconcilerTest, AsksNobodyToRemoveItself) {
  etcd.members.push_back({{4}, "db-d", {peer_url(kKey, "db-d")}, {}, false});
  v1::EtcdMember leaving = *stores.members.get({kKey.ns, "db-c"});
  leaving.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  leaving.metadata.resource_version = "x";
  stores.members.saw(leaving);
  v1::EtcdCluster cluster = *stores.clusters.get(kKey);
  cluster.spec.replicas = cluster.status.observed->replicas = 3;
  stores.clusters.saw(stored_again(cluster));
  pass();
  EXPECT_EQ(etcd.asked, "21") << "the leader, then the others that stay";
}

/// ST4: somebody filled a member's volume with another cluster's data.
TEST_F(ReconcilerTest, AMemberThatLivesInAnotherClusterStopsEverything) {
  etcd.foreign = "3";
  etcd.theirs = {{{3}, "db-c", {peer_url(kKey, "db-c")}, {}, false}};
  pass();
  EXPECT_EQ(etcd.asked, "");
  const auto cluster = stores.clusters.get(kKey);
  EXPECT_EQ(runtime::find_condition(cluster->status.conditions, v1::kDegraded)->reason,
            v1::kSplitBrain);
}

TEST_F(ReconcilerTest, AStrangerAtAnAddressThatWasGivenAwayStopsNothing) {
  etcd.foreign = "3";
  etcd.theirs = {{{3}, "web-x", {"http://web-x.web.other.svc:2380"}, {}, false}};
  pass();
  EXPECT_EQ(etcd.asked, "2");
}

}  // namespace
}  // namespace etcdop::cluster
