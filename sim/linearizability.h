// Decides whether a history could have been made by registers on which each operation happened at
// one instant between its invocation and its return.
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
    Undecided,   ///< The search gave up at its bound. Never to be taken as fine.
  };
  Kind kind;
  std::string key;
  /// Operations of this key, in order of invocation, that have no order by themselves. They are
  /// from the shortest beginning of the history that has none, and no get of them and no value,
  /// with all that put or saw it, could be left out. Empty if undecided.
  std::vector<Operation> window;
  /// A sentence, then a line for each operation of the window, at most the last 20. Puts that
  /// failed and yet were seen have a line, too.
  std::string text;
};

/// Places that one key's search may have to come back to before it gives up.
constexpr std::size_t kMaxBranches = 20'000;

/// The first key (by name) with an impossible history; otherwise the first undecided one; nothing
/// if each key's history is linearizable, which for independent registers means that the whole is.
///
/// The search is Wing and Gong's with Lowe's memory of where it has been. Where one choice
/// is as good as any other it makes that one and never comes back, so if each value is put only
/// once there is nothing to come back to: n operations of which c are open at a time cost about
/// n·c², and the answer is exact. Only values put again, deletes included, can reach
/// `max_branches`; finding the window of a violation has the same bound once more, and when that
/// is reached the window is correct but not the smallest.
std::optional<Violation> check_linearizable(const History&,
                                            std::size_t max_branches = kMaxBranches);

}  // namespace etcdop::sim
