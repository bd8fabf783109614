// Writes that the API server refused, or that failed again and again: reported in the object's
// status, and tried again later.
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
/// Whether the write failed for a reason that may pass, or may last: an admission webhook that is
/// down or slow, an API server that does not answer.
bool failed(const Result<Done>&);

/// The last failed write of each object.
///
/// A refusal is reported at once. After the first one the write is tried again soon (a new
/// namespace has no ServiceAccount for its Pods yet), then once a minute, whatever events come in
/// between. A write with other words is not held up.
///
/// Another failure is reported once the same write has failed twice, seconds apart: answers get
/// lost, and API servers restart. Its words may differ at each try (ports, addresses), so other
/// words are reported a minute later at the soonest.
class Refusals {
 public:
  static constexpr Duration kSoon = std::chrono::seconds(2), kLater = std::chrono::seconds(60);
  static constexpr const char* kStatus = "status";  ///< The write of the status; others by step.
  /// Whether failures that are no refusals hold up a write. Pass: the queue has a back-off.
  enum class Hold { Pass, Write };

  explicit Refusals(Hold hold = Hold::Pass) : hold_(hold) {}

  /// How long to wait before this write; zero: it may be tried now.
  Duration wait(const api::ObjectKey&, const std::string& write, Instant now) const;
  /// The result of a write, which ended now. True if it is news: why() has other words now.
  bool note(const api::ObjectKey&, const std::string& write, const Result<Done>&, Instant now);
  /// Why the last write fails, for users; empty if it does not, or has failed only once.
  std::string why(const api::ObjectKey&) const;
  /// Whether that write was refused because another object has the name.
  bool name_is_taken(const api::ObjectKey&) const;
  /// The write that was refused or failed last; empty: the last one succeeded.
  std::string failing(const api::ObjectKey&) const;
  /// Holds the last failed write up for kLater from now.
  void hold(const api::ObjectKey&, Instant now);
  void forget(const api::ObjectKey& key) { last_.erase(key); }

 private:
  struct Refusal {
    std::string write, why;
    Instant until, first, told;
    bool taken = false;
    int failures = 0;  ///< That are no refusals, since the last refusal.
  };
  bool note_refusal(Refusal&, const std::string& words, bool again, Instant now) const;
  bool note_failure(Refusal&, const std::string& words, Instant now) const;

  Hold hold_;
  std::map<api::ObjectKey, Refusal> last_;
};

}  // namespace etcdop
