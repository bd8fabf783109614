// A date that follows virtual time.
#pragma once
#include "base/fiber.h"
#include "base/wall_time.h"

namespace etcdop::testing {

/// 2026-01-01T00:00:00Z when the executor's clock is at zero.
class VirtualWallClock : public WallClock {
 public:
  explicit VirtualWallClock(const Clock& clock) : clock_(clock) {}
  WallTime wall_now() const override {
    return {std::chrono::seconds(1767225600) +
            std::chrono::floor<std::chrono::seconds>(clock_.now().time_since_epoch())};
  }

 private:
  const Clock& clock_;
};

}  // namespace etcdop::testing
