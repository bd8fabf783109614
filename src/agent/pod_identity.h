// Who a Pod is for an object store, where no Secret says it: what its platform has put into its
// environment, checked and taken apart. Pure.
#pragma once
#include <string>

#include "agent/task.h"
#include "s3/identity.h"

namespace etcdop::agent {

/// By AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or by AWS_CONTAINER_CREDENTIALS_FULL_URI or
/// _RELATIVE_URI. `region`: of the bucket; AWS_REGION goes before it. Invalid: as in task.h.
Result<s3::PodIdentity> to_pod_identity(const Variables&, const std::string& region);

}  // namespace etcdop::agent
