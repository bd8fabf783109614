// The decision of one pass over an EtcdCluster. A value.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "operator/cluster/observation.h"
#include "operator/cluster/step.h"

namespace etcdop::cluster {

/// etcd's facts about a member, for the status of its EtcdMember.
struct MemberFacts {
  std::string name, uid;
  std::string member_id, version;
  bool voter = false;
  bool removed = false, elsewhere = false;
  std::string joined_in = {};  ///< Empty: known already.
  bool operator==(const MemberFacts&) const = default;

  template <class S = MemberFacts>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("uid", &S::uid),
                      api::sparse("memberID", &S::member_id), api::sparse("version", &S::version),
                      api::sparse("voter", &S::voter), api::sparse("removed", &S::removed),
                      api::sparse("elsewhere", &S::elsewhere),
                      api::sparse("joinedIn", &S::joined_in));
  }
};

struct Plan {
  api::v1alpha2::EtcdClusterStatus status;     ///< The whole status as it should be.
  std::vector<MemberFacts> facts;              ///< For members whose status differs.
  std::vector<std::string> make_certificates;  ///< cert-manager's, to create or repair.
  bool make_headless_service = false, make_client_service = false;  ///< Or to repair.
  SelectorKeys headless_by, client_by;  ///< The keys of their selectors, if they are written.
  std::optional<std::int64_t> budget;   ///< minAvailable, if the budget is to be written.
  bool drop_budget = false;             ///< No member is left to protect.
  Step step;
  std::string waiting_for;             ///< Why there is no step, for the log; empty: converged.
  std::chrono::milliseconds again{0};  ///< Time to the next pass if no watch fires first.
  bool operator==(const Plan&) const = default;

  template <class S = Plan>
  static auto describe() {
    return api::value(api::required("status", &S::status), api::sparse("facts", &S::facts),
                      api::sparse("makeCertificates", &S::make_certificates),
                      api::sparse("makeHeadlessService", &S::make_headless_service),
                      api::sparse("makeClientService", &S::make_client_service),
                      api::sparse("headlessBy", &S::headless_by),
                      api::sparse("clientBy", &S::client_by), api::optional("budget", &S::budget),
                      api::sparse("dropBudget", &S::drop_budget), api::sparse("step", &S::step),
                      api::sparse("waitingFor", &S::waiting_for), api::sparse("again", &S::again));
  }
};

}  // namespace etcdop::cluster
