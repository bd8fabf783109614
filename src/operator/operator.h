// The operator as a whole: caches, leader election and controllers. It knows neither sockets nor
// processes: who makes it passes in what it speaks through.
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

/// Expected flow: run() on a fiber; stop() from another one, or when the process is asked to end.
///
/// Guarantees: nothing is written before the caches are full and, with leader election, this
/// process leads; nothing is written any more once run() has returned success.
class Operator {
 public:
  /// All of them outlive this. `lease_api` is another way to the same server as `api`: however many
  /// calls hang there, the Lease is renewed.
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
    runtime::Metrics* metrics = nullptr;  ///< Null: nobody reads what clusters are like.
  };
  struct Options {
    bool leader_elect = false;
    std::string lease_namespace;
    std::string identity;                       ///< Of this process: no other has it.
    std::vector<std::string> watch_namespaces;  ///< Empty: all.
    member::Images images;
    std::string cluster_domain = "cluster.local";  ///< Of certificates' names.
    /// Given each controller's options before it is made: for metrics.
    std::function<runtime::Controller::Options(runtime::Controller::Options)> measured;
  };
  Operator(Collaborators, Options);
  Operator(const Operator&) = delete;

  /// Suspends until it is stopped (success) or must not go on: Conflict, TimedOut: somebody else
  /// may lead now; the process should end at once. Some work may still run then, and hangs: this
  /// object must not be destroyed if stuck() says so.
  Result<Done> run();
  /// Ends run(), in good order: controllers first, then the Lease is released. At most once is
  /// enough.
  void stop();

  /// Every cache has been filled, but those of EtcdDefrag, EtcdSnapshot, EtcdSnapshotSchedule,
  /// EtcdRestore and Certificates: where these kinds are not installed yet, clusters are looked
  /// after all the same.
  bool synced() const { return unfilled().empty(); }
  /// The kinds whose caches have not been.
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
  template <class Controller, class T>
  void watch(kube::Store<T>& store, const std::string& selector, bool optional = false);
  void watch_all();
  void note_unreadable(const api::Resource& kind, const kube::Identity& which,
                       const std::string& why);
  void work();
  void control();
  void control_defrags();
  void control_snapshots();
  void control_schedules();
  void control_restores();
  bool await_turns();
  void await_cert_manager();
  PassBoundary boundary();
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
