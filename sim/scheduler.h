// Virtual time for fibers: the executor of every test and of the simulation.
#pragma once
#include <cstdint>
#include <random>

#include "base/fiber.h"

namespace etcdop::sim {

/// Virtual time: when every fiber waits, the clock jumps to the next due one. A seed decides ties.
class Scheduler final : public Executor {
 public:
  explicit Scheduler(std::uint64_t seed) : random_(seed) {}
  Instant now() const override { return now_; }
  /// Returns when nothing is due any more; alive() then counts fibers that nothing will wake.
  void run();
  /// Like run(), but not beyond `end`; the clock stops there.
  void run_until(Instant end);

  // For callers that run several executors on one clock:

  /// When it wants to be stepped; Instant::max(): never.
  Instant next() const { return next_due(); }
  void step_next() { step(); }
  /// Never backwards.
  void advance_to(Instant when) { now_ = std::max(now_, when); }

 private:
  std::uint64_t tie() override { return random_(); }
  std::mt19937_64 random_;
  Instant now_{};
};

}  // namespace etcdop::sim
