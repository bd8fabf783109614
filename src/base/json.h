// The JSON value that crosses layers: what we do not model stays one.
#pragma once
#include <boost/json.hpp>

namespace etcdop {
namespace json = boost::json;
using Json = boost::json::value;
}  // namespace etcdop
