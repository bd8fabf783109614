// Decides whether registers could have made a history, with each operation taking effect at one
// instant between its invocation and its return.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/history.h"

namespace etcdop::sim {

/// Why a history is not known to be linearizable.
struct Violation {
  enum class Kind {
    Impossible,  ///< No order of the operations explains what the clients saw.
    Undecided,   ///< The search gave up at its bound. Never treat it as correct.
  };
  Kind kind;
  std::string key;
  /// Operations of this key, in order of invocation, that have no valid order by themselves. They
  /// come from the shortest impossible prefix of the history; neither a get nor a value (with all
  /// its puts and gets) could be left out. Empty if undecided.
  std::vector<Operation> window;
  /// A sentence, then a line for each operation of the window, at most the last 20. Failed puts
  /// whose value was seen have a line, too.
  std::string text;
};

/// Branches that one key's search may use before it gives up.
constexpr std::size_t kMaxBranches = 20'000;

/// The first key (by name) with an impossible history; otherwise the first undecided key; nothing
/// if each key's history is linearizable, which for independent registers means that the whole
/// history is.
///
/// The search is Wing and Gong's with Lowe's memory of visited states. Where one choice is as good
/// as any other, it takes that choice and never comes back. So if each value is put only once, it
/// never branches: n operations, c of them open at a time, cost about n·c², and the answer is
/// exact. Only values that are put again, deletes included, can reach `max_branches`. The search
/// for a violation's window has the same bound again; if it is reached, the window is correct but
/// not minimal.
std::optional<Violation> check_linearizable(const History&,
                                            std::size_t max_branches = kMaxBranches);

}  // namespace etcdop::sim
