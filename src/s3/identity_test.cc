// Borrowed credentials: requests, answers of STS and of nodes, and renewal. The servers play a
// script over pipes, in virtual time.
#include "s3/identity.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "s3/answers.h"
#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "sys/system.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::s3 {
namespace {

using namespace std::chrono_literals;

const PodIdentity kWeb = WebIdentity{.endpoint = "http://sts.test",
                                     .token_path = "",
                                     .role = "arn:aws:iam::1:role/b",
                                     .session = "etcd-operator"};
const PodIdentity kNode = NodeIdentity{"http://169.254.170.23", "/v1/credentials", ""};

// As AWS documents it.
constexpr const char* kStsAnswer =
    R"(<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>amzn1.account.AF6RHO7KZ</SubjectFromWebIdentityToken>
    <AssumedRoleUser>
      <Arn>arn:aws:sts::123456789012:assumed-role/FederatedWebIdentityRole/app1</Arn>
      <AssumedRoleId>AROACLKWSDQRAOEXAMPLE:app1</AssumedRoleId>
    </AssumedRoleUser>
    <Credentials>
      <SessionToken>AQoDYXdzEE0a8ANXXXXXXXXNO1ewxE5TijQyp+IEXAMPLE</SessionToken>
      <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>
      <Expiration>2026-01-01T01:00:00Z</Expiration>
      <AccessKeyId>ASgeIAIOSFODNN7EXAMPLE</AccessKeyId>
    </Credentials>
    <Provider>www.amazon.com</Provider>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>)";

std::string node_answer(const std::string& key_id, const std::string& until) {
  return R"({"AccessKeyId": ")" + key_id +
         R"(", "SecretAccessKey": "secret", "Token": "token", "AccountId": "1", "Expiration": ")" +
         until + "\"}";
}

http::Response answer(int status, const std::string& body) { return {status, {}, body}; }

TEST(S3Identity, WhatIsAsked) {
  const http::Request web = to_request(kWeb, "a.b-c_d/e");
  EXPECT_EQ(web.method + " " + web.target, "POST /");
  EXPECT_EQ(web.headers.at("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(web.body,
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fb&"
            "RoleSessionName=etcd-operator&Version=2011-06-15&WebIdentityToken=a.b-c_d%2Fe");
  const http::Request node = to_request(kNode, "eyJ");
  EXPECT_EQ(node.method + " " + node.target, "GET /v1/credentials");
  EXPECT_EQ(node.headers.at("authorization"), "eyJ");
  EXPECT_FALSE(to_request(kNode, "").headers.contains("authorization"));
}

TEST(S3Identity, WhatIsLent) {
  auto web = to_lent(kWeb, answer(200, kStsAnswer));
  ASSERT_TRUE(web) << web.error().message;
  EXPECT_EQ(web->credentials.key_id, "ASgeIAIOSFODNN7EXAMPLE");
  EXPECT_EQ(web->credentials.secret, Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY"));
  EXPECT_EQ(web->credentials.session_token,
            Secret("AQoDYXdzEE0a8ANXXXXXXXXNO1ewxE5TijQyp+IEXAMPLE"));
  EXPECT_EQ(web->until, from_rfc3339("2026-01-01T01:00:00Z"));
  auto node = to_lent(kNode, answer(200, node_answer("ASIA", "2026-01-01T06:00:00Z")));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->credentials.key_id, "ASIA");
  EXPECT_EQ(node->credentials.session_token, Secret("token"));
  EXPECT_EQ(node->until, from_rfc3339("2026-01-01T06:00:00Z"));
  auto for_ever = to_lent(kNode, answer(200, R"({"AccessKeyId": "A", "SecretAccessKey": "s"})"));
  ASSERT_TRUE(for_ever);
  EXPECT_FALSE(for_ever->until);
}

TEST(S3Identity, WhatAnswersMean) {
  const std::string refusal =
      "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code>"
      "<Message>No OpenIDConnect provider found</Message></Error></ErrorResponse>";
  const struct {
    PodIdentity identity;
    http::Response response;
    Code code;
    const char* words;
  } rows[] = {
      {kWeb, answer(400, refusal), Code::Denied,
       "identity of the Pod: http://sts.test: 400 InvalidIdentityToken No OpenIDConnect provider "
       "found: check that the role arn:aws:iam::1:role/b trusts"},
      {kWeb, answer(403, ""), Code::Denied, "403: check that the role"},
      {kWeb, answer(307, ""), Code::Denied, "redirects are not followed"},
      {kWeb, answer(503, ""), Code::Unavailable, "503"},
      {kWeb, answer(429, ""), Code::Unavailable, "429"},
      {kWeb, answer(200, "<html/>"), Code::Corrupt, "no credentials"},
      {kWeb, answer(200, "<!DOCTYPE x>"), Code::Corrupt, "no credentials"},
      {kNode, answer(404, R"({"message": "no association\nfor it"})"), Code::Denied,
       "404 no association for it: check which role"},
      {kNode, answer(200, "[]"), Code::Corrupt, "no credentials"},
      {kNode, answer(200, R"({"AccessKeyId": 1})"), Code::Corrupt, "no credentials"},
      {kNode, answer(200, node_answer("A\\nB", "2026-01-01T06:00:00Z")), Code::Corrupt,
       "no credentials"},
      {kNode, answer(200, node_answer("A", "soon")), Code::Corrupt, "is no time"},
  };
  for (const auto& row : rows) {
    auto lent = to_lent(row.identity, row.response);
    ASSERT_TRUE(lent.failed_with(row.code)) << row.words;
    EXPECT_NE(lent.error().message.find(row.words), std::string::npos) << lent.error().message;
    EXPECT_EQ(trouble_of(lent.error()) == Trouble::Credentials, row.code != Code::Unavailable);
  }
  EXPECT_FALSE(is_of_identity({Code::Denied, "HEAD s3://b/k: 403"}));
}

class S3Borrowed : public ::testing::Test {
 protected:
  void SetUp() override {
    token_ = ::testing::TempDir() + "/identity_token_" +
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(write_file(token_, "first\n"));
  }
  void TearDown() override { (void)std::remove(token_.c_str()); }
  /// The key's id, or the error.
  std::string got(Borrowed& borrowed) {
    auto credentials = borrowed.get();
    return credentials ? credentials->key_id : credentials.error().message;
  }
  void run(const std::function<void(Borrowed&)>& body) {
    world_.spawn([&] {
      Borrowed borrowed(world_, wall_,
                        NodeIdentity{"http://169.254.170.23:80", "/v1/credentials", token_},
                        [this]() -> Result<std::unique_ptr<Stream>> {
                          if (down_) return Error{Code::Unavailable, "connection refused"};
                          auto [ours, theirs] = sim::pipe(world_);
                          serve(std::move(theirs));
                          return std::move(ours);
                        });
      body(borrowed);
    });
    world_.run();
  }
  void wait(Duration d) { ASSERT_EQ(world_.sleep(d), Woken::Ready); }
  bool shown(const std::string& text, std::size_t request) const {
    return request < requests_.size() && requests_[request].find(text) != std::string::npos;
  }

  std::string token_;
  sim::Scheduler world_{1};
  testing::VirtualWallClock wall_{world_};
  bool down_ = false, silent_ = false;
  std::chrono::seconds life_ = 1h;
  std::vector<std::string> requests_;

 private:
  void serve(std::unique_ptr<Stream> stream) {
    world_.spawn([this, stream = std::shared_ptr<Stream>(std::move(stream))] {
      std::array<char, 4096> request{};
      auto n = stream->read(request);
      if (!n) return;
      requests_.emplace_back(request.data(), *n);
      if (silent_) {
        (void)world_.sleep(1h);
        return;
      }
      const std::string body = node_answer("key-" + std::to_string(requests_.size()),
                                           to_rfc3339(wall_.wall_now() + life_));
      (void)stream->write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " +
                          std::to_string(body.size()) + "\r\n\r\n" + body);
    });
  }
};

TEST_F(S3Borrowed, IsRenewedBeforeItEndsWithTheTokenOfThatDay) {
  run([&](Borrowed& borrowed) {
    EXPECT_EQ(got(borrowed), "key-1");
    wait(54min);
    EXPECT_EQ(got(borrowed), "key-1");
    ASSERT_TRUE(write_file(token_, "second"));
    wait(2min);
    EXPECT_EQ(got(borrowed), "key-2");
  });
  EXPECT_TRUE(shown("GET /v1/credentials HTTP/1.1\r\nHost: 169.254.170.23\r\n", 0));
  EXPECT_TRUE(shown("authorization: first\r\n", 0));
  EXPECT_TRUE(shown("authorization: second\r\n", 1));
}

TEST_F(S3Borrowed, WhatIsShortIsRenewedInItsLastQuarter) {
  life_ = 60s;
  run([&](Borrowed& borrowed) {
    EXPECT_EQ(got(borrowed), "key-1");
    wait(44s);
    EXPECT_EQ(got(borrowed), "key-1");
    wait(2s);
    EXPECT_EQ(got(borrowed), "key-2");
  });
}

TEST_F(S3Borrowed, WhileNobodyAnswersWhatWasLentIsUsedUntilItEnds) {
  run([&](Borrowed& borrowed) {
    EXPECT_EQ(got(borrowed), "key-1");
    down_ = true;
    wait(56min);
    EXPECT_EQ(got(borrowed), "key-1");
    wait(5min);
    auto late = borrowed.get();
    ASSERT_TRUE(late.failed_with(Code::Unavailable));
    EXPECT_NE(late.error().message.find("connection refused"), std::string::npos);
    EXPECT_EQ(trouble_of(late.error()), Trouble::None) << "it is tried again";
    down_ = false;
    EXPECT_EQ(got(borrowed), "key-2");
  });
}

TEST_F(S3Borrowed, OfManyAtOnceOneAsks) {
  run([&](Borrowed& borrowed) {
    std::vector<std::shared_ptr<Fiber>> fibers;
    for (int i = 0; i < 4; ++i)
      fibers.push_back(world_.spawn([&] { EXPECT_EQ(got(borrowed), "key-1"); }));
    for (const auto& fiber : fibers) EXPECT_EQ(fiber->join(), Woken::Ready);
  });
  EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(S3Borrowed, ItDoesNotWaitForEver) {
  silent_ = true;
  run([&](Borrowed& borrowed) {
    const Instant begin = world_.now();
    EXPECT_TRUE(borrowed.get().failed_with(Code::TimedOut));
    EXPECT_EQ(world_.now() - begin, Borrowed::kAskLimit);
  });
}

TEST_F(S3Borrowed, WhatItCannotUse) {
  life_ = -1s;
  run([&](Borrowed& borrowed) {
    auto expired = borrowed.get();
    ASSERT_TRUE(expired.failed_with(Code::Denied));
    EXPECT_NE(expired.error().message.find("clock"), std::string::npos);
    for (const char* text : {"", "a\nb"}) {
      ASSERT_TRUE(write_file(token_, text));
      EXPECT_TRUE(borrowed.get().failed_with(Code::Denied)) << text;
    }
    token_ += "-gone";
  });
  run([&](Borrowed& borrowed) {
    auto missing = borrowed.get();
    ASSERT_TRUE(missing.failed_with(Code::Denied));
    EXPECT_TRUE(is_of_identity(missing.error())) << missing.error().message;
  });
}

}  // namespace
}  // namespace etcdop::s3
