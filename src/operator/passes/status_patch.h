// The difference between two encodings of a status, as a merge patch. Pure.
#pragma once
#include "base/json.h"

namespace etcdop {

/// Turns `before` into `after` (RFC 7386, one level deep): changed values, and null for removed
/// ones. Empty: equal.
json::object status_patch(const Json& before, const Json& after);

}  // namespace etcdop
