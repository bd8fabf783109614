// The difference between two encodings of a status, as a merge patch. Pure.
#pragma once
#include "base/json.h"

namespace etcdop {

/// Turns `before` into `after` (RFC 7386, one level deep): changed values, and null for removed
/// ones. Empty: equal.
json::object status_patch(const Json& before, const Json& after);

/// Whether it has only fields of an EtcdCluster that are told together with another change: the
/// time of the report, and what was measured (docs/user/operations.md).
bool has_only_measurements(const json::object& patch);

}  // namespace etcdop
