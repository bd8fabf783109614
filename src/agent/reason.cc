#include "agent/reason.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "etcd/errors.h"
#include "s3/answers.h"

namespace etcdop::agent {
namespace {

/// Retryable failures exit with kExitFailed, failures that people must fix with kExitFailedForGood.
struct Exit {
  Reason reason;
  int code;
};
constexpr Exit kExits[] = {
    {Reason::EtcdUnreachable, kExitFailed},
    {Reason::EtcdCredentialsRejected, kExitFailedForGood},
    {Reason::EtcdUnhealthy, kExitFailed},
    {Reason::SnapshotBroken, kExitFailed},
    {Reason::DestinationExists, kExitFailedForGood},
    {Reason::DestinationInvalid, kExitFailedForGood},
    {Reason::DestinationUnreachable, kExitFailed},
    {Reason::DestinationUntrusted, kExitFailedForGood},
    {Reason::DestinationCredentialsRejected, kExitFailedForGood},
    {Reason::DestinationAccessDenied, kExitFailedForGood},
    {Reason::BucketNotFound, kExitFailedForGood},
    {Reason::NoSpace, kExitFailedForGood},
    {Reason::DestinationClockSkewed, kExitFailed},
    {Reason::DestinationFailed, kExitFailed},
    {Reason::EncryptionKeyInvalid, kExitFailedForGood},
};

/// Details in an error's text beyond its code, if a parser for it exists.
using Trouble = std::variant<std::monostate, etcd::AuthTrouble, s3::Trouble>;

/// nullopt matches everything.
struct Row {
  Side side;
  std::optional<Trouble> trouble;
  std::optional<Code> code;
  Reason reason;
};
/// The first match counts.
constexpr Row kRows[] = {
    {Side::Etcd, etcd::AuthTrouble::Expired, {}, Reason::EtcdUnhealthy},
    {Side::Etcd, {}, Code::Denied, Reason::EtcdCredentialsRejected},
    {Side::Etcd, {}, Code::Unavailable, Reason::EtcdUnreachable},
    {Side::Etcd, {}, Code::TimedOut, Reason::EtcdUnreachable},
    {Side::Etcd, {}, Code::Lost, Reason::EtcdUnreachable},
    {Side::Etcd, {}, Code::Cancelled, Reason::DestinationFailed},  // A request to end, as below.
    {Side::Etcd, {}, {}, Reason::EtcdUnhealthy},

    {Side::Snapshot, etcd::AuthTrouble::Expired, {}, Reason::EtcdUnhealthy},
    {Side::Snapshot, {}, Code::Denied, Reason::EtcdCredentialsRejected},
    {Side::Snapshot, {}, Code::Corrupt, Reason::SnapshotBroken},
    {Side::Snapshot, {}, Code::Cancelled, Reason::DestinationFailed},
    {Side::Snapshot, {}, Code::Invalid, Reason::EtcdUnhealthy},
    {Side::Snapshot, {}, {}, Reason::EtcdUnreachable},

    {Side::Store, s3::Trouble::Bucket, {}, Reason::BucketNotFound},
    {Side::Store, s3::Trouble::Elsewhere, {}, Reason::DestinationInvalid},
    {Side::Store, s3::Trouble::Credentials, {}, Reason::DestinationCredentialsRejected},
    {Side::Store, s3::Trouble::Clock, {}, Reason::DestinationClockSkewed},
    {Side::Store, s3::Trouble::Permission, {}, Reason::DestinationAccessDenied},
    {Side::Store, {}, Code::AlreadyExists, Reason::DestinationExists},
    {Side::Store, s3::Trouble::None, Code::Denied, Reason::DestinationUntrusted},
    {Side::Store, s3::Trouble::None, Code::Invalid, Reason::DestinationInvalid},
    {Side::Store, s3::Trouble::None, Code::Unavailable, Reason::DestinationUnreachable},
    {Side::Store, s3::Trouble::None, Code::TimedOut, Reason::DestinationUnreachable},
    {Side::Store, s3::Trouble::None, Code::Lost, Reason::DestinationUnreachable},
    {Side::Store, {}, {}, Reason::DestinationFailed},

    {Side::Folder, {}, Code::AlreadyExists, Reason::DestinationExists},
    {Side::Folder, {}, Code::Invalid, Reason::DestinationInvalid},
    {Side::Folder, {}, Code::NotFound, Reason::DestinationInvalid},
    {Side::Folder, {}, Code::Denied, Reason::DestinationAccessDenied},
    {Side::Folder, {}, Code::Unavailable, Reason::NoSpace},
    {Side::Folder, {}, {}, Reason::DestinationFailed},
};

Trouble trouble_of(Side side, const Error& error) {
  switch (side) {
    case Side::Etcd:
    case Side::Snapshot: return etcd::auth_trouble(error);
    case Side::Store: return s3::trouble_of(error);
    case Side::Folder: break;
  }
  return std::monostate();
}

}  // namespace

const char* to_string(Reason reason) {
  for (const auto& [known, text] : names(reason))
    if (known == reason) return text;
  check(false, "a known Reason");
  return "";
}

Reason reason_of(Side side, const Error& error) {
  const Trouble trouble = trouble_of(side, error);
  const auto* const row = std::ranges::find_if(kRows, [&](const Row& one) {
    return one.side == side && one.trouble.value_or(trouble) == trouble &&
           one.code.value_or(error.code) == error.code;
  });
  return row->reason;
}

/// Cancelled: the call that was waiting is not at fault.
std::string told(const Error& error) {
  return error.code == Code::Cancelled ? kAskedToEnd : error.message;
}

int exit_code(Reason reason) { return std::ranges::find(kExits, reason, &Exit::reason)->code; }

}  // namespace etcdop::agent
