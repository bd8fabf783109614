// One pass over an EtcdCluster: observe, plan, report, act. Decides nothing.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/cluster/act.h"
#include "operator/cluster/ask.h"
#include "operator/cluster/children.h"
#include "operator/cluster/plan.h"
#include "operator/cluster/served_certificates.h"
#include "operator/cluster/unreachable.h"
#include "operator/passes/contested.h"
#include "operator/passes/failures.h"
#include "operator/passes/pass.h"
#include "runtime/queue.h"

namespace etcdop::cluster {

struct Kind {
  using Object = api::v1alpha2::EtcdCluster;
  using Observation = cluster::Observation;
  using Plan = cluster::Plan;
  using Context = Endpoints;  ///< Addresses of this pass's members.
  using Collaborators = cluster::Collaborators;
  static constexpr auto store = &Stores::clusters;
  static constexpr auto object = &Observation::cluster;
  static constexpr const char* word = "cluster";
};

/// At most one change of membership per pass. A deleted cluster is cleaned up by owner references;
/// its members release themselves.
class Reconciler final : public Pass<Kind> {
 public:
  explicit Reconciler(Collaborators with)
      : Pass(std::move(with)),
        questions_(with_.executor, with_.etcd, with_.credentials.sessions),
        served_certificates_(with_.executor, with_.handshake),
        children_(with_) {}

 private:
  Result<Observation> observe(const Object&, Context&) override;
  void planned(const Observation&, Plan&, bool news) override;
  void tell(const Observation&, const Plan&) override;
  Result<Done> report_more(const Observation&, Plan&) override;
  Result<Done> prepare(const Observation&, Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  bool is_worth_a_write(const json::object& patch) const override;
  std::string says(const Plan&) const override;
  std::string writes(const Plan&) const override;
  void acted(const Observation&, const Plan&, const Outcome&) override;
  Duration holds_up(const Observation&, const Plan&) override;
  Result<runtime::Requeue> retry(const Observation&, const Plan&, const Error&) override;
  /// At once after a step: no watch reports a change in etcd.
  runtime::Requeue again(const Plan& plan) const override { return runtime::Requeue{plan.again}; }
  void forget(const api::ObjectKey&) override;

  void observe_members(Observation& seen, Endpoints& endpoints) const;
  void observe_member(const api::v1alpha2::EtcdMember&, Observation& seen,
                      Endpoints& endpoints) const;
  void observe_stray_pods(Observation&) const;
  void note_tokens(Observation& seen) const;
  void observe_volumes(Observation& seen) const;
  void observe_children(Observation& seen) const;
  void observe_restore(Observation& seen);
  void observe_account(Observation& seen) const;
  bool note_condemned(Observation& seen);
  void note_answers(Observation& seen);
  void observe_others(Observation& seen) const;
  void observe_refusals(Observation& seen);
  void note_unreachable(Observation& seen);
  void note_lasting(Observation& seen, const Endpoints& endpoints);
  void say(const api::ObjectKey& key, std::string_view words, const Step& step);

  Questions questions_;
  ServedCertificates served_certificates_;
  Children children_;
  Failures failed_joiners_;  ///< By EtcdCluster.
  Contested corrected_;      ///< Corrections of first members.
  /// The last log message, what etcd refuses for now, which members are unreachable or are to be
  /// replaced, when one last answered, and which were to lead. Decisions see it only through an
  /// observation.
  struct Memory {
    std::string said, put_off;
    Instant put_off_since{};
    Proof joiner;
    Lasting unreachable, condemned, silent, stalled, blocked;
    std::map<std::string, std::uint64_t> applied;  ///< The highest index of each learner, by UID.
    std::optional<WallTime> answered;
    std::vector<std::string> heirs;
    std::string policy_error;
    /// By UID: the facts that the API server did not keep, and when they were written last.
    std::map<std::string, std::pair<MemberFacts, Instant>> dropped;
  };
  std::map<api::ObjectKey, Memory> memory_;
};

/// Every change of a cluster, or of an object with its label, adds the cluster's key. The queue
/// outlives the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::cluster

extern template class etcdop::Pass<etcdop::cluster::Kind>;  // In reconciler.cc.
