// Randomness that a seed reproduces.
#pragma once
#include <cstdint>
#include <random>

#include "base/random.h"

namespace etcdop::testing {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace etcdop::testing
