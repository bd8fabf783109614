// etcd's part of an observation: the answers of the members.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "operator/cluster/breaker.h"
#include "operator/cluster/observation.h"
#include "operator/credentials/sessions.h"
#include "operator/members/etcd_observer.h"
#include "operator/pods/member_endpoint.h"

namespace etcdop::cluster {

/// Remembers silent clusters and hashes. Decisions see them only through an observation.
class Questions {
 public:
  Questions(Executor& executor, etcd::Clients& etcd, Sessions& sessions)
      : executor_(executor),
        etcd_(etcd),
        sessions_(sessions),
        observer_(executor, etcd, sessions) {}
  /// Adds etcd's answers. A cluster that keeps silent is not asked in every pass, as each attempt
  /// costs seconds. Endpoints get root's token. Suspends; every call has a deadline.
  void ask(Observation& seen, Endpoints& endpoints);
  void forget(const api::ObjectKey& key) {
    breaker_.forget(key);
    hashes_.erase(key);
  }

 private:
  void ask_about_auth(Observation& seen, Endpoints& endpoints);
  void ask_all(Observation& seen, Endpoints& endpoints);
  void compare_data(Observation& seen, const Endpoints& endpoints);
  std::map<std::string, etcd::KeyHash> ask_hashes(const std::vector<std::string>& whom,
                                                  const Endpoints& endpoints,
                                                  std::int64_t revision);
  std::map<std::string, etcd::KeyHash> ask_common_hashes(const std::vector<std::string>& whom,
                                                         const Endpoints& endpoints);

  Executor& executor_;
  etcd::Clients& etcd_;
  Sessions& sessions_;
  EtcdObserver observer_;
  /// For a hash a member reads all its data, so it is not asked in every pass. While CORRUPT is
  /// raised, etcd accepts no writes, so the hash stays valid.
  struct Hashes {
    std::vector<RaisedAlarm> alarms;     ///< The alarms at that time,
    std::vector<etcd::MemberId> voters;  ///< and the voters.
    std::map<etcd::MemberId, Seat::Hash> known;
    Instant asked{};
  };
  std::map<api::ObjectKey, Hashes> hashes_;
  Breaker breaker_;
};

}  // namespace etcdop::cluster
