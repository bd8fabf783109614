// The JSON value that crosses layers: fields without a type of ours stay JSON.
#pragma once
#include <boost/json.hpp>

namespace etcdop {
namespace json = boost::json;
using Json = boost::json::value;
}  // namespace etcdop
