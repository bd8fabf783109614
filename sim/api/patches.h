// How the API server changes an object: RFC 7386, RFC 6902 and the merge of server-side apply.
// Pure.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// RFC 7386: null deletes, objects merge, anything else replaces.
void merge_patch(Json& target, const Json& patch);

/// RFC 6902: add, remove, replace, test. Invalid: not such a list, or a path that leads nowhere;
/// Conflict: a `test` failed.
Result<Json> json_patch(Json target, const Json& operations);

/// Server-side apply by the only manager there is: what `before` had applied and `now` leaves out
/// goes; `now` is merged in. Lists replace each other, but owner references merge by UID and
/// finalizers as a set.
void apply_patch(Json& target, const Json& before, const Json& now);

}  // namespace etcdop::sim
