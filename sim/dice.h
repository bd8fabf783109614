// Seeded chance, the same on every compiler and standard library.
#pragma once
#include <cstdint>
#include <random>
#include <string_view>

#include "base/fiber.h"
#include "base/random.h"

namespace etcdop::sim {

/// A number that depends on both, the same on every compiler: FNV-1a, then splitmix64's mixer.
inline std::uint64_t hash_of(std::string_view text, std::uint64_t seed) {
  std::uint64_t out = 0xcbf29ce484222325U;
  for (const char c : text) out = (out ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  out += seed * 0x9e3779b97f4a7c15U;
  out = (out ^ (out >> 30)) * 0xbf58476d1ce4e5b9U;
  out = (out ^ (out >> 27)) * 0x94d049bb133111ebU;
  return out ^ (out >> 31);
}

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
