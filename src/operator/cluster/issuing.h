// Certificates that are made for a cluster, by the operator's own authority or by cert-manager:
// what they say, and when. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// Whose names a certificate has beside the wildcards: those that are there, and those to come.
std::vector<std::string> members_to_name(const Observation&,
                                         const api::v1alpha2::EtcdClusterStatus&);

/// Now: there is none that can be used. Soon: it grows old, and what members need goes first.
enum class Due { No, Soon, Now };
/// The next certificate of ours that is to be made or renewed; nullopt: none.
std::optional<IssueCertificate> due_certificate(const Observation&,
                                                const api::v1alpha2::EtcdClusterStatus&, Due);

/// Why one that is due cannot be made, in words; empty: it can.
std::string authority_trouble(const Observation&);

/// Rules: a certificate that is missing is issued before all else; one that grows old is renewed.
Verdict issue(const View&);
Verdict renew(const View&);

/// The Certificates that cert-manager is asked for. They name no members: who comes and goes
/// changes none of them.
std::vector<Json> certificates(const Observation&);
/// What those that are there have to say: the same without the peers' name that is beyond the
/// contract. One of the reference's lacks it, and would be issued anew for it.
std::vector<Json> least_certificates(const Observation&);

}  // namespace etcdop::cluster
