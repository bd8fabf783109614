// The difference between two JSON values that are much alike, and its way back.
//
//   delta  := {} (they are equal) | change
//   change := {key: change, ...}   only these fields of an object differ, or these elements of a
//                                  list of the same length ("0", "1"...)
//           | [value]              it is this now
//           | []                   it is not there any more
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace etcdop {

Json delta(const Json& from, const Json& to);

/// Makes `from` what `to` was. Invalid: the delta is of another value; `from` is then half changed.
Result<Done> apply(Json& from, const Json& delta);

}  // namespace etcdop
