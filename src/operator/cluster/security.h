// A cluster's certificates and authentication: what they allow, and how they are reported. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"
#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// Whether a member has shown the certificates of the Secrets on both ports, as far as they use
/// TLS.
bool shows_all(const Seat::Shown&, const TlsSeen&);

/// The problem with the certificates that new Pods would get, in words; empty: none.
std::string tls_trouble(const Observation&);

/// The spec asks cert-manager for certificates, but its kinds are not installed.
bool lacks_cert_manager(const Observation&);

/// For a cluster that waits for cert-manager and has nothing yet.
void report_no_cert_manager(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// Writes the condition TLSReady of a cluster with TLS. True: every member has shown the
/// certificates of the Secrets.
void report_tls(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// Writes the condition PlainText of a cluster that asks for TLS or authentication, and has a port
/// without TLS.
void report_plain_text(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// The next step to enable the authentication that the spec asks for, or what it waits for.
struct NextToAuth {
  Step step;
  std::string waits_for;
};
NextToAuth next_to_auth(const AuthSeen&);

/// Rules: record the password that root logged in with; then enable authentication, and change the
/// password to the one in the user's Secret.
Verdict record(const View&);
Verdict secure(const View&);
/// Gives Secrets of the operator's their owner back, which a user took away.
Verdict own(const View&);

/// Why members refuse the operator's credentials: reason and message for the conditions Available
/// and Degraded. Without a reason: they do not refuse them.
struct Shut {
  const char* reason = nullptr;
  std::string message;
};
Shut shut_out(const Observation&);

}  // namespace etcdop::cluster
