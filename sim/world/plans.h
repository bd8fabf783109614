// Crash plans: each write of a flow, found by running it, times every way in which it can go wrong.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/world.h"

namespace etcdop::sim {

/// What a person does in a world without faults, from rest to rest.
struct Flow {
  std::string name;
  std::function<void(World&)> prepare;  ///< Then the world converges.
  std::function<void(World&)> act;      ///< Its writes are the plans' boundaries.
};
/// Bootstrap, growth, shrinking, replacement, a Pod lost, deletion, defragmentation, a snapshot, a
/// restore, a run of a schedule with its verification; a cluster that goes back to a snapshot for
/// good, and one that is taken back from there; authentication, another password, and yet
/// another one while etcd is given that.
std::vector<Flow> flows();

/// Where a write is caught.
enum class Point {
  Before,  ///< It is not sent.
  Lost,    ///< It is done, and its answer lost.
  After,   ///< Its answer has arrived.
};
/// What happens there.
enum class Blow {
  Crash,   ///< The process dies, and another starts.
  Pause,   ///< It stands still until another one leads, and then goes on as if nothing had been.
  Frozen,  ///< It hears nothing from the API server, from before the write until 20 s after.
};

struct Plan {
  std::size_t flow = 0;
  std::uint64_t write = 1;  ///< The how manieth of the flow.
  Point point = Point::Before;
  Blow blow = Blow::Crash;
  bool twice = false;  ///< The next write is caught in the same way.
};

struct PlanOutcome {
  std::string what;  ///< The write that was caught; empty: none was.
  std::uint64_t writes = 0, members = 0;
  std::string state;    ///< Of everything, without what may differ (names, times).
  std::string failure;  ///< Empty: no invariant fell, and everything is as wanted.
  std::uint64_t hash = 0;
  std::vector<Trace::Line> trace;
};

/// Without a plan: the flow undisturbed.
PlanOutcome run(const Flow&, const std::optional<Plan>&, bool keep_trace = false);
/// Nine for each write of the flow's undisturbed run.
std::vector<Plan> plans_of(const std::vector<Flow>&, std::size_t flow);
/// Why the outcome is not good enough, against the undisturbed run; empty: it is.
std::string compare(const Plan&, const PlanOutcome&, const PlanOutcome& undisturbed);
/// "grow/12 patch etcdclusters/status prod/db lost-answer pause"
std::string to_string(const Flow&, const Plan&);

}  // namespace etcdop::sim
