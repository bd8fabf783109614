// The children of an EtcdCluster, as they should be. Pure.
#pragma once
#include <cstdint>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "base/json.h"
#include "kube/certificate.h"
#include "kube/core_types.h"
#include "operator/cluster/observation.h"
#include "operator/cluster/step.h"
#include "operator/credentials/passwords.h"
#include "sys/x509.h"

namespace etcdop::cluster {

/// "<cluster>": every member by name, ready or not.
Json headless_service(const api::v1alpha2::EtcdCluster& cluster, SelectorKeys keys);
/// "<cluster>-client": ready members. With the key `role` only voters: learners of some versions
/// are ready.
Json client_service(const api::v1alpha2::EtcdCluster& cluster, SelectorKeys keys);
std::string client_service_name(const std::string& cluster);
/// "<cluster>": how many voters an eviction must leave.
Json budget(const api::v1alpha2::EtcdCluster& cluster, std::int64_t min_available);

/// A Certificate for cert-manager.
struct CertificateWanted {
  const char* suffix;  ///< The end of its name, such as "-server".
  const api::v1alpha2::IssuerReference& issuer;
  std::vector<std::string> names;  ///< DNS names and addresses.
  bool server;                     ///< Else for clients only.
};
/// "<cluster><suffix>", whose Secret is "<cluster><suffix>-tls".
Json certificate(const api::v1alpha2::EtcdCluster& cluster, const CertificateWanted&);

/// Whether an existing object does what the manifest says. Compared: a Service's selector, its
/// ports by name and publishNotReadyAddresses; all of a budget but its number. The rest is the
/// user's.
bool is_as_made(const kube::Service&, const Json& wanted);
bool is_as_made(const kube::PodDisruptionBudget&, const Json& wanted);
bool is_as_made(const kube::Certificate&, const Json& wanted);
/// A merge patch for the spec of an existing object. A Service keeps its other ports.
json::object mended(const kube::Service& now, const Json& wanted);
json::object mended(const kube::PodDisruptionBudget& now, const Json& wanted);
json::object mended(const kube::Certificate& now, const Json& wanted);

/// An EtcdMember with the spec of status.observed. Only the seed's initialCluster is filled.
Json member(const api::v1alpha2::EtcdCluster& cluster, const CreateMember& step);

/// The data of a Secret of ours: a certificate, or passwords (operator/credentials/passwords.h). A
/// merge patch removes a key whose value is null.
json::object data_of(const Identity&, const std::string& authority);
json::object data_of(const KeptPasswords&);
Json secret(const api::v1alpha2::EtcdCluster& cluster, const std::string& name, const char* type,
            const json::object& data);

}  // namespace etcdop::cluster
