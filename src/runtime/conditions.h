// Conditions of a status: finds them by type, and changes them by the rules of Kubernetes. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "base/wall_time.h"

namespace etcdop::runtime {

struct NewCondition {
  std::string type, status, reason, message;
};

/// Null if no condition has that type.
const api::Condition* find_condition(const std::vector<api::Condition>& conditions,
                                     std::string_view type);

/// Replaces the condition of its type, or appends it. lastTransitionTime changes only when status
/// does.
void set_condition(std::vector<api::Condition>& conditions, const NewCondition& to,
                   std::int64_t generation, WallTime now);

}  // namespace etcdop::runtime
