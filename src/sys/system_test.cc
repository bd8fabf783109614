// Tests of the operating system's adapters, in real time on 127.0.0.1.
#include "sys/system.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "sys/asio_loop.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

TEST(ReadFile, GivesTheWholeFileOrSaysWhyNot) {
  const std::string path = ::testing::TempDir() + "read_file_" + std::to_string(getpid());
  std::ofstream(path) << std::string(100'000, 'x');
  EXPECT_EQ(read_file(path)->size(), 100'000U);
  std::ofstream(path) << std::string((1 << 20) + 1, 'x');
  EXPECT_TRUE(read_file(path).failed_with(Code::Invalid));
  ASSERT_EQ(std::remove(path.c_str()), 0);
  auto gone = read_file(path);
  ASSERT_TRUE(gone.failed_with(Code::NotFound));
  EXPECT_NE(gone.error().message.find(path), std::string::npos);
  EXPECT_TRUE(read_file("/").failed_with(Code::Invalid));
}

TEST(Environment, ToldApartFromEmpty) {
  ASSERT_EQ(setenv("ETCDOP_TEST_EMPTY", "", 1), 0);
  EXPECT_EQ(environment("ETCDOP_TEST_EMPTY"), "");
  EXPECT_EQ(environment("ETCDOP_TEST_ABSENT"), std::nullopt);
}

TEST(WriteFile, ReplacesWhatWasThere) {
  const std::string path = ::testing::TempDir() + "written-" + std::to_string(getpid());
  for (const char* text : {"a longer text", "short", ""}) {
    EXPECT_TRUE(write_file(path, text));
    auto read = read_file(path);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, text);
  }
  (void)std::remove(path.c_str());
  EXPECT_TRUE(write_file("/none/such", "text").failed_with(Code::NotFound));
  EXPECT_TRUE(write_file("/dev/full", "text").failed_with(Code::Invalid));
}

TEST(AsioLoop, TwoEndsTalkOverARealSocket) {
  AsioLoop loop;
  auto listener = loop.listen("127.0.0.1", 0);
  ASSERT_TRUE(listener) << listener.error().message;
  std::string heard;
  loop.spawn([&] {
    Within limit(loop, 10s);
    auto peer = (*listener)->accept();
    ASSERT_TRUE(peer);
    char space[16];
    auto n = (*peer)->read(space);
    ASSERT_TRUE(n);
    heard.assign(space, *n);
  });
  loop.spawn([&] {
    Within limit(loop, 10s);
    auto peer = loop.connect("127.0.0.1", std::to_string((*listener)->local_port()));
    ASSERT_TRUE(peer) << peer.error().message;
    EXPECT_TRUE((*peer)->write("hello"));
  });
  loop.run();
  EXPECT_EQ(heard, "hello");
}

TEST(AsioLoop, AnAcceptEndsAtItsDeadlineAndTheListenerGoesOn) {
  AsioLoop loop;
  auto listener = loop.listen("127.0.0.1", 0);
  ASSERT_TRUE(listener);
  loop.spawn([&] {
    {
      Within limit(loop, 10ms);
      EXPECT_TRUE((*listener)->accept().failed_with(Code::TimedOut));
    }
    Within limit(loop, 10s);
    auto out = loop.connect("127.0.0.1", std::to_string((*listener)->local_port()));
    ASSERT_TRUE(out);
    EXPECT_TRUE((*listener)->accept());
  });
  loop.run();
}

TEST(AsioLoop, AnAddressThatIsTakenOrWrongIsSaid) {
  AsioLoop loop;
  auto first = loop.listen("127.0.0.1", 0);
  ASSERT_TRUE(first);
  EXPECT_TRUE(loop.listen("127.0.0.1", (*first)->local_port()).failed_with(Code::Unavailable));
  EXPECT_TRUE(loop.listen("nowhere", 1).failed_with(Code::Invalid));
}

TEST(AsioLoop, N11_WhoMayReachOthersOnlyReachesNeitherItselfNorMetadata) {
  AsioLoop loop;
  (void)loop.spawn([&] {
    const Within limit(loop, 10s);
    auto listener = loop.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const std::string port = std::to_string((*listener)->local_port());
    for (const char* host :
         {"localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1",
          "169.254.169.254", "fe80::1",
          // Metadata of clouds, and addresses that are translated to them.
          "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254", "::127.0.0.1",
          "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1",
          "64:ff9b:1:a9fe:a9:fe00::", "64:ff9b:1:a9fe:a9:fe00:808:808", "64:ff9b:1:a9:fe:a9fe::",
          "64:ff9b:1:0:a9:fea9:fe00::", "64:ff9b:1::a9fe:a9fe", "64:ff9b:1::", "2002:a9fe:a9fe::1"})
      EXPECT_TRUE(loop.connect(host, port, Reach::Beyond).failed_with(Code::Invalid)) << host;
    // A store that an IPv6-only cluster reaches by NAT64; this machine has no route to it.
    for (const char* host :
         {"64:ff9b::c633:6407", "64:ff9b:1::c633:6407", "64:ff9b:1:c633:64:700::"}) {
      const Within soon(loop, 100ms);
      EXPECT_FALSE(loop.connect(host, port, Reach::Beyond).failed_with(Code::Invalid)) << host;
    }
    EXPECT_TRUE(loop.connect("127.0.0.1", port));
  });
  loop.run();
}

TEST(AsioLoop, SigtermIsAWaitLikeAnyOther) {
  AsioLoop loop;
  bool asked = false;
  loop.spawn([&] {
    Within limit(loop, 10s);
    asked = loop.wait_for_termination() == Woken::Ready;
  });
  loop.spawn([&] {
    (void)loop.sleep(5ms);
    ASSERT_EQ(raise(SIGTERM), 0);
  });
  loop.run();
  EXPECT_TRUE(asked);
}

}  // namespace
}  // namespace etcdop
