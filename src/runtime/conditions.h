// Conditions of a status: found by type, and changed as Kubernetes wants it. Pure.
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

/// Null if there is none of that type.
const api::Condition* find_condition(const std::vector<api::Condition>& conditions,
                                     std::string_view type);

/// Puts it in place of the one of its type, or at the end. lastTransitionTime changes only when
/// status does.
void set_condition(std::vector<api::Condition>& conditions, const NewCondition& to,
                   std::int64_t generation, WallTime now);

}  // namespace etcdop::runtime
