// The objects of a cluster beside its members: Services, the budget, Certificates.
#pragma once
#include <string>

#include "operator/cluster/act.h"
#include "operator/passes/contested.h"
#include "operator/passes/refusals.h"

namespace etcdop::cluster {

class Children {
 public:
  explicit Children(Collaborators with) : with_(with) {}
  /// Makes what the plan says, or mends what is there of it and ours. An error holds up the step.
  /// That a budget, or the client Service of a cluster that is born, cannot be made is none: `why`
  /// tells it. Suspends.
  Result<Done> make(const Observation& seen, Plan& plan);
  /// Why one that holds up nothing is not made; empty: there is none.
  std::string why(const api::ObjectKey&) const;
  void forget(const api::ObjectKey&);

 private:
  void forget_certificates(const api::ObjectKey& cluster);
  template <class T>
  struct Wanted {
    kube::Store<T>& store;
    std::string what;  ///< In words of ours, for what is remembered of it.
    Json object;
  };
  Result<Done> make_services(const api::v1alpha2::EtcdCluster& reported, const Observation& seen,
                             Plan& plan);
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
  Refusals service_refusals_, budget_refusals_;  // By the cluster.
  Refusals certificate_refusals_;                // By the Certificate, of which there are three.
  Contested contested_;
};

}  // namespace etcdop::cluster
