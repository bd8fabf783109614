// Which Pods the Services select: K12 (clients do not reach learners) and K17 (clients and peers
// reach only Pods of their EtcdCluster), without an endpoint that is dropped on the way there.
#include "operator/cluster/selectors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr SelectorKeys kNone{}, kUid{.uid = true}, kRole{.role = true},
    kBoth{.uid = true, .role = true};

/// A voter with both labels.
Seat voter(const std::string& name) {
  Seat seat;
  seat.name = name;
  seat.object.emplace().uid = "m-" + name;
  seat.object->voter = true;
  seat.listed = Seat::Listed{{1}, false, true};
  seat.pod.emplace().has_uid = true;
  seat.pod->has_role = true;
  return seat;
}

Seat learner(const std::string& name) {
  Seat seat = voter(name);
  seat.object->voter = false;
  seat.listed->learner = true;
  seat.pod->has_role = false;
  return seat;
}

/// Services that a release without these keys has made.
Observation taken_over() {
  Observation seen;
  seen.cluster.metadata.name = "db";
  seen.cluster.metadata.uid = "u-1";
  seen.cluster.status.cluster_id = "c1";
  seen.linearizable = true;
  seen.headless_service = seen.client_service = Child::AsMade;
  seen.headless_lacks = seen.client_lacks = kBoth;
  seen.seats = {voter("db-a"), voter("db-b"), learner("db-c")};
  return seen;
}

Plan selected(const Observation& seen) {
  Plan plan;
  select_members(seen, plan);
  return plan;
}

TEST(ClusterSelectors, K12_K17_AKeyWaitsUntilEachPodHasItsLabel) {
  struct Row {
    void (*edit)(Observation&);
    SelectorKeys headless, client;
    const char* because;
  };
  const Row rows[] = {
      {[](auto&) {}, kUid, kBoth, "all Pods have their labels, and a learner needs no role"},
      {[](auto& o) { o.seats[1].pod->has_uid = false; }, kNone, kRole, "a Pod has no UID yet"},
      {[](auto& o) { o.seats[2].pod->has_uid = false; }, kNone, kRole, "nor has the learner's"},
      {[](auto& o) { o.seats[1].pod->has_role = false; }, kUid, kUid, "a voter has no role yet"},
      {[](auto& o) {
         o.seats[1].pod->has_uid = o.seats[1].pod->has_role = false;
         o.seats[1].object->elsewhere = true;
       },
       kUid, kBoth, "seed 96961: it is kept away from clients, also while it is silent"},
      {[](auto& o) {
         o.seats[1].pod->has_uid = o.seats[1].pod->has_role = false;
         o.seats[1].elsewhere = true;
       },
       kNone, kNone, "of many that answer as another etcd none is kept away"},
      {[](auto& o) {
         o.seats[1].pod->has_role = false;
         o.seats[1].object->voter = false;
       },
       kUid, kUid, "etcd says that it votes"},
      {[](auto& o) {
         o.seats[1].pod->has_role = false;
         o.seats[1].listed.reset();
       },
       kUid, kUid, "its EtcdMember says that it votes"},
      {[](auto& o) { o.linearizable = false; }, kUid, kUid, "without a list it may be a voter"},
      {[](auto& o) { o.seats[1].pod.reset(); }, kUid, kBoth, "its next Pod has the labels"},
      {[](auto& o) {
         o.kept.push_back(voter("db-z"));
         o.kept[0].pod->has_uid = o.kept[0].pod->has_role = false;
       },
       kNone, kNone, "it may come back"},
  };
  for (const Row& row : rows) {
    Observation seen = taken_over();
    row.edit(seen);
    const Plan plan = selected(seen);
    EXPECT_EQ(plan.headless_by, row.headless) << row.because;
    EXPECT_EQ(plan.client_by, row.client) << row.because;
    EXPECT_EQ(plan.make_headless_service, row.headless.uid) << row.because;
    EXPECT_EQ(plan.make_client_service, row.client.uid || row.client.role) << row.because;
  }
}

TEST(ClusterSelectors, K17_AKeyThatASelectorHasStays) {
  Observation seen = taken_over();
  seen.headless_lacks = kRole;
  seen.client_lacks = kNone;
  for (Seat& seat : seen.seats) seat.pod->has_uid = seat.pod->has_role = false;
  Plan plan = selected(seen);
  EXPECT_EQ(plan.headless_by, kUid);
  EXPECT_EQ(plan.client_by, kBoth);
  EXPECT_FALSE(plan.make_headless_service || plan.make_client_service);
  seen.headless_service = seen.client_service = Child::Drifted;
  plan = selected(seen);
  EXPECT_TRUE(plan.make_headless_service && plan.make_client_service);
  EXPECT_EQ(plan.headless_by, kUid);
  EXPECT_EQ(plan.client_by, kBoth);
}

TEST(ClusterSelectors, K12_K17_TheServicesOfANewClusterHaveTheKeysFromTheBeginning) {
  Observation seen;
  seen.headless_lacks = seen.client_lacks = kBoth;
  const Plan plan = selected(seen);
  EXPECT_TRUE(plan.make_headless_service && plan.make_client_service);
  EXPECT_EQ(plan.headless_by, kUid);
  EXPECT_EQ(plan.client_by, kBoth);
  EXPECT_TRUE(has_no_pods(seen));
  seen.seats = {voter("db-a")};
  EXPECT_FALSE(has_no_pods(seen));
  std::swap(seen.seats, seen.kept);
  EXPECT_FALSE(has_no_pods(seen));
  seen.kept.clear();
  seen.cluster.status.cluster_id = "c1";
  EXPECT_FALSE(has_no_pods(seen));
}

kube::Pod pod(const std::string& member, const std::string& uid, bool role) {
  kube::Pod out;
  out.metadata.name = member;
  out.metadata.owner_references = {
      {"etcd-operator.cozystack.io/v1alpha2", "EtcdMember", member, "m-" + member, true, true}};
  if (!uid.empty()) out.metadata.labels[v1::kClusterUidLabel] = uid;
  if (role) out.metadata.labels[v1::kRoleLabel] = v1::kVoter;
  return out;
}

TEST(ClusterSelectors, K12_K17_TheApiServersListDecides) {
  const Observation seen = taken_over();
  using Pods = std::vector<kube::Pod>;
  const Pods all{pod("db-a", "u-1", true), pod("db-b", "u-1", true), pod("db-c", "u-1", false)};
  EXPECT_EQ(shown_by_all(seen, all), kBoth);
  EXPECT_EQ(shown_by_all(seen, Pods{}), kBoth);
  EXPECT_EQ(shown_by_all(seen, Pods{pod("db-a", "", true)}), kRole);
  EXPECT_EQ(shown_by_all(seen, Pods{pod("db-a", "u-0", true)}), kRole) << "an earlier EtcdCluster";
  EXPECT_EQ(shown_by_all(seen, Pods{pod("db-a", "u-1", false)}), kUid);
  EXPECT_EQ(shown_by_all(seen, Pods{pod("db-d", "", false)}), kNone) << "a member not seen yet";
  kube::Pod foreign = pod("db-a", "", false);
  foreign.metadata.owner_references.clear();
  EXPECT_EQ(shown_by_all(seen, Pods{foreign}), kBoth) << "it belongs to no member";
  Observation fenced = seen;
  fenced.seats[0].object->elsewhere = true;
  EXPECT_EQ(shown_by_all(fenced, Pods{pod("db-a", "", false)}), kBoth) << "seed 96961";
  Observation no_list = seen;
  no_list.linearizable = false;
  EXPECT_EQ(shown_by_all(no_list, all), kUid) << "db-c may vote";
}

TEST(ClusterSelectors, K17_TheUidOfAnotherEtcdClusterIsNotOurs) {
  v1::EtcdCluster cluster;
  cluster.metadata.uid = "u-1";
  kube::Service service;
  EXPECT_EQ(lacks(service, cluster), kBoth);
  service.spec.selector[v1::kClusterUidLabel] = "u-0";
  service.spec.selector[v1::kRoleLabel] = v1::kVoter;
  EXPECT_EQ(lacks(service, cluster), kUid);
  service.spec.selector[v1::kClusterUidLabel] = "u-1";
  EXPECT_EQ(lacks(service, cluster), kNone);
}

}  // namespace
}  // namespace etcdop::cluster
