// The spec that the operator works towards: why a spec is refused, and the copy in status.observed.
// Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "api/v1alpha2/etcdmember.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Why a spec is refused, for the condition Progressing.
struct Refusal {
  const char* reason;   ///< One of `names.h`.
  std::string message;  ///< Names the field and what to do; no full stop at the end.
};
/// NotImplemented: sizes that we do not run, and specs that would not keep their data.
/// UnsupportedVersion: see why_not_version. CertificateMissing: a Secret without a name.
/// MembersFound: the members that exist have another spec.tls.
/// UnsupportedFlag, PodTemplateConflict: what users may not set in extraArgs and podTemplate.
/// nullopt: the spec is accepted.
std::optional<Refusal> refusal_of(const Observation& seen);

/// Whether a condition has that reason because the operator refuses the spec, or finds remains of
/// an earlier EtcdCluster.
bool refuses(std::string_view reason);

/// Whether the spec has a podTemplate that the operator has not accepted yet.
bool has_new_template(const api::v1alpha2::EtcdCluster&);

/// The parts of an accepted spec that an earlier release accepted, and that this one refuses in a
/// new cluster: a version, and what an edit of podTemplate must drop. Empty: none.
std::string outdated_spec(const Observation& seen);

/// With which the cluster founds its first etcd: no other EtcdCluster has this token.
std::string own_token(const api::ObjectMeta& cluster);

/// Copies the spec to status.observed if it differs, and starts the clock: InitialSnapshot,
/// SpecChanged, RetryAfterDeadline.
void adopt_spec(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// "working towards 3 members of etcd 3.6.16"
std::string towards(const api::v1alpha2::ObservedSpec&);

/// A hash that is equal for equal members: of all of status.observed but the number of members.
std::string template_of(const api::v1alpha2::MemberTemplate&);

}  // namespace etcdop::cluster
