#include "operator/cluster/security.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/v1alpha2/names.h"
#include "base/joined.h"
#include "kube/certificate.h"
#include "operator/cluster/issuing.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

/// A kubelet updates a changed Secret in its Pods within 90 s.
constexpr std::int64_t kSecretLagMax_s = 180;

/// "<member>.<service>.<namespace>.svc", from its URL.
std::string host_of(const Seat& seat) {
  const std::size_t begin = seat.peer_url.find("://");
  if (begin == std::string::npos) return "";
  return seat.peer_url.substr(begin + 3, seat.peer_url.rfind(':') - begin - 3);
}

bool differs(const std::string& read, const std::optional<CertificateSeen>& now) {
  return !read.empty() && now && !now->authority.empty() && read != now->authority;
}

/// Members whose etcd has read another authority than the Secret has now, and for which port.
std::vector<std::string> with_old_authority(const Observation& seen) {
  std::vector<std::string> out;
  for (const Seat& seat : seen.seats) {
    if (!seat.pod) continue;
    if (differs(seat.pod->client_authority, seen.tls.server))
      out.push_back(seat.name + " (client)");
    if (differs(seat.pod->peer_authority, seen.tls.peer)) out.push_back(seat.name + " (peer)");
  }
  return out;
}

std::string no_cert_manager() {
  return "the spec asks cert-manager for certificates, and this API server has no " +
         api::api_version(kube::Certificate::resource) + " " + kube::Certificate::resource.kind +
         ": install cert-manager";
}

/// Whether a Secret that the operator makes cannot be read, although it may exist.
bool is_unread(const TlsSeen& tls) {
  return std::ranges::any_of(
      tls.managed, [](const CertificateSeen& c) { return !c.missing && !c.unread.empty(); });
}

/// If the wanted certificate cannot be read, any shown one will do.
bool shows(const std::string& shown, const std::optional<CertificateSeen>& wanted) {
  return !wanted || wanted->serial.empty() || shown == wanted->serial;
}

std::string told(const char* what, const std::optional<CertificateSeen>& certificate) {
  if (!certificate) return "";
  return std::string("; ") + what + " " + certificate->serial + " until " +
         to_rfc3339(certificate->until);
}

}  // namespace

bool lacks_cert_manager(const Observation& seen) {
  const auto& tls = seen.cluster.spec.tls;
  if (!tls || seen.cert_manager) return false;
  return (tls->client && tls->client->cert_manager) || (tls->peer && tls->peer->cert_manager);
}

void report_no_cert_manager(const Observation& seen, v1::EtcdClusterStatus& status) {
  runtime::set_condition(status.conditions,
                         {v1::kAvailable, "False", v1::kCertManagerNotInstalled, no_cert_manager()},
                         seen.cluster.metadata.generation, seen.now);
}

bool shows_all(const Seat::Shown& shown, const TlsSeen& tls) {
  return shows(shown.client_port, tls.server) && shows(shown.peer_port, tls.peer);
}

std::string tls_trouble(const Observation& seen) {
  std::vector<std::string> hosts;
  for (const Seat& seat : seen.seats)
    if (seat.object) hosts.push_back(host_of(seat));
  return trouble_with(seen.tls, hosts, seen.now);
}

namespace {

runtime::NewCondition tls_is(const char* status, const char* reason, std::string message) {
  return {v1::kTlsReady, status, reason, std::move(message)};
}

/// Reports Secrets whose content no Pod may use, or that some Pod does not use yet.
std::optional<runtime::NewCondition> trouble_of_secrets(const Observation& seen) {
  if (std::string trouble = authority_trouble(seen); !trouble.empty())
    return tls_is("False", is_unread(seen.tls) ? v1::kCertificateMissing : v1::kAuthorityLost,
                  std::move(trouble));
  if (std::string trouble = tls_trouble(seen); !trouble.empty())
    return tls_is("False", is_missing(seen.tls) ? v1::kCertificateMissing : v1::kCertificateInvalid,
                  trouble + "; the operator creates no Pod until this is fixed");
  if (const auto old = with_old_authority(seen); !old.empty())
    return tls_is("False", v1::kAuthorityChanged,
                  "ca.crt changed, and these members still use the old one: " + joined(old) +
                      "; delete their Pods one at a time, and wait until all members are ready "
                      "before the next one");
  return {};
}

/// Reports the certificates that members show; nullopt: the condition stays as it is.
std::optional<runtime::NewCondition> shown_by_members(const Observation& seen,
                                                      const v1::EtcdClusterStatus& status) {
  std::vector<std::string> behind, silent;
  bool all = !seen.seats.empty();
  for (const Seat& seat : seen.seats) {
    if (!seat.object || seat.object->dormant) continue;
    all = all && shows_all(seat.shown, seen.tls);
    if (seat.shown.behind_s >= kSecretLagMax_s)
      (seat.shown.silent ? silent : behind).push_back(seat.name);
  }
  if (!behind.empty())
    return tls_is(
        "False", v1::kCertificateNotInUse,
        "these members still show an older certificate than their Secret has: " + joined(behind));
  if (all)
    return tls_is(
        "True", v1::kCertificatesInUse,
        "every member shows the certificates of the Secrets" + told("server", seen.tls.server) +
            told("operator client", seen.tls.operator_client) + told("peer", seen.tls.peer));
  if (lacks_cert_manager(seen))
    return tls_is("Unknown", v1::kCertManagerNotInstalled, no_cert_manager());
  if (!silent.empty())
    return tls_is(
        "Unknown", v1::kCertificateNotInUse,
        "the operator cannot see the certificates on ports 2379 and 2380 of " + joined(silent));
  const auto* const before = runtime::find_condition(status.conditions, v1::kTlsReady);
  if (before && before->status == "False")
    return tls_is("Unknown", v1::kCertificateNotInUse,
                  "not every member has shown the certificates of the Secrets yet");
  return {};
}

}  // namespace

void report_tls(const Observation& seen, v1::EtcdClusterStatus& status) {
  if (seen.tls == TlsSeen{}) return;
  auto said = trouble_of_secrets(seen);
  if (!said) said = shown_by_members(seen, status);
  if (!said) return;
  for (const CertificateSeen* one : all_of(seen.tls))
    if (one->many_authorities > 0)
      said->message += "; ca.crt of Secret " + one->secret + " has " +
                       std::to_string(one->many_authorities) + " certificates, more than " +
                       std::to_string(kAuthoritiesMax) +
                       ": keep only those that signed these certificates";
  runtime::set_condition(status.conditions, *said, seen.cluster.metadata.generation, seen.now);
}

void report_plain_text(const Observation& seen, v1::EtcdClusterStatus& status) {
  const v1::EtcdClusterSpec& spec = seen.cluster.spec;
  const bool client = spec.tls && spec.tls->client, peer = spec.tls && spec.tls->peer;
  if (client == peer && (client || !wants_auth(seen.cluster))) return;
  const std::string ports = client ? "2380 (peers) is"
                            : peer ? "2379 (clients) is"
                                   : "2379 (clients) and 2380 (peers) are";
  runtime::set_condition(
      status.conditions,
      {v1::kPlainText, "True", v1::kPortsInPlainText,
       ports + " not encrypted: all keys pass there in plain text. spec.tls cannot be edited: "
               "restore a snapshot into a new EtcdCluster that has it for both ports"},
      seen.cluster.metadata.generation, seen.now);
}

NextToAuth next_to_auth(const AuthSeen& auth) {
  if (!auth.enabled) return {NoStep{}, "etcd to say whether authentication is on"};
  if (!auth.refused.empty()) return {NoStep{}, "the root password: " + auth.refused};
  if (*auth.enabled && !auth.entered) return {NoStep{}, "root to log in"};
  if (auth.step == PasswordStep::Record) return {RecordPassword{}, ""};
  return {EnableAuth{}, ""};
}

/// Records the password that root logged in with, if authentication came with the data. It comes
/// first: until our Secret has the password, a user who edits theirs locks us out.
Verdict record(const View& view) {
  const AuthSeen& auth = view.seen.auth;
  const bool due = wants_auth(view.seen.cluster) && auth.entered && !auth.recorded &&
                   auth.step == PasswordStep::Record && view.seen.rejected.empty();
  if (!due) return Skip{};
  return RecordPassword{};
}

/// Authentication is enabled when all members exist, and is never disabled. While it is off, our
/// Secret has the password that root will get.
Verdict secure(const View& view) {
  if (!wants_auth(view.seen.cluster)) return Skip{};
  const AuthSeen& auth = view.seen.auth;
  if (view.status.auth_enabled) {
    if (auth.entered && auth.step == PasswordStep::Record) return RecordPassword{};
    if (auth.entered && auth.step == PasswordStep::Change) return ChangePassword{};
    return Skip{};
  }
  if (!is_complete(view.seen, view.census)) return Skip{};
  NextToAuth next = next_to_auth(auth);
  if (!next.waits_for.empty()) return Wait{std::move(next.waits_for)};
  return std::move(next.step);
}

/// It comes last and blocks nothing: meanwhile their label tells whose they are.
Verdict own(const View& view) {
  for (const CertificateSeen& one : view.seen.tls.managed)
    if (one.disowned) return OwnSecret{one.secret};
  if (view.seen.auth.disowned) return OwnSecret{auth_secret_name(view.seen.cluster.metadata.name)};
  return Skip{};
}

Shut shut_out(const Observation& seen) {
  if (seen.linearizable) return {};
  if (seen.auth.required && !wants_auth(seen.cluster))
    return {v1::kAuthRequiredNotConfigured,
            "etcd requires a user and password, but spec.auth is not enabled"};
  if (seen.auth.required && !seen.auth.entered && !seen.auth.refused.empty())
    return {v1::kAuthCredentialsRejected, seen.auth.refused};
  return {};
}

}  // namespace etcdop::cluster
