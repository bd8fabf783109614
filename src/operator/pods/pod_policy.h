// Which Pods a user's template may make: the Pod Security Standards, for namespaces that do not
// enforce them. The Pods are created by the operator, so the API server does not ask what their
// author may do. Pure. Source: kubernetes.io/docs/concepts/security/pod-security-standards, v1.36.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "api/v1alpha2/shape.h"
#include "base/json.h"

namespace etcdop {

enum class PodPolicy { Any, Baseline, Restricted };
inline auto names(PodPolicy) {
  return std::array{std::pair{PodPolicy::Any, "any"}, std::pair{PodPolicy::Baseline, "baseline"},
                    std::pair{PodPolicy::Restricted, "restricted"}};
}

/// Why the standard does not allow a Pod, by the path of the first field at fault; empty: it does.
/// `pod` has metadata and spec. Never throws, whatever a template has put into it.
std::string why_not_pod(const json::object& pod, PodPolicy policy);

/// The same for the members' Pods with that template, in words that name --pod-template-policy.
std::string why_not_by_policy(const api::v1alpha2::PodTemplate& added, PodPolicy policy);

/// The ServiceAccount whose token a member's Pod with that template has: "default" if it names
/// none; empty: the Pod has no token.
std::string account_of(const api::v1alpha2::PodTemplate& added);

}  // namespace etcdop
