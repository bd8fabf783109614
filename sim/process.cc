#include "sim/process.h"

#include <algorithm>

namespace etcdop::sim {

namespace {
constexpr int kDrainMax = 1'000'000;  // Steps: more than any orderly end takes.
}

Instant ProcessExecutor::next() const {
  const Instant due = next_due();
  if (due == Instant::max()) return due;
  Instant at = world_.now();
  if (due > now()) {
    if (percent_ == 0) return Instant::max();
    at = from_ + (due - own_ + Duration(percent_ - 1)) / percent_ * 100;
  }
  return std::max({at, world_.now(), frozen_until_});
}

void ProcessExecutor::run_at(int percent) {
  own_ = now();
  from_ = world_.now();
  percent_ = percent;
}

bool ProcessExecutor::drain() {
  run_at(100);
  for (int i = 0; alive() > 0; ++i) {
    if (next_due() == Instant::max() || i == kDrainMax) return false;
    own_ += std::max(Duration(0), next_due() - now());
    step();
  }
  return true;
}

}  // namespace etcdop::sim
