// The page of all kinds and fields (docs/user/api.md): explains each field to people who write and
// read the objects.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"

namespace etcdop::crdgen {

/// Markdown made from CustomResourceDefinitions that still contain "$ref"s: for each kind a table
/// for the spec and one for the status, with a row for each field.
std::string page(const std::vector<Json>& crds);

}  // namespace etcdop::crdgen
