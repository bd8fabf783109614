#include "operator/cluster/objects.h"

#include "api/describe.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "operator/shared/owner.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

json::object labels(const v1::EtcdCluster& cluster) {
  json::object out;
  out["app.kubernetes.io/name"] = "etcd";
  out["app.kubernetes.io/instance"] = cluster.metadata.name;
  out["app.kubernetes.io/managed-by"] = "etcd-operator";
  out[v1::kClusterLabel] = cluster.metadata.name;
  return out;
}

json::object metadata(const v1::EtcdCluster& cluster, const std::string& name) {
  json::object owner{{"apiVersion", api::api_version(v1::EtcdCluster::resource)},
                     {"kind", v1::EtcdCluster::resource.kind},
                     {"name", cluster.metadata.name},
                     {"uid", cluster.metadata.uid},
                     {"controller", true},
                     {"blockOwnerDeletion", true}};
  json::object out{{"name", name}, {"namespace", cluster.metadata.ns}, {"labels", labels(cluster)}};
  out["ownerReferences"] = json::array({std::move(owner)});
  return out;
}

json::object port(const char* name, int number) {
  return {{"name", name}, {"port", number}, {"targetPort", number}, {"protocol", "TCP"}};
}

json::object selector(const v1::EtcdCluster& cluster) {
  json::object out;
  out[v1::kClusterLabel] = cluster.metadata.name;
  return out;
}

}  // namespace

Json headless_service(const v1::EtcdCluster& cluster) {
  json::object spec{{"clusterIP", "None"}, {"publishNotReadyAddresses", true}};
  spec["selector"] = selector(cluster);
  spec["ports"] = json::array({port("client", v1::kClientPort), port("peer", v1::kPeerPort)});
  return json::object{{"metadata", metadata(cluster, cluster.metadata.name)},
                      {"spec", std::move(spec)}};
}

std::string client_service_name(const std::string& cluster) { return cluster + "-client"; }

Json client_service(const v1::EtcdCluster& cluster) {
  json::object spec{{"type", "ClusterIP"}};
  spec["selector"] = selector(cluster);
  spec["ports"] = json::array({port("client", v1::kClientPort)});
  return json::object{{"metadata", metadata(cluster, client_service_name(cluster.metadata.name))},
                      {"spec", std::move(spec)}};
}

Json member(const v1::EtcdCluster& cluster, const CreateMember& step) {
  const v1::ObservedSpec& observed = *cluster.status.observed;
  v1::EtcdMemberSpec spec;
  spec.cluster_name = cluster.metadata.name;
  spec.version = observed.version;
  spec.storage = observed.storage;
  spec.resources = observed.resources;
  spec.affinity = observed.affinity;
  spec.topology_spread_constraints = observed.topology_spread_constraints;
  spec.additional_metadata = observed.additional_metadata;
  spec.options = observed.options;
  spec.image_pull_secrets = observed.image_pull_secrets;
  spec.cluster_token = cluster.status.cluster_token;
  spec.bootstrap = step.seed;
  if (step.seed) spec.initial_cluster = step.name + "=" + step.peer_url;

  json::object meta = metadata(cluster, step.name);
  meta["labels"].as_object()["app.kubernetes.io/component"] = step.name;
  meta["finalizers"] = json::array({v1::kMemberFinalizer});
  return json::object{{"metadata", std::move(meta)}, {"spec", api::encode(spec)}};
}

std::string member_host(const api::ObjectKey& cluster, const std::string& member) {
  return member + "." + cluster.name + "." + cluster.ns + ".svc";
}

bool is_ours(const api::ObjectMeta& child, const v1::EtcdCluster& cluster) {
  return owned_by(child, cluster.metadata.uid);
}

}  // namespace etcdop::cluster
