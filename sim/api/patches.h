// How the API server changes an object: RFC 7386, RFC 6902 and the merge of server-side apply.
// Pure.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// RFC 7386: null deletes, objects merge, anything else replaces.
void merge_patch(Json& target, const Json& patch);

/// RFC 6902: add, remove, replace, test. Invalid: not a list of such operations. Conflict: it does
/// not fit the target; for example, a `test` fails.
Result<Json> json_patch(Json target, const Json& operations);

/// Merges as server-side apply does: lists replace each other, but owner references merge by UID
/// and finalizers as a set.
void merge_applied(Json& target, const Json& config);

}  // namespace etcdop::sim
