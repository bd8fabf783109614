#include "kube/core_types.h"

#include <gtest/gtest.h>

namespace etcdop::kube {
namespace {

template <class T>
T read(const char* text) {
  T out;
  auto ok = api::decode(json::parse(text), out, T::resource.kind);
  EXPECT_TRUE(ok) << (ok ? "" : ok.error().message);
  return out;
}

TEST(CoreTypes, APodTellsWhyItsContainerDoesNotRun) {
  const Pod pod = read<Pod>(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "db-0", "namespace": "prod", "uid": "u", "resourceVersion": "7"},
    "spec": {"nodeName": "n1", "containers": [{"name": "etcd", "image": "etcd:3.6.16"}]},
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
      "conditions": [{"type": "PodScheduled", "status": "True", "lastProbeTime": null},
                     {"type": "Ready", "status": "False", "reason": "ContainersNotReady"}],
      "containerStatuses": [{"name": "etcd", "ready": false, "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "m",
                                     "containerID": "c"}}}]}})");
  EXPECT_EQ(pod.metadata.key(), (api::ObjectKey{"prod", "db-0"}));
  EXPECT_EQ(pod.spec.node_name, "n1");
  EXPECT_EQ(pod.status.pod_ip, "10.0.0.1");
  EXPECT_FALSE(pod.ready());
  EXPECT_EQ(pod.condition("Ready")->reason, "ContainersNotReady");
  const ContainerStatus* const etcd = pod.container("etcd");
  ASSERT_TRUE(etcd && etcd->state.waiting && etcd->last_state.terminated);
  EXPECT_EQ(etcd->restart_count, 3);
  EXPECT_EQ(etcd->state.waiting->reason, "CrashLoopBackOff");
  EXPECT_EQ(etcd->last_state.terminated->exit_code, 1);
  EXPECT_FALSE(etcd->state.terminated);
}

TEST(CoreTypes, APodThatWasJustMadeHasNoStatusYet) {
  const Pod pod = read<Pod>(R"({"metadata": {"name": "a"}, "spec": {}, "status": {}})");
  EXPECT_FALSE(pod.ready());
  EXPECT_EQ(pod.condition("Ready"), nullptr);
  EXPECT_EQ(pod.container("etcd"), nullptr);
}

TEST(CoreTypes, AJobHasEndedOnceAConditionOfItIsTrue) {
  const Job job = read<Job>(R"({"metadata": {"name": "a"}, "spec": {"backoffLimit": 3},
    "status": {"failed": 2, "conditions": [
      {"type": "Complete", "status": "False"},
      {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long",
       "lastTransitionTime": "2026-11-21T03:56:18Z"}]}})");
  EXPECT_EQ(job.status.is("Complete"), nullptr);
  EXPECT_EQ(job.status.is("Suspended"), nullptr);
  ASSERT_NE(job.status.is("Failed"), nullptr);
  EXPECT_EQ(job.status.is("Failed")->reason, "DeadlineExceeded");
  EXPECT_EQ(job.status.is("Failed")->last_transition_time, "2026-11-21T03:56:18Z");
}

TEST(CoreTypes, AnEmptyStorageClassIsNotAnAbsentOne) {
  EXPECT_EQ(read<PersistentVolumeClaim>(R"({"metadata": {}, "spec": {"storageClassName": ""}})")
                .spec.storage_class_name,
            "");
  const auto claim =
      read<PersistentVolumeClaim>(R"({"metadata": {}, "status": {"phase": "Bound"}})");
  EXPECT_EQ(claim.spec.storage_class_name, std::nullopt);
  EXPECT_EQ(claim.status.phase, "Bound");
}

TEST(CoreTypes, AServicesTargetPortIsANumberOrAName) {
  const auto service = read<Service>(R"({"metadata": {}, "spec": {"clusterIP": "None",
    "selector": {"app": "etcd"}, "publishNotReadyAddresses": true,
    "ports": [{"name": "peer", "port": 2380, "targetPort": 2380, "protocol": "TCP"},
              {"name": "client", "port": 2379, "targetPort": "client"}]}})");
  EXPECT_EQ(service.spec.cluster_ip, "None");
  EXPECT_TRUE(service.spec.publish_not_ready_addresses);
  ASSERT_EQ(service.spec.ports.size(), 2U);
  EXPECT_EQ(service.spec.ports[0].target_port, 2380);
  EXPECT_EQ(service.spec.ports[1].target_port, "client");
  EXPECT_EQ(service.spec.ports[1].protocol, "TCP");
}

TEST(CoreTypes, ALeaseComesBackAsItWasRead) {
  const char* const text = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",)"
                           R"("metadata":{"name":"l","namespace":"n","resourceVersion":"3"},)"
                           R"("spec":{"holderIdentity":"a","leaseDurationSeconds":15,)"
                           R"("acquireTime":"2026-11-21T03:56:18.000000Z",)"
                           R"("renewTime":"2026-11-21T03:56:18.500000Z","leaseTransitions":4}})";
  EXPECT_EQ(api::encode(read<Lease>(text)), json::parse(text));
}

}  // namespace
}  // namespace etcdop::kube
