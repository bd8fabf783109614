#include "operator/credentials/sessions.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "operator/passes/owner.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

constexpr Duration kRefusedAgain = 30s;  // With the same passwords.
constexpr Duration kFailedAgain = 1s;
constexpr Duration kLogInLimit = 15s;  // A pass has a minute.
// A member learns of a token when it applies it, later than the one that issued it.
constexpr Duration kSpreads = 500ms;

std::string root_secret_of(const v1::EtcdCluster& cluster) {
  const auto& auth = cluster.spec.auth;
  return auth && auth->root_credentials_secret_ref ? auth->root_credentials_secret_ref->name : "";
}

/// Empty if etcd's API cannot carry it: its texts are UTF-8.
Secret sendable(const Secret& password) { return is_utf8(password.reveal()) ? password : Secret(); }

}  // namespace

/// A session of an earlier cluster with that name is dropped.
Sessions::Session& Sessions::session_of(const v1::EtcdCluster& cluster) {
  Session& session = sessions_[cluster.metadata.key()];
  std::string of = cluster.metadata.uid;
  if (cluster.status.restore) of += " " + cluster.status.cluster_token;
  if (session.of != of) session = {.of = std::move(of)};
  return session;
}

Passwords Sessions::passwords_of(const v1::EtcdCluster& cluster) {
  Passwords out;
  const std::string& ns = cluster.metadata.ns;
  const std::string name = root_secret_of(cluster);
  auto wanted = name.empty() ? Result<Secrets::Value>(Error{Code::Invalid, "no name"})
                             : secrets_.get({ns, name});
  const Secret found = wanted ? (*wanted)->value(kPasswordKey) : Secret();
  out.wanted = sendable(found);
  if (name.empty()) out.missing = "spec.auth.rootCredentialsSecretRef names no Secret";
  else if (!wanted) out.missing = "Secret " + name + " " + why_unread(wanted);
  else if (found.empty()) out.missing = "Secret " + name + " has no " + kPasswordKey;
  else if (out.wanted.empty()) out.missing = "Secret " + name + ": the password is not UTF-8";
  if (!out.missing.empty() && wanted) secrets_.doubt({ns, name}, *wanted);
  auto ours = secrets_.get({ns, auth_secret_name(cluster.metadata.name)});
  if (ours && is_made_for(cluster, (*ours)->metadata)) {
    out.disowned = !is_ours((*ours)->metadata, cluster.metadata.uid);
    out.kept = {sendable((*ours)->value(kPasswordKey)), sendable((*ours)->value(kNextPasswordKey)),
                sendable((*ours)->value(kPreviousPasswordKey))};
  } else if (ours) {  // It may belong to an earlier cluster, and be deleted with it.
    secrets_.doubt({ns, auth_secret_name(cluster.metadata.name)}, *ours);
  }
  const Session& session = session_of(cluster);
  if (session.token) out.current = session.password;
  return out;
}

AuthSeen Sessions::of(const v1::EtcdCluster& cluster) {
  AuthSeen out;
  if (!wants_auth(cluster)) {
    out.required = session_of(cluster).required;
    return out;
  }
  const Passwords known = passwords_of(cluster);
  const Session& session = session_of(cluster);
  out.required = session.required;
  out.entered = session.token != nullptr;
  out.refused = session.refused.empty() ? known.missing : session.refused;
  out.step = next_step(known);
  out.recorded = !known.kept.password.empty();
  out.disowned = known.disowned;
  return out;
}

bool Sessions::note_refusal(const v1::EtcdCluster& cluster, etcd::AuthTrouble trouble) {
  if (trouble == etcd::AuthTrouble::None) return false;
  Session& session = session_of(cluster);
  session.required = true;
  const bool spreads =
      trouble == etcd::AuthTrouble::Expired && executor_.now() < session.given + kSpreads;
  if (!spreads) session.token.reset();
  return wants_auth(cluster);
}

void Sessions::note_enabled(const v1::EtcdCluster& cluster) { session_of(cluster).required = true; }

void Sessions::note_change(const v1::EtcdCluster& cluster, const Result<Done>& changed) {
  if (changed || etcd::auth_trouble(changed.error()) != etcd::AuthTrouble::Expired) return;
  (void)note_refusal(cluster, etcd::AuthTrouble::Expired);
}

void Sessions::password_changed(const api::ObjectKey& cluster) {
  const auto found = sessions_.find(cluster);
  if (found == sessions_.end()) return;
  found->second.token.reset();
  found->second.again = Instant::min();
}

void Sessions::equip(const v1::EtcdCluster& cluster, Endpoints& endpoints) {
  if (!wants_auth(cluster) || endpoints.empty()) return;
  const Session& known = session_of(cluster);
  if (!known.token && (known.required || cluster.status.auth_enabled)) log_in(cluster, endpoints);
  for (auto& [name, endpoint] : endpoints) endpoint.token = session_of(cluster).token;
}

/// Unavailable: no password to try, or no answer.
Result<Secret> Sessions::enter(const etcd::Endpoint& where, const std::vector<Secret>& passwords,
                               Secret& used) {
  Result<Secret> token = Error{Code::Unavailable, "no password is known"};
  const auto client = etcd_.at(where);
  for (const Secret& password : passwords) {
    token = client->authenticate(kRoot, password);
    used = password;
    if (token || etcd::auth_trouble(token.error()) != etcd::AuthTrouble::Rejected) return token;
  }
  return token;
}

void Sessions::log_in(const v1::EtcdCluster& cluster, const Endpoints& endpoints) {
  const std::vector<Secret> passwords = candidates(passwords_of(cluster));
  Session& before = session_of(cluster);
  if (executor_.now() < before.again && before.tried == passwords) return;
  Result<Secret> token = Error{Code::Unavailable, "no member answers"};
  etcd::AuthTrouble worst = etcd::AuthTrouble::None;
  Secret used;
  const Within limit(executor_, kLogInLimit);
  // All are asked: a refusal does not say which etcd refuses. With foreign data on its volume, one
  // member may be of another etcd, with other users or none (K5). A learner accepts no login.
  for (const auto& [name, where] : endpoints) {
    etcd::Endpoint anonymous = where;
    anonymous.token.reset();
    token = enter(anonymous, passwords, used);
    if (token) break;
    const etcd::AuthTrouble trouble = etcd::auth_trouble(token.error());
    const bool off = trouble == etcd::AuthTrouble::Off && worst == etcd::AuthTrouble::None;
    if (trouble == etcd::AuthTrouble::Rejected || off) worst = trouble;
  }
  Session& session = session_of(cluster);  // Looked up again: the calls suspended.
  session.tried = passwords;
  session.refused.clear();
  session.again = executor_.now() + kFailedAgain;
  if (token) {
    session.token = std::make_shared<const Secret>(std::move(*token));
    session.given = executor_.now();
    session.password = used;
    session.required = true;
  } else if (worst == etcd::AuthTrouble::Off) {
    session.required = false;
    if (cluster.status.auth_enabled)
      session.refused =
          "authentication was turned off in etcd: turn it on again with etcdctl auth enable";
  } else if (worst == etcd::AuthTrouble::Rejected) {
    session.again = executor_.now() + kRefusedAgain;
    session.refused =
        "etcd rejects the password of Secret " + root_secret_of(cluster) + " for the user " + kRoot;
  }
}

}  // namespace etcdop
