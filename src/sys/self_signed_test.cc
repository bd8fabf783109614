#include "sys/self_signed.h"

#include <gtest/gtest.h>

#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

constexpr const char* kName = "localhost";

WallTime date(const char* text) { return *from_rfc3339(text); }

/// The server's first word to a client that trusts `trusted`, or the client's error.
Result<std::string> greeted(const std::string& trusted, const TlsServer& tls,
                            const std::string& name) {
  sim::Scheduler world(1);
  auto [client, peer] = sim::pipe(world);
  Result<std::string> said = Error{Code::Unavailable, "nothing was said"};
  world.spawn([&, &end = peer] {
    if (auto stream = tls.over(std::move(end))) (void)(*stream)->write("welcome");
  });
  world.spawn([&, &end = client] {
    auto verifier = TlsClient::load({trusted, {}, {}, {}});
    auto stream = verifier ? verifier->over(std::move(end), name)
                           : Result<std::unique_ptr<Stream>>(verifier.error());
    char space[7];
    auto n = stream ? (*stream)->read(space) : Result<std::size_t>(stream.error());
    said = n ? Result<std::string>(std::string(space, *n)) : Result<std::string>(n.error());
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
  return said;
}

TlsServer server_of(const Identity& made) {
  auto server = TlsServer::load({made.certificate, made.key, {}, {}});
  EXPECT_TRUE(server);
  return std::move(*server);
}

// OpenSSL uses the real date, so these are far from it.
const WallTime kBefore = date("2020-01-01T00:00:00Z"), kAfter = date("2100-01-01T00:00:00Z");

TEST(SelfSigned, WhoTrustsTheCertificateBelievesIt) {
  const Identity made = self_sign(kName, kBefore, kAfter);
  auto said = greeted(made.certificate, server_of(made), kName);
  ASSERT_TRUE(said) << said.error().message;
  EXPECT_EQ(*said, "welcome");
}

TEST(SelfSigned, NobodyElseDoesNorForAnotherNameNorOutsideItsDates) {
  const Identity made = self_sign(kName, kBefore, kAfter);
  const Identity same_name = self_sign(kName, kBefore, kAfter);
  const Identity over = self_sign(kName, kBefore, date("2020-02-01T00:00:00Z"));
  EXPECT_TRUE(greeted(same_name.certificate, server_of(made), kName).failed_with(Code::Denied));
  EXPECT_TRUE(greeted(made.certificate, server_of(made), "elsewhere").failed_with(Code::Denied));
  EXPECT_TRUE(greeted(over.certificate, server_of(over), kName).failed_with(Code::Denied));
}

TEST(SelfSignedServer, ShowsTheSameCertificateUntilThirtyDaysBeforeItsYearEnds) {
  sim::Scheduler world(1);
  const testing::VirtualWallClock clock(world);
  SelfSignedServer server(clock, kName);
  world.spawn([&] {
    const std::string first = server.certificate();
    (void)world.sleep(days(335) - 1s);
    EXPECT_EQ(server.certificate(), first);
    (void)world.sleep(1s);
    const std::string second = server.certificate();
    EXPECT_NE(second, first);
    (void)world.sleep(days(335) - 1s);
    EXPECT_EQ(server.certificate(), second);
  });
  world.run();
}

/// A clock that the test sets.
struct SetClock final : WallClock {
  WallTime wall_now() const override { return now; }
  WallTime now = date("2026-01-01T00:00:00Z");
};

TEST(SelfSignedServer, AClockThatWasSetBackMakesANewOne) {
  SetClock clock;
  SelfSignedServer server(clock, kName);
  const std::string first = server.certificate();
  clock.now = clock.now + -1h;
  EXPECT_EQ(server.certificate(), first) << "clocks may differ by an hour";
  clock.now = clock.now + -1s;
  EXPECT_NE(server.certificate(), first);
}

TEST(SelfSignedServer, AHandshakeOutlivesTheCertificateItBeganWith) {
  sim::Scheduler world(1);
  SetClock clock;
  clock.now = date("2026-01-01T00:00:00Z");
  SelfSignedServer server(clock, kName);
  auto [client, peer] = sim::pipe(world);
  Result<Done> shook = Done{};
  world.spawn([&, &end = peer] {
    auto stream = server.over(std::move(end));
    shook = stream ? Result<Done>(Done{}) : Result<Done>(stream.error());
  });
  world.spawn([&, &end = client] {
    (void)world.sleep(1s);
    clock.now = clock.now + days(400);
    (void)server.certificate();
    ASSERT_TRUE(end->write("no TLS at all, and long enough to be told so"));
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
  EXPECT_FALSE(shook);
}

}  // namespace
}  // namespace etcdop
