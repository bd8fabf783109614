// Decides what to report and what to do next for one defragmentation run. Pure. One member at a
// time: the followers, then the leader after another member leads.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "operator/defrag/observation.h"
#include "operator/passes/step.h"

namespace etcdop::defrag {

inline constexpr std::chrono::minutes kRunMax{30};  ///< From its start; then it fails.
inline constexpr std::int32_t kAttemptsMax = 3;     ///< For one member.
inline constexpr std::int32_t kLeaderMovesMax = 3;  ///< For one run.
inline constexpr std::int32_t kDisarmsMax = 3;      ///< For one run.

/// `attempt`: its number, which the status has before the call.
struct Defragment {
  static constexpr StepTraits traits{"defragment", Asks::Etcd, Effect::AtOnce};
  std::string name;
  std::int32_t attempt = 0;
  std::string words() const {
    return "defragment " + name + ", attempt " + std::to_string(attempt);
  }
  std::string concerns() const { return name; }
  bool operator==(const Defragment&) const = default;

  template <class S = Defragment>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("attempt", &S::attempt));
  }
};
struct MoveLeader {
  static constexpr StepTraits traits{"move-leader", Asks::Etcd, Effect::AtOnce};
  std::string from, to;
  etcd::MemberId to_id;
  std::string words() const { return "move-leader from " + from + " to " + to; }
  std::string concerns() const { return ""; }
  bool operator==(const MoveLeader&) const = default;

  template <class S = MoveLeader>
  static auto describe() {
    return api::value(api::sparse("from", &S::from), api::sparse("to", &S::to),
                      api::sparse("toID", &S::to_id));
  }
};
/// Disarms NOSPACE: there is room again, and etcd does not notice that itself.
struct Disarm {
  static constexpr StepTraits traits{"disarm", Asks::Etcd, Effect::AtOnce};
  std::string at;  ///< The member to ask.
  std::vector<etcd::MemberId> alarms;
  std::string words() const { return "disarm at " + at; }
  std::string concerns() const { return ""; }
  bool operator==(const Disarm&) const = default;

  template <class S = Disarm>
  static auto describe() {
    return api::value(api::sparse("at", &S::at), api::sparse("alarms", &S::alarms));
  }
};
/// Deletes the run: it has ended, and its time to live is over.
struct DeleteRun : WithoutFields {
  static constexpr StepTraits traits{"delete-run", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "delete-run"; }
};
using Step = OneStepOf<Defragment, MoveLeader, Disarm, DeleteRun>;

using Plan = PlanOf<api::v1alpha2::EtcdDefragStatus, Step>;

Plan plan(const Observation& seen);
}  // namespace etcdop::defrag
