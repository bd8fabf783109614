// One pass over an EtcdRestore: observe, plan, report, act.
#pragma once
#include <utility>

#include "operator/agents/agent_jobs.h"
#include "operator/agents/verify_pod.h"
#include "operator/passes/pass.h"
#include "operator/restore/plan.h"
#include "operator/restore/rbac.h"
#include "runtime/queue.h"

namespace etcdop::restore {

struct Kind {
  using Object = api::v1alpha2::EtcdRestore;
  using Observation = restore::Observation;
  using Plan = restore::Plan;
  using Context = NoContext;
  using Collaborators = etcdop::Collaborators<Api>;
  static constexpr auto store = &Stores::restores;
  static constexpr auto object = &Observation::restore;
  static constexpr const char* word = "restore";
};

/// An EtcdRestore that has ended costs no request.
class Reconciler final : public Pass<Kind> {
 public:
  /// The operator's own image may be empty: unknown.
  Reconciler(Collaborators with, VerifyImages images) : Pass(with), images_(std::move(images)) {}

 private:
  bool concerns(const Object&) const override;
  Result<Observation> observe(const Object&, Context&) override;
  void tell(const Observation&, const Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  void acted(const Observation&, const Plan&, const Outcome&) override;
  void forget(const api::ObjectKey& key) override { jobs_.forget(key); }
  Result<Done> observe_cluster(Observation& seen);
  Result<Done> observe_job(Observation& seen);

  const VerifyImages images_;
  FailedJobs jobs_;
};

/// A change of an EtcdRestore or its Job queues it; a change of a cluster queues its EtcdRestores
/// that have not ended. The queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::restore

extern template class etcdop::Pass<etcdop::restore::Kind>;  // In reconciler.cc.
