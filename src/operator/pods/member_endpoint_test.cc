#include "operator/pods/member_endpoint.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdMember member_of_db() {
  v1::EtcdMember member;
  member.metadata.name = "db-0";
  member.metadata.ns = "prod";
  member.spec.cluster_name = "db";
  return member;
}

TEST(MemberEndpoint, AMembersHostIsItsNameInTheHeadlessService) {
  const v1::EtcdMember member = member_of_db();
  EXPECT_EQ(service_of(member), "db");
  EXPECT_EQ(member_host(member), "db-0.db.prod.svc");
  EXPECT_EQ(peer_url_of(member), "http://db-0.db.prod.svc:2380");
  EXPECT_EQ(data_dir_of(member), "/var/lib/etcd");
}

TEST(MemberEndpoint, AnAdoptedMemberKeepsItsServiceAndItsFolder) {
  v1::EtcdMember member = member_of_db();
  member.metadata.annotations[v1::kHeadlessServiceAnnotation] = "db-headless";
  member.metadata.annotations[v1::kDataDirSubpathAnnotation] = "default.etcd";
  EXPECT_EQ(service_of(member), "db-headless");
  EXPECT_EQ(member_host(member), "db-0.db-headless.prod.svc");
  EXPECT_EQ(peer_url_of(member), "http://db-0.db-headless.prod.svc:2380");
  EXPECT_EQ(data_dir_of(member), "/var/lib/etcd/default.etcd");
}

TEST(MemberEndpoint, AnAnnotationThatCannotBeMeantSaysNothing) {
  v1::EtcdMember member = member_of_db();
  for (const char* bad : {"", "Db", "-db", "db-", "a.b", "a b", "a/b"}) {
    member.metadata.annotations[v1::kHeadlessServiceAnnotation] = bad;
    EXPECT_EQ(service_of(member), "db") << bad;
  }
  member.metadata.annotations[v1::kHeadlessServiceAnnotation] = std::string(64, 'a');
  EXPECT_EQ(service_of(member), "db");
  member.metadata.annotations[v1::kHeadlessServiceAnnotation] = std::string(63, 'a');
  EXPECT_EQ(service_of(member), std::string(63, 'a'));
  for (const char* good : {"a", "z", "0", "9", "az-09"}) {
    member.metadata.annotations[v1::kHeadlessServiceAnnotation] = good;
    EXPECT_EQ(service_of(member), good);
  }
  for (const char* bad : {"", "..", "a/b", "/etc", ".etcd", "-x", "_x", "a..b", "a b", "a\nb"}) {
    member.metadata.annotations[v1::kDataDirSubpathAnnotation] = bad;
    EXPECT_EQ(data_dir_of(member), "/var/lib/etcd") << bad;
  }
  for (const char* good : {"a", "0", "9", "z", "A", "Z", "default.etcd", "A_b-c.d", "a."}) {
    member.metadata.annotations[v1::kDataDirSubpathAnnotation] = good;
    EXPECT_EQ(data_dir_of(member), std::string("/var/lib/etcd/") + good);
  }
}

TEST(MemberEndpoint, ItIsWhereTheMembersOwnPodRunsAndWhoMustAnswerThere) {
  api::v1alpha2::EtcdCluster cluster;
  cluster.metadata.name = "db";
  cluster.metadata.ns = "prod";
  cluster.status.cluster_id = "00000000000000c1";
  api::v1alpha2::EtcdMember member;
  member.metadata.name = "db-x1";
  member.metadata.ns = "prod";
  member.metadata.uid = "m-1";
  member.spec.cluster_name = "db";
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
