// Objects as JSON text. Users write parts of them: if one object is nested too deeply, the others
// must still be readable.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/json.h"

namespace etcdop::kube {

/// Maximum nesting of an object that we read. More than any Kubernetes kind needs, and more than
/// releases before this one could list. Values are walked by recursion, on the small stack of a
/// fiber.
inline constexpr std::size_t kObjectDepthMax = 38;

/// Parses JSON whose objects begin `level` arrays and objects below its root: 0 for an object, 1
/// for an event of a watch, 2 for a list. A field of an object that is nested more deeply than
/// kObjectDepthMax is replaced as a whole (`spec`, `status`) by a text that says so. No reader of
/// typed objects accepts that text, so the object counts as unreadable, and its metadata still
/// identifies it. Within `spec`, only podTemplate.spec is replaced if that is enough: the object
/// stays readable, and a planner refuses the text. `wrong` is set if the text is not JSON.
Json parse_objects(std::string_view text, std::size_t level, boost::system::error_code& wrong,
                   json::storage_ptr memory = {});

/// True for the text that stands for such a field.
bool is_too_deep(const Json& value);

/// The name of the object's own field that was replaced; empty if none was.
std::string too_deep_field(const Json& object);

}  // namespace etcdop::kube
