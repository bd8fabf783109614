#include "operator/pods/etcd_pod.h"

#include <gtest/gtest.h>

#include <utility>

#include "api/v1alpha2/names.h"

namespace etcdop {
namespace {

kube::Container container(const char* name, std::vector<std::string> command) {
  kube::Container out;
  out.name = name;
  out.command = std::move(command);
  return out;
}

TEST(EtcdPod, TellsByTheEtcdContainersCommandAlone) {
  kube::Pod pod;
  EXPECT_EQ(initial_cluster_of(pod), "");
  EXPECT_FALSE(takes_many_learners(pod));
  pod.spec.containers = {container("mesh", {"--initial-cluster=wrong", "--max-learners=8"})};
  EXPECT_EQ(initial_cluster_of(pod), "");
  EXPECT_FALSE(takes_many_learners(pod));
  pod.spec.containers.push_back(
      container("etcd", {"etcd", "--initial-cluster-token=t", "--initial-cluster=a=b,c=d"}));
  EXPECT_EQ(initial_cluster_of(pod), "a=b,c=d");
  EXPECT_FALSE(takes_many_learners(pod));
  pod.spec.containers.back().command.emplace_back("--max-learners=8");
  EXPECT_TRUE(takes_many_learners(pod));
}

TEST(EtcdPod, K6_ThatADeletedOneEndsIsNoFailure) {
  kube::Pod pod;
  pod.status.phase = "Running";
  EXPECT_FALSE(ended_by_itself(pod));
  for (const char* phase : {"Failed", "Succeeded"}) {
    pod.status.phase = phase;
    pod.metadata.deletion_timestamp.reset();
    EXPECT_TRUE(ended_by_itself(pod)) << phase;
    pod.metadata.deletion_timestamp = "2026-05-01T00:00:00Z";
    EXPECT_FALSE(ended_by_itself(pod)) << phase;
  }
  pod.status.reason = "Evicted";
  EXPECT_TRUE(ended_by_itself(pod)) << "the kubelet's reason stays";
}

TEST(EtcdPod, K15_ReadsTheNumbersOfFlags) {
  kube::Pod pod;
  EXPECT_EQ(number_in(pod, kSnapshotCountFlag), 0);
  pod.spec.containers = {container("mesh", {"--snapshot-count=1"}),
                         container("etcd", {"etcd", "--snapshot-count=70000"})};
  EXPECT_EQ(number_in(pod, kSnapshotCountFlag), 70'000);
  EXPECT_EQ(number_in(pod, kCatchUpFlag), 0);
  for (const char* odd : {"", "x", "7x", "-7", "99999999999999999999"}) {
    pod.spec.containers[1].command = {"etcd", std::string("--snapshot-count=") + odd};
    EXPECT_EQ(number_in(pod, kSnapshotCountFlag), 0) << odd;
  }
}

TEST(EtcdPod, K16_CannotRunWhileTheKubeletWaits) {
  kube::Pod pod;
  EXPECT_FALSE(cannot_run(pod));
  kube::ContainerStatus& etcd = pod.status.container_statuses.emplace_back();
  etcd.name = "etcd";
  EXPECT_FALSE(cannot_run(pod)) << "it runs, or its state is unknown";
  for (const char* reason :
       {"CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "InvalidImageName",
        "CreateContainerError", "CreateContainerConfigError"}) {
    etcd.state.waiting = {reason, ""};
    EXPECT_TRUE(cannot_run(pod)) << reason;
  }
  etcd.state.waiting = {"ContainerCreating", ""};
  EXPECT_FALSE(cannot_run(pod));
  etcd.name = "mesh";
  etcd.state.waiting = {"CrashLoopBackOff", ""};
  EXPECT_FALSE(cannot_run(pod)) << "a sidecar";
}

TEST(EtcdPod, HasToRestoreUntilThatHasEndedWell) {
  kube::Pod pod;
  pod.spec.init_containers = {container("warm", {})};
  EXPECT_FALSE(has_to_restore(pod));
  pod.spec.init_containers.push_back(container("restore", {}));
  EXPECT_TRUE(has_to_restore(pod)) << "nothing is known of it yet";
  kube::ContainerStatus& restore = pod.status.init_container_statuses.emplace_back();
  restore.name = "restore";
  EXPECT_TRUE(has_to_restore(pod)) << "it runs";
  restore.state.terminated.emplace().exit_code = 1;
  EXPECT_TRUE(has_to_restore(pod));
  restore.state.terminated->exit_code = 0;
  EXPECT_FALSE(has_to_restore(pod));
  restore.last_state = std::exchange(restore.state, {});
  EXPECT_TRUE(has_to_restore(pod)) << "its node was started, and it runs once more";
}

TEST(EtcdPod, WhatItJoinsWithMayBeAnAnnotation) {
  kube::Pod pod;
  pod.spec.containers = {container("etcd", {"etcd"})};
  EXPECT_FALSE(may_join(pod));
  pod.metadata.annotations[api::v1alpha2::kInitialClusterAnnotation] = "a=b";
  EXPECT_TRUE(may_join(pod));
  EXPECT_EQ(initial_cluster_of(pod), "a=b");
  EXPECT_FALSE(founds_a_cluster(pod));
}

}  // namespace
}  // namespace etcdop
