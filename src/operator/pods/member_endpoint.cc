#include "operator/pods/member_endpoint.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "operator/passes/owner.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::size_t kLabelMax = 63;  // Longest label of a DNS name.

std::string annotation(const v1::EtcdMember& member, const char* key) {
  const auto found = member.metadata.annotations.find(key);
  return found == member.metadata.annotations.end() ? "" : found->second;
}

std::string scheme(bool tls) { return tls ? "https://" : "http://"; }

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_alphanumeric(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c); }

/// A DNS label: newer Kubernetes allows the name of a Service to begin with a digit.
bool is_service_name(const std::string& name) {
  return !name.empty() && name.size() <= kLabelMax && name.front() != '-' && name.back() != '-' &&
         std::ranges::all_of(name, [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

bool is_folder_name(const std::string& name) {
  return !name.empty() && is_alphanumeric(name.front()) && name.find("..") == std::string::npos &&
         std::ranges::all_of(
             name, [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

std::string service_of(const v1::EtcdMember& member) {
  std::string name = annotation(member, v1::kHeadlessServiceAnnotation);
  return is_service_name(name) ? name : member.spec.cluster_name;
}

std::string member_host(const v1::EtcdMember& member) {
  return member.metadata.name + "." + service_of(member) + "." + member.metadata.ns + ".svc";
}

bool client_tls(const v1::EtcdMember& member) {
  return member.spec.tls && member.spec.tls->client_server_secret_ref;
}

bool peer_tls(const v1::EtcdMember& member) {
  return member.spec.tls && (member.spec.tls->peer_secret_ref || member.spec.tls->peer_auto_tls);
}

std::string client_url_of(const v1::EtcdMember& member) {
  return scheme(client_tls(member)) + member_host(member) + ":" + std::to_string(v1::kClientPort);
}

std::string peer_url_of(const v1::EtcdMember& member) {
  return scheme(peer_tls(member)) + member_host(member) + ":" + std::to_string(v1::kPeerPort);
}

std::string data_dir_of(const v1::EtcdMember& member) {
  const std::string folder = annotation(member, v1::kDataDirSubpathAnnotation);
  return is_folder_name(folder) ? std::string(kVolumeRoot) + "/" + folder : kVolumeRoot;
}

std::optional<etcd::Endpoint> endpoint_of(const api::v1alpha2::EtcdCluster& cluster,
                                          const api::v1alpha2::EtcdMember& member,
                                          const kube::Pod& pod) {
  const bool ours = is_ours(pod.metadata, member.metadata.uid);
  if (!ours || pod.status.pod_ip.empty() || pod.status.phase != "Running") return std::nullopt;
  etcd::Endpoint out;
  out.address = pod.status.pod_ip;
  out.server_name = member_host(member);
  if (const auto id = etcd::from_hex(cluster.status.cluster_id); id && *id)
    out.cluster = etcd::ClusterId{*id};
  if (const auto id = etcd::from_hex(member.status.member_id); id && *id)
    out.member = etcd::MemberId{*id};
  return out;
}

}  // namespace etcdop
