// The reference page of the kinds: what each field is, for people who write and read the objects.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"

namespace etcdop::crdgen {

/// Markdown made of CustomResourceDefinitions in which "$ref"s still stand: a table for the spec
/// and one for the status of each kind, a row a field.
std::string page(const std::vector<Json>& crds);

}  // namespace etcdop::crdgen
