#include "etcd/dial.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace etcdop::etcd {
namespace {

using namespace std::chrono_literals;

TEST(NetworkDial, ReachesTheEndpointsAddress) {
  AsioLoop loop;
  std::string got;
  (void)loop.spawn([&] {
    const Within limit(loop, 10s);
    auto listener = loop.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    const auto dial = network_dial(loop, std::to_string((*listener)->local_port()));
    Endpoint where{.address = "127.0.0.1", .server_name = "prod-0", .cluster = {}, .member = {}};
    auto client = dial(where);
    ASSERT_TRUE(client) << client.error().message;
    auto server = (*listener)->accept();
    ASSERT_TRUE(server);
    EXPECT_TRUE((*client)->write("PRI"));
    std::array<char, 8> space{};
    auto n = (*server)->read(space);
    ASSERT_TRUE(n);
    got.assign(space.data(), *n);

    where.tls = std::make_shared<const TlsClient::Options>(
        TlsClient::Options{.ca = "none", .certificate = {}, .key = {}, .alpn = {}});
    EXPECT_TRUE(dial(where).failed_with(Code::Invalid)) << "never falls back to plaintext";
  });
  loop.run();
  EXPECT_EQ(got, "PRI");
}

/// Whatever answers there may send almost all of a page, and wait.
TEST(MetricsPage, N5_OnlyFourAreReadAtOnce) {
  AsioLoop loop;
  int accepted = 0, asked = 0;
  ReceivesSnapshot ask;  // The last questions end after the fiber that asked them.
  (void)loop.spawn([&] {
    const Within limit(loop, 10s);
    auto listener = loop.listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    ask = network_receives_snapshot(loop, std::to_string((*listener)->local_port()));
    for (int i = 0; i < 6; ++i)
      (void)loop.spawn([&] {
        EXPECT_FALSE(ask({.address = "127.0.0.1", .server_name = {}, .cluster = {}, .member = {}}));
        ++asked;
      });
    std::vector<std::unique_ptr<Stream>> streams;
    const auto accept = [&](Duration within) {
      const Within patience(loop, within);
      auto stream = (*listener)->accept();
      if (stream) streams.push_back(std::move(*stream));
      return bool(stream);
    };
    while (accepted < 4 && accept(1s)) ++accepted;
    EXPECT_FALSE(accept(200ms));
    streams.clear();  // These four end, and the others come.
    while (accepted < 6 && accept(1s)) ++accepted;
    streams.clear();
  });
  loop.run();
  EXPECT_EQ(accepted, 6);
  EXPECT_EQ(asked, 6);
}

/// The lines are those of etcd 3.6.16.
TEST(MetricsPage, K3_SaysWhetherASnapshotIsBeingReceived) {
  const auto page = [](const std::string& value) {
    return "etcd_server_has_leader 1\n"
           "# TYPE etcd_network_snapshot_receive_inflights_total gauge\n"
           "etcd_network_snapshot_receive_inflights_total{From=\"8e9e05c52164694d\"} " +
           value + "\netcd_server_id{server_id=\"1\"} 1\n";
  };
  EXPECT_TRUE(*says_that_it_receives(page("1")));
  EXPECT_FALSE(*says_that_it_receives(page("0")));
  EXPECT_FALSE(*says_that_it_receives("etcd_server_has_leader 1\n"));
  EXPECT_TRUE(says_that_it_receives("<html>").failed_with(Code::Corrupt)) << "another server";
}

}  // namespace
}  // namespace etcdop::etcd
