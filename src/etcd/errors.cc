#include "etcd/errors.h"

#include <algorithm>
#include <string>

namespace etcdop::etcd {
namespace {

/// One of etcd's texts without its prefix. Source: etcd's api/v3rpc/rpctypes/error.go. The status
/// for a text differs between versions (3.5 says 14 where 3.6 says 9), the text does not.
struct Row {
  std::string_view text;
  Code read, write;
  constexpr Row(std::string_view t, Code both) : text(t), read(both), write(both) {}
  constexpr Row(std::string_view t, Code r, Code w) : text(t), read(r), write(w) {}
};

constexpr Row kRows[] = {
    // The change was not proposed.
    {"unhealthy cluster", Code::Unavailable},
    {"no leader", Code::Unavailable},
    {"too many requests", Code::Unavailable},
    {"not capable", Code::Unavailable},  // The cluster's version is not decided yet.
    // The change was proposed, or may have been; it can still commit after this answer.
    {"request timed out", Code::TimedOut, Code::Lost},
    {"request timed out, possibly due to previous leader failure", Code::TimedOut, Code::Lost},
    {"request timed out, possibly due to connection lost", Code::TimedOut, Code::Lost},
    {"request timed out, waiting for the applied index took too long", Code::TimedOut, Code::Lost},
    {"request timed out, leader transfer took too long", Code::TimedOut, Code::Lost},
    {"context deadline exceeded", Code::TimedOut, Code::Lost},
    {"leader changed", Code::Unavailable, Code::Lost},
    {"server stopped", Code::Unavailable, Code::Lost},
    {"request canceled", Code::Unavailable, Code::Lost},
    // Membership.
    {"member not found", Code::NotFound},
    {"Peer URLs already exists", Code::AlreadyExists},
    {"member ID already exist", Code::AlreadyExists},
    {"can only promote a learner member which is in sync with leader", Code::Conflict},
    {"not leader", Code::Conflict},
    {"can only promote a learner member", Code::AlreadyExists},  // It is a voter.
    {"too many learner members in cluster", Code::Invalid},
    {"re-configuration failed due to not enough started members", Code::Invalid},
    {"given member URLs are invalid", Code::Invalid},
    {"bad leader transferee", Code::Invalid},
    {"rpc not supported for learner", Code::Invalid},
    // Identity.
    {"user name is empty", Code::Denied},
    {"authentication failed, invalid user ID or password", Code::Denied},
    {"invalid auth token", Code::Denied},
    {"revision of auth store is old", Code::Denied},
    {"permission denied", Code::Denied},
    {"authentication is not enabled", Code::Invalid},
    {"root user does not exist", Code::Invalid},
    {"root user does not have root role", Code::Invalid},
    {"user name not found", Code::Invalid},
    {"role name not found", Code::Invalid},
    {"user name already exists", Code::AlreadyExists},
    {"role name already exists", Code::AlreadyExists},
    // Data.
    {"mvcc: database space exceeded", Code::Invalid, Code::Lost},  // The put may have succeeded.
    {"mvcc: required revision has been compacted", Code::Invalid},
    {"mvcc: required revision is a future revision", Code::Invalid},
    {"corrupt cluster", Code::Corrupt},
};

/// By the status alone, as the gRPC specification defines it.
Code by_status(int grpc_status, Asks asks) {
  const bool write = asks == Asks::Write;
  switch (grpc_status) {
    case 3:   // InvalidArgument
    case 9:   // FailedPrecondition
    case 11:  // OutOfRange
    case 12:  // Unimplemented
      return Code::Invalid;
    case 4:  // DeadlineExceeded
      return write ? Code::Lost : Code::TimedOut;
    case 5: return Code::NotFound;
    case 6: return Code::AlreadyExists;
    case 7:   // PermissionDenied
    case 16:  // Unauthenticated
      return Code::Denied;
    case 8: return Code::Unavailable;  // ResourceExhausted: refused before any work.
    case 15:
      return Code::Corrupt;  // DataLoss
    // Cancelled (by the server: our own cancellation never arrives as a status), Unknown, Aborted,
    // Internal, Unavailable, and codes that the specification does not know.
    default: return write ? Code::Lost : Code::Unavailable;
  }
}

Code code_of(int grpc_status, std::string_view text, Asks asks) {
  // In Defragment, HashKV and Snapshot, 3.5 forgets to translate the auth error: "auth: ...".
  for (const std::string_view prefix : {"etcdserver: ", "auth: "})
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  const auto* row = std::ranges::find(kRows, text, &Row::text);
  if (row == std::end(kRows)) return by_status(grpc_status, asks);
  return asks == Asks::Write ? row->write : row->read;
}

}  // namespace

AuthTrouble auth_trouble(const Error& error) {
  const auto says = [&](const char* text) { return error.message.ends_with(text); };
  // The user that is "not found" is the common name of our certificate, which etcd takes for a user
  // name.
  for (const char* text : {"user name is empty", "user name not found", "permission denied"})
    if (says(text)) return AuthTrouble::Required;
  if (says("authentication is not enabled")) return AuthTrouble::Off;
  if (says("authentication failed, invalid user ID or password")) return AuthTrouble::Rejected;
  if (says("invalid auth token") || says("revision of auth store is old"))
    return AuthTrouble::Expired;
  return AuthTrouble::None;
}

Error to_error(int grpc_status, std::string_view text, Asks asks) {
  const std::string message =
      text.empty() ? "gRPC status " + std::to_string(grpc_status) : std::string(text);
  return {code_of(grpc_status, text, asks), message};
}

}  // namespace etcdop::etcd
