// Measures the deepest path of the program on a fiber's stack: sockets, TLS, HTTP, JSON, gRPC and a
// log line, all on one fiber, in real time on the loopback address.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/json.h"
#include "http/grpc_channel.h"
#include "http/http_client.h"
#include "http/server.h"
#include "sys/asio_loop.h"
#include "sys/coroutine.h"
#include "sys/log_writer.h"
#include "sys/self_signed.h"
#include "sys/tls.h"
#include "test/support/certificates.h"
#include "test/support/grpc_server.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;

/// Within its scope, new stacks are painted, so that a fiber can report its stack use.
struct Painted {
  Painted() { Executor::paint_stacks(true); }
  ~Painted() { Executor::paint_stacks(false); }
};

/// A list of the API server, whose objects are nested as deeply as they are read.
constexpr int kLevels = 40;

std::string deep_json() {
  std::string open, close;
  for (int i = 0; i < kLevels; ++i) {
    open += i % 2 == 0 ? R"({"a":)" : "[";
    close.insert(0, i % 2 == 0 ? "}" : "]");
  }
  return open + "1.5" + close;
}

class StackDepth : public ::testing::Test {
 protected:
  TlsServer server_of(const std::string& alpn) {
    auto server =
        TlsServer::load({identity_.certificate, identity_.key, authority_.certificate(), alpn});
    EXPECT_TRUE(server);
    return std::move(*server);
  }
  TlsClient client_of(const std::string& alpn) {
    auto client =
        TlsClient::load({authority_.certificate(), identity_.certificate, identity_.key, alpn});
    EXPECT_TRUE(client);
    return std::move(*client);
  }
  Result<std::unique_ptr<Stream>> accept(const TlsServer& tls, Listener& listener) {
    auto stream = listener.accept();
    return stream ? tls.over(std::move(*stream)) : std::move(stream);
  }
  Result<std::unique_ptr<Stream>> dial(const TlsClient& tls, const Listener& listener) {
    auto stream = loop_.connect("127.0.0.1", std::to_string(listener.local_port()));
    return stream ? tls.over(std::move(*stream), "127.0.0.1") : std::move(stream);
  }

  static Response deep(const Request&) { return {200, {}, deep_json()}; }
  void serve_http(Listener& listener, Server::Handler handler = deep) {
    const TlsServer tls = server_of("");
    auto connection = accept(tls, listener);
    ASSERT_TRUE(connection) << connection.error().message;
    Server server(loop_, {});
    server.route("/deep", std::move(handler));
    server.serve(std::move(*connection));
  }
  void get_and_parse(const Listener& listener) {
    const TlsClient tls = client_of("");
    HttpClient client(loop_, [&] { return dial(tls, listener); }, {"127.0.0.1"});
    auto response = client.get("/deep");
    ASSERT_TRUE(response) << response.error().message;
    boost::system::error_code ec;
    json::parse_options options;
    options.max_depth = kLevels;
    const Json value = json::parse(response->body, ec, {}, options);
    ASSERT_FALSE(ec) << ec.message();
    EXPECT_EQ(json::serialize(value).size(), kLevels / 2 * 8 + 5U);
  }
  void call(const Listener& listener) {
    const TlsClient tls = client_of("h2");
    auto stream = dial(tls, listener);
    ASSERT_TRUE(stream) << stream.error().message;
    GrpcChannel channel(loop_, std::move(*stream), "127.0.0.1");
    EXPECT_EQ(*channel.unary("/s/M", std::string(10'000, 'q')), "answer");
  }
  static void log() {
    LogWriter writer({.sink = [](std::string_view line) { EXPECT_FALSE(line.empty()); }});
    writer.info("cluster changed", {{"cluster", "ns/name"}, {"members", 3}, {"ready", true}});
  }

  AsioLoop loop_;
  testing::Authority authority_;
  Identity identity_ = authority_.issue({.names = {"127.0.0.1"}});
};

TEST_F(StackDepth, TheDeepestPathUsesLessThanHalfOfAStack) {
  const Painted painted;
  auto http_listener = loop_.listen("127.0.0.1", 0), grpc_listener = loop_.listen("127.0.0.1", 0);
  ASSERT_TRUE(http_listener && grpc_listener);
  const auto server = loop_.spawn([&] {
    Within limit(loop_, 30s);
    serve_http(**http_listener);
  });
  loop_.spawn([&] {
    Within limit(loop_, 30s);
    const TlsServer tls = server_of("h2");
    auto stream = accept(tls, **grpc_listener);
    ASSERT_TRUE(stream) << stream.error().message;
    testing::serve_grpc(loop_, std::move(*stream), [](const auto&, const auto&) {
      return testing::GrpcReply{.text = "answer"};
    });
  });
  const auto client = loop_.spawn([&] {
    Within limit(loop_, 30s);
    get_and_parse(**http_listener);
    call(**grpc_listener);
    log();
  });
  loop_.run();
  RecordProperty("client_bytes", static_cast<int>(client->stack_used()));
  RecordProperty("server_bytes", static_cast<int>(server->stack_used()));
  EXPECT_GT(client->stack_used(), 4096U) << "it was not painted";
  EXPECT_LT(client->stack_used(), detail::kDefaultBytes / 2);
  EXPECT_LT(server->stack_used(), detail::kDefaultBytes / 2);
}

// As metrics are served: with a self-made certificate, after a call to the API server.
TEST_F(StackDepth, AHandlerThatAsksAnotherServerUsesLessThanHalfOfAStack) {
  const Painted painted;
  auto front = loop_.listen("127.0.0.1", 0), back = loop_.listen("127.0.0.1", 0);
  ASSERT_TRUE(front && back);
  const auto server = loop_.spawn([&] {
    Within limit(loop_, 30s);
    EXPECT_FALSE(self_sign("localhost", {}, {}).certificate.empty());
    serve_http(**front, [&](const Request& request) {
      get_and_parse(**back);
      return deep(request);
    });
  });
  loop_.spawn([&] {
    Within limit(loop_, 30s);
    serve_http(**back);
  });
  loop_.spawn([&] {
    Within limit(loop_, 30s);
    get_and_parse(**front);
  });
  loop_.run();
  RecordProperty("server_bytes", static_cast<int>(server->stack_used()));
  EXPECT_GT(server->stack_used(), 4096U) << "it was not painted";
  EXPECT_LT(server->stack_used(), detail::kDefaultBytes / 2);
}

}  // namespace
}  // namespace etcdop::http
