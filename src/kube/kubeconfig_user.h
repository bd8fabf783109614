// Reads our identity from a user entry of a kubeconfig: certificate, token, impersonation, exec.
#pragma once
#include "base/result.h"
#include "kube/config.h"
#include "kube/kubeconfig_entry.h"

namespace etcdop::kube {

/// Fills in everything but `exec`.
Result<Done> use_user(const Entry& user, const ReadFile&, Config&);

/// Fills in `exec`, if the user entry has one. A plugin may ask for information about `cluster`;
/// the cluster's CA must already be in the Config.
Result<Done> use_exec(const Entry& user, const Entry& cluster, Config&);

}  // namespace etcdop::kube
