#include "kube/list_pages.h"

#include <optional>
#include <utility>

namespace etcdop::kube {
namespace {

constexpr const char* kPageSize = "200";  ///< A megabyte of Pods.
constexpr int kPagesMax = 2000;  ///< 400,000 objects; a server that never ends a list is broken.

/// One page's metadata.
struct Page {
  std::string version, next;
};

std::string text_at(const json::object& from, const char* field) {
  const Json* const value = from.if_contains(field);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

/// Corrupt if it is not a list.
Result<Page> take_page(const Json& answer, const std::function<void(const Json&)>& item) {
  const json::object* const list = answer.if_object();
  const Json* const metadata = list ? list->if_contains("metadata") : nullptr;
  const Json* const items = list ? list->if_contains("items") : nullptr;
  if (!metadata || !metadata->is_object() || !items || !(items->is_array() || items->is_null()))
    return Error{Code::Corrupt, "the answer to a list is no list"};
  const json::object& about = metadata->get_object();
  if (items->is_array())
    for (const Json& object : items->get_array()) item(object);
  return Page{text_at(about, "resourceVersion"), text_at(about, "continue")};
}

}  // namespace

Result<std::string> list_pages(Api& api, Call list, const std::function<void()>& begin,
                               const std::function<void(const Json&)>& item) {
  list.query["limit"] = kPageSize;
  bool again = false;
  begin();
  for (int pages = 0; pages < kPagesMax; ++pages) {
    auto answer = api.call(list);
    const bool later_page = list.query.contains("continue");
    if (answer.failed_with(Code::Expired) && later_page && !again) {
      again = true;
      list.query.erase("continue");
      begin();
      continue;
    }
    if (!answer) return answer.error();
    auto page = take_page(*answer, item);
    if (!page) return page.error();
    if (page->next.empty()) return page->version;
    list.query["continue"] = page->next;
  }
  return Error{Code::Corrupt, "a list of more than " + std::to_string(kPagesMax) + " pages"};
}

}  // namespace etcdop::kube
