// One pass over an EtcdDefrag: observe, plan, report, act.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>

#include "etcd/client.h"
#include "operator/credentials/credentials.h"
#include "operator/defrag/plan.h"
#include "operator/defrag/rbac.h"
#include "operator/members/etcd_observer.h"
#include "operator/passes/pass.h"
#include "operator/pods/member_endpoint.h"
#include "runtime/queue.h"

namespace etcdop::defrag {

/// For the controller's options: a pass waits for a defragmentation for two minutes at most
/// (etcd::Client), and observes before that.
inline constexpr std::chrono::minutes kPassLimit{3};

struct Kind {
  using Object = api::v1alpha2::EtcdDefrag;
  using Observation = defrag::Observation;
  using Plan = defrag::Plan;
  struct Context {
    Endpoints endpoints;
    std::string ahead;           ///< The run of the same cluster whose turn it is; empty: none.
    Instant looked{};            ///< When etcd was observed.
    std::optional<Claim> alone;  ///< No other pass asks the etcd of that cluster.
  };
  struct Collaborators : etcdop::Collaborators<Api> {
    etcd::Clients& etcd;
    Credentials& credentials;
  };
  static constexpr auto store = &Stores::defrags;
  static constexpr auto object = &Observation::run;
  static constexpr const char* word = "run";
};

/// At most one member is defragmented per pass, and never two of one cluster at a time.
class Reconciler final : public Pass<Kind> {
 public:
  explicit Reconciler(Collaborators with)
      : Pass(with), observer_(with_.executor, with_.etcd, with_.credentials.sessions) {}

 private:
  std::optional<Duration> not_yet(const Object&, Context&) override;
  Result<Observation> observe(const Object&, Context&) override;
  Claimed claims(const Observation&, const Plan&) override;
  void tell(const Observation&, const Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  Result<runtime::Requeue> retry(const Observation&, const Plan&, const Error&) override;
  void forget(const api::ObjectKey& key) override { memory_.erase(key); }

  /// The outcome of the last attempt of one run. If a crash loses it, the attempt is made again,
  /// unless the database is smaller.
  struct Memory {
    std::optional<Tried> tried;
    std::int32_t moved = 0, disarms = 0;
    bool was_full = false;  ///< etcd had raised NOSPACE.
    Instant rests_until{};  ///< After an action or a refusal, etcd is not asked again before this.
  };
  bool still_so(const Observation& seen);
  void observe_cluster(Observation& seen, Endpoints& endpoints);
  void ask_etcd(Observation& seen, std::vector<MemberView> known, Endpoints& endpoints);
  /// Carries out the step.
  Result<Done> take(const Observation& seen, const Endpoints& endpoints, const Plan& plan);
  Result<Done> defragment(const Observation& seen, const Endpoints& endpoints,
                          const Defragment& step);
  Result<Done> move_leader(const Observation& seen, const Endpoints& endpoints,
                           const MoveLeader& step, std::int32_t nth);
  Result<Done> disarm(const Observation& seen, const Endpoints& endpoints, const Disarm& step);
  Result<Done> delete_run(const Observation& seen);
  Memory* memory_of(const Observation& seen);

  EtcdObserver observer_;
  std::map<api::ObjectKey, Memory> memory_;
  std::set<api::ObjectKey> busy_;  ///< Clusters whose etcd a pass is asking.
};

/// A change of a run queues all runs of its cluster, as it may be another one's turn. A change of
/// the cluster, its members or snapshots queues the runs that have not ended. The queue must
/// outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::defrag

extern template class etcdop::Pass<etcdop::defrag::Kind>;  // In reconciler.cc.
