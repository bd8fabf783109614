// One pass over an EtcdMember: observe, plan, report, act.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "etcd/client.h"
#include "operator/credentials/credentials.h"
#include "operator/member/objects.h"
#include "operator/member/plan.h"
#include "operator/member/rbac.h"
#include "operator/passes/contested.h"
#include "operator/passes/failures.h"
#include "operator/passes/pass.h"
#include "runtime/queue.h"

namespace etcdop::member {

struct Kind {
  using Object = api::v1alpha2::EtcdMember;
  using Observation = member::Observation;
  using Plan = member::Plan;
  using Context = NoContext;
  struct Collaborators : etcdop::Collaborators<Api> {
    etcd::Clients& etcd;
    Credentials& credentials;
  };
  static constexpr auto store = &Stores::members;
  static constexpr auto object = &Observation::member;
  static constexpr const char* word = "member";
};

class Reconciler final : public Pass<Kind> {
 public:
  Reconciler(Collaborators with, Images images) : Pass(with), images_(std::move(images)) {}

 private:
  bool concerns(const Object&) const override { return true; }
  Result<Observation> observe(const Object&, Context&) override;
  Claimed claims(const Observation&, const Plan&) override;
  void tell(const Observation&, const Plan&) override;
  Duration holds_up(const Observation&, const Plan&) override;
  Outcome act(const Observation&, const Context&, Plan&) override;
  void forget(const api::ObjectKey& key) override;
  bool selected_by_other(const Observation& seen) const;
  std::string voter_without_place(const Observation&) const;
  bool others_are_awake(const Observation&) const;
  bool beside_orphans(const api::v1alpha2::EtcdMember&) const;
  bool all_have_uid(const Observation& seen) const;
  std::string credentials_fault(const Object& member) const;
  bool is_outdated(const Observation& seen) const;

  Images images_;
  Contested contested_;
  Failures failures_;
  std::map<api::ObjectKey, Instant> told_;  ///< The last change of the message of Ready.
};

/// A change of a cluster, its members, Pods, volumes or Services queues all members of that
/// cluster. The queue must outlive the stores.
void connect(Stores& stores, runtime::Queue& queue);

}  // namespace etcdop::member

extern template class etcdop::Pass<etcdop::member::Kind>;  // In reconciler.cc.
