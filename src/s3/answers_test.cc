#include "s3/answers.h"

#include <gtest/gtest.h>

namespace etcdop::s3 {
namespace {

const Asked kHead{.call = "HEAD", .bucket = "b", .key = "k"};
const Asked kPut{.call = "PutObject", .writes = true, .bucket = "b", .key = "k"};

http::Response answer(int status, const std::string& body = "",
                      std::map<std::string, std::string> headers = {}) {
  return {.status = status, .headers = std::move(headers), .body = body};
}

std::string error_document(const std::string& code, const std::string& more = "") {
  return "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>Because.</Message>" +
         more + "</Error>";
}

TEST(Answers, EachRefusalHasItsCodeAndSaysWhatToDo) {
  struct Row {
    Asked asked;
    http::Response response;
    Code code;
    const char* says;
  };
  Asked absent = kPut, same = kHead;
  absent.condition = Asked::Condition::Absent;
  same.condition = Asked::Condition::SameTag;
  const std::vector<Row> rows = {
      {kHead, answer(404), Code::NotFound, "HEAD s3://b/k: 404"},
      {kPut, answer(404), Code::Invalid, "correct the endpoint"},
      {kHead, answer(403), Code::Denied, "s3:ListBucket"},
      {kHead, answer(301, "", {{"x-amz-bucket-region", "eu-west-3"}}), Code::Invalid,
       "set region to eu-west-3"},
      {kHead, answer(400), Code::Invalid, "check region, credentials and clock"},
      {kHead, answer(400, "", {{"x-amz-bucket-region", "eu-west-3"}}), Code::Invalid,
       "region is eu-west-3"},
      {kHead, answer(307), Code::Invalid, "redirects are not followed"},
      {kHead, answer(503), Code::Unavailable, "busy"},
      {kHead, answer(500), Code::Unavailable, "failed"},
      {kHead, answer(100), Code::Corrupt, "S3 store?"},
      {kPut, answer(403, error_document("AccessDenied")), Code::Denied, "(Because.)"},
      {kPut, answer(404, error_document("NoSuchBucket")), Code::Invalid, "create it"},
      {kPut, answer(404, error_document("NoSuchUpload")), Code::NotFound, "aborted"},
      {kPut, answer(403, error_document("RequestTimeTooSkewed")), Code::Denied, "clock"},
      {kPut, answer(403, error_document("SignatureDoesNotMatch")), Code::Denied, "secret"},
      {kPut, answer(400, error_document("ExpiredToken")), Code::Denied, "renew"},
      {kPut,
       answer(400, error_document("AuthorizationHeaderMalformed", "<Region>eu-west-3</Region>")),
       Code::Invalid, "set region to eu-west-3"},
      {kPut, answer(400, error_document("AuthorizationHeaderMalformed")), Code::Invalid,
       "check region"},
      {kPut, answer(503, error_document("SlowDown")), Code::Unavailable, "SlowDown"},
      {kPut, answer(500, error_document("InternalError")), Code::Lost, "failed"},
      {kPut, answer(502, "<html>Bad Gateway</html>"), Code::Lost, "502"},
      {kPut, answer(400, error_document("RequestTimeout")), Code::Unavailable, "slowly"},
      {kPut, answer(400, error_document("MalformedXML")), Code::Invalid, "MalformedXML"},
      {kPut, answer(409, error_document("OperationAborted")), Code::Conflict, "another request"},
      {absent, answer(412, error_document("PreconditionFailed")), Code::AlreadyExists, "already"},
      {same, answer(412), Code::Conflict, "not the same"},
  };
  for (const auto& [asked, response, code, says] : rows) {
    const Error error = to_error(asked, to_refusal(response));
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
  }
}

TEST(Answers, WhatTheStoreWritesCannotBreakALine) {
  const Error error =
      to_error(kPut, to_refusal(answer(400, error_document("Odd&#10;Code\x1B[0m"))));
  EXPECT_EQ(error.message, "PutObject s3://b/k: 400 Odd Code [0m (Because.)");
  const auto other = to_upload_id(std::string_view("<a\0\x7F\xFF></a\0\x7F\xFF>", 13));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message,
            "the answer is <a   >, not <InitiateMultipartUploadResult>: is this endpoint an S3 "
            "store?");
}

TEST(Answers, OfAWriteWhoseAnswerMakesNoSenseNothingIsKnown) {
  EXPECT_EQ(to_error(kPut, Error{Code::Corrupt, "x"}).code, Code::Lost);
  EXPECT_EQ(to_error(kPut, Error{Code::Unavailable, "x"}).code, Code::Unavailable);
  EXPECT_EQ(to_error(kHead, Error{Code::Lost, "x"}).code, Code::Unavailable);
  EXPECT_EQ(to_error(kHead, Error{Code::Corrupt, "x"}).code, Code::Corrupt);
}

TEST(Answers, AnObjectIsReadFromHeaders) {
  const std::map<std::string, std::string> headers = {
      {"etag", "\"t\""}, {"content-length", "10"}, {"x-amz-meta-uid", "u"}, {"date", "today"}};
  const Object wanted{.size = 10, .tag = {"\"t\""}, .metadata = {{"uid", "u"}}};
  auto whole = to_object(answer(200, "", headers));
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, wanted);
  auto part = headers;
  part["content-range"] = "bytes 5-14/1000";
  EXPECT_EQ(to_object(answer(206, "", part))->size, 1000U);
  for (const char* missing : {"etag", "content-length"}) {
    auto less = headers;
    less.erase(missing);
    EXPECT_TRUE(to_object(answer(200, "", less)).failed_with(Code::Corrupt)) << missing;
  }
  for (const char* range : {"", "bytes 5-14", "bytes 5-14/*", "bytes 5-14/1x"}) {
    part["content-range"] = range;
    EXPECT_TRUE(to_object(answer(206, "", part)).failed_with(Code::Corrupt)) << range;
  }
}

TEST(Answers, APageIsRead) {
  auto page = to_page(
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
      "<IsTruncated>true</IsTruncated><NextContinuationToken>n&amp;x</NextContinuationToken>"
      "<Contents><Key>a&lt;b</Key><Size>5</Size><ETag>&quot;t&quot;</ETag></Contents>"
      "<Contents><Key>c</Key><Size>0</Size><ETag>u</ETag></Contents></ListBucketResult>");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->token, "n&x");
  const std::vector<Listed> wanted = {{.key = "a<b", .size = 5, .tag = {"\"t\""}},
                                      {.key = "c", .size = 0, .tag = {"u"}}};
  EXPECT_EQ(page->objects, wanted);
  auto last = to_page(
      "<ListBucketResult><IsTruncated>false</IsTruncated>"
      "<NextContinuationToken>n</NextContinuationToken></ListBucketResult>");
  ASSERT_TRUE(last);
  EXPECT_EQ(last->token, "") << "or one asked for ever";
}

TEST(Answers, WhatIsNotThatDocumentIsCorrupt) {
  for (const char* bad :
       {"", "{}", "<html/>", "<ListBucketResult><Contents/></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"})
    EXPECT_TRUE(to_page(bad).failed_with(Code::Corrupt)) << bad;
  EXPECT_TRUE(to_upload_id("<InitiateMultipartUploadResult/>").failed_with(Code::Corrupt));
  EXPECT_TRUE(to_uploads("<ListMultipartUploadsResult><Upload><Key>k</Key></Upload>"
                         "</ListMultipartUploadsResult>")
                  .failed_with(Code::Corrupt));
  EXPECT_TRUE(to_completed(kPut, "<CompleteMultipartUploadResult/>").failed_with(Code::Corrupt));
}

TEST(Answers, UploadsAreRead) {
  EXPECT_EQ(*to_upload_id("<InitiateMultipartUploadResult><UploadId>i</UploadId>"
                          "</InitiateMultipartUploadResult>"),
            "i");
  const std::vector<Upload> wanted = {{.key = "k", .id = "i"}};
  EXPECT_EQ(*to_uploads("<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>i</UploadId>"
                        "</Upload></ListMultipartUploadsResult>"),
            wanted);
}

TEST(Answers, ACompletionThatWasAcceptedMayStillHaveFailed) {
  EXPECT_EQ(to_completed(kPut,
                         "  \n<CompleteMultipartUploadResult><ETag>&quot;t-2&quot;</ETag>"
                         "</CompleteMultipartUploadResult>")
                ->text,
            "\"t-2\"");
  EXPECT_TRUE(to_completed(kPut, error_document("InternalError")).failed_with(Code::Lost));
  EXPECT_TRUE(to_completed(kPut, error_document("SlowDown")).failed_with(Code::Unavailable));
  Asked absent = kPut;
  absent.condition = Asked::Condition::Absent;
  EXPECT_TRUE(
      to_completed(absent, error_document("PreconditionFailed")).failed_with(Code::AlreadyExists));
}

TEST(Answers, PartsAreSentByNumberAndTag) {
  EXPECT_EQ(to_body({{.number = 1, .tag = {"\"a\""}}, {.number = 2, .tag = {"<&>"}}}),
            "<CompleteMultipartUpload>"
            "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag></Part>"
            "<Part><PartNumber>2</PartNumber><ETag>&lt;&amp;&gt;</ETag></Part>"
            "</CompleteMultipartUpload>");
}

TEST(Answers, T4_KeysCannotLeaveTheirPlace) {
  for (const char* good : {"a", "a/b.db", "...", "a/..b", "a//b", "\xC3\xA9 &?%"})
    EXPECT_TRUE(check_key(good)) << good;
  for (const std::string& bad :
       {std::string(), std::string(1025, 'a'), std::string(".."), std::string("../a"),
        std::string("a/../b"), std::string("a/."), std::string("a\nb"), std::string("a\x7F")})
    EXPECT_TRUE(check_key(bad).failed_with(Code::Invalid)) << bad;
  EXPECT_TRUE(check_key(std::string(1024, 'a')));
}

TEST(Answers, MetadataMustFitIntoHeaders) {
  EXPECT_TRUE(check_metadata({{"etcd-snapshot-uid", "6a1f-"}, {"empty", ""}}));
  for (const Metadata& bad : {Metadata{{"", "a"}}, Metadata{{"A", "a"}}, Metadata{{"a b", "a"}},
                              Metadata{{"a", "b\r\nc"}}, Metadata{{"a", "\xC3\xA9"}},
                              Metadata{{"a", " b"}}, Metadata{{"a", std::string(2048, 'b')}}})
    EXPECT_TRUE(check_metadata(bad).failed_with(Code::Invalid));
}

TEST(Answers, TellWhatTheStoreDidNotTake) {
  const Asked plain{.call = "HEAD", .bucket = "b", .key = "k"};
  const struct {
    int status;
    const char* code;
    Trouble trouble;
  } rows[] = {{404, "NoSuchBucket", Trouble::Bucket},
              {403, "InvalidAccessKeyId", Trouble::Credentials},
              {403, "SignatureDoesNotMatch", Trouble::Credentials},
              {400, "ExpiredToken", Trouble::Credentials},
              {400, "InvalidToken", Trouble::Credentials},
              {403, "RequestTimeTooSkewed", Trouble::Clock},
              {403, "AccessDenied", Trouble::Permission},
              {403, "", Trouble::Permission},
              {501, "NotImplemented", Trouble::Unsupported},
              {501, "", Trouble::Unsupported},
              {503, "SlowDown", Trouble::Other},
              {301, "", Trouble::Elsewhere},
              {301, "PermanentRedirect", Trouble::Elsewhere},
              {400, "AuthorizationHeaderMalformed", Trouble::Elsewhere},
              {400, "IllegalLocationConstraintException", Trouble::Elsewhere},
              {307, "", Trouble::Other}};
  for (const auto& row : rows) {
    const Error error = to_error(plain, Refusal{.status = row.status, .code = row.code});
    EXPECT_EQ(trouble_of(error), row.trouble) << error.message;
  }
  const Asked odd{.call = "HEAD", .bucket = "b", .key = "team: a/k: 12345"};
  EXPECT_EQ(trouble_of(to_error(odd, Refusal{.status = 403})), Trouble::Permission);
  for (const char* text : {"", "connect to s3.test:443: Host not found", "403 AccessDenied",
                           "PutObject s3://b/k: 40", "TLS: certificate has expired"})
    EXPECT_EQ(trouble_of({Code::Unavailable, text}), Trouble::None) << text;
}

TEST(Answers, NameTheHostOfARedirect) {
  const Asked asked{.call = "HEAD", .bucket = "b", .key = "k"};
  const auto words = [&](const char* location) {
    return to_error(asked, to_refusal({307, {{"location", location}}, ""})).message;
  };
  const std::string prefix = "HEAD s3://b/k: 307: redirects are not followed";
  const std::string advice = ": correct endpoint and region";
  EXPECT_EQ(words("https://other.test:9000/b/k?X-Amz-Signature=1"),
            prefix + " (to other.test:9000)" + advice);
  EXPECT_EQ(words("http://user:secret@other.test"), prefix + " (to other.test)" + advice);
  EXPECT_EQ(words("/elsewhere"), prefix + advice);
}

}  // namespace
}  // namespace etcdop::s3
