// One pass over an EtcdSnapshot: observe, plan, report, act.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/agents/agent_jobs.h"
#include "operator/credentials/secrets.h"
#include "operator/passes/pass.h"
#include "operator/snapshot/plan.h"
#include "operator/snapshot/rbac.h"
#include "operator/snapshot/verify_job.h"
#include "runtime/queue.h"

namespace etcdop::snapshot {

struct Kind {
  using Object = api::v1alpha2::EtcdSnapshot;
  using Observation = snapshot::Observation;
  using Plan = snapshot::Plan;
  using Context = NoContext;
  struct Collaborators : etcdop::Collaborators<Api> {
    Secrets& secrets;
  };
  static constexpr auto store = &Stores::snapshots;
  static constexpr auto object = &Observation::snapshot;
  static constexpr const char* word = "snapshot";
};

/// An EtcdSnapshot that is settled costs no request.
class Reconciler final : public Pass<Kind> {
 public:
  /// The operator's own image may be empty: unknown.
  Reconciler(Collaborators with, VerifyImages images) : Pass(with), images_(std::move(images)) {}

 private:
  bool concerns(const Object&) const override;
  Result<Observation> observe(const Object&, Context&) override;
  Claimed claims(const Observation&, const Plan&) override;
  void tell(const Observation&, const Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  void acted(const Observation&, const Plan&, const Outcome&) override;
  void forget(const api::ObjectKey& key) override { jobs_.forget(key); }
  Result<Done> observe_cluster(Observation& seen);
  Result<Done> observe_job(Observation& seen);
  Result<Done> observe_verification(Observation& seen);
  Result<std::optional<JobSeen>> job_called(const Observation& seen, const std::string& name);
  Result<std::vector<kube::Pod>> list_pods(const Observation& seen, const JobSeen& of);
  void observe_password(Observation& seen);
  Result<Done> make(const Observation& seen, const std::string& name, Json manifest);
  void tell_phase(const Observation& seen, const Plan& plan) const;
  void tell_verification(const Observation& seen, const Plan& plan) const;

  const VerifyImages images_;
  FailedJobs jobs_;
};

/// A change of a snapshot, its Job or Pods queues that snapshot. A change of its cluster, the
/// members or a defragmentation run queues the cluster's snapshots that have not ended. The queue
/// must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::snapshot

extern template class etcdop::Pass<etcdop::snapshot::Kind>;  // In reconciler.cc.
