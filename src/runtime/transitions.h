// Which changes of a status are news for people. Pure.
#pragma once
#include <vector>

#include "api/meta.h"
#include "runtime/events.h"

namespace etcdop::runtime {

/// What to tell of an object whose conditions were `before` and are now `after`: transitions only,
/// and none that goes without saying, as a cluster that grows has members that are not ready yet.
/// An Event has its condition's reason and message.
std::vector<Event> transitions(const Event::Object& whose,
                               const std::vector<api::Condition>& before,
                               const std::vector<api::Condition>& after);

}  // namespace etcdop::runtime
