// Repairs that a user or another controller undoes: each repetition within a short time waits
// longer.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop {

/// Keeps the repairs of each object. The first repetition within half a minute waits a second, each
/// further one twice as long, up to a minute. This bounds the requests to the API server.
class Contested {
 public:
  /// How long to wait before this write; zero: it may be done now.
  Duration wait(const api::ObjectKey& key, const std::string& write, Instant now) const {
    const auto of_object = last_.find(key);
    if (of_object == last_.end()) return Duration(0);
    const auto last = of_object->second.find(write);
    if (last == of_object->second.end()) return Duration(0);
    return std::max(last->second.at + last->second.pause - now, Duration(0));
  }
  /// The write was done now.
  void did(const api::ObjectKey& key, const std::string& write, Instant now) {
    constexpr Duration kFirst = std::chrono::seconds(1), kMost = std::chrono::seconds(60),
                       kSoon = std::chrono::seconds(30);
    auto& all = last_[key];
    std::erase_if(all, [&](const auto& w) { return now - w.second.at >= w.second.pause + kSoon; });
    const auto [last, first] = all.try_emplace(write, Last{now, kFirst});
    if (!first) last->second = {now, std::min(last->second.pause * 2, kMost)};
  }
  void forget(const api::ObjectKey& key) { last_.erase(key); }

 private:
  struct Last {
    Instant at;
    Duration pause;
  };
  std::map<api::ObjectKey, std::map<std::string, Last>> last_;
};

}  // namespace etcdop
