#include "operator/passes/json_delta.h"

#include <charconv>
#include <string>

namespace etcdop {
namespace {

/// The element at a key such as "12"; null: missing.
Json* element(json::array& list, std::string_view key) {
  std::size_t index = 0;
  const auto [end, wrong] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool whole = wrong == std::errc() && end == key.data() + key.size();
  return whole && index < list.size() ? &list[index] : nullptr;
}

void note(json::object& changes, std::string_view key, Json change) {
  if (!change.is_object() || !change.as_object().empty()) changes[key] = std::move(change);
}

json::object fields(const json::object& from, const json::object& to) {
  json::object out;
  for (const auto& [key, value] : to) {
    const Json* old = from.if_contains(key);
    if (old) note(out, key, delta(*old, value));
    else out[key] = json::array{value};
  }
  for (const auto& [key, value] : from)
    if (!to.contains(key)) out[key] = json::array();
  return out;
}

json::object elements(const json::array& from, const json::array& to) {
  json::object out;
  for (std::size_t i = 0; i < to.size(); ++i) note(out, std::to_string(i), delta(from[i], to[i]));
  return out;
}

}  // namespace

Json delta(const Json& from, const Json& to) {
  if (from.is_object() && to.is_object()) return fields(from.as_object(), to.as_object());
  if (from.is_array() && to.is_array() && from.as_array().size() == to.as_array().size())
    return elements(from.as_array(), to.as_array());
  if (from == to) return json::object();
  return Json(json::array({to}));
}

Result<Done> apply(Json& from, const Json& change) {
  if (change.is_array() && change.as_array().size() == 1) {
    from = change.as_array()[0];
    return Done{};
  }
  if (!change.is_object()) return Error{Code::Invalid, "it is no delta"};
  for (const auto& [key, of_field] : change.as_object()) {
    const std::string name(key);
    const bool gone = of_field.is_array() && of_field.as_array().empty();
    Json* at = nullptr;
    if (json::object* object = from.if_object()) {
      if (gone) {
        object->erase(key);
        continue;
      }
      at = &(*object)[key];
    } else if (json::array* list = from.if_array()) {
      at = element(*list, key);
    }
    if (!at) return Error{Code::Invalid, name + " is not there"};
    if (auto applied = apply(*at, of_field); !applied)
      return Error{Code::Invalid, name + ": " + applied.error().message};
  }
  return Done{};
}

}  // namespace etcdop
