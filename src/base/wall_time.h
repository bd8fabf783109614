// The date, as people and the API read it. Our own deadlines use Clock, which never jumps.
#pragma once
#include <chrono>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace etcdop {

/// Seconds since 1970 in UTC, as Kubernetes keeps it (`creationTimestamp` has whole seconds).
struct WallTime {
  std::chrono::seconds since_epoch{0};
  auto operator<=>(const WallTime&) const = default;
  WallTime operator+(std::chrono::seconds d) const { return {since_epoch + d}; }
  std::chrono::seconds operator-(WallTime other) const { return since_epoch - other.since_epoch; }
};

class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual WallTime wall_now() const = 0;
};

/// "2026-11-21T03:56:18Z".
std::string to_rfc3339(WallTime);
/// "2026-11-21T03:56:18.000000Z": metav1.MicroTime needs the digits.
std::string to_rfc3339_micro(WallTime);
/// Accepts fractions of a second (dropped) and offsets; nullopt for anything else.
std::optional<WallTime> from_rfc3339(std::string_view);

}  // namespace etcdop
