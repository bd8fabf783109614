// Lists: at a version, paged, selected.
#include "sim/api/objects.h"
#include "sim/api/selection.h"
#include "sim/api/server.h"

namespace etcdop::sim {

using kube::Call;

struct ApiServer::Page {
  std::uint64_t version = 0;
  std::optional<ObjectKey> after;  ///< The last key of the previous page.
  std::size_t limit = 0;           ///< 0: no limit.
};

/// Which page of which version the call asks for. The token holds the version of the first page and
/// the last key of the previous page.
Result<ApiServer::Page> ApiServer::page_of(const Call& call) const {
  Page page{.version = version_, .after = {}, .limit = number(query(call, "limit")).value_or(0)};
  const std::string token = query(call, "continue"), from = query(call, "resourceVersion"),
                    match = query(call, "resourceVersionMatch");
  if (!token.empty()) {
    const std::size_t colon = token.find(':'), slash = token.find('/');
    page.version = number(token.substr(0, colon)).value_or(0);
    if (colon == token.npos || slash == token.npos || page.version == 0)
      return Error{Code::Invalid, "invalid continue token: continue key is not valid"};
    page.after = {token.substr(colon + 1, slash - colon - 1), token.substr(slash + 1)};
    if (page.version < forgotten_)
      return Error{Code::Expired,
                   "The provided continue parameter is too old to display a consistent list "
                   "result. You can start a new list without the continue parameter."};
    return page;
  }
  if (from.empty() || from == "0") return page;
  const auto wanted = number(from);
  if (!wanted)
    return Error{Code::Invalid, "invalid resource version: resourceVersion: Invalid value: \"" +
                                    from + "\": strconv.ParseUint: parsing \"" + from +
                                    "\": invalid syntax"};
  if (*wanted > version_) return too_large(*wanted, version_);
  const bool exact = match == "Exact" || (match.empty() && page.limit > 0);
  if (exact) page.version = *wanted;
  if (page.version < forgotten_)
    return Error{Code::Expired, "The resourceVersion for the provided list is too old."};
  return page;
}

std::map<ObjectKey, ApiServer::Object> ApiServer::state_at(const Kind& kind,
                                                           std::uint64_t version) const {
  auto state = kind.objects;
  for (auto at = history_.rbegin(); at != history_.rend() && at->version > version; ++at) {
    if (at->kind != &kind) continue;
    if (at->before) state[key_of(*at->before)] = at->before;
    else state.erase(key_of(*at->after));
  }
  return state;
}

Result<Json> ApiServer::list(const Call& call, const Kind& kind) const {
  auto selection = Selection::of(call);
  if (!selection) return selection.error();
  auto page = page_of(call);
  if (!page) return page.error();
  if (!call.ns.empty() && selection->fields.is_of_one()) page->limit = 0;  // The server does a get.
  const bool now = page->version == version_;
  const auto past = now ? std::map<ObjectKey, Object>() : state_at(kind, page->version);
  json::array items;
  json::object metadata{{"resourceVersion", std::to_string(page->version)}};
  std::string last;
  std::int64_t left = 0;
  for (const auto& [key, object] : now ? kind.objects : past) {
    if (page->after && key <= *page->after) continue;
    if (!call.ns.empty() && key.ns != call.ns) continue;
    if (page->limit > 0 && items.size() == page->limit) {
      ++left;  // Counts unselected objects, too: the next page may be empty.
      continue;
    }
    if (!selection->takes(*object)) continue;
    last = api::to_string(key);
    items.push_back(*object);
    if (built_in(call.resource)) {
      items.back().as_object().erase("apiVersion");
      items.back().as_object().erase("kind");
    }
  }
  if (left > 0) {
    metadata["continue"] = std::to_string(page->version) + ":" + last;
    if (query(call, "labelSelector").empty() && query(call, "fieldSelector").empty())
      metadata["remainingItemCount"] = left;
  }
  return Json{{"apiVersion", api::api_version(call.resource)},
              {"kind", std::string(call.resource.kind) + "List"},
              {"metadata", std::move(metadata)},
              {"items", std::move(items)}};
}

}  // namespace etcdop::sim
