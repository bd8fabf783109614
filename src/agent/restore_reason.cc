#include "agent/restore_reason.h"

#include <algorithm>
#include <optional>

#include "s3/answers.h"

namespace etcdop::agent {
namespace {

using enum RestoreReason;

/// Failures that may pass by themselves: a Pod's containers are restarted anyway.
constexpr RestoreReason kPassing[] = {SourceUnreachable,   SourceClockSkewed, SourceFailed,
                                      DataDirectoryFailed, RestoreToolFailed, EtcdFailed};

/// nullopt matches everything.
struct Meaning {
  RestoreSide side;
  std::optional<s3::Trouble> trouble;
  std::optional<Code> code;
  RestoreReason reason;
};
/// The first match counts.
constexpr Meaning kMeanings[] = {
    {RestoreSide::Store, s3::Trouble::Bucket, {}, BucketNotFound},
    {RestoreSide::Store, s3::Trouble::Elsewhere, {}, SourceInvalid},
    {RestoreSide::Store, s3::Trouble::Credentials, {}, SourceCredentialsRejected},
    {RestoreSide::Store, s3::Trouble::Clock, {}, SourceClockSkewed},
    {RestoreSide::Store, s3::Trouble::Permission, {}, SourceAccessDenied},
    {RestoreSide::Store, {}, Code::NotFound, SourceNotFound},
    {RestoreSide::Store, s3::Trouble::None, Code::Denied, SourceUntrusted},
    {RestoreSide::Store, s3::Trouble::None, Code::Invalid, SourceInvalid},
    {RestoreSide::Store, s3::Trouble::None, Code::Unavailable, SourceUnreachable},
    {RestoreSide::Store, s3::Trouble::None, Code::TimedOut, SourceUnreachable},
    {RestoreSide::Store, s3::Trouble::None, Code::Lost, SourceUnreachable},
    {RestoreSide::Store, {}, {}, SourceFailed},

    {RestoreSide::Folder, {}, Code::NotFound, SourceNotFound},
    {RestoreSide::Folder, {}, Code::Invalid, SourceInvalid},
    {RestoreSide::Folder, {}, Code::Denied, SourceAccessDenied},
    {RestoreSide::Folder, {}, {}, SourceFailed},

    {RestoreSide::Snapshot, {}, {}, SnapshotBroken},

    {RestoreSide::DataDirectory, {}, Code::Unavailable, NoSpace},
    {RestoreSide::DataDirectory, {}, Code::NotFound, DataDirectoryInvalid},
    {RestoreSide::DataDirectory, {}, Code::Invalid, DataDirectoryInvalid},
    {RestoreSide::DataDirectory, {}, Code::Denied, DataDirectoryInvalid},
    {RestoreSide::DataDirectory, {}, Code::AlreadyExists, DataDirectoryInvalid},
    {RestoreSide::DataDirectory, {}, {}, DataDirectoryFailed},

    {RestoreSide::Tool, {}, Code::NotFound, RestoreToolMissing},
    {RestoreSide::Tool, {}, Code::Denied, RestoreToolMissing},
    {RestoreSide::Tool, {}, Code::Unavailable, NoSpace},
    {RestoreSide::Tool, {}, {}, RestoreToolFailed},

    {RestoreSide::Etcd, {}, Code::NotFound, RestoreToolMissing},
    {RestoreSide::Etcd, {}, {}, EtcdFailed},
};

}  // namespace

const char* to_string(RestoreReason reason) {
  for (const auto& [known, text] : names(reason))
    if (known == reason) return text;
  check(false, "a known RestoreReason");
  return "";
}

RestoreReason reason_of(RestoreSide side, const Error& error) {
  const auto trouble = side == RestoreSide::Store ? s3::trouble_of(error) : s3::Trouble::None;
  const auto* const row = std::ranges::find_if(kMeanings, [&](const Meaning& one) {
    return one.side == side && one.trouble.value_or(trouble) == trouble &&
           one.code.value_or(error.code) == error.code;
  });
  return row->reason;
}

bool is_for_good(RestoreReason reason) { return !std::ranges::count(kPassing, reason); }

}  // namespace etcdop::agent
