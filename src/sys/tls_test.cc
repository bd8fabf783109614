// TLS between two fibers over an in-memory pipe, in virtual time: which peers are trusted, and bad
// connections.
#include "sys/tls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <tuple>

#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "test/support/certificates.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using testing::Authority;
using testing::Leaf;

constexpr const char* kName = "member-0.example";

/// Passes reads on one byte at a time.
class Drip final : public Stream {
 public:
  explicit Drip(std::unique_ptr<Stream> below) : below_(std::move(below)) {}
  Result<std::size_t> read(std::span<char> into) override { return below_->read(into.first(1)); }
  Result<Done> write(std::string_view bytes) override { return below_->write(bytes); }
  void close() override { below_->close(); }

 private:
  std::unique_ptr<Stream> below_;
};

/// Closes, as if cut, after `left` written bytes.
class Cut final : public Stream {
 public:
  Cut(std::unique_ptr<Stream> below, std::size_t left) : below_(std::move(below)), left_(left) {}
  Result<std::size_t> read(std::span<char> into) override { return below_->read(into); }
  Result<Done> write(std::string_view bytes) override {
    const std::size_t n = std::min(left_, bytes.size());
    left_ -= n;
    auto sent = below_->write(bytes.substr(0, n));
    if (left_ == 0) below_->close();
    return sent;
  }
  void close() override { below_->close(); }

 private:
  std::unique_ptr<Stream> below_;
  std::size_t left_;
};

Result<std::string> read_all(Stream& from) {
  std::string all;
  char space[5000];
  for (;;) {
    auto n = from.read(space);
    if (!n) return n.error();
    if (*n == 0) return all;
    all.append(space, *n);
  }
}

Result<std::string> read_exactly(Stream& from, std::size_t size) {
  std::string all;
  while (all.size() < size) {
    char space[3000];
    auto n = from.read(std::span(space).first(std::min(sizeof space, size - all.size())));
    if (!n) return n.error();
    if (*n == 0) return Error{Code::Corrupt, "too short"};
    all.append(space, *n);
  }
  return all;
}

class Tls : public ::testing::Test {
 protected:
  using Body = std::function<void(Result<std::unique_ptr<Stream>>)>;

  static TlsClient client_of(const TlsClient::Options& options) {
    auto client = TlsClient::load(options);
    EXPECT_TRUE(client) << client.error().message;
    return std::move(*client);
  }
  static TlsServer server_of(const TlsServer::Options& options) {
    auto server = TlsServer::load(options);
    EXPECT_TRUE(server) << server.error().message;
    return std::move(*server);
  }

  TlsClient::Options trusting() const { return {authority.certificate(), "", {}, ""}; }
  TlsServer::Options serving(const Leaf& leaf) {
    const Identity identity = authority.issue(leaf);
    return {identity.certificate, identity.key, "", ""};
  }
  TlsServer::Options serving() { return serving({.names = {kName}}); }

  /// Both ends run their bodies after their handshakes, on fibers; returns when both are over.
  void meet(const TlsClient& client, const TlsServer& server, const Body& on_client,
            const Body& on_server, const std::string& name = kName) {
    world.spawn([&] { on_client(client.over(std::move(left), name)); });
    world.spawn([&] { on_server(server.over(std::move(right))); });
    world.run();
    EXPECT_EQ(world.alive(), 0U);
  }

  /// The error that ends the client's handshake; nullopt on success.
  std::optional<Error> client_meets(const TlsClient::Options& client,
                                    const TlsServer::Options& server,
                                    const std::string& name = kName) {
    std::optional<Error> outcome;
    meet(
        client_of(client), server_of(server),
        [&](auto stream) {
          if (!stream) outcome = stream.error();
        },
        [](auto) {}, name);
    return outcome;
  }

  sim::Scheduler world{1};
  Authority authority;
  std::unique_ptr<Stream> left, right;

  Tls() { std::tie(left, right) = sim::pipe(world); }
};

void expect_denied(const std::optional<Error>& error, const std::string& because) {
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::Denied) << error->message;
  EXPECT_NE(error->message.find(because), std::string::npos) << error->message;
}

TEST_F(Tls, WhatOneEndWritesTheOtherReads) {
  std::string heard;
  meet(
      client_of(trusting()), server_of(serving()),
      [&](auto stream) {
        ASSERT_TRUE(stream) << stream.error().message;
        EXPECT_TRUE((*stream)->write("hello"));
        EXPECT_EQ(*read_exactly(**stream, 3), "yes");
      },
      [&](auto stream) {
        ASSERT_TRUE(stream);
        heard = *read_exactly(**stream, 5);
        EXPECT_TRUE((*stream)->write("yes"));
      });
  EXPECT_EQ(heard, "hello");
}

TEST_F(Tls, AnAddressIsProvenByAnAddressInTheCertificate) {
  EXPECT_FALSE(client_meets(trusting(), serving({.names = {"10.0.0.7"}}), "10.0.0.7"));
}

TEST_F(Tls, AServerOfAnotherNameIsDenied) {
  expect_denied(client_meets(trusting(), serving({.names = {"member-1.example"}})),
                "hostname mismatch");
}

TEST_F(Tls, ACommonNameProvesNothing) {
  expect_denied(client_meets(trusting(), serving({.common_name = kName})), "hostname mismatch");
}

TEST_F(Tls, T6_AServerOfAnotherAuthorityIsDenied) {
  expect_denied(client_meets({Authority("other").certificate(), "", {}, ""}, serving()),
                "unable to get local issuer certificate");
}

TEST_F(Tls, AnExpiredCertificateIsDenied) {
  expect_denied(
      client_meets(trusting(), serving({.names = {kName}, .not_after = "2021-01-01T00:00:00Z"})),
      "certificate has expired");
}

TEST_F(Tls, ACertificateForClientsOnlyIsNoServers) {
  expect_denied(client_meets(trusting(), serving({.names = {kName}, .server = false})), "purpose");
}

TEST_F(Tls, AnIntermediateAuthorityMayBeTrustedAlone) {
  Authority middle = authority.intermediate("middle");
  const Identity leaf = middle.issue({.names = {kName}});
  EXPECT_FALSE(
      client_meets({middle.certificate(), "", {}, ""}, {leaf.certificate, leaf.key, "", ""}));
}

TEST_F(Tls, AChainIsSentWhole) {
  Authority middle = authority.intermediate("middle");
  const Identity leaf = middle.issue({.names = {kName}});
  EXPECT_FALSE(
      client_meets(trusting(), {leaf.certificate + middle.certificate(), leaf.key, "", ""}));
}

TEST_F(Tls, N7_TheSameContentIsLoadedOnce) {
  TlsClients clients;
  const Identity one = authority.issue({}), two = authority.issue({});
  const TlsClient::Options first{authority.certificate(), one.certificate, one.key, "h2"};
  auto client = clients.of(first);
  ASSERT_TRUE(client);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*clients.of(first), *client);
  EXPECT_EQ(clients.loaded(), 1U);
  TlsClient::Options other = first;
  other.certificate = two.certificate;
  other.key = two.key;
  EXPECT_NE(*clients.of(other), *client) << "nobody dials with another's identity";
  other = first;
  other.ca = Authority("other").certificate();
  EXPECT_NE(*clients.of(other), *client);
  other = first;
  other.alpn = "";
  EXPECT_NE(*clients.of(other), *client);
  EXPECT_EQ(clients.loaded(), 4U);
  other.key = Secret("none");
  EXPECT_TRUE(clients.of(other).failed_with(Code::Invalid));
}

TEST_F(Tls, N7_LargeBundlesAreNotAllKept) {
  TlsClients clients;
  std::string large;
  while (large.size() < (600 << 10)) large += authority.certificate();
  const TlsClient::Options first{large, "", {}, ""}, second{large, "", {}, "h2"};
  auto kept = clients.of(first);
  ASSERT_TRUE(kept);
  (void)clients.of(second);
  (void)clients.of(second);
  EXPECT_EQ(clients.loaded(), 2U) << "at least one is kept, however large";
  EXPECT_EQ((*kept).use_count(), 1) << "there is no room for two";
  (void)clients.of(first);
  EXPECT_EQ(clients.loaded(), 3U);
}

TEST_F(Tls, AnEmptyServerNameIsRefusedSinceItWouldProveNothing) {
  const TlsClient client = client_of(trusting());
  world.spawn([&] {
    EXPECT_TRUE(client.over(std::move(left), "").failed_with(Code::Invalid));
    EXPECT_TRUE(client.over(std::move(right), std::string("a\0b", 3)).failed_with(Code::Invalid));
  });
  world.run();
}

TEST_F(Tls, AClientShowsItsCertificateWhenAsked) {
  auto server = serving();
  server.client_ca = authority.certificate();
  auto client = trusting();
  const Identity identity = authority.issue({});
  client.certificate = identity.certificate;
  client.key = identity.key;
  meet(
      client_of(client), server_of(server),
      [&](auto stream) {
        ASSERT_TRUE(stream);
        EXPECT_EQ(*read_exactly(**stream, 2), "in");
      },
      [&](auto stream) {
        ASSERT_TRUE(stream) << stream.error().message;
        EXPECT_TRUE((*stream)->write("in"));
      });
}

TEST_F(Tls, AClientWithoutACertificateLearnsAtItsFirstReadThatItIsDenied) {
  auto server = serving();
  server.client_ca = authority.certificate();
  meet(
      client_of(trusting()), server_of(server),
      [&](auto stream) {
        ASSERT_TRUE(stream) << "TLS 1.3: the client is done before the server looks";
        char space[10];
        auto n = (*stream)->read(space);
        EXPECT_TRUE(n.failed_with(Code::Denied)) << n.error().message;
        EXPECT_NE(n.error().message.find("certificate required"), std::string::npos);
      },
      [&](auto stream) { EXPECT_TRUE(stream.failed_with(Code::Denied)); });
}

TEST_F(Tls, T6_AClientOfAnotherAuthorityIsDenied) {
  auto server = serving();
  server.client_ca = authority.certificate();
  const Identity stranger = Authority("other").issue({});
  auto client = trusting();
  client.certificate = stranger.certificate;
  client.key = stranger.key;
  meet(
      client_of(client), server_of(server),
      [&](auto stream) {
        char space[10];
        ASSERT_TRUE(stream);
        EXPECT_TRUE((*stream)->read(space).failed_with(Code::Denied));
      },
      [&](auto stream) { EXPECT_TRUE(stream.failed_with(Code::Denied)); });
}

TEST_F(Tls, AProtocolMustBeAgreedOn) {
  auto client = trusting();
  client.alpn = "h2";
  auto error = client_meets(client, serving());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::Unavailable);
  EXPECT_NE(error->message.find("does not speak h2"), std::string::npos);
}

TEST_F(Tls, BothSpeakH2) {
  auto client = trusting();
  client.alpn = "h2";
  auto server = serving();
  server.alpn = "h2";
  EXPECT_FALSE(client_meets(client, server));
}

TEST_F(Tls, APeerThatStallsIsLeftAtTheDeadline) {
  const TlsClient client = client_of(trusting());
  world.spawn([&] {
    Within limit(world, 3s);
    auto stream = client.over(std::move(left), kName);
    EXPECT_TRUE(stream.failed_with(Code::TimedOut)) << stream.error().message;
    EXPECT_EQ(world.now().time_since_epoch(), 3s);
  });
  world.run();
}

TEST_F(Tls, APeerThatIsNoTlsServerIsDenied) {
  const TlsClient client = client_of(trusting());
  world.spawn([&] {
    auto stream = client.over(std::move(left), kName);
    EXPECT_TRUE(stream.failed_with(Code::Denied)) << stream.error().message;
  });
  world.spawn([&] { EXPECT_TRUE(right->write("HTTP/1.1 400 Bad Request\r\n\r\n")); });
  world.run();
}

TEST_F(Tls, AConnectionCutAnywhereInTheHandshakeIsUnavailable) {
  const TlsClient client = client_of(trusting());
  const TlsServer server = server_of(serving());
  for (std::size_t bytes = 1; bytes < 600; bytes += 13) {  // A handshake of this server has ~800.
    auto [near, far] = sim::pipe(world);
    world.spawn([&, &end = near] {
      auto stream = client.over(std::move(end), kName);
      EXPECT_TRUE(stream.failed_with(Code::Unavailable)) << bytes;
    });
    world.spawn(
        [&, &end = far] { (void)server.over(std::make_unique<Cut>(std::move(end), bytes)); });
    world.run();
    ASSERT_EQ(world.alive(), 0U);
  }
}

TEST_F(Tls, AConnectionCutAfterTheHandshakeIsAnErrorAndNotTheEndOfData) {
  meet(
      client_of(trusting()), server_of(serving()),
      [&](auto stream) {
        ASSERT_TRUE(stream);
        EXPECT_TRUE(read_all(**stream).failed_with(Code::Unavailable));
      },
      [&](auto stream) {
        ASSERT_TRUE(stream);
        EXPECT_TRUE((*stream)->write("half of what there is"));
        (*stream)->close();
      });
}

TEST_F(Tls, BytesMayArriveOneByOne) {
  const std::string much(20'000, 'x');
  left = std::make_unique<Drip>(std::move(left));
  right = std::make_unique<Drip>(std::move(right));
  meet(
      client_of(trusting()), server_of(serving()),
      [&](auto stream) {
        ASSERT_TRUE(stream) << stream.error().message;
        EXPECT_TRUE((*stream)->write(much));
        EXPECT_EQ(*read_exactly(**stream, much.size()), much);
      },
      [&](auto stream) {
        ASSERT_TRUE(stream);
        EXPECT_EQ(*read_exactly(**stream, much.size()), much);
        EXPECT_TRUE((*stream)->write(much));
      });
}

TEST_F(Tls, MuchGoesBothWaysAtOnce) {
  std::string much;
  for (int i = 0; much.size() < 2'000'000; ++i) much += std::to_string(i);
  const auto exchange = [&](auto stream) {
    ASSERT_TRUE(stream);
    auto writer = world.spawn([&] { EXPECT_TRUE((*stream)->write(much)); });
    auto got = read_exactly(**stream, much.size());
    EXPECT_TRUE(got && *got == much);
    (void)writer->join();
  };
  meet(client_of(trusting()), server_of(serving()), exchange, exchange);
}

TEST_F(Tls, AWriteThatNobodyTakesEndsAtTheDeadlineAndSoDoesEveryLaterOne) {
  meet(
      client_of(trusting()), server_of(serving()),
      [&](auto stream) {
        ASSERT_TRUE(stream);
        {
          Within limit(world, 4s);
          EXPECT_TRUE((*stream)->write(std::string(1'000'000, 'x')).failed_with(Code::TimedOut));
        }
        EXPECT_TRUE((*stream)->write("more").failed_with(Code::Unavailable))
            << "half a record is out: what follows would be garbage";
      },
      [&](auto stream) {
        ASSERT_TRUE(stream);
        (void)world.sleep(10s);
      });
}

TEST_F(Tls, BadOptionsAreNamed) {
  const Identity one = authority.issue({}), two = authority.issue({});
  const std::string ca = authority.certificate();
  const struct {
    TlsClient::Options options;
    const char* message;
  } cases[] = {
      {{"no PEM", "", {}, ""}, "ca: no PEM certificate in it"},
      {{ca.substr(0, 200), "", {}, ""}, "ca: certificate 1: "},
      {{ca + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "", {}, ""},
       "ca: certificate 2: "},
      {{ca, one.certificate, {}, ""}, "key: is empty"},
      {{ca, "", one.key, ""}, "certificate: is empty"},
      {{ca, one.certificate, two.key, ""}, "key: key values mismatch"},
      {{ca, one.certificate, Secret("nonsense"), ""}, "key: "},
      {{ca, "nonsense", one.key, ""}, "certificate: no PEM certificate in it"},
      // An encrypted key must not ask for its password on the terminal.
      {{ca, one.certificate, Secret(R"(-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,6D6F6E6F6D6F6E6F6D6F6E6F6D6F6E6F

AAAAAAAAAAAAAAAAAAAAAA==
-----END EC PRIVATE KEY-----
)"),
        ""},
       "key: "},
  };
  for (const auto& [options, message] : cases) {
    auto client = TlsClient::load(options);
    ASSERT_TRUE(client.failed_with(Code::Invalid)) << message;
    EXPECT_EQ(client.error().message.find(message), 0U) << client.error().message;
  }
}

}  // namespace
}  // namespace etcdop
