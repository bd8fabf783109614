// Where the scheduler of a simulated world may place a Pod, by what the Pod itself asks for. Pure.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "sim/api/server.h"

namespace etcdop::sim {

/// A node as the scheduler sees it. Its labels are the two of topology.
struct Place {
  std::string name, zone;
};

inline constexpr const char* kHostLabel = "kubernetes.io/hostname";
inline constexpr const char* kZoneLabel = "topology.kubernetes.io/zone";
/// The CPU of each node, in thousandths.
inline constexpr std::int64_t kMilliCpus = 16'000;

/// Whether the Pod may be placed at `there`, which is one of `all`, beside `others`: nodeSelector,
/// required node affinity (expressions of labels), required anti-affinity, spread constraints that
/// must hold, requests of CPU. Other requests, required affinity to Pods, taints and preferences
/// are not modelled.
bool may_be_placed(const Json& pod, const Place& there, std::span<const Place> all,
                   std::span<const ApiServer::Object> others);

}  // namespace etcdop::sim
