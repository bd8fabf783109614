// Decides which changes of a status become Events. Pure.
#pragma once
#include <vector>

#include "api/meta.h"
#include "runtime/events.h"

namespace etcdop::runtime {

/// The Events for an object whose conditions were `before` and are now `after`. Only transitions;
/// expected ones are left out, for example members that are not ready yet while a cluster grows. An
/// Event has its condition's reason and message.
std::vector<Event> transitions(const Event::Object& whose,
                               const std::vector<api::Condition>& before,
                               const std::vector<api::Condition>& after);

}  // namespace etcdop::runtime
