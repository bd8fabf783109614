#include "operator/credentials/tls.h"

#include <algorithm>
#include <array>

#include "api/v1alpha2/names.h"
#include "base/joined.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::size_t kNamesTold = 20;
constexpr std::int64_t kAuthoritySeconds = 10LL * 365 * 24 * 3600;

std::string name_of(const std::optional<v1::LocalObjectReference>& secret) {
  return secret ? secret->name : "";
}

std::optional<v1::LocalObjectReference> reference_to(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return v1::LocalObjectReference{name};
}

bool makes_its_own(const v1::EtcdCluster& cluster) {
  const auto& annotations = cluster.metadata.annotations;
  const auto found = annotations.find(v1::kPeerAutoTlsAnnotation);
  return found != annotations.end() && found->second == "true";
}

/// Limits the length of a condition.
std::string first_of(std::vector<std::string> names) {
  if (names.size() <= kNamesTold) return joined(names);
  const std::size_t more = names.size() - kNamesTold;
  names.resize(kNamesTold);
  return joined(names) + " and " + std::to_string(more) + " more";
}

/// Compares like TLS clients: a wildcard stands for one label.
bool is_for(const std::string& name, const std::string& host) {
  if (!name.starts_with("*.")) return name == host;
  const std::size_t dot = host.find('.');
  return dot != std::string::npos && host.substr(dot) == name.substr(1);
}

}  // namespace

TlsSecrets tls_secrets_of(const v1::EtcdCluster& cluster) {
  TlsSecrets out;
  if (!cluster.spec.tls) return out;
  const std::string& name = cluster.metadata.name;
  if (const auto& client = cluster.spec.tls->client) {
    out.server = client->server_secret_ref ? client->server_secret_ref->name : name + "-server-tls";
    out.operator_client = name_of(client->operator_client_secret_ref);
    if (client->operator_managed ||
        (client->cert_manager && client->cert_manager->operator_client_issuer_ref))
      out.operator_client = name + "-operator-client-tls";
  }
  if (const auto& peer = cluster.spec.tls->peer)
    out.peer = peer->secret_ref ? peer->secret_ref->name : name + "-peer-tls";
  return out;
}

TlsSecrets tls_secrets_of(const v1::EtcdMember& member) {
  if (!member.spec.tls) return {};
  return {name_of(member.spec.tls->client_server_secret_ref), "",
          name_of(member.spec.tls->peer_secret_ref)};
}

std::optional<v1::MemberTls> member_tls(const v1::EtcdCluster& cluster) {
  const TlsSecrets secrets = tls_secrets_of(cluster);
  v1::MemberTls out;
  out.client_server_secret_ref = reference_to(secrets.server);
  out.client_mtls = !secrets.operator_client.empty();
  out.peer_secret_ref = reference_to(secrets.peer);
  out.peer_auto_tls = secrets.peer.empty() && makes_its_own(cluster);
  if (out == v1::MemberTls{}) return std::nullopt;
  return out;
}

std::vector<ManagedSecret> managed_secrets_of(const v1::EtcdCluster& cluster) {
  using Kind = ManagedSecret::Kind;
  std::vector<ManagedSecret> out;
  if (!cluster.spec.tls) return out;
  const std::string& name = cluster.metadata.name;
  const auto add = [&](Kind kind, const std::string& what, const std::string& secret,
                       const std::string& by, std::int64_t duration_s) {
    out.push_back({name + secret, kind, by.empty() ? "" : name + by, name + what, duration_s});
  };
  if (const auto& client = cluster.spec.tls->client; client && client->operator_managed) {
    const std::int64_t duration_s = client->operator_managed->certificate_duration_seconds;
    add(Kind::Authority, "-client-ca", "-client-ca", "", kAuthoritySeconds);
    add(Kind::Server, "-server", "-server-tls", "-client-ca", duration_s);
    add(Kind::Client, "-operator-client", "-operator-client-tls", "-client-ca", duration_s);
    add(Kind::Client, "-client", "-client-tls", "-client-ca", duration_s);
  }
  if (const auto& peer = cluster.spec.tls->peer; peer && peer->operator_managed) {
    add(Kind::Authority, "-peer-ca", "-peer-ca", "", kAuthoritySeconds);
    add(Kind::Peer, "-peer", "-peer-tls", "-peer-ca",
        peer->operator_managed->certificate_duration_seconds);
  }
  return out;
}

namespace {

std::vector<std::string> with_each(std::vector<std::string> names, const std::string& service,
                                   const std::vector<std::string>& members) {
  for (const std::string& member : members) names.push_back(member + "." + service);
  return names;
}

}  // namespace

std::vector<std::string> peer_names(const api::ObjectKey& cluster, const std::string& domain,
                                    const std::vector<std::string>& members) {
  const std::string service = cluster.name + "." + cluster.ns + ".svc";
  return with_each({"*." + service, "*." + service + "." + domain, service}, service, members);
}

std::vector<std::string> server_names(const api::ObjectKey& cluster, const std::string& domain,
                                      const std::vector<std::string>& members) {
  const std::string service = cluster.name + "." + cluster.ns + ".svc";
  const std::string client = cluster.name + "-client." + cluster.ns + ".svc";
  return with_each({"*." + service, "*." + service + "." + domain, service, service + "." + domain,
                    client, client + "." + domain, "localhost", "127.0.0.1"},
                   service, members);
}

bool is_for(const CertificateSeen& certificate, const std::string& host) {
  return std::ranges::any_of(certificate.names, [&](const auto& n) { return is_for(n, host); });
}

std::vector<const CertificateSeen*> all_of(const TlsSeen& tls) {
  std::vector<const CertificateSeen*> out;
  const auto add = [&](const CertificateSeen& one) {
    if (std::ranges::find(out, one.secret, &CertificateSeen::secret) == out.end())
      out.push_back(&one);
  };
  for (const auto* const one : {&tls.server, &tls.operator_client, &tls.peer})
    if (*one) add(**one);
  for (const CertificateSeen& one : tls.managed) add(one);
  return out;
}

bool is_missing(const TlsSeen& tls) {
  return std::ranges::any_of(std::array{&tls.server, &tls.operator_client, &tls.peer},
                             [](const auto* c) { return *c && !(*c)->unread.empty(); });
}

std::string trouble_with(const CertificateSeen& certificate, const std::vector<std::string>& hosts,
                         WallTime now) {
  const std::string whose = "Secret " + certificate.secret;
  if (!certificate.unread.empty()) return whose + " " + certificate.unread;
  if (!certificate.faults.empty()) return whose + ": " + joined(certificate.faults);
  if (certificate.until < now)
    return whose + ": " + kCertificateKey + " expired on " + to_rfc3339(certificate.until);
  for (const std::string& host : hosts)
    if (!is_for(certificate, host))
      return whose + ": " + kCertificateKey + " is not for " + host +
             " (its names are: " + first_of(certificate.names) + ")";
  return "";
}

std::string trouble_with(const TlsSeen& tls, const std::vector<std::string>& hosts, WallTime now) {
  for (const auto* const certificate : {&tls.server, &tls.peer})
    if (*certificate)
      if (std::string trouble = trouble_with(**certificate, hosts, now); !trouble.empty())
        return trouble;
  return tls.operator_client ? trouble_with(*tls.operator_client, {}, now) : "";
}

}  // namespace etcdop
