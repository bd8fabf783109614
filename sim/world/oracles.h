// I17: what conditions, phases and counts claim is so in the world. Judged from the world's own
// state: etcd's processes and data, volumes, Pods, Secrets. Never from what an operator saw.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "api/meta.h"
#include "api/v1alpha2/condition_types.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/world/checker.h"
#include "sim/world/clients.h"
#include "sim/world/faults.h"
#include "sim/world/nodes.h"

namespace etcdop::sim {

/// Looks once a second. A claim may be untrue for a bound: 15 s for what Kubernetes tells the
/// operator; one interval of 60 s more for what only etcd knows, which the operator asks; 150 s for
/// Available=True (I11). docs/dev/safety.md has the rule. Time counts only while an operator leads
/// and nothing hinders its view or its writes; after such faults it has kSettles first.
class Oracles {
 public:
  /// Why the cluster is not yet as its spec wants it; empty: it is.
  using Missing = std::function<std::string(const api::ObjectKey& cluster)>;
  /// All arguments outlive this.
  Oracles(const Clock&, ApiServer&, const EtcdNet&, const Nodes&, const Clients&, const Faults&,
          Checker&);
  void look(const Missing&);
  /// Whether its members are of different etcds.
  bool sees_two_etcds(const api::v1alpha2::EtcdCluster&) const;
  /// No operator can look or write now, or its view is known to be wrong: it has `after` to find
  /// out.
  void hindered(Duration after) {
    judged_from_ = std::max(judged_from_, clock_.now() + after);
    checker_.doubt_until(judged_from_);
  }
  /// The API server prunes newer fields now: no EtcdMember can tell that it is another etcd's.
  void pruned() { pruned_until_ = clock_.now() + kSettles; }
  static constexpr Duration kStarts = std::chrono::seconds(15);
  /// Silent watches end, back-offs run out.
  static constexpr Duration kSettles = std::chrono::seconds(150);
  /// From now on, and while `holds`, that cluster cannot become as wanted, for a reason that its
  /// user must be able to read: a condition of it or of its members has `word` in it.
  void blocked(const api::ObjectKey& cluster, const std::string& word,
               std::function<bool()> holds) {
    const auto [one, is_new] = blocked_.try_emplace({cluster, word});
    if (is_new) one->second.since = clock_.now();
    one->second.holds = std::move(holds);
  }

  /// Another cause came first.
  void unblocked(const api::ObjectKey& cluster, const std::string& word) {
    blocked_.erase({cluster, word});
  }

  /// The untrue part of a claim, and for how long it may be untrue. Empty: it is true, or not
  /// judged.
  struct Verdict {
    std::string why;
    Duration bound{};
    Instant from{};  ///< It counts from then on.
  };
  struct Facts;
  /// Another operator leads: it knows nothing of earlier failures.
  void led_by_another() { refused_.clear(); }

 private:
  void judge(const std::string& object, const std::string& claim, const Verdict&);
  Facts facts_of(const api::v1alpha2::EtcdCluster&) const;
  void look_at(const api::v1alpha2::EtcdCluster&, const Missing&);
  void look_at(const api::v1alpha2::EtcdMember&, const Facts&);
  void check_types(const Json& object);
  bool is_refused_again(const api::ObjectKey& member) const;
  void pod_changed(const ApiServer::Object& before, const ApiServer::Object& after);
  Verdict of_cluster(api::v1alpha2::ConditionType, const api::Condition&,
                     const api::v1alpha2::EtcdCluster&, const Facts&) const;
  Verdict of_member(api::v1alpha2::ConditionType, const api::Condition&,
                    const api::v1alpha2::EtcdMember&, const Facts&) const;
  Verdict certificates(const api::Condition&, const api::v1alpha2::EtcdCluster&,
                       const Facts&) const;
  bool authority_is_there(const api::v1alpha2::EtcdCluster&) const;
  std::string unnamed(const api::v1alpha2::EtcdCluster&, const Facts&,
                      const std::string& word) const;

  const Clock& clock_;
  ApiServer& server_;
  const EtcdNet& net_;
  const Nodes& nodes_;
  const Clients& clients_;
  const Faults& faults_;
  Checker& checker_;
  Instant judged_from_{};  // Claims are judged from then on.
  Instant pruned_until_{};
  /// Since when which claim of which object (UID) is untrue; `before_` is the last look's.
  std::map<std::pair<std::string, std::string>, Instant> untrue_, before_;
  struct Cause {
    Instant since{};
    std::function<bool()> holds;
  };
  std::map<std::pair<api::ObjectKey, std::string>, Cause> blocked_;  // By cluster and word.
  std::map<api::ObjectKey, Instant> secrets_;  // When their data changed last.
  /// When Pods of that name went that a kubelet had refused.
  std::map<api::ObjectKey, std::deque<Instant>> refused_;
};

}  // namespace etcdop::sim
