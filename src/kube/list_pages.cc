#include "kube/list_pages.h"

#include <algorithm>
#include <string>
#include <utility>

namespace etcdop::kube {
namespace {

constexpr int kPageSize = 200;  ///< A megabyte of Pods.
constexpr int kShrinks = 4;     ///< The times that a page which takes too long is made smaller.
/// 400,000 objects, and more pages where they are large; a server that never ends a list is broken.
constexpr int kPagesMax = 2000, kSmallPagesMax = 400'000;

/// One page's metadata.
struct Page {
  std::string version, next;
};

/// Corrupt if it is not a list.
Result<Page> to_page(const Json& answer) {
  const json::object* const list = answer.if_object();
  const Json* const metadata = list ? list->if_contains("metadata") : nullptr;
  const Json* const items = list ? list->if_contains("items") : nullptr;
  const bool is_list =
      items && (items->is_null() || (items->is_array() && items->get_array().empty()));
  if (!metadata || !metadata->is_object() || !is_list)
    return Error{Code::Corrupt, "the answer to a list is no list"};
  return Page{text_at(answer, "/metadata/resourceVersion"), text_at(answer, "/metadata/continue")};
}

}  // namespace

std::string text_at(const Json& object, std::string_view pointer) {
  boost::system::error_code none;
  const Json* const value = object.find_pointer(pointer, none);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

Result<std::string> list_pages(Api& api, Call list, const std::function<void()>& begin,
                               const std::function<void(const Json&)>& item) {
  int size = kPageSize, shrinks = 0;
  bool again = false;
  std::string next;
  const auto start_over = [&] {
    next.clear();
    begin();
  };
  start_over();
  for (int pages = 0; pages < (shrinks > 0 ? kSmallPagesMax : kPagesMax); ++pages) {
    list.query["limit"] = std::to_string(size);
    if (next.empty()) list.query.erase("continue");
    else list.query["continue"] = next;
    bool some = false;
    auto answer = api.list(list, [&](const Json& object) {
      some = true;
      item(object);
    });
    // Large objects: the page did not arrive in time.
    if (answer.failed_with(Code::TimedOut) && some && shrinks < kShrinks) {
      size = std::max(1, size / 4);
      ++shrinks;
      start_over();
      continue;
    }
    if (answer.failed_with(Code::Expired) && !next.empty() && !again) {
      again = true;
      start_over();
      continue;
    }
    if (!answer) return answer.error();
    auto page = to_page(*answer);
    if (!page) return page.error();
    if (page->next.empty()) return page->version;
    next = page->next;
  }
  return Error{Code::Corrupt, "a list of too many pages"};
}

Result<Json> Api::list(const Call& call, const std::function<void(const Json&)>& item) {
  auto answer = this->call(call);
  json::object* const whole = answer ? answer->if_object() : nullptr;
  Json* const items = whole ? whole->if_contains("items") : nullptr;
  if (!items || !items->is_array()) return answer;
  for (const Json& object : items->get_array()) item(object);
  items->get_array().clear();
  return answer;
}

}  // namespace etcdop::kube
