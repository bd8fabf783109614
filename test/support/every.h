// Enumerates every outcome of a generator; with sanitizers, which are slow, a sample.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "test/support/seeded_random.h"

namespace etcdop::testing {

#if defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Usage: `Every pick; do { int x = pick(3); ... } while (pick.next());` runs x = 0, 1, 2.
class Every {
 public:
  Every() = default;
  /// With sanitizers, `sample` outcomes, drawn at random, the same in each run. The program
  /// small_worlds, which is built without them, takes every outcome.
  explicit Every(int sample) : left_(kSanitized ? sample : 0) {}

  /// A choice in [0, bound); the same call order must follow from the same earlier choices.
  int operator()(int bound) {
    if (left_ > 0) return static_cast<int>(random_.next() % static_cast<std::uint64_t>(bound));
    if (at_ == digits_.size()) digits_.push_back({0, bound});
    return digits_[at_++].value;
  }
  /// Moves to the next outcome; false once all are done.
  bool next() {
    if (left_ > 0) return --left_ > 0;
    digits_.resize(at_);
    at_ = 0;
    while (!digits_.empty()) {
      if (++digits_.back().value < digits_.back().bound) return true;
      digits_.pop_back();
    }
    return false;
  }

 private:
  struct Digit {
    int value, bound;
  };
  std::vector<Digit> digits_;
  std::size_t at_ = 0;
  int left_ = 0;
  SeededRandom random_{1};
};

/// As Every's, of worlds that loops enumerate: with sanitizers, one in `n`.
class Sample {
 public:
  explicit Sample(int n) : n_(kSanitized ? n : 1) {}
  bool takes_next() { return ++seen_ % n_ == 0; }

 private:
  int n_, seen_ = 0;
};

}  // namespace etcdop::testing
