// Writes that the API server refused: reported in the object's status, and tried again later.
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop {

/// The delay after a pass whose outcome the status does not report yet.
inline constexpr std::chrono::milliseconds kAgainSoon{200};

/// Whether the API server refused for a reason that time alone does not fix: rights, a quota, a
/// policy, or a name that another object has.
bool refused(const Result<Done>&);

/// The last refused write of each object. After the first refusal it is tried again soon (a new
/// namespace has no ServiceAccount for its Pods yet), then once a minute, whatever events come in
/// between. A write with other words is not held up.
class Refusals {
 public:
  static constexpr Duration kSoon = std::chrono::seconds(2), kLater = std::chrono::seconds(60);
  static constexpr const char* kStatus = "status";  ///< The write of the status; others by step.

  /// How long to wait before this write; zero: it may be tried now.
  Duration wait(const api::ObjectKey&, const std::string& write, Instant now) const;
  /// The result of a write. True if it is news: refused with other words than the last.
  bool note(const api::ObjectKey&, const std::string& write, const Result<Done>&, Instant now);
  /// Why the last write was refused; empty if it was not.
  std::string why(const api::ObjectKey&) const;
  void forget(const api::ObjectKey& key) { last_.erase(key); }

 private:
  struct Refusal {
    std::string write, why;
    Instant until;
  };
  std::map<api::ObjectKey, Refusal> last_;
};

}  // namespace etcdop
