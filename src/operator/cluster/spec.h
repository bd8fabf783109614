// Which spec is being worked towards: why one is not, and the copy in status.observed.
// Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdmember.h"
#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Why a spec is not worked towards, as the condition Progressing tells it.
struct Refusal {
  const char* reason;   ///< Of `names.h`.
  std::string message;  ///< Names the field and what to do; a sentence without its end.
};
/// NotImplemented: sizes that we do not run, and what would not keep its data.
/// UnsupportedVersion: see why_not_version. CertificateMissing: a Secret without a name.
/// UnsupportedFlag, PodTemplateConflict: what is not the user's to set in extraArgs and
/// podTemplate. nullopt: all of it can be done.
std::optional<Refusal> refusal_of(const Observation& seen);

/// Copies the spec to status.observed if it differs, and starts the clock: InitialSnapshot,
/// SpecChanged, RetryAfterDeadline.
void adopt_spec(const Observation& seen, api::v1alpha2::EtcdClusterStatus& status);

/// "working towards 3 members of etcd 3.6.16"
std::string towards(const api::v1alpha2::ObservedSpec&);

/// A short text that is equal for equal members: of what all of them have in common, that is all of
/// status.observed but the number of them.
std::string template_of(const api::v1alpha2::MemberTemplate&);

}  // namespace etcdop::cluster
