// Real sockets on loopback: the client through TCP and TLS to a server with one answer.
#include "s3/dialer.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "s3/client.h"
#include "sys/system.h"
#include "sys/tls.h"
#include "test/support/certificates.h"

namespace etcdop::s3 {
namespace {

using namespace std::chrono_literals;

constexpr const char* kAnswer = "HTTP/1.1 200 OK\r\nETag: \"t\"\r\nContent-Length: 5\r\n\r\n";

/// Accepts one connection, with TLS if `tls` is set, and answers the first request.
void serve(Listener& listener, const TlsServer* tls) {
  auto stream = listener.accept();
  if (stream && tls) stream = tls->over(std::move(*stream));
  std::array<char, 4096> request{};
  if (stream && (*stream)->read(request)) (void)(*stream)->write(kAnswer);
}

/// HEAD of "k" with that scheme on loopback.
Result<Object> head(const std::string& scheme, const TlsServer* tls, const std::string& ca) {
  AsioLoop loop;
  const SystemWallClock wall;
  Result<Object> object = Error{Code::Cancelled, "not asked"};
  (void)loop.spawn([&] {
    const Within limit(loop, 20s);
    auto listener = loop.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener) << listener.error().message;
    auto server = loop.spawn([&] { serve(**listener, tls); });
    auto place =
        to_place({.endpoint = scheme + "://127.0.0.1:" + std::to_string((*listener)->local_port()),
                  .bucket = "b",
                  .path_style = true});
    ASSERT_TRUE(place) << place.error().message;
    auto dial = dialer(loop, *place, ca);
    if (!dial) {
      object = dial.error();
    } else {
      Client client(loop, wall, *place, std::move(*dial),
                    [] { return Result<Credentials>({.key_id = "id", .secret = Secret("s")}); },
                    {.version = "test"});
      object = client.head("k");
    }
    server->cancel();
    (void)server->join();
  });
  loop.run();
  return object;
}

TEST(S3Dialer, SpeaksTlsExactlyIfTheEndpointSaysSo) {
  testing::Authority authority;
  const Identity identity = authority.issue({.names = {"127.0.0.1"}});
  auto tls = TlsServer::load(
      {.certificate = identity.certificate, .key = identity.key, .client_ca = {}, .alpn = {}});
  ASSERT_TRUE(tls) << tls.error().message;
  auto secret = head("https", &*tls, authority.certificate());
  ASSERT_TRUE(secret) << secret.error().message;
  EXPECT_EQ(secret->size, 5U);
  auto plain = head("http", nullptr, "");
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_EQ(plain->tag.text, "\"t\"");
  EXPECT_FALSE(head("http", &*tls, ""));
}

TEST(S3Dialer, TrustsOnlyItsAuthorityAndTheName) {
  testing::Authority authority, other("other");
  const Identity elsewhere = authority.issue({.names = {"s3.example"}});
  auto tls = TlsServer::load(
      {.certificate = elsewhere.certificate, .key = elsewhere.key, .client_ca = {}, .alpn = {}});
  ASSERT_TRUE(tls) << tls.error().message;
  for (const std::string& ca : {authority.certificate(), other.certificate()}) {
    auto object = head("https", &*tls, ca);
    ASSERT_TRUE(object.failed_with(Code::Denied));
    EXPECT_NE(object.error().message.find("TLS"), std::string::npos) << object.error().message;
  }
  EXPECT_TRUE(head("https", &*tls, "not PEM").failed_with(Code::Invalid));
}

}  // namespace
}  // namespace etcdop::s3
