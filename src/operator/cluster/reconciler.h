// One pass over an EtcdCluster: observe, plan, report, act. Holds no decision.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "operator/cluster/act.h"
#include "operator/cluster/ask.h"
#include "operator/cluster/children.h"
#include "operator/cluster/served_certificates.h"
#include "operator/cluster/unreachable.h"
#include "operator/passes/refusals.h"
#include "runtime/controller.h"

namespace etcdop::cluster {

class Reconciler {
 public:
  explicit Reconciler(Collaborators with)
      : with_(with),
        questions_(with.executor, with.etcd, with.credentials.sessions),
        served_certificates_(with.executor, with.handshake),
        children_(with) {}
  /// Safe to call at any time, any number of times; at most one change of membership per call.
  /// Suspends.
  Result<runtime::Requeue> reconcile(const api::ObjectKey& key);

 private:
  Observation observe(const api::v1alpha2::EtcdCluster& cluster, Endpoints& endpoints);
  void observe_volumes(Observation& seen) const;
  void observe_children(Observation& seen) const;
  void observe_restore(Observation& seen);
  void observe_others(Observation& seen) const;
  void note_unreachable(Observation& seen);
  Result<Done> report(const Observation& seen, Plan& plan);
  void tell_transitions(const Observation& seen, const Plan& plan);
  Result<runtime::Requeue> carry_out(const Observation& seen, const Endpoints& endpoints,
                                     Plan& plan);
  void remember_delay(const api::ObjectKey& key, const Result<Done>& acted);
  /// Whether it is another plan than the last one.
  bool log_plan(const Observation& seen, const Plan& plan);
  void say(const api::ObjectKey& key, std::string_view words, const Step& step);

  Collaborators with_;
  Questions questions_;
  ServedCertificates served_certificates_;
  Children children_;
  /// No decision depends on it but by what an observation has of it: what the log said last, what
  /// etcd puts off, for the next report, and who is away.
  struct Memory {
    std::string planned, said, put_off;
    Instant put_off_since{};
    Proof joiner;
    Unreachable unreachable;
    std::string policy_error;
  };
  std::map<api::ObjectKey, Memory> memory_;
  Refusals refusals_;
};

}  // namespace etcdop::cluster
