// Several calls at once.
#pragma once
#include <functional>
#include <vector>

#include "base/fiber.h"

namespace etcdop {

/// Makes all of these calls at once, each on a fiber of its own. Returns when all have ended, also
/// if the caller is cancelled: they write to its stack. So each needs a deadline of its own. What
/// one of them throws is thrown here, once all have ended. Suspends.
void side_by_side(Executor& executor, const std::vector<std::function<void()>>& calls);

}  // namespace etcdop
