// One pass over an EtcdCluster: observe, plan, report, act. Holds no decision and no state but what
// the log said last.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/wall_time.h"
#include "etcd/client.h"
#include "operator/cluster/away.h"
#include "operator/cluster/breaker.h"
#include "operator/cluster/cluster_metrics.h"
#include "operator/cluster/plan.h"
#include "operator/cluster/wire.h"
#include "operator/shared/contested.h"
#include "operator/shared/flight_recorder.h"
#include "operator/shared/refusals.h"
#include "operator/shared/stores.h"
#include "runtime/controller.h"
#include "runtime/events.h"

namespace etcdop::cluster {

/// The API server itself had the object of this UID, and it was not going.
struct Proof {
  std::string uid;  ///< Empty: nothing is proven.
  Instant at{};
};

class Reconciler {
 public:
  /// All of them outlive this.
  struct Collaborators {
    Executor& executor;
    Api api;
    Stores& stores;
    etcd::Clients& etcd;
    WallClock& clock;
    Log& log;
    runtime::EventRecorder* events = nullptr;  ///< Null: nobody is told.
    FlightRecorder* flight = nullptr;          ///< Null: nothing is recorded.
    ClusterMetrics* metrics = nullptr;         ///< Null: nothing is measured.
  };
  explicit Reconciler(Collaborators with) : with_(with) {}
  /// Safe to call at any time, any number of times; at most one change of membership per call.
  /// Suspends.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  /// Where the members of this pass answer.
  using Endpoints = std::map<std::string, etcd::Endpoint>;

  Observation observe(const api::v1alpha2::EtcdCluster& cluster, Endpoints& endpoints);
  void ask_etcd(Observation& seen, const Endpoints& endpoints);
  void ask_unless_silent(Observation& seen, const Endpoints& endpoints);
  /// What etcd answered to Status, with whom it was asked of.
  using Answers = std::vector<std::pair<Seat*, Result<etcd::Status>>>;
  Answers ask_status(Observation& seen, const Endpoints& endpoints);
  void list_alarms(Observation& seen, etcd::Client& source, Answers& answers);
  void note_away(Observation& seen);
  void compare_data(Observation& seen, const Endpoints& endpoints);
  std::map<std::string, etcd::KeyHash> ask_hashes(const std::vector<std::string>& whom,
                                                  const Endpoints& endpoints,
                                                  std::int64_t revision);
  bool lives_elsewhere(etcd::Endpoint endpoint, const Seat& seat);
  Result<Done> report(const Observation& seen, Plan& plan);
  void tell_transitions(const Observation& seen, const Plan& plan);
  void observe_children(Observation& seen) const;
  void observe_others(Observation& seen) const;
  Result<Done> make_children(const Observation& seen, Plan& plan);
  void tell_not_redundant(const Observation& seen);
  Result<Done> drop_budget(const api::ObjectKey& key);
  /// Makes it, or mends what is there of it and ours.
  template <class T>
  Result<Done> put_right(kube::Store<T>& store, const Observation& seen, const Json& wanted);
  Result<Done> act(const Observation& seen, const Endpoints& endpoints, const Plan& plan);
  /// Whether it is another plan than the last one.
  bool log_plan(const Observation& seen, const Plan& plan);
  void say(const api::ObjectKey& key, std::string_view words, const Step& step);
  Result<runtime::Requeue> carry_out(const Observation& seen, const Endpoints& endpoints,
                                     Plan& plan);
  void remember_delay(const api::ObjectKey& key, const Result<Done>& acted);

  Collaborators with_;
  /// A hash costs a member a look at all of its data, so it is not asked for in each pass. While
  /// CORRUPT is raised nothing is written, so it stays what it is.
  struct Hashes {
    std::vector<RaisedAlarm> alarms;     ///< That they were asked for,
    std::vector<etcd::MemberId> voters;  ///< and of whom.
    std::map<etcd::MemberId, Seat::Hash> known;
    Instant asked{};
  };
  /// No decision depends on it but by what an observation has of it: what the log said last, what
  /// etcd puts off, for the next report, hashes, and who is away.
  struct Memory {
    std::string planned, said, put_off;
    Instant put_off_since{};
    Proof joiner;
    Hashes hashes;
    Away away;
    std::string policy_error;
  };
  std::map<api::ObjectKey, Memory> memory_;
  Refusals refusals_, service_refusals_, budget_refusals_;
  Contested contested_;
  Breaker breaker_;
};

}  // namespace etcdop::cluster
