// Crash plans: each write of a flow (found by running it), combined with every way in which it can
// fail.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/world.h"

namespace etcdop::sim {

/// A user action in a world without faults, from rest to rest.
struct Flow {
  std::string name;
  std::function<void(World&)> prepare;  ///< Then the world converges.
  std::function<void(World&)> act;      ///< Its writes are the boundaries of the plans.
};
/// Bootstrap, growth, shrinking, replacement, a lost Pod, deletion, defragmentation, a snapshot, a
/// restore, a run of a schedule with its verification; a restore in place that is committed, and
/// one that is rolled back; authentication, a new password, and a second new password while etcd
/// gets the first.
std::vector<Flow> flows();

/// Where a write is caught.
enum class Point {
  Before,  ///< It is not sent.
  Lost,    ///< It takes effect, and its answer is lost.
  After,   ///< Its answer has arrived.
};
/// The kind of fault there.
enum class Blow {
  Crash,   ///< The process dies, and another starts.
  Pause,   ///< It freezes until another one leads, and then resumes as if nothing had happened.
  Frozen,  ///< It hears nothing from the API server, from before the write until 20 s after.
};

struct Plan {
  std::size_t flow = 0;
  std::uint64_t write = 1;  ///< The n-th of the flow.
  Point point = Point::Before;
  Blow blow = Blow::Crash;
  bool twice = false;  ///< The next write is caught in the same way.
};

struct PlanOutcome {
  std::string what;  ///< The caught write; empty: none.
  std::uint64_t writes = 0, members = 0;
  std::string state;    ///< Everything, without names and times.
  std::string failure;  ///< Empty: no invariant was violated, and everything is as wanted.
  std::uint64_t hash = 0;
  std::vector<Trace::Line> trace;
};

/// Without a plan: the undisturbed flow.
PlanOutcome run(const Flow&, const std::optional<Plan>&, bool keep_trace = false);
/// Nine for each write of the flow's undisturbed run.
std::vector<Plan> plans_of(const std::vector<Flow>&, std::size_t flow);
/// Why the outcome is worse than the undisturbed run; empty: it is not.
std::string compare(const Plan&, const PlanOutcome&, const PlanOutcome& undisturbed);
/// "grow/12 patch etcdclusters/status prod/db lost-answer pause"
std::string to_string(const Flow&, const Plan&);

}  // namespace etcdop::sim
