// The meaning of etcd's refusals for a caller. Pure; the only code that reads etcd's texts.
#pragma once
#include <string_view>

#include "base/result.h"

namespace etcdop::etcd {

/// A write whose outcome is unknown is Lost: list again. A read has no outcome to find out.
enum class Asks { Read, Write };

/// Why etcd rejected our identity.
enum class AuthTrouble {
  None,      ///< Another error.
  Required,  ///< It does not know us, or denies us permission.
  Rejected,  ///< Wrong user or password.
  Expired,   ///< The token is no longer valid; another one may be.
  Off        ///< Authentication is off.
};
/// For an error of etcd::Client, in a call that names no user.
AuthTrouble auth_trouble(const Error&);

/// The error for a call that a server answered with `grpc_status` (not 0) and `text`. etcd::Client
/// documents the codes. An unknown text is judged by its status alone; a write then counts as
/// possibly done unless the status excludes it.
Error to_error(int grpc_status, std::string_view text, Asks);

}  // namespace etcdop::etcd
