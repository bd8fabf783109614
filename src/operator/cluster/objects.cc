#include "operator/cluster/objects.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "api/describe.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "base/base64.h"
#include "operator/credentials/tls.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/pod_shape.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

/// During an election every Pod is unready, and with AlwaysAllow a drain would evict them all.
constexpr const char* kEvictionPolicy = "IfHealthyBudget";

json::object metadata(const v1::EtcdCluster& cluster, const std::string& name) {
  json::object out{{"name", name},
                   {"namespace", cluster.metadata.ns},
                   {"labels", cluster_labels(cluster.metadata.name)}};
  out["ownerReferences"] = owned_by_controller(cluster);
  return out;
}

/// With the adopted additionalMetadata.
json::object manifest(const v1::EtcdCluster& cluster, json::object metadata, json::object spec) {
  if (cluster.status.observed) add_metadata(metadata, cluster.status.observed->additional_metadata);
  return {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

json::object port(const char* name, int number) {
  return {{"name", name}, {"port", number}, {"targetPort", number}, {"protocol", "TCP"}};
}

json::object members_of(const v1::EtcdCluster& cluster) {
  json::object out;
  out[v1::kClusterLabel] = cluster.metadata.name;
  return out;
}

/// The Services' selector. No client reaches members that a rollback may drop (ADR 0020).
json::object selector(const v1::EtcdCluster& cluster, SelectorKeys keys) {
  json::object out = members_of(cluster);
  if (keys.uid) out[v1::kClusterUidLabel] = cluster.metadata.uid;
  if (keys.role) out[v1::kRoleLabel] = v1::kVoter;
  if (cluster.restoring()) out[v1::kFencedLabel] = "true";
  return out;
}

/// A merge patch keeps keys that it does not name, so unwanted keys are named with null.
void drop_others(json::object& wanted, const std::map<std::string, std::string>& there) {
  for (const auto& [key, value] : there)
    if (!wanted.contains(key)) wanted[key] = nullptr;
}

bool leads_alike(const kube::ServicePort& a, const kube::ServicePort& b) {
  return a.port == b.port && a.target_port == b.target_port && a.protocol == b.protocol;
}

}  // namespace

Json headless_service(const v1::EtcdCluster& cluster, SelectorKeys keys) {
  json::object spec{{"clusterIP", "None"}, {"publishNotReadyAddresses", true}};
  keys.role = false;  // A learner's peers need its name.
  spec["selector"] = selector(cluster, keys);
  spec["ports"] = json::array({port("client", v1::kClientPort), port("peer", v1::kPeerPort)});
  return manifest(cluster, metadata(cluster, cluster.metadata.name), std::move(spec));
}

std::string client_service_name(const std::string& cluster) { return cluster + "-client"; }

Json client_service(const v1::EtcdCluster& cluster, SelectorKeys keys) {
  json::object spec{{"type", "ClusterIP"}};
  spec["selector"] = selector(cluster, keys);
  spec["ports"] = json::array({port("client", v1::kClientPort)});
  const std::string name = client_service_name(cluster.metadata.name);
  return manifest(cluster, metadata(cluster, name), std::move(spec));
}

Json budget(const v1::EtcdCluster& cluster, std::int64_t min_available) {
  json::object labels = members_of(cluster);
  labels[v1::kRoleLabel] = v1::kVoter;
  return manifest(cluster, metadata(cluster, cluster.metadata.name),
                  {{"minAvailable", min_available},
                   {"selector", {{"matchLabels", std::move(labels)}}},
                   {"unhealthyPodEvictionPolicy", kEvictionPolicy}});
}

bool is_as_made(const kube::PodDisruptionBudget& budget, const Json& wanted) {
  kube::PodDisruptionBudgetSpec want;
  if (!api::decode(wanted.at("spec"), want, "spec")) return false;
  want.min_available = budget.spec.min_available;
  return want.min_available && want.min_available->is_int64() && budget.spec == want;
}

json::object mended(const kube::PodDisruptionBudget& now, const Json& wanted) {
  json::object spec = wanted.at("spec").as_object();
  spec["maxUnavailable"] = nullptr;
  drop_others(spec["selector"].at("matchLabels").as_object(), now.spec.selector.match_labels);
  return spec;
}

bool is_as_made(const kube::Service& service, const Json& wanted) {
  kube::ServiceSpec want;
  if (!api::decode(wanted.at("spec"), want, "spec")) return false;
  const kube::ServiceSpec& now = service.spec;
  return now.selector == want.selector &&
         now.publish_not_ready_addresses == want.publish_not_ready_addresses &&
         std::ranges::all_of(want.ports, [&](const kube::ServicePort& port) {
           const auto there = std::ranges::find(now.ports, port.name, &kube::ServicePort::name);
           return there != now.ports.end() && leads_alike(*there, port);
         });
}

json::object mended(const kube::Service& now, const Json& wanted) {
  kube::ServiceSpec want;
  (void)api::decode(wanted.at("spec"), want, "spec");
  std::vector<kube::ServicePort> ports = now.spec.ports;
  for (const kube::ServicePort& port : want.ports) {
    const auto same = [&](const kube::ServicePort& p) {
      return p.name == port.name || (p.port == port.port && p.protocol == port.protocol);
    };
    const auto first = std::ranges::find_if(ports, same);
    if (first == ports.end()) {
      ports.push_back(port);
      continue;
    }
    first->name = port.name;
    first->port = port.port;
    first->target_port = port.target_port;
    first->protocol = port.protocol;
    ports.erase(std::remove_if(first + 1, ports.end(), same), ports.end());
  }
  json::object spec{{"ports", api::encode(ports)},
                    {"publishNotReadyAddresses", want.publish_not_ready_addresses},
                    {"selector", wanted.at("spec").at("selector")}};
  drop_others(spec["selector"].as_object(), now.spec.selector);
  return spec;
}

namespace {

bool is_address(const std::string& name) {
  return name.find_first_not_of("0123456789.") == std::string::npos;
}

std::vector<std::string> with_all(std::vector<std::string> there,
                                  const std::vector<std::string>& wanted) {
  for (const std::string& one : wanted)
    if (std::ranges::find(there, one) == there.end()) there.push_back(one);
  return there;
}

/// The wanted spec, with the names and the issuer that users have set. The Go operator never
/// updated a Certificate. So its users added the names by which clients reach etcd, and another
/// issuer when the one in the spec, which is immutable, was gone.
kube::CertificateSpec put_right(const kube::CertificateSpec& now, kube::CertificateSpec want) {
  want.issuer_ref = now.issuer_ref;
  want.dns_names = with_all(now.dns_names, want.dns_names);
  want.ip_addresses = with_all(now.ip_addresses, want.ip_addresses);
  want.usages = with_all(now.usages, want.usages);
  return want;
}

}  // namespace

Json certificate(const v1::EtcdCluster& cluster, const CertificateWanted& wanted) {
  const std::string name = cluster.metadata.name + wanted.suffix;
  json::array usages{"client auth", "digital signature", "key encipherment"};
  if (wanted.server) usages.insert(usages.begin(), "server auth");
  json::object spec{{"secretName", name + "-tls"},
                    {"commonName", name.substr(0, 64)},
                    {"usages", std::move(usages)},
                    {"privateKey", {{"algorithm", "RSA"}, {"size", 2048}}},
                    {"issuerRef",
                     {{"name", wanted.issuer.name},
                      {"kind", api::Codec<v1::IssuerKind>::encode(wanted.issuer.kind)},
                      {"group", kube::Certificate::resource.group}}}};
  json::array hosts, addresses;
  for (const std::string& one : wanted.names)
    (is_address(one) ? addresses : hosts).emplace_back(one);
  if (!hosts.empty()) spec["dnsNames"] = std::move(hosts);
  if (!addresses.empty()) spec["ipAddresses"] = std::move(addresses);
  return manifest(cluster, metadata(cluster, name), std::move(spec));
}

bool is_as_made(const kube::Certificate& certificate, const Json& wanted) {
  kube::CertificateSpec want;
  return api::decode(wanted.at("spec"), want, "spec") &&
         put_right(certificate.spec, want) == certificate.spec;
}

json::object mended(const kube::Certificate& now, const Json& wanted) {
  kube::CertificateSpec want;
  (void)api::decode(wanted.at("spec"), want, "spec");
  return api::encode(put_right(now.spec, want)).as_object();
}

json::object data_of(const Identity& identity, const std::string& authority) {
  json::object out;
  out[kCertificateKey] = to_base64(identity.certificate);
  out[kPrivateKeyKey] = to_base64(identity.key.reveal());
  out[kAuthorityKey] = to_base64(authority);
  return out;
}

json::object data_of(const KeptPasswords& kept) {
  json::object out;
  const auto value = [](const Secret& secret) {
    return secret.empty() ? Json(nullptr) : Json(to_base64(secret.reveal()));
  };
  out[kPasswordKey] = value(kept.password);
  out[kNextPasswordKey] = value(kept.next);
  out[kPreviousPasswordKey] = value(kept.previous);
  return out;
}

Json secret(const v1::EtcdCluster& cluster, const std::string& name, const char* type,
            const json::object& data) {
  json::object meta = metadata(cluster, name);
  if (cluster.status.observed) add_metadata(meta, cluster.status.observed->additional_metadata);
  meta["labels"].as_object()[v1::kClusterUidLabel] = cluster.metadata.uid;
  json::object there;
  for (const auto& [key, value] : data)
    if (!value.is_null()) there[key] = value;
  return json::object{{"metadata", std::move(meta)}, {"type", type}, {"data", std::move(there)}};
}

Json member(const v1::EtcdCluster& cluster, const CreateMember& step) {
  v1::EtcdMemberSpec spec;
  static_cast<v1::MemberTemplate&>(spec) = *cluster.status.observed;
  spec.cluster_name = cluster.metadata.name;
  spec.cluster_token = cluster.status.cluster_token;
  spec.tls = member_tls(cluster);
  spec.bootstrap = step.seed;
  if (step.seed) {
    spec.initial_cluster = step.name + "=" + step.peer_url;
    spec.restore = cluster.founded_from();
  }

  json::object meta = metadata(cluster, step.name);
  meta["labels"].as_object()[v1::kAppComponentLabel] = step.name;
  meta["finalizers"] = json::array({v1::kMemberFinalizer});
  return manifest(cluster, std::move(meta), api::encode(spec).as_object());
}

}  // namespace etcdop::cluster
