// Logs the operator in to etcds with authentication: as root, with a password from a Secret and a
// token that is kept.
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

  /// Gives each endpoint a token of root if authentication is on: the status records it, or a
  /// member has said so. Logs in if there is no token. Suspends.
  void equip(const api::v1alpha2::EtcdCluster&, Endpoints&);
  /// A member has rejected the token or its absence. True: it may take what equip() gives now.
  bool note_refusal(const api::v1alpha2::EtcdCluster&, etcd::AuthTrouble);
  /// A member has said that authentication is on, even if it allows anonymous reads.
  void note_enabled(const api::v1alpha2::EtcdCluster&);
  /// The outcome of a change at a member: an expired token is not used again. Reads may not notice,
  /// as an etcd that allows anonymous reads does not check the token.
  void note_change(const api::v1alpha2::EtcdCluster&, const Result<Done>&);
  /// All fields but `enabled`. Suspends.
  AuthSeen of(const api::v1alpha2::EtcdCluster&);
  /// The passwords that the Secrets have now. Suspends.
  Passwords passwords_of(const api::v1alpha2::EtcdCluster&);
  /// From now on it logs in with another password.
  void password_changed(const api::ObjectKey& cluster);
  void forget(const api::ObjectKey& cluster) { sessions_.erase(cluster); }

 private:
  struct Session {
    std::string of;  ///< UID of its cluster; after a restore in place also the cluster token.
    bool required = false;
    std::shared_ptr<const Secret> token = nullptr;
    Instant given = Instant::min();  ///< When the token was issued.
    Secret password = {};            ///< The password that the token was issued for.
    std::string refused = {};        ///< Why there is no token.
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
