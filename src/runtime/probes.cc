#include "runtime/probes.h"

#include <chrono>

namespace etcdop::runtime {

using namespace std::chrono_literals;

namespace {
constexpr auto kEvery = 1s;
constexpr auto kDead = 15s;  // No pass occupies the loop for so long.
}  // namespace

void Heartbeat::beat() {
  while (executor_.sleep(kEvery) == Woken::Ready) last_ = executor_.now();
}

http::Response liveness(const Heartbeat& heart) {
  if (heart.since() < kDead) return {200, {}, "ok\n"};
  const auto silent = std::chrono::duration_cast<std::chrono::seconds>(heart.since());
  return {503, {}, "the event loop has run nothing for " + std::to_string(silent.count()) + " s\n"};
}

http::Response readiness(const std::vector<std::string>& unfilled) {
  if (unfilled.empty()) return {200, {}, "ok\n"};
  std::string kinds;
  for (const std::string& kind : unfilled) kinds += (kinds.empty() ? "" : ", ") + kind;
  return {503, {}, "the caches are not filled yet: " + kinds + "\n"};
}

}  // namespace etcdop::runtime
