#include "operator/cluster/wire.h"

namespace etcdop::cluster {

using enum kube::Verb;
namespace v1 = api::v1alpha2;

std::vector<kube::Permission> permissions() {
  return {
      {v1::EtcdCluster::resource, "", {Get, List, Watch}},
      {v1::EtcdCluster::resource, "status", {Patch}},
      {v1::EtcdCluster::resource, "finalizers", {Update}},  // blockOwnerDeletion asks for it.
      {v1::EtcdMember::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {v1::EtcdMember::resource, "status", {Patch}},
      {kube::Pod::resource, "", {List, Watch}},
      {kube::PersistentVolumeClaim::resource, "", {List, Watch}},
      {kube::Service::resource, "", {Get, List, Watch, Create}},
  };
}

void connect(Stores& stores, runtime::Queue& queue) {
  const auto add = [&queue](const api::ObjectKey& cluster) { queue.add(cluster); };
  stores.clusters.on_change(add);
  stores.members.on_change(add);
  stores.pods.on_change(add);
  stores.services.on_change(add);
}

}  // namespace etcdop::cluster
