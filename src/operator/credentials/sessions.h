// How the operator gets into etcds with authentication: as root, with a password out of a Secret
// and a token that is kept.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "etcd/errors.h"
#include "operator/credentials/passwords.h"
#include "operator/credentials/secrets.h"
#include "operator/pods/member_endpoint.h"

namespace etcdop {

inline constexpr const char* kRoot = "root";  ///< The user's name, and that of its role.

class Sessions {
 public:
  /// All of them outlive this.
  Sessions(Executor& executor, Secrets& secrets, etcd::Clients& etcd)
      : executor_(executor), secrets_(secrets), etcd_(etcd) {}

  /// Gives each endpoint a token of root, where authentication is on: as the status records, or a
  /// member has said. Logs in if there is none. Suspends.
  void equip(const api::v1alpha2::EtcdCluster&, Endpoints&);
  /// A member has not taken what it was shown. True: it may take what equip() gives now.
  bool note_refusal(const api::v1alpha2::EtcdCluster&, etcd::AuthTrouble);
  /// A member has said that authentication is on, though it may let anybody read.
  void note_enabled(const api::v1alpha2::EtcdCluster&);
  /// What came of a change at a member: a token that is no good any more is not shown again. Reads
  /// may not tell, as etcds that let anybody read do not look at it.
  void note_change(const api::v1alpha2::EtcdCluster&, const Result<Done>&);
  /// All but `enabled`. Suspends.
  AuthSeen of(const api::v1alpha2::EtcdCluster&);
  /// As the Secrets have them now. Suspends.
  Passwords passwords_of(const api::v1alpha2::EtcdCluster&);
  /// It logs in with another one from now on.
  void password_changed(const api::ObjectKey& cluster);
  void forget(const api::ObjectKey& cluster) { sessions_.erase(cluster); }

 private:
  struct Session {
    std::string of;  ///< UID of its cluster; after a restore in place with etcd's token, too.
    bool required = false;
    std::shared_ptr<const Secret> token = nullptr;
    Instant given = Instant::min();  ///< The token.
    Secret password = {};            ///< That the token was given for.
    std::string refused = {};        ///< Why there is none.
    std::vector<Secret> tried = {};
    Instant again = Instant::min();
  };
  Session& session_of(const api::v1alpha2::EtcdCluster&);
  void log_in(const api::v1alpha2::EtcdCluster&, const Endpoints&);
  Result<Secret> enter(const etcd::Endpoint& where, const std::vector<Secret>& passwords,
                       Secret& used);

  Executor& executor_;
  Secrets& secrets_;
  etcd::Clients& etcd_;
  std::map<api::ObjectKey, Session> sessions_;
};

}  // namespace etcdop
