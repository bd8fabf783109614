// Several calls at once.
#pragma once
#include <functional>
#include <vector>

#include "base/fiber.h"

namespace etcdop {

/// Makes all of these calls at once, each on its own fiber. Returns when all have ended, even if
/// the caller is cancelled, because they write to its stack. So each call needs its own deadline.
/// An exception of a call is thrown here after all have ended. Suspends.
void side_by_side(Executor& executor, const std::vector<std::function<void()>>& calls);

}  // namespace etcdop
