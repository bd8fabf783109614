// The difference between two JSON values that are alike, and how to apply it.
//
//   delta  := {} (equal) | change
//   change := {key: change, ...}   only these fields of an object differ, or these elements of a
//                                  list of the same length ("0", "1"...)
//           | [value]              the new value
//           | []                   removed
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace etcdop {

Json delta(const Json& from, const Json& to);

/// Turns `from` into `to`. Invalid: the delta belongs to another value; `from` is then half
/// changed.
Result<Done> apply(Json& from, const Json& delta);

}  // namespace etcdop
