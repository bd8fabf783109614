// Checks the Secrets of an object store before a Pod is created that needs them. Otherwise the Pod
// would wait in the kubelet, whose message is about a container.
#pragma once
#include <string>

#include "api/v1alpha2/common.h"
#include "operator/credentials/secrets.h"

namespace etcdop {

/// The fault, in words that name the Secret; empty: none. Also checks the Secret of encrypted
/// snapshots. Suspends.
std::string store_fault(Secrets&, const std::string& ns, const api::v1alpha2::SnapshotLocation&);

}  // namespace etcdop
