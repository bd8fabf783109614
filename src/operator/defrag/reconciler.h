// One pass over an EtcdDefrag: observe, plan, report, act.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/log.h"
#include "base/wall_time.h"
#include "etcd/client.h"
#include "operator/credentials/credentials.h"
#include "operator/defrag/plan.h"
#include "operator/defrag/rbac.h"
#include "operator/passes/flight_recorder.h"
#include "operator/passes/refusals.h"
#include "operator/passes/stores.h"
#include "operator/pods/member_endpoint.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::defrag {

/// For the controller's options: a pass waits for a member that is being defragmented, for two
/// minutes at most (etcd::Client), and looks before that.
inline constexpr std::chrono::minutes kPassLimit{3};

class Reconciler {
 public:
  /// All of them outlive this.
  struct Collaborators {
    Executor& executor;
    Api api;
    Stores& stores;
    etcd::Clients& etcd;
    Credentials& credentials;
    WallClock& clock;
    Log& log;
    runtime::EventRecorder* events = nullptr;  ///< Null: nobody is told.
    FlightRecorder* flight = nullptr;          ///< Null: nothing is recorded.
  };
  explicit Reconciler(Collaborators with) : with_(with) {}
  /// Safe to call at any time, any number of times; at most one member is defragmented per call,
  /// and never two of one cluster at a time. Suspends.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// Of the run of that UID: what the log said last, and what came of its last attempt. After a
  /// crash that lost it the attempt is made again, unless the database is smaller.
  struct Memory {
    std::string uid, planned;
    std::optional<Tried> tried;
    std::int32_t moved = 0, disarms = 0;
    bool was_full = false;  ///< etcd had raised NOSPACE.
    Instant rests_until{};  ///< What was just done to etcd, or refused, is not done again at once.
  };
  Result<runtime::Requeue> pass(const api::v1alpha2::EtcdDefrag& run, Observation seen);
  bool still_so(const Observation& seen, Endpoints& endpoints) const;
  void observe_cluster(Observation& seen, Endpoints& endpoints) const;
  void ask_etcd(Observation& seen, const Endpoints& endpoints) const;
  Result<Done> report(const Observation& seen, const Plan& plan);
  Result<Done> act(const Observation& seen, const Endpoints& endpoints, const Plan& plan);
  Result<Done> defragment(const Observation& seen, const Endpoints& endpoints,
                          const Defragment& step);
  Result<Done> move_leader(const Observation& seen, const Endpoints& endpoints,
                           const MoveLeader& step, std::int32_t nth);
  Result<Done> disarm(const Observation& seen, const Endpoints& endpoints, const Disarm& step);
  void tell(const Observation& seen, const Plan& plan) const;
  void log_plan(const Observation& seen, const Plan& plan);
  Memory* memory_of(const Observation& seen);
  void forget_gone();

  Collaborators with_;
  std::map<api::ObjectKey, Memory> memory_;
  std::set<api::ObjectKey> busy_;  ///< Clusters with a pass that asks their etcd.
  Refusals refusals_;
};

}  // namespace etcdop::defrag
