// What etcd's refusals mean for a caller. Pure; the one place that reads etcd's texts.
#pragma once
#include <string_view>

#include "base/result.h"

namespace etcdop::etcd {

/// A write whose outcome is unknown is Lost: list again. A read leaves nothing to find out.
enum class Asks { Read, Write };

/// What of our identity etcd did not take.
enum class AuthTrouble {
  None,      ///< It was something else.
  Required,  ///< It does not know us, or we may not.
  Rejected,  ///< No such user and password.
  Expired,   ///< The token is no good any more: another one may be.
  Off        ///< It knows nobody: authentication is off.
};
/// Of an error of etcd::Client, in a call that names no user.
AuthTrouble auth_trouble(const Error&);

/// The error for a call that a server answered with `grpc_status` (not 0) and `text`. What the
/// codes mean is said at etcd::Client; a text that is not known is judged by its status alone, and
/// a write then counts as possibly done unless the status excludes it.
Error to_error(int grpc_status, std::string_view text, Asks);

}  // namespace etcdop::etcd
