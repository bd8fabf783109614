// What the Secrets of an object store lack, for who makes a Pod that needs them: without them that
// would wait in the kubelet, whose words are about a container.
#pragma once
#include <string>

#include "api/v1alpha2/common.h"
#include "operator/credentials/secrets.h"

namespace etcdop {

/// In words that name the Secret; empty: nothing. Also the Secret of encrypted snapshots. Suspends.
std::string store_fault(Secrets&, const std::string& ns, const api::v1alpha2::SnapshotLocation&);

}  // namespace etcdop
