// Tests that only real programs allow: their flags, and authentication by etcdctl.
// etcd_contract_test.cc has all others, for real and simulated etcds alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "etcd/flag_table.h"
#include "etcd/flags.h"
#include "test/contract/etcd_keys.h"
#include "test/contract/etcds.h"
#include "test/contract/process.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;
using namespace etcd;

class EtcdPrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (tested.programs.empty()) GTEST_SKIP() << "the simulated etcd has no programs";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  /// Runs an etcd program to its end. Returns the exit status; its output goes to `said`.
  int tool(std::vector<std::string> command, std::string* said = nullptr) {
    const std::string output = folder_ + "/tool";
    std::filesystem::remove(output);
    command[0] = tested.programs + "/" + command[0];
    const int status = Process(std::move(command), output).wait();
    if (said) *said = read_file(output);
    return status;
  }
  /// With deadlines for a machine that compiles beside it.
  int etcdctl(const Node& node, std::vector<std::string> words) {
    words.insert(words.begin(), {"etcdctl", "--endpoints=" + node.client_url, "--dial-timeout=30s",
                                 "--command-timeout=30s"});
    return tool(std::move(words));
  }
  /// Asks until it gets an answer, a few times: the client's deadlines are an operator's.
  template <class Ask>
  static void expect_refused(const Ask& ask, const std::string& text) {
    auto result = ask();
    for (int i = 0; i < 10 && result.failed_with(Code::TimedOut); ++i) result = ask();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::Denied) << result.error().message;
    EXPECT_TRUE(result.error().message.ends_with(text)) << result.error().message;
  }

  const std::string folder_ = new_folder();
};

TEST_F(EtcdPrograms, FlagsAndDefaultsAreThoseOfTheTable) {
  const auto takes = [&](const std::string& flag) {
    return tool({"etcd", flag, "--version"}) == 0;
  };
  std::string said;
  EXPECT_EQ(tool({"etcd", "--version"}, &said), 0);
  EXPECT_NE(said.find("etcd Version: " + tested.version_text + "\n"), std::string::npos) << said;
  EXPECT_EQ(takes("--max-learners=8"), tested.facts.max_learners_flag);
  EXPECT_EQ(takes("--experimental-initial-corrupt-check=true"), tested.facts.experimental_flags);
  EXPECT_EQ(takes("--feature-gates=InitialCorruptCheck=true"), tested.facts.feature_gates);
  (void)tool({"etcd", "--help"}, &said);
  const std::string line =
      "--snapshot-count '" + std::to_string(tested.facts.snapshot_count_default) + "'";
  EXPECT_NE(said.find(line), std::string::npos);
  EXPECT_TRUE(tested.facts.supported);
}

TEST_F(EtcdPrograms, TakesTheFlagsThatTheTableHasForIt) {
  const auto version = parse_version(tested.version_text);
  ASSERT_TRUE(version);
  std::string said;
  for (const KnownFlag& flag : kKnownFlags) {
    (void)tool({"etcd", std::string("--") + flag.name + "=x", "--version"}, &said);
    const bool unknown = said.find("flag provided but not defined") != std::string::npos;
    EXPECT_EQ(!unknown, takes_flag(*version, flag.name)) << flag.name << ": " << said;
  }
  // 3.7 lists two flags that it does not accept.
  const auto is_in_table = [](const std::string& name) {
    return std::ranges::any_of(kKnownFlags, [&](const auto& flag) { return flag.name == name; });
  };
  (void)tool({"etcd", "--help"}, &said);
  std::istringstream lines(said);
  int listed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  --")) continue;
    const std::string name = line.substr(4, line.find(' ', 4) - 4);
    EXPECT_TRUE(is_in_table(name)) << name << ": run tools/etcd_flags.py";
    ++listed;
  }
  EXPECT_GT(listed, 100);
}

/// Founds a cluster of real members, and waits until they serve.
void found(Etcds& etcds, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    const Node node = etcds.plan();
    list += (i == 0 ? "" : ",") + node.name + "=" + node.peer_url;
  }
  for (std::size_t i = 0; i < count; ++i) etcds.start(i, list, "new", {});
  for (std::size_t i = 0; i < count; ++i) {
    const auto client = etcds.clients().at(etcds.endpoint(i));
    for (int times = 0; times < 300 && !client->status(); ++times)
      (void)etcds.executor().sleep(100ms);
  }
}

/// How long a member takes to end after SIGTERM; nullopt: longer than `max`.
std::optional<Duration> time_to_end(Etcds& etcds, std::size_t node, Duration max) {
  Executor& executor = etcds.executor();
  const Instant began = executor.now();
  etcds.terminate(node);
  while (!etcds.ended(node)) {
    if (executor.now() - began > max) return std::nullopt;
    (void)executor.sleep(20ms);
  }
  return executor.now() - began;
}

/// While it defragments, etcd reads nothing. So no probe and no question is answered, for as long
/// as it takes. The call itself must wait in silence, and must survive that questions on the same
/// connection are given up.
TEST_F(EtcdPrograms, K9_WhileItDefragmentsNothingIsAnsweredAndTheCallWaitsForIt) {
  const auto etcds = tested.make();
  etcds->run(
      [&] {
        found(*etcds, 1);
        Executor& executor = etcds->executor();
        const Keys keys(*etcds, 0);
        // A defragmentation copies 250 MB in a second or more. 600 MB slowed the tests beside it.
        constexpr int kMegabytes = 250;
        const std::string value(1 << 20, 'v');
        for (int i = 0; i < kMegabytes; ++i) ASSERT_TRUE(keys.put("k" + std::to_string(i), value));
        const auto client = etcds->clients().at(etcds->endpoint(0));
        std::optional<Result<Done>> done;
        const Instant began = executor.now();
        Instant ended = began;
        const auto call = executor.spawn([&] {
          done = client->defragment();
          ended = executor.now();
        });
        int silent_probes = 0, silent_questions = 0;
        std::vector<std::shared_ptr<Fiber>> asking;
        for (const char* path : {"/livez", "/readyz", "/health"})
          asking.push_back(executor.spawn([&, path] {
            while (!done) {
              {
                const Within limit(executor, 200ms);
                if (etcds->probe(0, path) == 0 && !done) ++silent_probes;
              }
              (void)executor.sleep(50ms);
            }
          }));
        asking.push_back(executor.spawn([&] {
          while (!done) {
            {
              const Within limit(executor, 200ms);
              if (!client->status() && !done) ++silent_questions;
            }
            (void)executor.sleep(50ms);
          }
        }));
        (void)call->join();
        for (const auto& fiber : asking) (void)fiber->join();
        const double took = std::chrono::duration<double>(ended - began).count();
        std::printf("defragmented %d MB in %.1f s: %d probes and %d questions unanswered\n",
                    kMegabytes, took, silent_probes, silent_questions);
        ASSERT_TRUE(done && *done) << (*done).error().message;
        EXPECT_GE(silent_probes, 3) << "liveness must outlast it";
        for (const char* path : {"/livez", "/readyz", "/health"})
          EXPECT_EQ(etcds->probe(0, path), 200) << path;
        EXPECT_TRUE(client->status());

        {
          const Within limit(executor, 200ms);
          EXPECT_TRUE(client->defragment().failed_with(Code::TimedOut));
        }
        {
          const Within limit(executor, 100ms);
          EXPECT_EQ(etcds->probe(0, "/livez"), 0) << "it goes on without its caller";
        }
        int times = 0;
        while (etcds->probe(0, "/livez") != 200 && ++times < 100) (void)executor.sleep(100ms);
        EXPECT_LT(times, 100) << "and ends";
      },
      4min);
}

/// etcd ends its gRPC server gracefully: for 7 s it waits for open streams. The operator's
/// connections have none, so they hold up nothing.
TEST_F(EtcdPrograms, K16_TheOperatorsConnectionsDoNotHoldUpItsEnd) {
  const auto etcds = tested.make();
  etcds->run(
      [&] {
        found(*etcds, 1);
        const auto client = etcds->clients().at(etcds->endpoint(0));
        EXPECT_TRUE(client->status());
        EXPECT_TRUE(client->member_list(etcd::Read::Linearizable));
        const auto took = time_to_end(*etcds, 0, 20s);
        ASSERT_TRUE(took);
        std::printf("ended in %.2f s\n", std::chrono::duration<double>(*took).count());
        EXPECT_LT(*took, 6500ms);
      },
      5min);
}

/// Founds an etcd of three, ends all of them at once, and returns how many seconds each took, in
/// order; 0: it did not end.
std::array<double, 3> end_together(Etcds& etcds) {
  std::array<double, 3> took{};
  found(etcds, 3);
  Executor& executor = etcds.executor();
  (void)executor.sleep(3s);  // Until each has been connected to the others.
  const Instant began = executor.now();
  for (std::size_t i = 0; i < 3; ++i) etcds.terminate(i);
  while (std::ranges::count(took, 0.0) > 0 && executor.now() - began < 20s) {
    (void)executor.sleep(20ms);
    for (std::size_t i = 0; i < 3; ++i)
      if (took[i] == 0 && etcds.ended(i))
        took[i] = std::chrono::duration<double>(executor.now() - began).count();
  }
  std::ranges::sort(took);
  std::printf("three ended in %.1f, %.1f and %.1f s\n", took[0], took[1], took[2]);
  return took;
}

/// A leader moves its leadership to a member that ends, too, and waits 7 s for it. So it goes with
/// an heir that had become the leader before it ends. On a busy machine the heir may have ended
/// before the leader looks for one; then the leader ends at once.
TEST_F(EtcdPrograms, K16_WhenAllEndAtOnceALeaderWaitsForAnHeirThatEndsToo) {
  std::array<double, 3> took{};
  for (int tries = 0; tries < 5 && took[2] < 6.0; ++tries) {
    const auto etcds = tested.make();
    etcds->run([&] { took = end_together(*etcds); }, 5min);
    EXPECT_GT(took[0], 0.0) << "all have ended";
    EXPECT_LT(took[0], 6.5) << "a follower";
    EXPECT_LT(took[2], 18.0);
  }
  EXPECT_GT(took[2], 6.0) << "the leader";
}

TEST_F(EtcdPrograms, WhomItAnswersWithAuthenticationOn) {
  const auto etcds = tested.make();
  etcds->run(
      [&] {
        const Node node = etcds->plan();
        etcds->start(0, node.name + "=" + node.peer_url, "new", {});
        const auto client = etcds->clients().at(etcds->endpoint(0));
        for (int i = 0; i < 300 && !client->status(); ++i) (void)etcds->executor().sleep(100ms);
        EXPECT_EQ(etcdctl(node, {"user", "add", "root:secret"}), 0);
        EXPECT_EQ(etcdctl(node, {"user", "grant-role", "root", "root"}), 0);
        EXPECT_EQ(etcdctl(node, {"user", "add", "bob:secret"}), 0);
        EXPECT_EQ(etcdctl(node, {"auth", "enable"}), 0);
        const auto answers = [&](const std::vector<std::string>& words) {
          const auto as = [&](const char* user) {
            auto all = words;
            all.insert(all.begin(), std::string("--user=") + user + ":secret");
            return etcdctl(node, all) == 0;
          };
          if (etcdctl(node, words) == 0) return Answers::Anybody;
          EXPECT_TRUE(as("root")) << words[0];
          return as("bob") ? Answers::AnyUser : Answers::Root;
        };
        EXPECT_EQ(answers({"member", "list"}), tested.facts.member_list_answers);
        EXPECT_EQ(answers({"endpoint", "status"}), tested.facts.status_answers);
        EXPECT_EQ(answers({"auth", "status"}), tested.facts.auth_status_answers);

        const std::string nobody = "etcdserver: user name is empty";
        expect_refused([&] { return client->add_learner("http://127.0.0.1:1"); }, nobody);
        if (tested.facts.member_list_answers != Answers::Anybody)
          expect_refused([&] { return client->member_list(etcd::Read::Linearizable); }, nobody);
        if (tested.facts.status_answers != Answers::Anybody)
          expect_refused([&] { return client->status(); }, nobody);
      },
      3min);
}

}  // namespace
}  // namespace etcdop::contract
