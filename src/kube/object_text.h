// Objects as text of JSON, of which users write parts: what one of them nests too deeply is no
// reason not to read the others.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"

namespace etcdop::kube {

/// How deeply an object may be nested to be read. More than any kind of Kubernetes needs, and more
/// than releases before this one could list. Values are walked by recursion, on the small stack of
/// a fiber.
inline constexpr std::size_t kObjectDepthMax = 38;

/// Parses JSON whose objects begin `level` arrays and objects below its root: 0 for an object, 1
/// for an event of a watch, 2 for a list. A field of an object that is nested more deeply than
/// kObjectDepthMax is replaced as a whole (`spec`, `status`) by a text that says so. No reader of
/// typed objects takes that text, so the object counts as unreadable, and its metadata tells which
/// one it is. `wrong` is set if it is not JSON.
Json parse_objects(std::string_view text, std::size_t level, boost::system::error_code& wrong,
                   json::storage_ptr memory = {});

/// The field that was replaced in an object; empty: none was.
std::string too_deep_field(const Json& object);

}  // namespace etcdop::kube
