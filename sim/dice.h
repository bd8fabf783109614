// Seeded chance, the same on every compiler and standard library.
#pragma once
#include <cstdint>
#include <random>

#include "base/fiber.h"
#include "base/random.h"

namespace etcdop::sim {

/// One stream of random draws. Everything random in a simulated world comes from such a stream, so
/// a seed determines a world.
class Dice final : public Random {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }
  /// In [0, n); n > 0.
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  /// In [low, high].
  Duration between(Duration low, Duration high) {
    return low + Duration(below(static_cast<std::uint64_t>((high - low).count()) + 1));
  }
  /// True once in `n` times.
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  bool percent(std::uint64_t p) { return below(100) < p; }
  /// An independent stream: draws of one part of the world do not shift those of another.
  Dice split() { return Dice(next()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace etcdop::sim
