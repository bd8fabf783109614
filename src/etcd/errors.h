// What etcd's refusals mean for a caller. Pure; the one place that reads etcd's texts.
#pragma once
#include <string_view>

#include "base/result.h"

namespace etcdop::etcd {

/// A write whose outcome is unknown is Lost: list again. A read leaves nothing to find out.
enum class Asks { Read, Write };

/// The error for a call that a server answered with `grpc_status` (not 0) and `text`. What the
/// codes mean is said at etcd::Client; a text that is not known is judged by its status alone, and
/// a write then counts as possibly done unless the status excludes it.
Error to_error(int grpc_status, std::string_view text, Asks);

}  // namespace etcdop::etcd
