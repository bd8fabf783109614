// Source of randomness: the operating system in production, a seed in tests.
#pragma once
#include <cstdint>

namespace etcdop {

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

}  // namespace etcdop
