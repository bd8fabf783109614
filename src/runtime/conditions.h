// Conditions of a status: finds them by type, and changes them by the rules of Kubernetes. Pure.
#pragma once
#include <cstddef>
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

/// The limit of a condition's message; the schema's is 32,768 characters. An API server refuses the
/// whole status if one message is too long.
inline constexpr std::size_t kMessageBytesMax = 4096;

/// Replaces the condition of its type, or appends it. lastTransitionTime changes only when status
/// does. The message may quote any text: it becomes UTF-8, and is shortened to kMessageBytesMax.
void set_condition(std::vector<api::Condition>& conditions, const NewCondition& to,
                   std::int64_t generation, WallTime now);

}  // namespace etcdop::runtime
