// Parts of the Pods of agents that read or write stored snapshots: variables, volumes, and what
// Kubernetes does after a failure. Pure.
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

/// The exit code of an agent if another try does not help (src/agent).
inline constexpr int kAgentExitForGood = 3;
/// Where an agent has the volume of a destination that is one.
inline constexpr const char* kStoredFolder = "/snapshot/data";

/// Volumes of a Pod, and where its container mounts them.
struct AgentMounts {
  json::array volumes, mounts;

  void add(const char* volume, const char* kind, json::object source, const char* folder,
           bool read_only);
  /// Mounts only these keys of a Secret, as a member's Secret also has its private key; all keys if
  /// the list is empty.
  void add_secret(const char* volume, const std::string& secret,
                  std::initializer_list<const char*> keys, const char* folder);
};

/// Mounts the CA certificates of the store, and the keys of encrypted snapshots.
void add_store_secrets(AgentMounts&, const api::v1alpha2::SnapshotLocation&);

/// Adds the place of stored snapshots and its credentials; a volume is mounted writable.
void add_destination(json::array& env, AgentMounts&, const api::v1alpha2::SnapshotLocation&);

/// The container of an agent, with the command `/manager COMMAND`.
json::object agent_container(const char* name, const char* command, const std::string& image,
                             json::array env, json::array mounts);

/// The Pod with that container only.
json::object agent_pod(json::object container, json::array volumes,
                       const std::optional<api::v1alpha2::EtcdCluster>&);

/// Adds placement and ServiceAccount to a complete Pod of agents, and resources to each of its
/// containers. A service that gives credentials to ServiceAccounts mounts its own token; an agent
/// does not use the token for the Kubernetes API.
void place_agents(json::object& pod, const std::optional<api::v1alpha2::AgentPodSpec>&);

/// For the Job: a permanent failure is not tried again, and a disruption by Kubernetes does not
/// count.
json::object agent_failure_policy(const char* container);

/// The Pod created last; null: none.
const kube::Pod* newest(const std::vector<kube::Pod>&);
/// How the agent in that Pod ended; null: it has not (yet).
const kube::ContainerTerminated* end_of(const kube::Pod&, const char* container);
/// The Pod created last, of those whose agent has ended; null: none.
const kube::Pod* last_ended(const std::vector<kube::Pod>&, const char* container);
/// "the agent in Pod x ended with exit code 1 without a report"
std::string ended_without_report(const kube::Pod&, const kube::ContainerTerminated&);

/// Why the agent in the newest of these Pods has not started for a minute, in words; empty: it has
/// started, or is about to.
std::string waiting(const std::vector<kube::Pod>& pods, const char* container, WallTime now);

}  // namespace etcdop
