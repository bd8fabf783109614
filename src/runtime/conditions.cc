#include "runtime/conditions.h"

#include <algorithm>

#include "base/utf8.h"

namespace etcdop::runtime {

const api::Condition* find_condition(const std::vector<api::Condition>& conditions,
                                     std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &api::Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

void set_condition(std::vector<api::Condition>& conditions, const NewCondition& to,
                   std::int64_t generation, WallTime now) {
  auto found = std::ranges::find(conditions, to.type, &api::Condition::type);
  if (found == conditions.end()) found = conditions.insert(found, api::Condition{});
  if (found->status != to.status) found->last_transition_time = to_rfc3339(now);
  found->type = to.type;
  found->status = to.status;
  found->reason = to.reason;
  found->message = shortened(to.message, kMessageBytesMax);
  found->observed_generation = generation;
}

}  // namespace etcdop::runtime
