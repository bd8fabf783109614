#include "operator/credentials/certificates.h"

#include <optional>

#include "operator/passes/owner.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

std::string text(const Secrets::Value& secret, const char* key) {
  return secret->value(key).reveal();
}

}  // namespace

Certificates::Role Certificates::role_of(ManagedSecret::Kind kind) {
  switch (kind) {
    case ManagedSecret::Kind::Authority: return Role::Authority;
    case ManagedSecret::Kind::Client: return Role::Client;
    case ManagedSecret::Kind::Server:
    case ManagedSecret::Kind::Peer: break;
  }
  return Role::ServerAndClient;
}

Certificates::Role Certificates::role_of_server(const TlsSecrets& names) {
  return names.operator_client.empty() ? Role::Server : Role::ServerAndClient;
}

/// Judges a Secret that was read.
void Certificates::judge(Judged& known, Role role) {
  CertificateSeen& out = known.seen;
  out = {};
  out.secret = known.secret->metadata.name;
  const std::string ca = text(known.authority, kAuthorityKey);
  if (ca.empty()) out.faults.push_back(std::string(kAuthorityKey) + " is missing");
  const Purpose purpose{role == Role::Server || role == Role::ServerAndClient,
                        role == Role::Client || role == Role::ServerAndClient};
  const Identity identity{text(known.secret, kCertificateKey), known.secret->value(kPrivateKeyKey)};
  Judgement said = etcdop::judge(identity, ca, purpose, known.at);
  for (std::string& fault : said.faults) out.faults.push_back(std::move(fault));
  out.authority = said.authority;
  if (said.authorities > kAuthoritiesMax)
    out.many_authorities = static_cast<std::int64_t>(said.authorities);
  known.until = said.until;
  if (!said.leaf) return;
  out.names = said.leaf->names;
  out.serial = said.leaf->serial;
  out.from = said.leaf->from;
  out.until = said.leaf->until;
}

/// nullopt: no Secret is named. `authority`: the Secret whose ca.crt must have signed it, if it is
/// another one.
std::optional<CertificateSeen> Certificates::look(const api::ObjectKey& cluster,
                                                  const std::string& secret, Role role,
                                                  const std::string& authority) {
  if (secret.empty()) return std::nullopt;
  auto read = secrets_.get({cluster.ns, secret});
  auto signer = authority.empty() ? read : secrets_.get({cluster.ns, authority});
  CertificateSeen unread;
  unread.secret = secret;
  unread.missing = read.failed_with(Code::NotFound);
  if (!read) unread.unread = why_unread(read);
  else if (!signer)
    unread.unread = "cannot be checked: Secret " + authority + " " + why_unread(signer);
  if (!unread.unread.empty()) return unread;
  Judged& judged = known_[cluster].judged[{secret, authority, role}];
  const WallTime now = clock_.wall_now();
  const bool same = judged.secret == *read && judged.authority == *signer;
  if (!same || now < judged.at || judged.until <= now) {
    judged = {*read, *signer, now, {}, {}};
    judge(judged, role);
    ++judgements_;
  }
  if (!judged.seen.faults.empty()) secrets_.doubt({cluster.ns, secret}, judged.secret);
  return judged.seen;
}

TlsSeen Certificates::of(const v1::EtcdCluster& cluster) {
  const TlsSecrets names = tls_secrets_of(cluster);
  const api::ObjectKey key = cluster.metadata.key();
  TlsSeen out{look(key, names.server, role_of_server(names)),
              look(key, names.operator_client, Role::Client, names.server),
              look(key, names.peer, Role::ServerAndClient),
              {}};
  for (const ManagedSecret& secret : managed_secrets_of(cluster)) {
    auto seen = look(key, secret.name, role_of(secret.kind));
    auto read = secrets_.get({key.ns, secret.name});
    seen->ours = read && is_made_for(cluster, (*read)->metadata);
    seen->disowned = seen->ours && !is_ours((*read)->metadata, cluster.metadata.uid);
    seen->ownerless = read && (*read)->metadata.owner_references.empty();
    // It may belong to a deleted cluster with this name, and be deleted soon.
    if (read && !seen->ours) secrets_.doubt({key.ns, secret.name}, *read);
    out.managed.push_back(std::move(*seen));
  }
  return out;
}

TlsSeen Certificates::now_of(const v1::EtcdMember& member) {
  const TlsSecrets names = tls_secrets_of(member);
  for (const std::string& name : {names.server, names.peer})
    secrets_.expire({member.metadata.ns, name});
  return of(member);
}

TlsSeen Certificates::of(const v1::EtcdMember& member) {
  const TlsSecrets names = tls_secrets_of(member);
  const api::ObjectKey cluster{member.metadata.ns, member.spec.cluster_name};
  const bool mtls = member.spec.tls && member.spec.tls->client_mtls;
  return {look(cluster, names.server, mtls ? Role::ServerAndClient : Role::Server),
          std::nullopt,
          look(cluster, names.peer, Role::ServerAndClient),
          {}};
}

namespace {

/// `client`: has the client's certificate; null: none.
std::shared_ptr<const TlsClient::Options> dial_of(const Secrets::Value& server,
                                                  const Secrets::Value& client) {
  TlsClient::Options out;
  out.ca = text(server, kAuthorityKey);
  if (client) {
    out.certificate = text(client, kCertificateKey);
    out.key = client->value(kPrivateKeyKey);
  }
  return std::make_shared<const TlsClient::Options>(std::move(out));
}

bool is_good(const std::optional<CertificateSeen>& certificate) {
  return !certificate || (certificate->unread.empty() && certificate->faults.empty());
}

}  // namespace

void Certificates::equip(const v1::EtcdCluster& cluster, Endpoints& endpoints) {
  const TlsSecrets names = tls_secrets_of(cluster);
  if (names.server.empty()) return;
  const api::ObjectKey key = cluster.metadata.key();
  (void)look(key, names.server, role_of_server(names));
  const auto ours = look(key, names.operator_client, Role::Client, names.server);
  auto server = secrets_.get({key.ns, names.server});
  auto client = names.operator_client.empty() ? Result<Secrets::Value>(nullptr)
                                              : secrets_.get({key.ns, names.operator_client});
  Known& known = known_[key];
  const bool read = server && client && is_good(ours);
  const bool same = known.dial && read && known.server == *server && known.client == *client;
  const Judged& theirs = known.judged[{names.server, "", role_of_server(names)}];
  if (read && !same && theirs.secret == *server && !theirs.seen.authority.empty()) {
    known.server = *server;
    known.client = *client;
    known.dial = dial_of(*server, *client);
  }
  for (auto& [name, endpoint] : endpoints) endpoint.tls = known.dial;
  if (!known.dial) endpoints.clear();
}

std::shared_ptr<const TlsClient::Options> Certificates::peer_dial(const v1::EtcdCluster& cluster) {
  const api::ObjectKey key = cluster.metadata.key();
  const std::string name = tls_secrets_of(cluster).peer;
  const auto seen = look(key, name, Role::ServerAndClient);
  if (!seen || !is_good(seen)) return nullptr;
  auto secret = secrets_.get({key.ns, name});
  return secret ? dial_of(*secret, *secret) : nullptr;
}

}  // namespace etcdop
