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
  /// Creates what the plan says, or repairs what exists and is ours. An error blocks the step. A
  /// refused Certificate, budget, or client Service of a founded cluster is not an error: `why`
  /// reports it. Suspends.
  Result<Done> make(const Observation& seen, Plan& plan);
  /// Why a child that blocks nothing was refused; empty: none was.
  std::string why(const api::ObjectKey&) const;
  void forget(const api::ObjectKey&);

 private:
  void forget_certificates(const api::ObjectKey& cluster);
  template <class T>
  struct Wanted {
    kube::Store<T>& store;
    std::string what;  ///< Our name for it, to remember refusals.
    Json object;
  };
  Result<Done> make_services(const api::v1alpha2::EtcdCluster& reported, const Observation& seen,
                             Plan& plan);
  /// One of the two Services, as observed and as planned.
  struct Service {
    std::string what;
    Child state;
    SelectorKeys lacks, by;
    Json (*manifest)(const api::v1alpha2::EtcdCluster&, SelectorKeys);
  };
  std::optional<Wanted<kube::Service>> service(const Service& planned,
                                               const api::v1alpha2::EtcdCluster& reported,
                                               const Observation& seen);
  SelectorKeys confirmed(const Service& planned, const Observation& seen);
  Result<SelectorKeys> shown_now(const Observation& seen);
  Result<Done> make_certificates(const Observation& seen, Plan& plan);
  Result<Done> make_budget(const api::v1alpha2::EtcdCluster& reported, const Observation& seen,
                           Plan& plan);
  template <class T>
  Result<Done> put(const Wanted<T>& child, const Observation& seen, Plan& plan);
  template <class T>
  Result<Done> try_to_put(Refusals& refusals, const api::ObjectKey& key, const Wanted<T>& child,
                          const Observation& seen, Plan& plan);
  template <class T>
  Result<T> relabelled(const api::ObjectKey& key, const Observation& seen, const Json& wanted);
  Result<Done> drop_budget(const api::ObjectKey& key);
  template <class T>
  Result<Done> put_right(kube::Store<T>& store, const Observation& seen, const Json& wanted);

  Collaborators with_;
  Refusals service_refusals_, budget_refusals_;  // By cluster.
  Refusals certificate_refusals_;                // By Certificate, at most three.
  Contested contested_;
};

}  // namespace etcdop::cluster
