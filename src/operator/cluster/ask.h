// What etcd says: the part of an observation that is asked of the members.
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

/// Remembers who is silent, and hashes. No decision depends on that but by what an observation has
/// of it.
class Questions {
 public:
  Questions(Executor& executor, etcd::Clients& etcd, Sessions& sessions)
      : executor_(executor),
        etcd_(etcd),
        sessions_(sessions),
        observer_(executor, etcd, sessions) {}
  /// Adds what etcd says; what costs each pass seconds of waiting, for nothing, is not asked in
  /// each. Endpoints are given the token of root. Suspends; every call has a deadline.
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
  /// A hash costs a member a look at all of its data, so it is not asked for in each pass. While
  /// CORRUPT is raised nothing is written, so it stays what it is.
  struct Hashes {
    std::vector<RaisedAlarm> alarms;     ///< That they were asked for,
    std::vector<etcd::MemberId> voters;  ///< and of whom.
    std::map<etcd::MemberId, Seat::Hash> known;
    Instant asked{};
  };
  std::map<api::ObjectKey, Hashes> hashes_;
  Breaker breaker_;
};

}  // namespace etcdop::cluster
