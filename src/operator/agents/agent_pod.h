// Parts of the Pods in which agents run that read or write stored snapshots: variables, volumes,
// what Kubernetes does after a failure. Pure.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/common.h"
#include "api/v1alpha2/etcdcluster.h"
#include "base/json.h"
#include "base/wall_time.h"
#include "kube/core_types.h"

namespace etcdop {

/// How an agent ends when trying again does not help (src/agent).
inline constexpr int kAgentExitForGood = 3;
/// Where it has the volume of a destination that is one.
inline constexpr const char* kStoredFolder = "/snapshot/data";

/// Volumes of a Pod, and where its container has them.
struct AgentMounts {
  json::array volumes, mounts;

  void add(const char* volume, const char* kind, json::object source, const char* folder,
           bool read_only);
  /// Of a Secret these keys alone: that of the members has their private key, too. All if there are
  /// none.
  void add_secret(const char* volume, const std::string& secret,
                  std::initializer_list<const char*> keys, const char* folder);
};

/// The store's authorities, and the keys of encrypted snapshots.
void add_store_secrets(AgentMounts&, const api::v1alpha2::SnapshotLocation&);

/// Where snapshots are stored, and how to be let in there; a volume is mounted to be written.
void add_destination(json::array& env, AgentMounts&, const api::v1alpha2::SnapshotLocation&);

/// The container of an agent, which `/manager COMMAND` is.
json::object agent_container(const char* name, const char* command, const std::string& image,
                             json::array env, json::array mounts);

/// The Pod of that one container.
json::object agent_pod(json::object container, json::array volumes,
                       const std::optional<api::v1alpha2::EtcdCluster>&);

/// Adds to a Pod of agents, once it is whole, where and as whom it runs, and to each of its
/// containers the resources. Who lends credentials to a ServiceAccount mounts its own token: the
/// one for Kubernetes' API is of no use to an agent.
void place_agents(json::object& pod, const std::optional<api::v1alpha2::AgentPodSpec>&);

/// For the Job: what ends for good is not tried again, and what Kubernetes itself cut short does
/// not count.
json::object agent_failure_policy(const char* container);

/// The one made last; null: none.
const kube::Pod* newest(const std::vector<kube::Pod>&);

/// Why the agent in the newest of these Pods has not started for a minute, in words; empty: it has,
/// or is about to.
std::string waiting(const std::vector<kube::Pod>& pods, const char* container, WallTime now);

}  // namespace etcdop
