#include "operator/shared/member_endpoint.h"

#include "operator/shared/owner.h"

namespace etcdop {

std::string member_host(const api::ObjectKey& cluster, const std::string& member) {
  return member + "." + cluster.name + "." + cluster.ns + ".svc";
}

std::optional<etcd::Endpoint> endpoint_of(const api::v1alpha2::EtcdCluster& cluster,
                                          const api::v1alpha2::EtcdMember& member,
                                          const kube::Pod& pod) {
  const bool ours = owned_by(pod.metadata, member.metadata.uid);
  if (!ours || pod.status.pod_ip.empty() || pod.status.phase != "Running") return std::nullopt;
  etcd::Endpoint out;
  out.address = pod.status.pod_ip;
  out.server_name = member_host(cluster.metadata.key(), member.metadata.name);
  if (const auto id = etcd::from_hex(cluster.status.cluster_id); id && *id)
    out.cluster = etcd::ClusterId{*id};
  if (const auto id = etcd::from_hex(member.status.member_id); id && *id)
    out.member = etcd::MemberId{*id};
  return out;
}

}  // namespace etcdop
