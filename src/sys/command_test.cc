// Real programs of a few lines of shell, in real time.
#include "sys/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "sys/asio_loop.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() {
    std::string name = ::testing::TempDir() + "command_XXXXXX";
    folder = mkdtemp(name.data());
  }
  ~CommandTest() override { std::filesystem::remove_all(folder); }
  /// The path of an executable script.
  std::string script(const std::string& body) {
    const std::string path = folder + "/script.sh";
    std::ofstream(path) << "#!/bin/sh\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  Result<CommandOutput> run(const Command& command) {
    Result<CommandOutput> result = Error{Code::Corrupt, "never ran"};
    loop.spawn([&] { result = run_command(loop, command); });
    loop.run();
    expect_no_children();
    return result;
  }
  static void expect_no_children() {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "each child has been reaped";
  }
  AsioLoop loop;
  std::string folder;
};

TEST_F(CommandTest, AProgramGetsItsWordsAndEnvironmentAndNoneOfOurFiles) {
  ASSERT_EQ(setenv("COMMAND_OURS", "ours", 1), 0);
  ASSERT_EQ(setenv("COMMAND_BOTH", "ours", 1), 0);
  const int leak = 57;
  ASSERT_EQ(dup2(STDERR_FILENO, leak), leak);
  auto done = run({.program = script("cat; [ ! -e /proc/self/fd/57 ] || echo leaked\n"
                                     "echo \"$1|$2|$COMMAND_OURS|$COMMAND_BOTH\"\n"
                                     "printf 'one\\n two\\n' >&2\n"),
                   .args = {"a b", "$(id)"},
                   .env = {{"COMMAND_BOTH", "theirs"}}});
  close(leak);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_code, 0);
  EXPECT_EQ(done->out.reveal(), "a b|$(id)|ours|theirs\n");
  EXPECT_EQ(done->err_end, "one  two");
}

TEST_F(CommandTest, HowItEndedIsTold) {
  auto done = run({.program = script("echo why >&2; exit 3\n")});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->exit_code, 3);
  EXPECT_EQ(done->err_end, "why");
  done = run({.program = script("kill -9 $$\n")});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->signal, 9);
}

TEST_F(CommandTest, AProgramThatCannotBeStartedSaysWhy) {
  auto none = run({.program = "etcdop-no-such-program"});
  ASSERT_TRUE(none.failed_with(Code::NotFound));
  EXPECT_EQ(none.error().message, "run 'etcdop-no-such-program': No such file or directory");
  EXPECT_TRUE(run({.program = folder}).failed_with(Code::Denied));
  EXPECT_TRUE(run({.program = "true", .args = {std::string(1, '\0')}}).failed_with(Code::Invalid));
  EXPECT_TRUE(run({.program = "true"})) << "found in PATH";
}

TEST_F(CommandTest, AProgramThatHangsIsKilled) {
  auto hung = run({.program = script("sleep 600\n"), .limit = 50ms});
  EXPECT_TRUE(hung.failed_with(Code::TimedOut));

  const std::string started = folder + "/started";
  const Command command{.program = script("echo x > \"$1\"; sleep 600\n"), .args = {started}};
  Result<CommandOutput> result = Error{Code::Corrupt, "never ran"};
  const auto runner = loop.spawn([&] { result = run_command(loop, command); });
  loop.spawn([&] {
    while (read_file(started).failed_with(Code::NotFound)) (void)loop.sleep(1ms);
    runner->cancel();
  });
  loop.run();
  EXPECT_TRUE(result.failed_with(Code::Cancelled));
  expect_no_children();
}

TEST_F(CommandTest, WhatItWritesIsBounded) {
  auto loud = run({.program = script("while :; do echo 0123456789; done\n"), .output_limit = 1000});
  ASSERT_TRUE(loud.failed_with(Code::Invalid));
  EXPECT_NE(loud.error().message.find("wrote more than 1000 bytes"), std::string::npos);
  auto errors = run({.program = script("i=0; while [ $i -lt 30000 ]; do echo $i; i=$((i+1)); done "
                                       ">&2; printf 0123456789\n"),
                     .output_limit = 10});
  ASSERT_TRUE(errors) << errors.error().message;
  EXPECT_EQ(errors->out.reveal(), "0123456789");
  EXPECT_LE(errors->err_end.size(), kCommandErrorMax);
  EXPECT_TRUE(errors->err_end.ends_with("29998 29999")) << "the end counts";
}

TEST_F(CommandTest, ItsEndCountsEvenIfWhatItLeftRunningHoldsThePipe) {
  auto done = run({.program = script("sleep 2 & echo done\n"), .limit = 1h});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->out.reveal(), "done\n");
}

TEST(IsProgram, AFileThatMayBeRunAndNothingElse) {
  EXPECT_TRUE(is_program("/bin/sh"));
  EXPECT_FALSE(is_program("/bin")) << "a folder";
  EXPECT_FALSE(is_program("/etc/passwd"));
  EXPECT_FALSE(is_program("/none"));
}

}  // namespace
}  // namespace etcdop
