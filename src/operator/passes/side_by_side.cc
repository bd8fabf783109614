#include "operator/passes/side_by_side.h"

#include <exception>
#include <memory>

namespace etcdop {

void side_by_side(Executor& executor, const std::vector<std::function<void()>>& calls) {
  std::exception_ptr failed;
  std::vector<std::shared_ptr<Fiber>> fibers;
  for (const auto& call : calls)
    fibers.push_back(executor.spawn([&failed, &call] {
      try {
        call();
      } catch (...) {
        if (!failed) failed = std::current_exception();
      }
    }));
  {
    Shield until_all_ended(executor);
    for (const auto& fiber : fibers) (void)fiber->join();
  }
  if (failed) std::rethrow_exception(failed);
}

}  // namespace etcdop
