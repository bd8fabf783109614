// What a cluster's certificates and its authentication allow, and what is said of them. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"
#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// Whether it has shown the certificates of the Secrets on both ports, as far as they have TLS.
bool shows_all(const Seat::Shown&, const TlsSeen&);

/// What is wrong with the certificates that new Pods would be given, in words; empty: nothing.
std::string tls_trouble(const Observation&);

/// The spec asks cert-manager for certificates, and its kinds are not there.
bool lacks_cert_manager(const Observation&);

/// A cluster that waits for it, and has nothing yet.
void report_no_cert_manager(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// Writes the condition TLSReady, of a cluster that has TLS. True is what every member has shown.
void report_tls(const Observation&, api::v1alpha2::EtcdClusterStatus&);

/// The next step to authentication, of a cluster whose spec asks for it and which does not have it;
/// or what it waits for.
struct NextToAuth {
  Step step;
  std::string waits_for;
};
NextToAuth next_to_auth(const AuthSeen&);

/// Rules: what root logged in with is recorded; then authentication is enabled, and its password
/// changed as the user's Secret says.
Verdict record(const View&);
Verdict secure(const View&);

/// Why no member tells us anything, if it is for who we are: reason and words for the conditions
/// Available and Degraded. Without a reason: it is not that.
struct Shut {
  const char* reason = nullptr;
  std::string message;
};
Shut shut_out(const Observation&);

}  // namespace etcdop::cluster
