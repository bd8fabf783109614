#include "agent/reason.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "s3/answers.h"

namespace etcdop::agent {
namespace {

Error refused(int status, const char* code) {
  return s3::to_error(s3::Asked{.call = "PutObject", .writes = true, .bucket = "b", .key = "k"},
                      s3::Refusal{.status = status, .code = code});
}

Error head(int status) {
  return s3::to_error(s3::Asked{.call = "HEAD", .bucket = "b", .key = "k"},
                      s3::Refusal{.status = status});
}

TEST(Reason, FollowsFromTheSideAndTheError) {
  const struct {
    Side side;
    Error error;
    Reason reason;
    const char* because;
  } rows[] = {
      {Side::Etcd, {Code::Denied, ""}, Reason::EtcdCredentialsRejected, "a wrong password, or TLS"},
      {Side::Etcd,
       {Code::Denied, "Status at db-0: etcdserver: invalid auth token"},
       Reason::EtcdUnhealthy,
       "it has restarted: another token is good"},
      {Side::Etcd, {Code::Unavailable, ""}, Reason::EtcdUnreachable, "nobody is there"},
      {Side::Etcd, {Code::TimedOut, ""}, Reason::EtcdUnreachable, "nobody answers"},
      {Side::Etcd, {Code::Conflict, ""}, Reason::EtcdUnhealthy, "no member is fit"},
      {Side::Etcd, {Code::Corrupt, ""}, Reason::EtcdUnhealthy, "another cluster answered"},
      {Side::Etcd, {Code::Cancelled, ""}, Reason::DestinationFailed, "asked to end"},
      {Side::Snapshot, {Code::Corrupt, ""}, Reason::SnapshotBroken, "the sum is wrong"},
      {Side::Snapshot,
       {Code::Denied, "Snapshot at db-0: etcdserver: revision of auth store is old"},
       Reason::EtcdUnhealthy,
       "likewise"},
      {Side::Snapshot, {Code::Denied, ""}, Reason::EtcdCredentialsRejected, "not root"},
      {Side::Snapshot, {Code::Unavailable, ""}, Reason::EtcdUnreachable, "the stream ended"},
      {Side::Snapshot, {Code::TimedOut, ""}, Reason::EtcdUnreachable, "it takes too long"},
      {Side::Snapshot, {Code::Cancelled, ""}, Reason::DestinationFailed, "asked to end"},
      {Side::Store, {Code::AlreadyExists, ""}, Reason::DestinationExists, "our own guard"},
      {Side::Store, refused(412, "PreconditionFailed"), Reason::DestinationFailed,
       "not asked for: the store is odd"},
      {Side::Store, refused(404, "NoSuchBucket"), Reason::BucketNotFound, ""},
      {Side::Store, refused(403, "AccessDenied"), Reason::DestinationAccessDenied, ""},
      {Side::Store, head(403), Reason::DestinationAccessDenied, "no code after HEAD"},
      {Side::Store, refused(403, "InvalidAccessKeyId"), Reason::DestinationCredentialsRejected, ""},
      {Side::Store, refused(403, "SignatureDoesNotMatch"), Reason::DestinationCredentialsRejected,
       ""},
      {Side::Store, refused(400, "ExpiredToken"), Reason::DestinationCredentialsRejected, ""},
      {Side::Store, refused(403, "RequestTimeTooSkewed"), Reason::DestinationClockSkewed, ""},
      {Side::Store, head(301), Reason::DestinationInvalid, "moved for good, and not followed"},
      {Side::Store, head(307), Reason::DestinationFailed, "a new bucket's name may not be known"},
      {Side::Store, refused(400, "AuthorizationHeaderMalformed"), Reason::DestinationInvalid,
       "another region"},
      {Side::Store, refused(503, "SlowDown"), Reason::DestinationFailed, "it is there, but busy"},
      {Side::Store, refused(500, "InternalError"), Reason::DestinationFailed, ""},
      {Side::Store, {Code::Denied, "TLS: expired"}, Reason::DestinationUntrusted, ""},
      {Side::Store, {Code::Invalid, "connect to localhost:9000"}, Reason::DestinationInvalid, ""},
      {Side::Store, {Code::Unavailable, "connect"}, Reason::DestinationUnreachable, ""},
      {Side::Store, {Code::TimedOut, ""}, Reason::DestinationUnreachable, "a black hole"},
      {Side::Store, {Code::Lost, ""}, Reason::DestinationUnreachable, "cut"},
      {Side::Store, {Code::Corrupt, ""}, Reason::DestinationFailed, "another size was stored"},
      {Side::Store, {Code::Cancelled, ""}, Reason::DestinationFailed, "asked to end"},
      {Side::Folder, {Code::AlreadyExists, ""}, Reason::DestinationExists, ""},
      {Side::Folder, {Code::Invalid, ""}, Reason::DestinationInvalid, "a symbolic link"},
      {Side::Folder, {Code::NotFound, ""}, Reason::DestinationInvalid, "no mount"},
      {Side::Folder, {Code::Denied, ""}, Reason::DestinationAccessDenied, "read-only"},
      {Side::Folder, {Code::Unavailable, ""}, Reason::NoSpace, ""},
      {Side::Folder, {Code::Lost, ""}, Reason::DestinationFailed, "EIO"},
      {Side::Folder, {Code::Cancelled, ""}, Reason::DestinationFailed, "asked to end"},
  };
  for (const auto& row : rows)
    EXPECT_STREQ(to_string(reason_of(row.side, row.error)), to_string(row.reason))
        << row.error.message << ": " << row.because;
}

TEST(Reason, WhoWasAskedToEndSaysThatAndNotWhatItWaitedFor) {
  EXPECT_EQ(told({Code::Cancelled, "Snapshot at db-0: cancelled"}), kAskedToEnd);
  EXPECT_EQ(told({Code::TimedOut, "Status at db-0"}), "Status at db-0");
}

TEST(Reason, EachErrorOfEachSideHasOne) {
  for (const Side side : {Side::Etcd, Side::Snapshot, Side::Store, Side::Folder})
    for (int code = 0; code <= static_cast<int>(Code::Expired); ++code)
      EXPECT_NE(std::string(to_string(reason_of(side, {static_cast<Code>(code), ""}))), "");
}

TEST(Reason, SaysWhetherAgainMayHelp) {
  std::set<std::string> for_good;
  for (const auto& [reason, text] : names(Reason{})) {
    if (exit_code(reason) == kExitFailedForGood) for_good.insert(text);
    else EXPECT_EQ(exit_code(reason), kExitFailed) << text;
  }
  EXPECT_EQ(for_good,
            (std::set<std::string>{"EtcdCredentialsRejected", "DestinationExists",
                                   "DestinationInvalid", "DestinationUntrusted",
                                   "DestinationCredentialsRejected", "DestinationAccessDenied",
                                   "BucketNotFound", "NoSpace", "EncryptionKeyInvalid"}));
}

}  // namespace
}  // namespace etcdop::agent
