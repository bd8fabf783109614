#include "operator/cluster/issuing.h"

#include <algorithm>
#include <set>

#include "operator/cluster/objects.h"
#include "operator/cluster/remains.h"
#include "operator/credentials/tls.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

const CertificateSeen* seen_as(const Observation& seen, const std::string& secret) {
  const auto found = std::ranges::find(seen.tls.managed, secret, &CertificateSeen::secret);
  return found == seen.tls.managed.end() ? nullptr : &*found;
}

bool is_good(const CertificateSeen& certificate, WallTime now) {
  return trouble_with(certificate, {}, now).empty();
}

/// Two thirds of its life have passed.
bool is_old(const CertificateSeen& certificate, WallTime now) {
  return now - certificate.from >= (certificate.until - certificate.from) * 2 / 3;
}

std::vector<std::string> names_of(const Observation& seen, const ManagedSecret& secret,
                                  const std::vector<std::string>& members) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  if (secret.kind == ManagedSecret::Kind::Server)
    return server_names(key, seen.cluster_domain, members);
  if (secret.kind == ManagedSecret::Kind::Peer)
    return peer_names(key, seen.cluster_domain, members);
  return {};
}

bool lacks_a_name(const CertificateSeen& certificate, const std::vector<std::string>& names) {
  const std::set<std::string> has(certificate.names.begin(), certificate.names.end());
  return std::ranges::any_of(names, [&](const auto& name) { return !has.contains(name); });
}

/// A Secret that is not ours is never written.
Due due_of(const Observation& seen, const ManagedSecret& secret,
           const std::vector<std::string>& names) {
  const CertificateSeen* const known = seen_as(seen, secret.name);
  if (!known || (!known->missing && (!known->unread.empty() || !known->ours))) return Due::No;
  // Running members trust the missing authority and would not trust a new one.
  if (secret.kind == ManagedSecret::Kind::Authority)
    return known->missing && seen.cluster.status.cluster_id.empty() && seen.seats.empty() ? Due::Now
                                                                                          : Due::No;
  const CertificateSeen* const by = seen_as(seen, secret.authority);
  if (!by || !by->ours || !is_good(*by, seen.now)) return Due::No;
  if (known->missing || !is_good(*known, seen.now) || known->authority != by->authority ||
      lacks_a_name(*known, names))
    return Due::Now;
  return is_old(*known, seen.now) ? Due::Soon : Due::No;
}

/// The Certificates for cert-manager, with these names for the peers.
std::vector<Json> asked_for(const Observation& seen, const std::vector<std::string>& peers) {
  std::vector<Json> out;
  const auto& tls = seen.cluster.spec.tls;
  if (!tls) return out;
  const api::ObjectKey key = seen.cluster.metadata.key();
  if (tls->client && tls->client->cert_manager) {
    const auto& by = *tls->client->cert_manager;
    out.push_back(certificate(seen.cluster, {"-server", by.server_issuer_ref,
                                             server_names(key, seen.cluster_domain, {}), true}));
    if (by.operator_client_issuer_ref)
      out.push_back(certificate(seen.cluster,
                                {"-operator-client", *by.operator_client_issuer_ref, {}, false}));
  }
  if (tls->peer && tls->peer->cert_manager)
    out.push_back(
        certificate(seen.cluster, {"-peer", tls->peer->cert_manager->issuer_ref, peers, true}));
  return out;
}

}  // namespace

std::vector<std::string> members_to_name(const Observation& seen,
                                         const v1::EtcdClusterStatus& status) {
  std::set<std::string> out;
  for (const Seat& seat : seen.seats)
    if (seat.object) out.insert(seat.name);
  for (const Seat& seat : seen.kept) out.insert(seat.name);  // They may start again.
  for (const v1::PendingMember& pending : status.pending_members) out.insert(pending.name);
  return {out.begin(), out.end()};
}

std::optional<IssueCertificate> due_certificate(const Observation& seen,
                                                const v1::EtcdClusterStatus& status, Due due) {
  const auto members = members_to_name(seen, status);
  for (const ManagedSecret& secret : managed_secrets_of(seen.cluster)) {
    auto names = names_of(seen, secret, members);
    if (due_of(seen, secret, names) == due) return IssueCertificate{secret.name, std::move(names)};
  }
  return std::nullopt;
}

std::string authority_trouble(const Observation& seen) {
  for (const ManagedSecret& secret : managed_secrets_of(seen.cluster)) {
    const CertificateSeen* const known = seen_as(seen, secret.name);
    if (!known) continue;
    const std::string whose = "Secret " + secret.name;
    if (known->unread.empty() && !known->ours)
      return whose + about_owner(seen.cluster, known->ownerless);
    if (secret.kind != ManagedSecret::Kind::Authority || due_of(seen, secret, {}) != Due::No)
      continue;
    if (!known->missing && !known->unread.empty()) return whose + " " + known->unread;
    if (!is_good(*known, seen.now))
      return trouble_with(*known, {}, seen.now) +
             ": the members trust this CA; restore the Secret from a backup";
  }
  return "";
}

std::vector<Json> certificates(const Observation& seen) {
  return asked_for(seen, peer_names(seen.cluster.metadata.key(), seen.cluster_domain, {}));
}

std::vector<Json> least_certificates(const Observation& seen) {
  const api::ObjectKey key = seen.cluster.metadata.key();
  auto names = peer_names(key, seen.cluster_domain, {});
  std::erase(names, key.name + "." + key.ns + ".svc");
  return asked_for(seen, names);
}

/// Before all other rules: a member whose name is missing in a certificate cannot join.
Verdict issue(const View& view) {
  if (auto due = due_certificate(view.seen, view.status, Due::Now)) return std::move(*due);
  if (std::string why = authority_trouble(view.seen); !why.empty()) return Wait{std::move(why)};
  return Skip{};
}

/// A certificate that is due for renewal blocks nothing.
Verdict renew(const View& view) {
  auto due = due_certificate(view.seen, view.status, Due::Soon);
  if (!due) return Skip{};
  return std::move(*due);
}

}  // namespace etcdop::cluster
