// A simulated process: its own fibers, which can be frozen, and a clock that may run wrong.
#pragma once
#include <cstdint>

#include "base/fiber.h"
#include "sim/dice.h"

namespace etcdop::sim {

/// The runner of the world steps it at next(), in the world's time.
class ProcessExecutor final : public Executor {
 public:
  ProcessExecutor(const Clock& world, std::uint64_t seed) : world_(world), dice_(seed) {
    from_ = world.now();
    own_ = world.now();
  }
  Instant now() const override { return own_ + (world_.now() - from_) / 100 * percent_; }
  /// When it wants to be stepped, in the world's time; Instant::max(): it waits for others, is
  /// frozen for ever, or its clock stands still.
  Instant next() const;
  void step_next() { step(); }
  /// Nothing in it runs before that time; then it goes on as if no time had passed.
  void freeze_until(Instant world) { frozen_until_ = world; }
  bool frozen() const { return world_.now() < frozen_until_; }
  /// From now on its monotonic clock runs at this percentage of the world's.
  void run_at(int percent);
  /// Runs everything that is left to its end at once, with its clock ahead of the world's. It must
  /// have been cancelled. False: something waits for ever.
  bool drain();

 private:
  std::uint64_t tie() override { return dice_.next(); }
  const Clock& world_;
  Dice dice_;
  Instant from_{}, own_{};  // Its clock was at own_ when the world's was at from_.
  int percent_ = 100;
  Instant frozen_until_{};
};

}  // namespace etcdop::sim
