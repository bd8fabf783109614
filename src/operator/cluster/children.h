// The objects of a cluster beside its members: Services, the budget, Certificates.
#pragma once
#include <optional>
#include <string>

#include "operator/cluster/act.h"
#include "operator/passes/contested.h"
#include "operator/passes/refusals.h"

namespace etcdop::cluster {

class Children {
 public:
  explicit Children(Collaborators with) : with_(with) {}
  /// Creates what the plan says, or repairs what exists and is ours. An error blocks the step: only
  /// the Services before the cluster is founded do. Any other object that cannot be written is
  /// reported by `why` and tried again, while members are repaired and added. Suspends.
  Result<Done> make(const Observation& seen, Plan& plan);
  /// Why a child that blocks nothing cannot be written; empty: none.
  std::string why(const api::ObjectKey&) const;
  /// Why the client Service, which does not exist, cannot be created; empty: its write has failed
  /// only once, or another owner has the name.
  std::string why_no_client_service(const api::ObjectKey& key) const {
    return service_refusals_.name_is_taken(key) ? "" : service_refusals_.why(key);
  }
  void forget(const api::ObjectKey&);

 private:
  void forget_certificates(const api::ObjectKey& cluster);
  /// One call of make().
  struct Round {
    const Observation& seen;
    Plan& plan;
    Instant began;
    const api::v1alpha2::EtcdCluster reported;  ///< With the target that this pass may adopt.
    api::ObjectKey key() const { return seen.cluster.metadata.key(); }
    bool is_founded() const { return !plan.status.cluster_id.empty() || reported.restoring(); }
    /// Whether the step creates the first member of a new cluster. It needs both Services; nothing
    /// else does.
    bool founds() const {
      const auto* made = std::get_if<CreateMember>(&plan.step);
      return made && made->seed && !is_founded();
    }
  };
  template <class T>
  struct Wanted {
    kube::Store<T>& store;
    std::string what;  ///< Our name for it, to remember refusals.
    Json object;
  };
  bool is_late(const Round& round) const { return with_.executor.now() - round.began > kSeenHolds; }
  Result<Done> make_services(Round&);
  /// One of the two Services, as observed and as planned.
  struct Service {
    std::string what;
    Child state;
    SelectorKeys lacks, by;
    Json (*manifest)(const api::v1alpha2::EtcdCluster&, SelectorKeys);
  };
  std::optional<Wanted<kube::Service>> service(const Service& planned, const Round&);
  SelectorKeys confirmed(const Service& planned, const Observation& seen);
  Result<SelectorKeys> shown_now(const Observation& seen);
  Result<Done> make_certificates(Round&);
  Result<Done> make_budget(Round&);
  Duration held_up(const std::string& what, const Round&) const;
  template <class T>
  Result<Done> put(const Wanted<T>& child, Round&);
  template <class T>
  Result<Done> try_to_put(Refusals& refusals, const api::ObjectKey& key, const Wanted<T>& child,
                          Round&);
  template <class T>
  Result<T> taken_back(const api::ObjectKey& key, const Observation& seen, const Json& wanted);
  Result<Done> drop_budget(const api::ObjectKey& key);
  /// Whether the API server stored what was written.
  template <class T>
  Result<bool> put_right(kube::Store<T>& store, const Observation& seen, const Json& wanted);

  static constexpr auto kHold = Refusals::Hold::Write;
  Collaborators with_;
  Refusals headless_refusals_{kHold}, service_refusals_{kHold}, budget_refusals_{kHold};
  Refusals certificate_refusals_{kHold};  // By Certificate, at most three; all others by cluster.
  Contested contested_;
};

}  // namespace etcdop::cluster
