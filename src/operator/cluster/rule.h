// What a rule of the planner may look at, and what it may say. A rule is a free function without
// side effects; mode.cc lists in which mode of a cluster which rules hold, and in which order.
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
  /// Voters that have no EtcdMember yet, nor a joiner on its way.
  int missing() const { return census.want - staying() - joiners(); }
  /// More members exist, or are on their way, than are wanted.
  bool too_many() const { return missing() < 0; }
  /// Whether the others keep a healthy quorum among themselves.
  bool can_lose(const Seat& voter) const {
    return census.healthy_voters - (healthy(voter) ? 1 : 0) >= quorum(voters() - 1);
  }
};

/// The rule does not apply: the next one is asked.
struct Skip {};
/// The rule would apply, but for something: the next one is asked, and if none has a step, the
/// first of these reasons is logged.
struct Wait {
  std::string why;
};
using Verdict = std::variant<Skip, Wait, Step>;

struct Rule {
  const char* name;
  Verdict (*judge)(const View&);
};

}  // namespace etcdop::cluster
