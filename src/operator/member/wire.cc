#include "operator/member/wire.h"

namespace etcdop::member {

using enum kube::Verb;
namespace v1 = api::v1alpha2;

std::vector<kube::Permission> permissions() {
  return {
      {v1::EtcdCluster::resource, "", {Get, List, Watch}},
      {v1::EtcdMember::resource, "", {List, Watch, Patch}},
      {v1::EtcdMember::resource, "status", {Patch}},
      {v1::EtcdMember::resource, "finalizers", {Update}},
      {kube::Pod::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {kube::PersistentVolumeClaim::resource, "", {Get, List, Watch, Create}},
  };
}

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add = [&stores, &queue](const api::ObjectKey& cluster) {
    for (const auto& member : stores.members.in_group(cluster)) queue.add(member->metadata.key());
  };
  stores.clusters.on_change(add);
  stores.members.on_change(add);
  stores.pods.on_change(add);
  stores.volumes.on_change(add);
}

}  // namespace etcdop::member
