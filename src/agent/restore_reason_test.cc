#include "agent/restore_reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "s3/answers.h"

namespace etcdop::agent {
namespace {

Error get(int status, const char* code) {
  const char* const call = *code == 0 ? "HEAD" : "GET";
  return s3::to_error(s3::Asked{.call = call, .bucket = "b", .key = "k"},
                      s3::Refusal{.status = status, .code = code});
}

TEST(RestoreReason, FollowsFromTheSideAndTheError) {
  using enum RestoreReason;
  using Side = RestoreSide;
  const struct {
    Side side;
    Error error;
    RestoreReason reason;
    const char* because;
  } rows[] = {
      {Side::Store, get(404, "NoSuchKey"), SourceNotFound, ""},
      {Side::Store, get(404, ""), SourceNotFound, "no code after HEAD"},
      {Side::Store, get(404, "NoSuchBucket"), BucketNotFound, ""},
      {Side::Store, get(403, "AccessDenied"), SourceAccessDenied, ""},
      {Side::Store, get(403, ""), SourceAccessDenied, "no code after HEAD"},
      {Side::Store, get(403, "InvalidAccessKeyId"), SourceCredentialsRejected, ""},
      {Side::Store, get(400, "ExpiredToken"), SourceCredentialsRejected, ""},
      {Side::Store, get(403, "RequestTimeTooSkewed"), SourceClockSkewed, ""},
      {Side::Store, get(301, ""), SourceInvalid, "moved for good, and not followed"},
      {Side::Store, get(307, ""), SourceFailed, "a new bucket's name may not be known"},
      {Side::Store, get(400, "AuthorizationHeaderMalformed"), SourceInvalid, "another region"},
      {Side::Store, get(503, "SlowDown"), SourceFailed, "it is there, but busy"},
      {Side::Store, get(412, "PreconditionFailed"), SourceFailed, "replaced meanwhile"},
      {Side::Store, {Code::Denied, "TLS"}, SourceUntrusted, "nobody has answered"},
      {Side::Store, {Code::Invalid, "endpoint"}, SourceInvalid, ""},
      {Side::Store, {Code::Unavailable, ""}, SourceUnreachable, ""},
      {Side::Store, {Code::TimedOut, ""}, SourceUnreachable, ""},
      {Side::Store, {Code::Cancelled, ""}, SourceFailed, "asked to end"},
      {Side::Folder, {Code::NotFound, ""}, SourceNotFound, ""},
      {Side::Folder, {Code::Invalid, ""}, SourceInvalid, "a symbolic link"},
      {Side::Folder, {Code::Denied, ""}, SourceAccessDenied, ""},
      {Side::Folder, {Code::Lost, ""}, SourceFailed, ""},
      {Side::Snapshot, {Code::Corrupt, ""}, SnapshotBroken, ""},
      {Side::DataDirectory, {Code::Unavailable, ""}, NoSpace, ""},
      {Side::DataDirectory, {Code::NotFound, ""}, DataDirectoryInvalid, ""},
      {Side::DataDirectory, {Code::Denied, ""}, DataDirectoryInvalid, "read-only"},
      {Side::DataDirectory, {Code::AlreadyExists, ""}, DataDirectoryInvalid, ""},
      {Side::DataDirectory, {Code::Lost, ""}, DataDirectoryFailed, "the disk"},
      {Side::Tool, {Code::NotFound, ""}, RestoreToolMissing, ""},
      {Side::Tool, {Code::Denied, ""}, RestoreToolMissing, "of another machine"},
      {Side::Tool, {Code::Unavailable, ""}, NoSpace, "it said so"},
      {Side::Tool, {Code::Lost, ""}, RestoreToolFailed, ""},
      {Side::Tool, {Code::Cancelled, ""}, RestoreToolFailed, ""},
      {Side::Etcd, {Code::NotFound, ""}, RestoreToolMissing, ""},
      {Side::Etcd, {Code::TimedOut, ""}, EtcdFailed, ""},
  };
  for (const auto& row : rows)
    EXPECT_STREQ(to_string(reason_of(row.side, row.error)), to_string(row.reason))
        << row.error.message << " " << row.because;
}

TEST(RestoreReason, SaysWhetherOnlyPeopleCanMendIt) {
  std::set<std::string> passing;
  for (const auto& [reason, text] : names(RestoreReason{}))
    if (!is_for_good(reason)) passing.insert(text);
  EXPECT_EQ(passing,
            (std::set<std::string>{"SourceUnreachable", "SourceClockSkewed", "SourceFailed",
                                   "DataDirectoryFailed", "RestoreToolFailed", "EtcdFailed"}));
}

}  // namespace
}  // namespace etcdop::agent
