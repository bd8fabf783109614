// A Pod's identity for an object store, if no Secret has credentials: parsed and checked from the
// variables that its platform has set. Pure.
#pragma once
#include <string>

#include "agent/task.h"
#include "s3/identity.h"

namespace etcdop::agent {

/// From AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or from AWS_CONTAINER_CREDENTIALS_FULL_URI or
/// _RELATIVE_URI. `region`: of the bucket; AWS_REGION takes precedence. Invalid: as in task.h.
Result<s3::PodIdentity> to_pod_identity(const Variables&, const std::string& region);

}  // namespace etcdop::agent
