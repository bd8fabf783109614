#include "etcd/dial.h"

#include <gtest/gtest.h>

#include <array>

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

}  // namespace
}  // namespace etcdop::etcd
