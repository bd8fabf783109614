#include "operator/shared/member_endpoint.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(MemberEndpoint, AMembersHostIsItsNameInTheHeadlessService) {
  EXPECT_EQ(member_host({"prod", "db"}, "db-x1"), "db-x1.db.prod.svc");
}

TEST(MemberEndpoint, ItIsWhereTheMembersOwnPodRunsAndWhoMustAnswerThere) {
  api::v1alpha2::EtcdCluster cluster;
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  cluster.status.cluster_id = "00000000000000c1";
  api::v1alpha2::EtcdMember member;
  member.metadata.name = "db-x1";
  member.metadata.uid = "m-1";
  kube::Pod pod;
  pod.metadata.owner_references.emplace_back().uid = "m-1";
  pod.status.phase = "Running";
  pod.status.pod_ip = "10.0.0.1";

  const auto at = endpoint_of(cluster, member, pod);
  ASSERT_TRUE(at);
  EXPECT_EQ(at->address, "10.0.0.1");
  EXPECT_EQ(at->server_name, "db-x1.db.prod.svc");
  EXPECT_EQ(at->cluster, etcd::ClusterId{0xc1});
  EXPECT_EQ(at->member, std::nullopt) << "nobody has told yet";
  member.status.member_id = "0000000000000007";
  EXPECT_EQ(endpoint_of(cluster, member, pod)->member, etcd::MemberId{7});

  kube::Pod other = pod;
  other.metadata.owner_references.front().uid = "m-0";
  EXPECT_FALSE(endpoint_of(cluster, member, other)) << "of the member before, of the same name";
  other = pod;
  other.status.phase = "Pending";
  EXPECT_FALSE(endpoint_of(cluster, member, other));
  other = pod;
  other.status.pod_ip.clear();
  EXPECT_FALSE(endpoint_of(cluster, member, other));
}

}  // namespace
}  // namespace etcdop
