// What a user entry of a kubeconfig says about who we are: certificate, token, impersonation, exec.
#pragma once
#include "base/result.h"
#include "kube/config.h"
#include "kube/kubeconfig_entry.h"

namespace etcdop::kube {

/// Fills in everything but `exec`.
Result<Done> use_user(const Entry& user, const ReadFile&, Config&);

/// Fills in `exec`, if the user entry has one; `cluster` is what a plugin may want to be told
/// about, whose authority has been read into the Config.
Result<Done> use_exec(const Entry& user, const Entry& cluster, Config&);

}  // namespace etcdop::kube
