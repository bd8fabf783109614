// JSON values as YAML that people can read: block style, prose folded, quotes only where needed.
#pragma once
#include <string>

#include "base/json.h"

namespace etcdop::crdgen {

/// A YAML document for `value`, ending in a newline.
std::string yaml(const Json& value);

}  // namespace etcdop::crdgen
