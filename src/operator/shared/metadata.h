// Labels and annotations that a user asked for, on what we make. Pure.
#pragma once
#include <optional>

#include "api/v1alpha2/common.h"
#include "base/json.h"

namespace etcdop {

/// Adds them to the `metadata` of a manifest. What is there already stays as it is, and so do the
/// keys under our own prefix: nobody says so of something that it is not.
void add_metadata(json::object& metadata,
                  const std::optional<api::v1alpha2::AdditionalMetadata>& additional);

}  // namespace etcdop
