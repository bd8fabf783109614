#include "runtime/transitions.h"

#include <algorithm>
#include <string_view>

#include "api/v1alpha2/names.h"
#include "runtime/conditions.h"

namespace etcdop::runtime {
namespace {

namespace v1 = api::v1alpha2;

/// Reasons that need a person's attention.
constexpr std::string_view kTroubles[] = {v1::kAuthCredentialsRejected,
                                          v1::kAuthRequiredNotConfigured,
                                          v1::kAuthorityChanged,
                                          v1::kAuthorityLost,
                                          v1::kBootstrapFailed,
                                          v1::kCertManagerNotInstalled,
                                          v1::kCertificateInvalid,
                                          v1::kCertificateMissing,
                                          v1::kCertificateNotInUse,
                                          v1::kClusterUnreachable,
                                          v1::kCorrupt,
                                          v1::kCrashLooping,
                                          v1::kDataLost,
                                          v1::kDeadlineExceeded,
                                          v1::kForeignMember,
                                          v1::kImagePullFailed,
                                          v1::kMembersFound,
                                          v1::kMembersUnhealthy,
                                          v1::kNoSpace,
                                          v1::kNotImplemented,
                                          v1::kObjectRejected,
                                          v1::kOperatorImageNotConfigured,
                                          v1::kPassFailed,
                                          v1::kPodConflict,
                                          v1::kPodFailed,
                                          v1::kPodRejected,
                                          v1::kPodTemplateConflict,
                                          v1::kPortsInPlainText,
                                          v1::kQuorumLost,
                                          v1::kRestoreFailed,
                                          v1::kServiceRefused,
                                          v1::kSplitBrain,
                                          v1::kUnschedulable,
                                          v1::kUnsupportedFlag,
                                          v1::kUnsupportedVersion,
                                          v1::kVersionMismatch,
                                          v1::kVolumesFound,
                                          v1::kVolumeConflict};

bool is_trouble(std::string_view reason) {
  return std::ranges::find(kTroubles, reason) != std::end(kTroubles);
}

/// The conditions of one object, by type.
struct Conditions {
  const std::vector<api::Condition>& all;
  bool is(const char* type, std::string_view status) const {
    const api::Condition* const c = find_condition(all, type);
    return c && c->status == status;
  }
  bool has_reason(const char* type, std::string_view reason) const {
    const api::Condition* const c = find_condition(all, type);
    return c && c->reason == reason;
  }
};

/// True if another condition reports it, or if it is normal during a change.
bool goes_without_saying(const api::Condition& now, Conditions before, Conditions after) {
  if (now.type != v1::kDegraded) return false;
  // Alarmed reports an alarm, and its end.
  for (const char* alarm : {v1::kNoSpace, v1::kCorrupt})
    if (now.reason == alarm || (now.status == "False" && before.has_reason(v1::kDegraded, alarm)))
      return true;
  const bool moves = after.is(v1::kProgressing, "True");
  if (now.reason == v1::kMembersUnhealthy) return moves;
  if (now.status == "True") return false;
  const bool moved = before.is(v1::kProgressing, "True");
  return (moved || moves) && before.has_reason(v1::kDegraded, v1::kMembersUnhealthy);
}

bool is_news(const api::Condition* before, const api::Condition& now) {
  if (!before) return is_trouble(now.reason) || (now.status == "True");
  // A member's start is reported when it becomes a voter, its return by its cluster.
  if (now.type == v1::kReady && now.status == "True") return is_trouble(before->reason);
  if (before->status != now.status) return true;
  if (before->reason == now.reason) return false;
  if (now.reason == v1::kWaitingForSeed || before->reason == v1::kWaitingForSeed) return false;
  // Degraded reports why Available changes its reason; the Pod reports ordinary reasons for
  // unready.
  return is_trouble(now.reason) || now.type == v1::kProgressing;
}

}  // namespace

std::vector<Event> transitions(const Event::Object& whose,
                               const std::vector<api::Condition>& before,
                               const std::vector<api::Condition>& after) {
  std::vector<Event> out;
  for (const api::Condition& now : after) {
    const api::Condition* const was = find_condition(before, now.type);
    if (!is_news(was, now) || goes_without_saying(now, {before}, {after})) continue;
    const bool stopped = now.type == v1::kReady && now.status != "True";
    out.push_back({.regarding = whose,
                   .related = std::nullopt,
                   .warning = stopped || is_trouble(now.reason),
                   .reason = now.reason,
                   .action = "Reconcile",
                   .note = now.message});
  }
  return out;
}

}  // namespace etcdop::runtime
