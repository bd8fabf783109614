// Lists of any length, read in pages.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace etcdop::kube {

/// Passes to `item` every object that `list` (Verb::List, without limit) selects. The pages have
/// 200 objects each and all show one state. Returns that state's resourceVersion, from which a
/// watch can start. If the server forgets that state meanwhile, calls `begin` again and starts
/// over, once. The same, with smaller pages, if a page of large objects takes too long; several
/// times. May suspend between pages. Errors as for Api::call; Expired only if it happens
/// twice; Corrupt: not a list.
Result<std::string> list_pages(Api& api, Call list, const std::function<void()>& begin,
                               const std::function<void(const Json&)>& item);

/// The text at a JSON pointer of an object that is not decoded: "/spec/clusterName"; "": none.
std::string text_at(const Json& object, std::string_view pointer);

}  // namespace etcdop::kube
