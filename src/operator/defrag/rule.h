// Which members a run's rule means. Pure.
#pragma once
#include <optional>
#include <string>

#include "operator/defrag/observation.h"

namespace etcdop::defrag {

/// Why that member is left as it is; empty: it is to be defragmented. What the rule does not say is
/// as the CRD's prose has it: no threshold at all means freeSpaceAbove 200Mi.
std::string not_worth_it(const std::optional<api::v1alpha2::DefragRule>& rule,
                         const MemberAnswer& answer, std::int64_t quota);

}  // namespace etcdop::defrag
