// The Pods of snapshot Jobs in a simulated world, each with an agent; and the agents that restore
// in the Pods of members.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/api/server.h"
#include "sim/scheduler.h"
#include "sim/world/agent.h"

namespace etcdop::sim {

/// Acts as kubelets: a Pod whose container is snapshot-agent, delete-agent or verify-agent gets a
/// node, waits for the Secrets that it needs, runs once, and ends as Succeeded or Failed with its
/// termination message. If its node stops, the agent ends with it. The runner of the world steps
/// the agents.
/// world.
///
/// Caveats: no volumes but Secrets exist, so nothing is stored in one; a terminating agent gets no
/// grace period.
class Agents final : public Nodes::Restores {
 public:
  /// All arguments outlive this; it owns the StoreUser.
  Agents(Scheduler&, const WallClock&, ApiServer&, EtcdNet&, Nodes&, ObjectStore&, const Faults&,
         Trace&, Checker&, Dice);
  ~Agents() override;
  void stop();

  bool start(const Nodes::Restores::Wanted&) override;
  void kill(const std::string& pod_uid) override;

  const std::vector<std::unique_ptr<Agent>>& running() const { return running_; }
  /// Handles agents that ended or were killed. Call it between steps, not on an agent's fiber.
  void reap();
  /// Called with each agent that starts from now on.
  void on_start(std::function<void(Agent&)> started) { started_ = std::move(started); }

  // --- faults
  /// As SIGKILL; may be called from within one of its own calls.
  void kill(Agent&);
  /// The kubelet evicts the Pod for lack of room: it fails without an error of its own.
  void evict(const api::ObjectKey& pod);
  /// The store user behind the right key.
  StoreUser& user() { return user_; }
  SiteTrouble& trouble() { return trouble_; }

 private:
  struct Run;
  void changed(const ApiServer::Object& before, const ApiServer::Object& after);
  void run_pod(const std::shared_ptr<Run>&);
  bool schedule(Run&);
  bool start(Run&);
  void watch_over(Run&);
  bool outlives_node(Run&);
  void finish(Run&, const Agent::End&);
  void end(Run&);
  bool wait(Run&, Duration);
  void set_status(const Run&, const std::function<void(json::object&)>& edit);
  void tell_waiting(const Run&, const char* reason);
  std::optional<Agent::Texts> environment(const std::string& ns, const Json& container) const;
  bool reap_restore(const Agent&, const std::optional<Agent::End>&);
  std::optional<Agent::Texts> files(const Run&) const;
  std::optional<std::string> secret_value(const std::string& ns, const std::string& secret,
                                          const std::string& key) const;

  Scheduler& world_;
  ApiServer& server_;
  Nodes& nodes_;
  const Faults& faults_;
  Trace& trace_;
  Dice dice_;
  StoreUser user_;
  SiteTrouble trouble_;
  const Agent::Needs needs_;
  std::map<std::string, std::shared_ptr<Run>> runs_;  // By Pod UID.
  struct Restoring {
    Agent* agent;
    Nodes::Restores::Wanted wanted;
  };
  std::map<std::string, Restoring> restores_;  // By Pod UID.
  std::vector<std::unique_ptr<Agent>> running_;
  std::function<void(Agent&)> started_;
  bool stopping_ = false;
};

}  // namespace etcdop::sim
