// Reads an EtcdView from the members of a cluster, for the observations of all controllers.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "operator/credentials/sessions.h"
#include "operator/members/etcd_view.h"
#include "operator/pods/member_endpoint.h"

namespace etcdop {

/// One extra call lists all alarms, with the agreement of a quorum. The status of a member says in
/// words whether it knows of an alarm. IfReported: or if a learner does not answer, which may need
/// one more entry of the log.
enum class AskForAlarms { IfReported, Always };

class EtcdObserver {
 public:
  /// All of them outlive this.
  EtcdObserver(Executor& executor, etcd::Clients& etcd, Sessions& sessions)
      : executor_(executor), etcd_(etcd), sessions_(sessions) {}

  /// Reads the status of every member at once, then one linearizable list from the leader, or
  /// otherwise from a voter. `known`: the members with their names and peer URLs. Adds root's token
  /// to the endpoints. Suspends; every call has a deadline.
  EtcdView observe(const api::v1alpha2::EtcdCluster&, std::vector<MemberView> known,
                   Endpoints& endpoints, AskForAlarms);

 private:
  using Answers = std::vector<std::pair<MemberView*, Result<etcd::Status>>>;
  /// The members' answers: all cluster ids, the member ids by name, and the members that may be
  /// asked for the list, the leader first.
  struct Told {
    std::set<etcd::ClusterId> clusters;
    std::map<std::string, etcd::MemberId> ids;
    std::vector<const MemberView*> sources;
  };
  void ask_as_root(const api::v1alpha2::EtcdCluster&, Endpoints&,
                   const std::function<etcd::AuthTrouble()>& ask);
  Answers ask_status(const api::v1alpha2::EtcdCluster&, EtcdView&, Endpoints&);
  Told note_answers(EtcdView&, const Endpoints&, Answers&);
  static void list_alarms(EtcdView&, etcd::Client& source, Answers&, AskForAlarms);
  bool lives_elsewhere(etcd::Endpoint, const MemberView&);

  Executor& executor_;
  etcd::Clients& etcd_;
  Sessions& sessions_;
};

}  // namespace etcdop
