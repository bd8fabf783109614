// The members that a run's rule selects. Pure.
#pragma once
#include <optional>
#include <string>

#include "operator/defrag/observation.h"

namespace etcdop::defrag {

/// Why that member is left as it is; empty: it is to be defragmented. Defaults are as the CRD
/// describes them: no threshold at all means freeSpaceAbove 200Mi.
std::string not_worth_it(const std::optional<api::v1alpha2::DefragRule>& rule,
                         const MemberAnswer& answer, std::int64_t quota);

}  // namespace etcdop::defrag
