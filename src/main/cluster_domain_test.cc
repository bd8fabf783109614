#include "main/cluster_domain.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(ClusterDomain, IsWhatFollowsSvcInTheSearchList) {
  EXPECT_EQ(cluster_domain_of("nameserver 10.96.0.10\n"
                              "search ns.svc.corp.example svc.corp.example corp.example\n"),
            "corp.example");
  EXPECT_EQ(cluster_domain_of("search svc.a.b # svc.c.d\n"), "a.b");
  EXPECT_EQ(cluster_domain_of("# search svc.a.b\noptions svc.c.d\n"), "cluster.local");
  EXPECT_EQ(cluster_domain_of("search svc. example.com\n"), "cluster.local");
  EXPECT_EQ(cluster_domain_of(""), "cluster.local");
}

}  // namespace
}  // namespace etcdop
