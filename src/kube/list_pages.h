// Lists of any length, asked for in pages.
#pragma once
#include <functional>
#include <string>

#include "kube/api.h"

namespace etcdop::kube {

/// Gives `item` every object that `list` (Verb::List, without limit) selects, in pages of 200 which
/// all show one state; returns that state's resourceVersion, from which one can watch. If the
/// server has forgotten that state in the middle, `begin` is called again, and all starts over,
/// once. May suspend between pages. Errors as Api::call, Expired only if it is so twice; Corrupt:
/// no list.
Result<std::string> list_pages(Api& api, Call list, const std::function<void()>& begin,
                               const std::function<void(const Json&)>& item);

}  // namespace etcdop::kube
