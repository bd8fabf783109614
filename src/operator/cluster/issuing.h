// A cluster's certificates, from the operator's own authority or from cert-manager: their content,
// and when they are due. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// The members that a certificate names beside the wildcards: existing and recorded ones.
std::vector<std::string> members_to_name(const Observation&,
                                         const api::v1alpha2::EtcdClusterStatus&);

/// Now: no usable certificate exists. Soon: it is due for renewal, after all that members need.
enum class Due { No, Soon, Now };
/// The next certificate that the operator must issue or renew; nullopt: none.
std::optional<IssueCertificate> due_certificate(const Observation&,
                                                const api::v1alpha2::EtcdClusterStatus&, Due);

/// Why a due certificate cannot be issued, in words; empty: it can.
std::string authority_trouble(const Observation&);

/// Rules: a missing certificate is issued before all else; an old one is renewed.
Verdict issue(const View&);
Verdict renew(const View&);

/// The Certificates for cert-manager. They name no members, so a membership change leaves them as
/// they are.
std::vector<Json> certificates(const Observation&);
/// The minimum for existing Certificates: the same without the peers' name that is beyond the
/// contract. The Go operator's Certificates lack that name; adding it would reissue them.
std::vector<Json> least_certificates(const Observation&);

}  // namespace etcdop::cluster
