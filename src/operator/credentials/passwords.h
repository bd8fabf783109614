// The passwords of root, and how one replaces another so that the operator is never locked out.
// Pure.
//
// etcd's password is always one of those in our Secret, "<cluster>-operator-auth", which is written
// before etcd is changed: `password`, which root has or will be created with; `next`, to which it
// is being changed; `previous`, which root had before, and which a late request may set once more.
// So a user may edit the Secret of the spec at any moment, and the operator may end at any call.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "base/secret.h"
#include "operator/passes/value_codecs.h"

namespace etcdop {

// Keys of Secrets: the spec's has the first; ours has all.
inline constexpr const char* kPasswordKey = "password";
inline constexpr const char* kNextPasswordKey = "next";
inline constexpr const char* kPreviousPasswordKey = "previous";

/// Whether its spec asks for authentication.
inline bool wants_auth(const api::v1alpha2::EtcdCluster& cluster) {
  return cluster.spec.auth && cluster.spec.auth->enabled;
}

/// "<cluster>-operator-auth"
std::string auth_secret_name(const std::string& cluster);

/// The passwords in our Secret; empty: none.
struct KeptPasswords {
  Secret password, next, previous;
  bool operator==(const KeptPasswords&) const = default;
};

/// All known passwords of a cluster; empty: none.
struct Passwords {
  Secret wanted;        ///< From the Secret of the spec.
  std::string missing;  ///< Why `wanted` is empty; empty: it is not.
  KeptPasswords kept;
  bool disowned = false;  ///< Our Secret has lost its owner.
  Secret current;         ///< The one that root has logged in with.
};

/// The next change of a password.
enum class PasswordStep {
  None,
  Record,  ///< Write to_keep() into our Secret.
  Change   ///< Change etcd's password to `kept.next`.
};
inline auto names(PasswordStep) {
  return std::array{std::pair{PasswordStep::None, "None"},
                    std::pair{PasswordStep::Record, "Record"},
                    std::pair{PasswordStep::Change, "Change"}};
}

/// The next step. None, if root is to be created: with `kept.password`.
PasswordStep next_step(const Passwords&);
/// A change that has begun is completed, whatever is wanted now: it may be on its way.
KeptPasswords to_keep(const Passwords&);
/// The passwords that etcd may have, each once, the likeliest first.
std::vector<Secret> candidates(const Passwords&);

/// The authentication of a cluster in an observation; without passwords.
struct AuthSeen {
  bool required = false;  ///< A member rejects unauthenticated clients.
  bool entered = false;   ///< root has logged in.
  /// Why root could not log in, or why its password is unknown; empty: it could, or was not tried.
  std::string refused;
  PasswordStep step = PasswordStep::None;
  /// Our Secret has a password, so root can log in whatever the spec's Secret has.
  bool recorded = false;
  bool disowned = false;  ///< Our Secret has lost its owner.
  /// etcd's answer; asked while the spec wants authentication and the status does not have it.
  std::optional<bool> enabled;
  bool operator==(const AuthSeen&) const = default;

  template <class S = AuthSeen>
  static auto describe() {
    return api::value(api::sparse("required", &S::required), api::sparse("entered", &S::entered),
                      api::sparse("refused", &S::refused), api::sparse("step", &S::step),
                      api::sparse("recorded", &S::recorded), api::sparse("disowned", &S::disowned),
                      api::optional("enabled", &S::enabled));
  }
};

}  // namespace etcdop
