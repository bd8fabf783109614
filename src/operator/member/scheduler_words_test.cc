#include "operator/member/scheduler_words.h"

#include <gtest/gtest.h>

namespace etcdop::member {
namespace {

TEST(SchedulerWords, K13_HaveNoNumbersOfNodesAndNoValuesOfTaints) {
  const std::string reasons =
      "Insufficient cpu, node(s) had untolerated taint {ToBeDeletedByClusterAutoscaler}";
  EXPECT_EQ(reasons_of_scheduler(
                "0/5 nodes are available: 1 node(s) had untolerated taint "
                "{ToBeDeletedByClusterAutoscaler: 1795233378}, 4 Insufficient cpu. preemption: 0/5 "
                "nodes are available: 5 Preemption is not helpful for scheduling."),
            reasons);
  EXPECT_EQ(reasons_of_scheduler("0/12 nodes are available: 3 Insufficient cpu, 9 node(s) had "
                                 "untolerated taint {ToBeDeletedByClusterAutoscaler: 1795233401}."),
            reasons);
}

TEST(SchedulerWords, OfAnotherFormStay) {
  for (const char* words :
       {"", "no claim", "persistentvolumeclaim \"data-db-a\" not found",
        "running PreBind plugin: 3 nodes are available: not", "0/1 nodes are available: "})
    EXPECT_EQ(reasons_of_scheduler(words), words);
  EXPECT_EQ(reasons_of_scheduler("0/3 nodes are available: pod has unbound immediate "
                                 "PersistentVolumeClaims."),
            "pod has unbound immediate PersistentVolumeClaims");
  EXPECT_EQ(reasons_of_scheduler("0/2 nodes are available: 2 node(s) had taint {a}, {b: , x}."),
            "node(s) had taint {a}, x}, {b:");
}

}  // namespace
}  // namespace etcdop::member
