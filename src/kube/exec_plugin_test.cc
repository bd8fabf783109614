// When the plugin runs and how its output is read: with a runner that plays the plugin, in virtual
// time.
#include "kube/exec_plugin.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

const std::string kVersion = "client.authentication.k8s.io/v1";
const std::string kCertificate = "-----BEGIN CERTIFICATE-----\\n";
const std::string kKey = "-----BEGIN PRIVATE KEY-----\\n";

/// An ExecCredential with this status.
std::string output(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":")" + kVersion + R"(","status":{)" + status +
         "}}";
}

CommandOutput written(const std::string& text) {
  CommandOutput out;
  out.out = Secret(text);
  return out;
}

class PluginTest : public ::testing::Test {
 protected:
  /// Runs `body` on a fiber, and the world until no event is left.
  void run(const std::function<void()>& body) {
    world.spawn(body);
    world.run();
    EXPECT_EQ(world.alive(), 0U);
  }
  std::string token() {
    auto got = credentials.get();
    return got ? (*got)->token.reveal() : got.error().message;
  }
  static ExecPlugin plugin() {
    ExecPlugin out;
    out.field = "/f: users[u].user.exec";
    out.program = "login";
    out.args = {"--now"};
    out.env = {{"A", "b"}};
    out.api_version = kVersion;
    out.install_hint = "see example.com";
    return out;
  }

  sim::Scheduler world{1};
  testing::VirtualWallClock wall{world};
  int runs = 0;
  Duration takes = 1s;
  std::string expires;  ///< Includes the comma before it.
  /// The plugin's result, if it does not succeed.
  std::optional<Result<CommandOutput>> does;
  PluginCredentials credentials{
      world, wall, plugin(), [this](const Command& command) -> Result<CommandOutput> {
        EXPECT_EQ(command.program, "login");
        EXPECT_EQ(command.args, std::vector<std::string>{"--now"});
        EXPECT_EQ(command.env.at("A"), "b");
        EXPECT_EQ(command.limit, 30s);
        ++runs;
        const Woken woken = world.sleep(takes);
        if (woken != Woken::Ready) return to_result(woken, "r").error();
        if (does) return *does;
        return written(output(R"("token":"t)" + std::to_string(runs) + '"' + expires));
      }};
};

TEST_F(PluginTest, OneRunServesEverybodyUntilTheTokenExpires) {
  expires = R"(,"expirationTimestamp":"2026-01-01T01:00:00Z")";
  run([&] {
    const auto other = world.spawn([&] { EXPECT_EQ(token(), "t1"); });
    EXPECT_EQ(token(), "t1");
    (void)other->join();
    (void)world.sleep_until(Instant(1h - 1ns));
    EXPECT_EQ(token(), "t1");
    EXPECT_EQ(runs, 1);
    (void)world.sleep_until(Instant(1h));
    EXPECT_EQ(token(), "t2");
  });
}

TEST_F(PluginTest, WithoutExpiryATokenLastsUntilItIsRefused) {
  run([&] {
    auto first = credentials.get();
    ASSERT_TRUE(first);
    EXPECT_FALSE(credentials.expire(*first)) << "the plugin has said so just now";
    (void)world.sleep(240h);
    EXPECT_EQ(token(), "t1");
    EXPECT_TRUE(credentials.expire(*first));
    EXPECT_TRUE(credentials.expire(*first)) << "two requests were refused";
    EXPECT_EQ(token(), "t2");
    EXPECT_TRUE(credentials.expire(*first)) << "an answer that was under way: there is a new one";
    EXPECT_EQ(token(), "t2");
    EXPECT_EQ(runs, 2);
  });
}

TEST_F(PluginTest, ATokenThatHasExpiredBeforeItCameIsUsedForTenSeconds) {
  expires = R"(,"expirationTimestamp":"2020-01-01T00:00:00Z")";
  run([&] {
    EXPECT_EQ(token(), "t1");
    (void)world.sleep(10s - 1ns);
    EXPECT_EQ(token(), "t1");
    (void)world.sleep(1ns);
    EXPECT_EQ(token(), "t2");
  });
}

TEST_F(PluginTest, ASlowPluginOutlivesTheCallThatWantedIt) {
  takes = 20s;
  run([&] {
    {
      Within limit(world, 10s);
      EXPECT_TRUE(credentials.get().failed_with(Code::TimedOut));
    }
    EXPECT_EQ(token(), "t1");
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(world.now(), Instant(20s));
  });
}

TEST_F(PluginTest, AFailureIsToldAndThePluginLeftAloneForAWhile) {
  CommandOutput failed;
  failed.exit_code = 3;
  failed.err_end = "no luck";
  does = failed;
  const std::string where = "/f: users[u].user.exec.command: ";
  run([&] {
    EXPECT_EQ(token(), where + "'login' ended with exit code 3: no luck");
    EXPECT_TRUE(credentials.get().failed_with(Code::Unavailable));
    EXPECT_EQ(runs, 1);
    (void)world.sleep(5s);
    failed.signal = 9;
    failed.err_end = "";
    does = failed;
    EXPECT_EQ(token(), where + "'login' was killed by signal 9");
    (void)world.sleep(5s);
    does = Error{Code::NotFound, "run 'login': No such file"};
    EXPECT_EQ(token(), where + "run 'login': No such file; see example.com");
    (void)world.sleep(5s);
    does = Error{Code::TimedOut, "run 'login': too long"};
    EXPECT_EQ(token(), where + "run 'login': too long");
    EXPECT_TRUE(credentials.get().failed_with(Code::Unavailable)) << "nothing was sent";
    (void)world.sleep(5s);
    does.reset();
    EXPECT_EQ(token(), "t5");
  });
}

TEST_F(PluginTest, ClosingEndsARunAndBeginsNone) {
  takes = 20s;
  run([&] {
    const auto waiting =
        world.spawn([&] { EXPECT_TRUE(credentials.get().failed_with(Code::Cancelled)); });
    (void)world.sleep(1s);
    credentials.close();
    (void)waiting->join();
    EXPECT_TRUE(credentials.get().failed_with(Code::Cancelled));
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(world.now(), Instant(1s));
  });
}

TEST(PluginOutput, ATokenOrACertificateOrBoth) {
  ExecPlugin plugin;
  plugin.api_version = kVersion;
  const std::string pair =
      R"("clientCertificateData":")" + kCertificate + R"(","clientKeyData":")" + kKey + '"';
  auto both = parse_plugin_output(plugin, output(R"("token":"t",)" + pair));
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->token.reveal(), "t");
  EXPECT_EQ(both->certificate, "-----BEGIN CERTIFICATE-----\n");
  EXPECT_EQ(both->key.reveal(), "-----BEGIN PRIVATE KEY-----\n");
  EXPECT_EQ(both->expires, std::nullopt);
  auto alone = parse_plugin_output(plugin, output(pair + R"(,"token":null)"));
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_TRUE(alone->token.empty());
}

TEST(PluginOutput, WhatIsWrongNamesTheFieldAndQuotesNothing) {
  ExecPlugin plugin;
  plugin.field = "/f: users[u].user.exec";
  plugin.api_version = kVersion;
  struct Row {
    std::string output, message;
  };
  const std::string certificate = R"("clientCertificateData":")" + kCertificate + '"';
  const std::string key = R"("clientKeyData":")" + kKey + '"';
  const Row rows[] = {
      {"hush", "is no ExecCredential: expected JSON"},
      {"[]", "is no ExecCredential: expected JSON"},
      {"{}", "kind: expected ExecCredential"},
      {R"({"kind":7})", "kind: expected text"},
      {R"({"kind":"ExecCredential","apiVersion":"hush"})",
       "apiVersion: expected client.authentication.k8s.io/v1, as asked for"},
      {R"({"kind":"ExecCredential","apiVersion":")" + kVersion + "\"}", "status: is required"},
      {output(""), "status.token: is required, or clientCertificateData and clientKeyData"},
      {output(R"("token":7)"), "status.token: expected text"},
      {output(R"("token":"hush hush")"), "status.token: has characters that no token has"},
      {output(certificate), "status.clientKeyData: is required"},
      {output(key), "status.clientCertificateData: is required"},
      {output(key + R"(,"clientCertificateData":"hush")"),
       "status.clientCertificateData: holds no PEM CERTIFICATE"},
      {output(certificate + R"(,"clientKeyData":"hush")"),
       "status.clientKeyData: holds no PEM PRIVATE KEY"},
      {output(R"("token":"hush","expirationTimestamp":"tomorrow")"),
       "status.expirationTimestamp: expected a date like"},
  };
  for (const Row& row : rows) {
    auto parsed = parse_plugin_output(plugin, row.output);
    ASSERT_TRUE(parsed.failed_with(Code::Invalid)) << row.output;
    EXPECT_TRUE(parsed.error().message.starts_with("/f: users[u].user.exec: the plugin's output"));
    EXPECT_NE(parsed.error().message.find(row.message), std::string::npos)
        << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find("hush"), std::string::npos);
  }
}

}  // namespace
}  // namespace etcdop::kube
