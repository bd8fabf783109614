#include "operator/shared/side_by_side.h"

#include <memory>

namespace etcdop {

void side_by_side(Executor& executor, const std::vector<std::function<void()>>& calls) {
  std::vector<std::shared_ptr<Fiber>> fibers;
  for (const auto& call : calls) fibers.push_back(executor.spawn(call));
  Shield until_all_ended(executor);
  for (const auto& fiber : fibers) (void)fiber->join();
}

}  // namespace etcdop
