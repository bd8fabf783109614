#include "operator/pods/founder.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/v1alpha2/names.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

api::ObjectMeta owned_by(const char* uid) {
  api::ObjectMeta out;
  api::OwnerReference owner;
  owner.uid = uid;
  owner.controller = true;
  out.owner_references = {owner};
  return out;
}

struct World {
  v1::EtcdMember member;
  std::optional<kube::Pod> pod;
  std::optional<kube::PersistentVolumeClaim> volume;
  kube::ContainerStatus& etcd() {
    pod->spec.node_name = "n";
    pod->status.phase = "Running";
    pod->status.container_statuses.resize(1);
    pod->status.container_statuses[0].name = v1::kEtcdContainer;
    return pod->status.container_statuses[0];
  }
};

World world() {
  World out;
  out.member.metadata.uid = "m-1";
  out.member.spec.bootstrap = true;
  out.volume.emplace().metadata = owned_by("m-1");
  out.volume->status.phase = "Pending";
  out.pod.emplace().metadata = owned_by("m-1");
  out.pod->metadata.uid = "p-1";
  out.pod->status.phase = "Pending";
  return out;
}

TEST(Founder, K4_WhatProvesThatNoEtcdEverRan) {
  struct Row {
    std::function<void(World&)> edit;
    bool proven;
    const char* because;
  };
  const auto memory = [](World& w) { w.member.spec.storage.medium = v1::Medium::Memory; };
  const Row rows[] = {
      {[](auto&) {}, true, "its volume was never bound"},
      {[](auto& w) { w.member.status.pvc_name = "data"; }, true, "whatever is recorded"},
      {[](auto& w) { w.volume->status.phase = "Bound"; }, false, "a Pod may have had it"},
      {[](auto& w) { w.volume->status.phase = "Lost"; }, false, "it was bound before"},
      {[](auto& w) { w.volume->spec.volume_name = "pv-1"; }, false, "it is being bound"},
      {[](auto& w) { w.volume.reset(); }, true, "no volume was recorded, so no Pod was made"},
      {[](auto& w) {
         w.volume.reset();
         w.member.status.pvc_name = "data";
       },
       false, "what was on it is unknown"},
      {[](auto& w) {
         w.volume->metadata = owned_by("m-0");
         w.member.status.pvc_name = "data";
       },
       false, "this one is another's"},
      {[](auto& w) { w.member.status.member_id = "1"; }, false, "it answered"},
      {[](auto& w) { w.member.spec.bootstrap = false; }, false, "it founds nothing"},
      {[&](auto& w) { memory(w); }, true, "in memory: not admitted yet"},
      {[&](auto& w) {
         memory(w);
         w.member.status.pod_uid = "p-1";
       },
       true, "admitted, without a node"},
      {[&](auto& w) {
         memory(w);
         w.member.status.pod_uid = "p-1";
         w.pod->spec.node_name = "n";
       },
       false, "its kubelet may have started it"},
      {[&](auto& w) {
         memory(w);
         w.pod->spec.node_name = "n";
       },
       false, "whatever is recorded"},
      {[&](auto& w) {
         memory(w);
         w.member.status.pod_uid = "p-0";
       },
       false, "another Pod was admitted"},
      {[&](auto& w) {
         memory(w);
         w.pod.reset();
       },
       true, "no Pod was admitted"},
      {[&](auto& w) {
         memory(w);
         w.pod.reset();
         w.member.status.pod_uid = "p-1";
       },
       false, "the Pod may have run before it was gone"},
  };
  for (const Row& row : rows) {
    World w = world();
    row.edit(w);
    EXPECT_EQ(never_ran(w.member, w.pod ? &*w.pod : nullptr, w.volume ? &*w.volume : nullptr),
              row.proven)
        << row.because;
  }
}

TEST(Founder, K4_WhenItsEtcdDoesNotRun) {
  struct Row {
    std::function<void(World&)> edit;
    bool idle;
    const char* because;
  };
  const Row rows[] = {
      {[](auto&) {}, true, "it has no node"},
      {[](auto& w) { w.pod->spec.node_name = "n"; }, true, "its kubelet has not reported"},
      {[](auto& w) {
         w.pod->spec.node_name = "n";
         w.pod->status.phase = "Failed";
       },
       true, "its kubelet refused it"},
      {[](auto& w) { w.etcd().state.waiting.emplace().reason = "ImagePullBackOff"; }, true, ""},
      {[](auto& w) { w.etcd().state.terminated.emplace(); }, true, "it has just ended"},
      {[](auto& w) { w.etcd().state.running.emplace(); }, false, "it runs"},
      {[](auto& w) { (void)w.etcd(); }, false, "an unknown state may be that it runs"},
      {[](auto& w) {
         w.pod->spec.node_name = "n";
         w.pod->status.phase = "Unknown";
       },
       false, "its node is silent"},
  };
  for (const Row& row : rows) {
    World w = world();
    row.edit(w);
    EXPECT_EQ(is_idle(*w.pod), row.idle) << row.because;
  }
}

}  // namespace
}  // namespace etcdop
