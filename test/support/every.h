// Enumerates every outcome of a generator instead of sampling some.
#pragma once
#include <cstddef>
#include <vector>

namespace etcdop::testing {

/// Usage: `Every pick; do { int x = pick(3); ... } while (pick.next());` runs x = 0, 1, 2.
class Every {
 public:
  /// A choice in [0, bound); the same call order must follow from the same earlier choices.
  int operator()(int bound) {
    if (at_ == digits_.size()) digits_.push_back({0, bound});
    return digits_[at_++].value;
  }
  /// Moves to the next outcome; false once all are done.
  bool next() {
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
};

#if defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// With sanitizers, a test takes one in `n` of its worlds. The program small_worlds, which is built
/// without them, takes all.
class Sample {
 public:
  explicit Sample(int n) : n_(kSanitized ? n : 1) {}
  bool takes_next() { return ++seen_ % n_ == 0; }

 private:
  int n_, seen_ = 0;
};

}  // namespace etcdop::testing
