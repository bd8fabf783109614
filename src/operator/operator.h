// The operator as a whole: caches, leader election and controllers. It knows neither sockets nor
// processes: the caller passes in all connections.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "base/wall_time.h"
#include "etcd/client.h"
#include "etcd/dial.h"
#include "kube/api.h"
#include "kube/reflector.h"
#include "operator/cluster/reconciler.h"
#include "operator/credentials/credentials.h"
#include "operator/defrag/reconciler.h"
#include "operator/member/reconciler.h"
#include "operator/pass_boundary.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/stores.h"
#include "operator/restore/reconciler.h"
#include "operator/snapshot/reconciler.h"
#include "operator/snapshot_schedule/reconciler.h"
#include "runtime/controller.h"
#include "runtime/events.h"
#include "runtime/leader.h"
#include "runtime/metrics.h"

namespace etcdop {

/// The rights that an operator needs, but for those of leader election (runtime/leader.h).
std::vector<kube::Permission> operator_permissions();

/// Usage: run() on a fiber; stop() from another fiber, or when the process must end.
///
/// Guarantees: it writes nothing before the caches are full and, with leader election, this process
/// leads. It writes nothing after run() has returned success.
class Operator {
 public:
  /// All of them must outlive the Operator. `lease_api` is another connection to the same server as
  /// `api`, so calls that hang there do not delay the renewal of the Lease.
  struct Collaborators {
    Executor& executor;
    Random& random;
    WallClock& clock;
    Log& log;
    kube::Api& api;
    kube::Api& lease_api;
    etcd::Clients& etcd;
    etcd::Handshake handshake;
    FlightRecorder* flight = nullptr;     ///< Null: passes are not recorded.
    runtime::Metrics* metrics = nullptr;  ///< Null: no metrics.
    etcd::ReceivesSnapshot receives_snapshot = {};
  };
  struct Options {
    bool leader_elect = false;
    std::string lease_namespace;
    std::string identity;                       ///< Unique to this process.
    std::vector<std::string> watch_namespaces;  ///< Empty: all.
    member::Images images;
    std::string cluster_domain = "cluster.local";  ///< Used in the names of certificates.
    PodPolicy pod_policy = PodPolicy::Baseline;    ///< For new and edited templates.
    /// Called with each controller's options before the controller is created, to add metrics.
    std::function<runtime::Controller::Options(runtime::Controller::Options)> measured;
  };
  Operator(Collaborators, Options);
  Operator(const Operator&) = delete;

  /// Suspends. Returns success after stop(). Conflict or TimedOut: another process may lead now, so
  /// this process must end at once. Work that hangs may still run then: do not destroy this object
  /// if stuck() is true.
  Result<Done> run();
  /// Ends run() in order: first the controllers, then the Lease is released. One call is enough.
  void stop();

  /// Whether the caches of clusters, members, Pods, volumes, Services and budgets are full. The
  /// other kinds may not be installed yet: clusters work without them.
  bool synced() const { return unfilled().empty(); }
  /// The kinds of these caches that are not full yet.
  std::vector<std::string> unfilled() const;
  bool leading() const { return election_.leading(); }
  bool stuck() const { return stuck_; }
  const runtime::EventRecorder& events() const { return events_; }
  runtime::Controller& clusters() { return cluster_controller_; }
  runtime::Controller& members() { return member_controller_; }
  runtime::Controller& defrags() { return defrag_controller_; }
  runtime::Controller& snapshots() { return snapshot_controller_; }
  runtime::Controller& schedules() { return schedule_controller_; }
  runtime::Controller& restores() { return restore_controller_; }

 private:
  enum class Installed { Always, Perhaps };
  template <class Controller, class T>
  void watch(kube::Store<T>& store, const std::string& selector, Installed = Installed::Always);
  void watch_all();
  void note_unreadable(const api::Resource& kind, const kube::Identity& which,
                       const std::string& why);
  void work();
  void control();
  void start_in_turn(runtime::Controller&);
  void control_schedules();
  void control_restores();
  bool await_turns();
  void await_cert_manager();
  template <class Api>
  etcdop::Collaborators<Api> collaborators();
  template <class Reconciler>
  runtime::Controller::Reconcile pass_over(Reconciler&);
  runtime::Controller::Options controller(
      const char* name, Duration pass_limit = runtime::Controller::Options{}.pass_limit) const;

  Collaborators with_;
  Options options_;
  Stores stores_;
  Credentials credentials_;
  runtime::LeaderElection election_;
  runtime::EventRecorder events_;
  cluster::ClusterMetrics cluster_metrics_;
  snapshot_schedule::ScheduleMetrics schedule_metrics_{stores_.schedules};
  cluster::Reconciler clusters_;
  member::Reconciler members_;
  defrag::Reconciler defrags_;
  snapshot::Reconciler snapshots_;
  snapshot_schedule::Reconciler schedules_;
  restore::Reconciler restores_;
  runtime::Controller cluster_controller_, member_controller_, defrag_controller_,
      snapshot_controller_, schedule_controller_, restore_controller_;
  std::vector<std::function<void()>> stop_watching_;
  std::map<std::string, std::set<api::ObjectKey>> unreadable_;  ///< By kind.
  std::shared_ptr<Fiber> working_;
  Result<Done> ended_ = Done{};
  bool stuck_ = false;
};

}  // namespace etcdop
