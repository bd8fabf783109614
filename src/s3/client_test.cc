// The client against a store that plays a script over pipes, in virtual time.
#include "s3/client.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::s3 {
namespace {

using namespace std::chrono_literals;

/// The next request, header and body; the rest of the bytes stays in `pending`.
std::string read_request(Stream& stream, std::string& pending) {
  const auto more = [&] {
    std::array<char, 4096> space{};
    auto n = stream.read(space);
    if (!n || *n == 0) return false;
    pending.append(space.data(), *n);
    return true;
  };
  std::size_t end;
  while ((end = pending.find("\r\n\r\n")) == pending.npos)
    if (!more()) return {};
  end += 4;
  constexpr std::string_view kLength = "Content-Length: ";
  if (const auto at = pending.find(kLength); at < end)
    end += std::stoul(pending.substr(at + kLength.size()));
  while (pending.size() < end)
    if (!more()) return {};
  std::string whole = pending.substr(0, end);
  pending.erase(0, end);
  return whole;
}

std::string http_answer(int status, const std::string& body, const std::string& header = "") {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\n" + header +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class S3Client : public ::testing::Test {
 protected:
  /// The answer to each request; nullopt closes the connection.
  using Script = std::function<std::optional<std::string>(const std::string& request)>;

  void run(Script script, const std::function<void(Client&)>& body, bool path_style = true) {
    (void)world_.spawn([&, script = std::move(script)] {
      const Place place = *to_place(
          {.endpoint = "http://store.example:9000", .bucket = "bucket", .path_style = path_style});
      Client client(
          world_, wall_, place,
          [&]() -> Result<std::unique_ptr<Stream>> {
            auto [ours, theirs] = sim::pipe(world_);
            serve(std::move(theirs), script);
            return std::move(ours);
          },
          [this]() -> Result<Credentials> { return who_; }, {.version = "test"});
      body(client);
    });
    world_.run();
  }
  /// Always the same answer.
  static Script always(std::string answer) {
    return [answer = std::move(answer)](const std::string&) { return answer; };
  }
  bool was_sent(const std::string& text, std::size_t request = 0) const {
    return requests_.at(request).find(text) != std::string::npos;
  }

  sim::Scheduler world_{1};
  testing::VirtualWallClock wall_{world_};
  Result<Credentials> who_ = Credentials{.key_id = "id", .secret = Secret("secret")};
  std::vector<std::string> requests_;

 private:
  void serve(std::unique_ptr<Stream> stream, const Script& script) {
    (void)world_.spawn([this, script, stream = std::shared_ptr<Stream>(std::move(stream))] {
      std::string pending;
      for (;;) {
        const std::string request = read_request(*stream, pending);
        if (request.empty()) return;
        requests_.push_back(request);
        const auto answer = script(request);
        if (!answer || !stream->write(*answer)) return;
      }
    });
  }
};

TEST_F(S3Client, SignsWhatItSends) {
  run(always(http_answer(200, "", "ETag: \"t\"\r\n")), [&](Client& client) {
    auto tag =
        client.put("a b/c.db", "hello", {.metadata = {{"uid", "u"}}, .only_if_absent = true});
    ASSERT_TRUE(tag) << tag.error().message;
    EXPECT_EQ(tag->text, "\"t\"");
  });
  EXPECT_TRUE(was_sent("PUT /bucket/a%20b/c.db HTTP/1.1\r\nHost: store.example:9000\r\n"));
  EXPECT_TRUE(was_sent("\r\n\r\nhello"));
  for (const char* header :
       {"if-none-match: *\r\n", "x-amz-meta-uid: u\r\n", "user-agent: etcd-operator/test\r\n",
        "x-amz-date: 20260101T000000Z\r\n",
        "x-amz-content-sha256: "
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n",
        "authorization: AWS4-HMAC-SHA256 Credential=id/20260101/us-east-1/s3/aws4_request, "
        "SignedHeaders=content-md5;host;if-none-match;x-amz-content-sha256;x-amz-date;x-amz-meta-"
        "uid, "})
    EXPECT_TRUE(was_sent(header)) << header << requests_[0];
}

TEST_F(S3Client, TheBucketIsPartOfTheHostUnlessPathStyleIsAskedFor) {
  run(
      always(http_answer(204, "")), [&](Client& client) { EXPECT_TRUE(client.remove("k")); },
      false);
  EXPECT_TRUE(was_sent("DELETE /k HTTP/1.1\r\nHost: bucket.store.example:9000\r\n"));
}

TEST_F(S3Client, WithoutCredentialsNothingIsSent) {
  who_ = Error{Code::Denied, "no credentials"};
  run(always(http_answer(200, "")),
      [&](Client& client) { EXPECT_TRUE(client.head("k").failed_with(Code::Denied)); });
  EXPECT_TRUE(requests_.empty());
}

TEST_F(S3Client, ARangeIsAskedForByTag) {
  const std::string header = "ETag: \"t\"\r\nContent-Range: bytes 2-4/10\r\nx-amz-meta-a: b\r\n";
  run(always(http_answer(206, "cde", header)), [&](Client& client) {
    std::string body;
    auto object = client.get("k", {.range = {{.first = 2, .count = 3}}, .only_if = Tag{"\"t\""}},
                             [&](std::string_view piece) {
                               body += piece;
                               return true;
                             });
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ(body, "cde");
    EXPECT_EQ(object->size, 10U);
    EXPECT_EQ(object->metadata, Metadata({{"a", "b"}}));
  });
  EXPECT_TRUE(was_sent("range: bytes=2-4\r\n"));
  EXPECT_TRUE(was_sent("if-match: \"t\"\r\n"));
}

TEST_F(S3Client, AnotherRangeThanAskedForIsNotTaken) {
  const GetOptions from_two{.range = {{.first = 2, .count = 3}}};
  const auto ignore = [](std::string_view) { return true; };
  for (const std::string& answer :
       {http_answer(200, "abcdefghij", "ETag: \"t\"\r\n"),
        http_answer(206, "abc", "ETag: \"t\"\r\nContent-Range: bytes 0-2/10\r\n"),
        http_answer(206, "abc", "ETag: \"t\"\r\n")})
    run(always(answer), [&](Client& client) {
      EXPECT_TRUE(client.get("k", from_two, ignore).failed_with(Code::Corrupt)) << answer;
    });
  run(always(http_answer(206, "c", "ETag: \"t\"\r\nContent-Range: bytes 0-0/10\r\n")),
      [&](Client& client) { EXPECT_TRUE(client.get("k", {}, ignore).failed_with(Code::Corrupt)); });
}

TEST_F(S3Client, ABodyThatEndsEarlyIsNoSuccess) {
  run(
      [](const std::string&) -> std::optional<std::string> {
        return "HTTP/1.1 200 x\r\nETag: \"t\"\r\nContent-Length: 10\r\nConnection: "
               "close\r\n\r\nabc";
      },
      [&](Client& client) {
        std::string body;
        const Within patience(world_, 5s);
        auto object = client.get("k", {}, [&](std::string_view piece) {
          body += piece;
          return true;
        });
        EXPECT_FALSE(object);
        EXPECT_EQ(body, "abc");
      });
}

TEST_F(S3Client, T3_NoRedirectIsFollowed) {
  run(always(http_answer(307, "", "Location: http://169.254.169.254/\r\n")), [&](Client& client) {
    auto object = client.head("k");
    ASSERT_TRUE(object.failed_with(Code::Invalid));
    EXPECT_NE(object.error().message.find("not followed"), std::string::npos);
  });
  EXPECT_EQ(requests_.size(), 1U);
}

TEST_F(S3Client, AStoreThatDoesNotAnswerIsGivenUp) {
  run(
      [&](const std::string&) -> std::optional<std::string> {
        (void)world_.sleep(1h);
        return std::nullopt;
      },
      [&](Client& client) {
        const Instant start = world_.now();
        EXPECT_TRUE(client.put("k", "x", {}).failed_with(Code::TimedOut));
        EXPECT_EQ(world_.now() - start, Store::kCallLimit);
        EXPECT_TRUE(client.complete({"k", "id"}, {}, false).failed_with(Code::TimedOut));
        EXPECT_EQ(world_.now() - start, Store::kCallLimit + Store::kCompleteLimit);
      });
}

TEST_F(S3Client, AWriteWhoseAnswerIsLostIsNotSentAgain) {
  run([](const std::string&) { return std::nullopt; },
      [&](Client& client) {
        EXPECT_TRUE(client.put("k", "x", {}).failed_with(Code::Lost));
        EXPECT_TRUE(client.remove("k").failed_with(Code::Lost));
        EXPECT_EQ(requests_.size(), 2U);
        EXPECT_TRUE(client.head("k").failed_with(Code::Unavailable));
      });
}

TEST_F(S3Client, AWriteThatIsAnsweredWithNonsenseMayHaveHappened) {
  run(always(http_answer(200, "<html/>")), [&](Client& client) {
    EXPECT_TRUE(client.put("k", "x", {}).failed_with(Code::Lost));
    EXPECT_TRUE(client.create_multipart("k", {}).failed_with(Code::Lost));
    EXPECT_TRUE(client.upload_part({"k", "id"}, 1, "x").failed_with(Code::Lost));
    EXPECT_TRUE(client.complete({"k", "id"}, {}, false).failed_with(Code::Lost));
    EXPECT_TRUE(client.head("k").failed_with(Code::Corrupt));
    EXPECT_TRUE(client.list({}).failed_with(Code::Corrupt));
    EXPECT_TRUE(client.uploads("").failed_with(Code::Corrupt));
  });
}

TEST_F(S3Client, AnErrorInsideASuccessIsAnError) {
  run(always(http_answer(200, "\n<Error><Code>InternalError</Code></Error>")), [&](Client& client) {
    auto tag = client.complete({"k", "id"}, {{.number = 1, .tag = {"t"}}}, true);
    ASSERT_TRUE(tag.failed_with(Code::Lost));
    EXPECT_NE(tag.error().message.find("InternalError"), std::string::npos);
  });
  EXPECT_TRUE(was_sent("POST /bucket/k?uploadId=id "));
  EXPECT_TRUE(was_sent("if-none-match: *\r\n"));
}

TEST_F(S3Client, AnAnswerWithoutEndIsCutOff) {
  std::string endless = "HTTP/1.1 200 x\r\nContent-Length: 1000000000\r\n\r\n";
  endless += std::string(Client::kAnswerBytesMax + 100'000, ' ');
  run(always(endless),
      [&](Client& client) { EXPECT_TRUE(client.list({}).failed_with(Code::Corrupt)); });
}

TEST_F(S3Client, WhatCannotBeAKeyIsNotSent) {
  run(always(http_answer(200, "")), [&](Client& client) {
    EXPECT_TRUE(client.head("../k").failed_with(Code::Invalid));
    EXPECT_TRUE(client.put("", "x", {}).failed_with(Code::Invalid));
    EXPECT_TRUE(client.put("k", "x", {.metadata = {{"a", "b\r\nc"}}}).failed_with(Code::Invalid));
    EXPECT_TRUE(client.create_multipart("a/..", {}).failed_with(Code::Invalid));
  });
  EXPECT_TRUE(requests_.empty());
}

TEST_F(S3Client, APageIsAskedForByItsToken) {
  run(always(http_answer(200, "<ListBucketResult/>")), [&](Client& client) {
    auto page = client.list({.prefix = "a/b c", .token = "t+/=", .count = 7});
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_TRUE(page->objects.empty());
  });
  EXPECT_TRUE(
      was_sent("GET /bucket/?continuation-token=t%2B%2F%3D&list-type=2&max-keys=7"
               "&prefix=a%2Fb%20c HTTP/1.1"));
}

}  // namespace
}  // namespace etcdop::s3
