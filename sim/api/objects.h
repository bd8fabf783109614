// Helpers for objects, queries and kinds.
#pragma once
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace etcdop::sim {

inline constexpr const char* kNoSuchResource = "the server could not find the requested resource";

inline std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

inline std::string query(const kube::Call& call, const std::string& key) {
  const auto found = call.query.find(key);
  return found == call.query.end() ? std::string() : found->second;
}

/// "" if the text is absent.
inline std::string text_at(const json::object& object, std::string_view key) {
  const Json* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->as_string()) : std::string();
}

inline json::object& meta(Json& object) { return object.at("metadata").as_object(); }
inline const json::object& meta(const Json& object) { return object.at("metadata").as_object(); }

inline api::ObjectKey key_of(const Json& object) {
  return {text_at(meta(object), "namespace"), text_at(meta(object), "name")};
}

inline bool has_finalizers(const Json& object) { return meta(object).contains("finalizers"); }
inline bool terminating(const Json& object) { return meta(object).contains("deletionTimestamp"); }

/// The part whose changes increase the generation: all but metadata and status.
inline json::object spec_of(const Json& object) {
  json::object out = object.as_object();
  out.erase("metadata");
  out.erase("status");
  return out;
}

/// Copies `field` from `from` to `to`; removes it from `to` if absent.
inline void restore(json::object& to, const json::object& from, std::string_view field) {
  if (const Json* value = from.if_contains(field)) to[field] = *value;
  else to.erase(field);
}

/// Fields of metadata that the server drops when they are empty.
inline constexpr std::array<std::string_view, 4> kNotKeptEmpty{"annotations", "finalizers",
                                                               "labels", "ownerReferences"};
inline bool is_empty(const Json& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty());
}

/// The server also drops unknown metadata.
inline void tidy(json::object& metadata) {
  constexpr std::array<std::string_view, 11> kKnown{"creationTimestamp",
                                                    "deletionGracePeriodSeconds",
                                                    "deletionTimestamp",
                                                    "generateName",
                                                    "generation",
                                                    "managedFields",
                                                    "name",
                                                    "namespace",
                                                    "resourceVersion",
                                                    "selfLink",
                                                    "uid"};
  for (auto at = metadata.begin(); at != metadata.end();) {
    const std::string_view key = at->key();
    const bool stays = std::ranges::find(kNotKeptEmpty, key) != kNotKeptEmpty.end()
                           ? !is_empty(at->value())
                           : std::ranges::find(kKnown, key) != kKnown.end();
    at = stays ? at + 1 : metadata.stable_erase(at);
  }
}

inline std::string with_group(const char* word, const api::Resource& r) {
  return *r.group == '\0' ? word : std::string(word) + "." + r.group;
}

/// As in most of the server's messages: `pods "a"`, `leases.coordination.k8s.io "a"`.
inline std::string quoted(const api::Resource& r, const std::string& name) {
  return with_group(r.plural, r) + " \"" + name + "\"";
}

/// As in its other messages: `Pod "a"`, `Lease.coordination.k8s.io "a"`.
inline std::string quoted_kind(const api::Resource& r, const std::string& name) {
  return with_group(r.kind, r) + " \"" + name + "\"";
}

inline Error invalid(const api::Resource& r, const std::string& name, const std::string& why,
                     Code code = Code::Invalid) {
  return {code, quoted_kind(r, name) + " is invalid: " + why};
}

inline Error not_found(const api::Resource& r, const std::string& name) {
  return {Code::NotFound, quoted(r, name) + " not found"};
}

inline Error too_large(std::uint64_t wanted, std::uint64_t now) {
  return {Code::Unavailable, "Timeout: Too large resource version: " + std::to_string(wanted) +
                                 ", current: " + std::to_string(now)};
}

/// Built-in kinds. Items of their lists carry no apiVersion and kind.
inline bool built_in(const api::Resource& r) {
  const std::string group = r.group;
  return group.find('.') == group.npos || group.ends_with(".k8s.io");
}

}  // namespace etcdop::sim
