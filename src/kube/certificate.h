// A Certificate of cert-manager, which issues it and keeps it up to date.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/describe.h"
#include "api/meta.h"

namespace etcdop::kube {

struct CertificateIssuer {
  std::string name, kind, group;
  bool operator==(const CertificateIssuer&) const = default;

  template <class S = CertificateIssuer>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("kind", &S::kind),
                      api::sparse("group", &S::group));
  }
};

/// The fields that we set; the others belong to the user.
struct CertificateSpec {
  std::string secret_name, common_name;
  std::vector<std::string> dns_names, ip_addresses, usages;
  CertificateIssuer issuer_ref;
  bool operator==(const CertificateSpec&) const = default;

  template <class S = CertificateSpec>
  static auto describe() {
    return api::value(
        api::sparse("secretName", &S::secret_name), api::sparse("commonName", &S::common_name),
        api::sparse("dnsNames", &S::dns_names), api::sparse("ipAddresses", &S::ip_addresses),
        api::sparse("usages", &S::usages), api::sparse("issuerRef", &S::issuer_ref));
  }
};

struct Certificate {
  static constexpr api::Resource resource{"cert-manager.io", "v1", "certificates", "Certificate"};
  api::ObjectMeta metadata;
  CertificateSpec spec;
  bool operator==(const Certificate&) const = default;

  template <class S = Certificate>
  static auto describe() {
    return api::value(api::required("metadata", &S::metadata), api::sparse("spec", &S::spec));
  }
};

}  // namespace etcdop::kube

namespace etcdop::api {
extern template struct Codec<kube::Certificate>;
}  // namespace etcdop::api
