// How the API server changes an object: RFC 7386, RFC 6902 and the merge of server-side apply.
// Pure.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace etcdop::sim {

/// RFC 7386: null deletes, objects merge, anything else replaces.
void merge_patch(Json& target, const Json& patch);

/// RFC 6902: add, remove, replace, test. Invalid: not such a list; Conflict: it does not fit what
/// is there, a `test` among other things.
Result<Json> json_patch(Json target, const Json& operations);

/// As server-side apply merges: lists replace each other, but owner references merge by UID and
/// finalizers as a set.
void merge_applied(Json& target, const Json& config);

}  // namespace etcdop::sim
