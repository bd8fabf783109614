// The passwords of root, and how one becomes another so that nobody is ever locked out. Pure.
//
// etcd's password is at each moment one of those in a Secret of ours, "<cluster>-operator-auth",
// which is written before etcd is told: `password`, which root has or is to be made with; `next`,
// which that is being changed to; `previous`, which it had before, and which a request that is late
// may give it once more. So whoever edits the Secret of the spec may do it at any moment, and the
// operator may end at any call.
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

// Keys of Secrets: of the spec's, the first; of ours, all.
inline constexpr const char* kPasswordKey = "password";
inline constexpr const char* kNextPasswordKey = "next";
inline constexpr const char* kPreviousPasswordKey = "previous";

/// Whether its spec asks for authentication.
inline bool wants_auth(const api::v1alpha2::EtcdCluster& cluster) {
  return cluster.spec.auth && cluster.spec.auth->enabled;
}

/// "<cluster>-operator-auth"
std::string auth_secret_name(const std::string& cluster);

/// What our Secret says; empty: nothing.
struct KeptPasswords {
  Secret password, next, previous;
  bool operator==(const KeptPasswords&) const = default;
};

/// All that are known of a cluster; empty: there is none.
struct Passwords {
  Secret wanted;        ///< Of the spec's Secret.
  std::string missing;  ///< Why there is none of these; empty: there is.
  KeptPasswords kept;
  Secret current;  ///< With which root has logged in.
};

/// What the passwords ask for.
enum class PasswordStep {
  None,
  Record,  ///< Our Secret is to say to_keep().
  Change   ///< etcd is to have `kept.next`.
};
inline auto names(PasswordStep) {
  return std::array{std::pair{PasswordStep::None, "None"},
                    std::pair{PasswordStep::Record, "Record"},
                    std::pair{PasswordStep::Change, "Change"}};
}

/// None, if root is to be made: with `kept.password`.
PasswordStep next_step(const Passwords&);
/// What was begun is carried through, whatever is wanted by now: it may be on its way.
KeptPasswords to_keep(const Passwords&);
/// Those that may be etcd's, each once, the likeliest first.
std::vector<Secret> candidates(const Passwords&);

/// Of a cluster's authentication, as an observation has it: nothing of a password.
struct AuthSeen {
  bool required = false;  ///< A member does not answer whom it does not know.
  bool entered = false;   ///< root has logged in.
  /// Why root could not log in, or with what it should is not known; empty: it could, or was not
  /// tried.
  std::string refused;
  PasswordStep step = PasswordStep::None;
  bool recorded = false;        ///< Our Secret has a password: whatever becomes of the spec's, root
                                ///< can log in.
  std::optional<bool> enabled;  ///< As etcd says; asked while the spec wants it and it is not told.
  bool operator==(const AuthSeen&) const = default;

  template <class S = AuthSeen>
  static auto describe() {
    return api::object(
        "Of authentication.",
        api::Fields{
            api::sparse("required", &S::required, ""), api::sparse("entered", &S::entered, ""),
            api::sparse("refused", &S::refused, ""), api::sparse("step", &S::step, ""),
            api::sparse("recorded", &S::recorded, ""), api::optional("enabled", &S::enabled, "")});
  }
};

}  // namespace etcdop
