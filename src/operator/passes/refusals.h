// Writes that the API server refused: told in the object's status, and not tried again at once.
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop {

/// After a pass whose outcome is yet to be told in the status.
inline constexpr std::chrono::milliseconds kAgainSoon{200};

/// Whether the API server has refused for a reason that time alone does not mend: rights, a quota,
/// a policy, a name that is somebody else's.
bool refused(const Result<Done>&);

/// Per object the last write that was refused. What is refused for the first time is tried again
/// soon (a new namespace has no account for its Pods yet), from then on once a minute, whatever
/// events come in between. A write of other words is another one: it is not held up.
class Refusals {
 public:
  static constexpr Duration kSoon = std::chrono::seconds(2), kLater = std::chrono::seconds(60);
  static constexpr const char* kStatus = "status";  ///< The write that reports; others by the step.

  /// How long not to try this write yet; zero: it may be tried.
  Duration wait(const api::ObjectKey&, const std::string& write, Instant now) const;
  /// What came of a write. True if that is news: refused in words that were not the last.
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
