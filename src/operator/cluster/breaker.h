// Clusters whose members accept calls and never answer: asked now and then, not in each pass.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop::cluster {

/// Per cluster. After three attempts in a row that waited a second or more in vain, the cluster is
/// asked after 15 s, 30 s and then once a minute, until a member answers or its Pods change. A
/// refusal at once costs no wait and does not count: the member may be starting.
class Breaker {
 public:
  /// Whether the members may be asked now. `whom`: any text that changes with their addresses and
  /// readiness.
  bool lets_through(const api::ObjectKey& key, const std::string& whom, Instant now) const {
    const auto last = last_.find(key);
    return last == last_.end() || last->second.whom != whom || last->second.times < kTimes ||
           now >= last->second.next;
  }
  /// Notes an attempt: how long it took, and why no member answered; empty: a member did.
  void note(const api::ObjectKey& key, const std::string& whom, Instant began, Instant now,
            const std::string& why) {
    if (why.empty() || now - began < kSlow) {
      last_.erase(key);
      return;
    }
    Silence& silence = last_[key];
    if (silence.whom != whom) silence = {whom, why, 0, now};
    silence.why = why;
    ++silence.times;
    const int doublings = std::clamp(silence.times - kTimes, 0, 2);
    silence.next = now + std::min(kPause * (1 << doublings), kPauseMax);
  }
  /// Why no member answered the last time.
  std::string why(const api::ObjectKey& key) const {
    const auto last = last_.find(key);
    return last == last_.end() ? "" : last->second.why;
  }
  void forget(const api::ObjectKey& key) { last_.erase(key); }

 private:
  static constexpr int kTimes = 3;
  static constexpr Duration kSlow = std::chrono::seconds(1), kPause = std::chrono::seconds(15),
                            kPauseMax = std::chrono::seconds(60);
  struct Silence {
    std::string whom, why;
    int times = 0;
    Instant next{};
  };
  std::map<api::ObjectKey, Silence> last_;
};

}  // namespace etcdop::cluster
