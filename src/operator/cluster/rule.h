// The input and the verdict of a planner's rule. A rule is a free function without side effects;
// mode.cc lists the rules of each mode, in order.
#pragma once
#include <string>
#include <variant>

#include "operator/cluster/census.h"
#include "operator/cluster/step.h"

namespace etcdop::cluster {

/// All of it outlives the call. The status has the target that was just adopted.
struct View {
  const Observation& seen;
  const Census& census;
  const api::v1alpha2::EtcdClusterStatus& status;

  int voters() const { return static_cast<int>(census.voters.size()); }
  int staying() const { return static_cast<int>(census.staying.size()); }
  int joiners() const { return static_cast<int>(census.joiners.size()); }
  /// The number of wanted voters for which neither a voter nor a joiner exists.
  int missing() const { return census.want - staying() - joiners(); }
  /// Whether more voters and joiners exist than are wanted.
  bool too_many() const { return missing() < 0; }
  /// Whether the others keep a healthy quorum without it.
  bool can_lose(const Seat& voter) const {
    return census.healthy_voters - (healthy(voter) ? 1 : 0) >= quorum(voters() - 1);
  }
};

/// The rule does not apply: the next one is asked.
struct Skip {};
/// The rule would apply but has to wait: the next one is asked. If no rule has a step, the first
/// reason is logged.
struct Wait {
  std::string why;
};
using Verdict = std::variant<Skip, Wait, Step>;

using Rule = Verdict (*)(const View&);

}  // namespace etcdop::cluster
