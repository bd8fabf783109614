// The scheduler's reasons, without what changes with each node that comes or goes. Pure.
#pragma once
#include <string>

namespace etcdop::member {

/// The scheduler's message about a Pod that no node can run, as a sorted list of its reasons,
/// without the numbers of nodes and the values of taints: with an autoscaler these change every few
/// seconds. A message of another form is returned as it is.
std::string reasons_of_scheduler(const std::string& message);

}  // namespace etcdop::member
