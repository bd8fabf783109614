// All types of conditions, of all kinds. A new one is added here; then sim/world/oracles.cc does
// not compile until it says how a simulated world judges it, and a world in which the operator
// writes a type that is missing here fails.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "api/v1alpha2/names.h"

namespace etcdop::api::v1alpha2 {

enum class ConditionType {
  Available,
  Degraded,
  Progressing,
  Alarmed,
  InternalError,
  TlsReady,
  PlainText,
  Ready,
  VersionDrifted,
  DefragChecked,
  Verified,
  BackupStale,
  BackupUnverified,
  RetentionApplied,
  Checked,
  Stopped,
  DataRestored,
  Committed,
  RolledBack,
  kCount,
};

inline constexpr auto kConditionTypes = std::to_array<std::pair<ConditionType, std::string_view>>({
    {ConditionType::Available, kAvailable},
    {ConditionType::Degraded, kDegraded},
    {ConditionType::Progressing, kProgressing},
    {ConditionType::Alarmed, kAlarmed},
    {ConditionType::InternalError, kInternalError},
    {ConditionType::TlsReady, kTlsReady},
    {ConditionType::PlainText, kPlainText},
    {ConditionType::Ready, kReady},
    {ConditionType::VersionDrifted, kVersionDrifted},
    {ConditionType::DefragChecked, kDefragChecked},
    {ConditionType::Verified, kVerified},
    {ConditionType::BackupStale, kBackupStale},
    {ConditionType::BackupUnverified, kBackupUnverified},
    {ConditionType::RetentionApplied, kRetentionApplied},
    {ConditionType::Checked, kChecked},
    {ConditionType::Stopped, kStopped},
    {ConditionType::DataRestored, kRestoredData},
    {ConditionType::Committed, kCommitted},
    {ConditionType::RolledBack, kRolledBack},
});
static_assert(kConditionTypes.size() == static_cast<std::size_t>(ConditionType::kCount));

/// nullopt: no type has that name.
constexpr std::optional<ConditionType> condition_type(std::string_view name) {
  for (const auto& [type, its_name] : kConditionTypes)
    if (its_name == name) return type;
  return std::nullopt;
}

}  // namespace etcdop::api::v1alpha2
