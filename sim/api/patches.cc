#include "sim/api/patches.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etcdop::sim {
namespace {

Error invalid(std::string what) { return {Code::Invalid, std::move(what)}; }
/// The server's message (422), with the code that the client maps it to.
Error unfit() {
  return {Code::Conflict, "the server rejected our request due to an error in our request"};
}

/// The steps of an RFC 6901 pointer; nullopt if it is not valid.
std::optional<std::vector<std::string>> steps(std::string_view pointer) {
  std::vector<std::string> out;
  if (pointer.empty()) return out;
  if (pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      out.emplace_back();
    } else if (pointer[i] != '~') {
      out.back() += pointer[i];
    } else {
      if (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1'))
        return std::nullopt;
      out.back() += pointer[++i] == '0' ? '~' : '/';
    }
  }
  return out;
}

std::optional<std::size_t> index(const std::string& text) {
  std::size_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// Null if absent.
Json* child(Json& parent, const std::string& step) {
  if (auto* object = parent.if_object()) return object->if_contains(step);
  auto* list = parent.if_array();
  const auto at = list ? index(step) : std::nullopt;
  return at && *at < list->size() ? &(*list)[*at] : nullptr;
}

bool insert(Json& parent, const std::string& step, const Json& value) {
  if (auto* object = parent.if_object()) {
    (*object)[step] = value;
    return true;
  }
  auto* list = parent.if_array();
  if (!list) return false;
  const auto at = step == "-" ? list->size() : index(step);
  if (!at || *at > list->size()) return false;
  list->insert(list->begin() + static_cast<std::ptrdiff_t>(*at), value);
  return true;
}

void erase(Json& parent, const std::string& step) {
  if (auto* object = parent.if_object()) {
    object->erase(step);
    return;
  }
  auto& list = parent.as_array();
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(*index(step)));
}

Result<Done> operate(Json& target, const std::string& op, std::string_view pointer,
                     const Json* value) {
  const std::string where = op + " " + std::string(pointer);
  const auto path = steps(pointer);
  if (!path || path->empty()) return invalid(where + ": not a path inside the object");
  Json* parent = &target;
  for (std::size_t i = 0; i + 1 < path->size() && parent; ++i) parent = child(*parent, (*path)[i]);
  Json* const old = parent ? child(*parent, path->back()) : nullptr;
  if (op == "test") {
    if (value && old && *old == *value) return Done{};
    return unfit();
  }
  if (op != "remove" && !value) return invalid(where + ": has no value");
  if (op == "add") {
    if (!parent || !insert(*parent, path->back(), *value)) return unfit();
  } else if (op == "remove" || op == "replace") {
    if (!old) return unfit();
    if (op == "replace") *old = *value;
    else erase(*parent, path->back());
  } else {
    return invalid(where + ": not an operation that this fake knows");
  }
  return Done{};
}

/// Two entries of a list are the same if their keys are equal.
std::string entry_key(const Json& entry) {
  return json::serialize(entry.is_object() ? entry.at("uid") : entry);
}

std::optional<std::size_t> index_of(const json::array& list, const Json& entry) {
  const auto found = std::ranges::find(list, entry_key(entry), entry_key);
  if (found == list.end()) return std::nullopt;
  return static_cast<std::size_t>(found - list.begin());
}

/// Merges as structured-merge-diff does: in the order of `now`; entries only in `there` keep their
/// place among the shared entries.
json::array merged_entries(const json::array& there, const json::array& now) {
  json::array out;
  std::vector<std::string> shared;  // Shared entries still to come, in the order of `now`.
  for (const Json& entry : now)
    if (index_of(there, entry)) shared.push_back(entry_key(entry));
  const auto take = [&](const Json& entry) {
    if (!shared.empty() && shared.front() == entry_key(entry)) shared.erase(shared.begin());
    out.push_back(entry);
  };
  for (std::size_t l = 0, r = 0; l < there.size() || r < now.size();) {
    const bool both = l < there.size() && r < now.size();
    if (both && entry_key(there[l]) == entry_key(now[r])) {
      take(now[r]);
      ++l, ++r;
    } else if (both && index_of(now, there[l]) && !shared.empty() &&
               shared.front() != entry_key(there[l])) {
      ++l;  // It comes later in `now`.
    } else if (l < there.size() && !index_of(now, there[l])) {
      out.push_back(there[l++]);
    } else {
      if (l < there.size() && *index_of(now, there[l]) < r) ++l;  // It is already merged.
      if (r < now.size()) take(now[r++]);
    }
  }
  return out;
}

void merge_fields(json::object& target, const json::object& now) {
  for (const auto& [key, value] : now) {
    Json& there = target[key];
    if (there.is_object() && value.is_object()) merge_fields(there.as_object(), value.as_object());
    else if (there.is_array() && (key == "finalizers" || key == "ownerReferences"))
      there = merged_entries(there.as_array(), value.as_array());
    else there = value;
  }
}

}  // namespace

void merge_patch(Json& target, const Json& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = json::object();
  for (const auto& [key, value] : patch.as_object()) {
    if (value.is_null()) target.as_object().erase(key);
    else merge_patch(target.as_object()[key], value);
  }
}

Result<Json> json_patch(Json target, const Json& operations) {
  const auto* list = operations.if_array();
  if (!list) return invalid("a JSON patch is a list");
  for (const Json& operation : *list) {
    const auto* object = operation.if_object();
    const Json* op = object ? object->if_contains("op") : nullptr;
    const Json* path = object ? object->if_contains("path") : nullptr;
    if (!op || !op->is_string() || !path || !path->is_string())
      return invalid("an operation has op and path");
    if (auto ok = operate(target, std::string(op->as_string()), path->as_string(),
                          object->if_contains("value"));
        !ok)
      return ok.error();
  }
  return target;
}

void merge_applied(Json& target, const Json& config) {
  merge_fields(target.as_object(), config.as_object());
}

}  // namespace etcdop::sim
