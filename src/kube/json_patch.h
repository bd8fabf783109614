// The operations of a JSON patch (RFC 6902). `path` is a JSON pointer: "~1" for "/" in a key.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace etcdop::kube {

/// The patch is refused unless that value stands there.
inline json::object must_be(std::string_view path, std::string_view value) {
  return {{"op", "test"}, {"path", path}, {"value", value}};
}
/// Whatever stands there gets that value.
inline json::object becomes(std::string_view path, Json value) {
  return {{"op", "replace"}, {"path", path}, {"value", std::move(value)}};
}
inline json::object added(std::string_view path, Json value) {
  return {{"op", "add"}, {"path", path}, {"value", std::move(value)}};
}
inline json::object removed(std::string_view path) { return {{"op", "remove"}, {"path", path}}; }

}  // namespace etcdop::kube
