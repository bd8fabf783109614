#include "http/server.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "sim/pipe.h"
#include "sim/scheduler.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;

/// Sends `request` to a server of /healthz in pieces of `piece` bytes, and returns its whole
/// answer.
std::string talk(const std::string& request, std::size_t piece = 1 << 20, bool finish = true) {
  sim::Scheduler world(1);
  Server server(world, {});
  server.route("/healthz", [](const Request& r) {
    return Response{200, {{"content-type", "text/plain"}}, "ok " + r.target};
  });
  auto [client, peer] = sim::pipe(world);
  std::string out;
  world.spawn([&, &end = peer] { server.serve(std::move(end)); });
  world.spawn([&, &end = client] {
    for (std::size_t at = 0; at < request.size(); at += piece) {
      if (!end->write(std::string_view(request).substr(at, piece))) break;
      (void)world.sleep(1ms);  // So that each piece is read separately.
    }
    char space[512];
    for (;;) {
      Within limit(world, finish ? 1s : 120s);
      auto n = end->read(space);
      if (!n || *n == 0) break;
      out.append(space, *n);
    }
    end->close();
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
  return out;
}

TEST(Server, AnswersWhatItHasARouteFor) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}}) {
    const std::string out = talk("GET /healthz?verbose HTTP/1.1\r\nHost: x\r\n\r\n", piece);
    EXPECT_EQ(out.substr(0, 17), "HTTP/1.1 200 OK\r\n");
    EXPECT_NE(out.find("\r\n\r\nok /healthz?verbose"), std::string::npos);
  }
}

/// Beast's parser asserts that the five bytes of a last chunk are present when it continues with
/// it.
TEST(Server, AnEmptyBodyInChunksMayComeInPieces) {
  const std::string out =
      talk("GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1);
  EXPECT_EQ(out.substr(0, 17), "HTTP/1.1 200 OK\r\n");
}

TEST(Server, KeepsTheConnectionAndTakesSeveralRequestsAtOnce) {
  const std::string one = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string out = talk(one + one + one);
  std::size_t answers = 0;
  for (auto at = out.find("HTTP/1.1 200"); at != std::string::npos;
       at = out.find("HTTP/1.1 200", at + 1))
    ++answers;
  EXPECT_EQ(answers, 3U);
}

TEST(Server, HeadHasNoBody) {
  const std::string out = talk("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(out.find("content-length: 11"), std::string::npos);
  EXPECT_EQ(out.substr(out.size() - 4), "\r\n\r\n");
}

TEST(Server, RefusesInWords) {
  struct Row {
    std::string request, status;
  };
  const Row rows[] = {
      {"GET /else HTTP/1.1\r\nHost: x\r\n\r\n", "404"},
      {"POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", "405"},
      {"this is no HTTP\r\n\r\n", "400"},
      {"GET /healthz HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n", "431"},
      {"GET /healthz HTTP/1.1\r\nContent-Length: 5000\r\n\r\n" + std::string(5000, 'x'), "400"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(talk(row.request).substr(9, 3), row.status) << row.request.substr(0, 40);
}

TEST(Server, OneThatSaysNothingIsClosed) { EXPECT_EQ(talk("GET /hea", 100, false), ""); }

/// Accepts the given clients, then waits for ever.
class Door {
 public:
  explicit Door(Executor& executor) : executor_(executor) {}
  Result<std::unique_ptr<Stream>> accept() {
    if (failing > 0) {
      --failing;
      return Error{Code::Unavailable, "too many open files"};
    }
    if (clients.size() >= most) return to_result(executor_.sleep(24h), "accept").error();
    auto [client, peer] = sim::pipe(executor_);
    clients.push_back(std::move(client));
    return std::move(peer);
  }
  int failing = 0;
  std::size_t most = 3;
  std::vector<std::unique_ptr<Stream>> clients;

 private:
  Executor& executor_;
};

/// True if the server has closed this end.
bool is_closed(Executor& executor, Stream& client) {
  Within limit(executor, 1s);
  char space[1];
  auto n = client.read(space);
  return n && *n == 0;
}

TEST(Server, N6_TheLongestIdleMakesRoomAndAllEndWithTheServer) {
  sim::Scheduler world(1);
  Server server(world, {.connections = 2});
  Door door(world);
  const auto serving = world.spawn([&] { server.run([&] { return door.accept(); }); });
  world.spawn([&] {
    (void)world.sleep(1s);
    ASSERT_EQ(door.clients.size(), 3U);
    EXPECT_TRUE(is_closed(world, *door.clients[0]));
    EXPECT_FALSE(is_closed(world, *door.clients[1]));
    EXPECT_FALSE(is_closed(world, *door.clients[2]));
    serving->cancel();
    (void)serving->join();
    EXPECT_TRUE(is_closed(world, *door.clients[1]));
    EXPECT_LT(world.now().time_since_epoch(), 5s) << "nobody waits for idle clients";
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

/// Like liveness probes beside clients that only connect, and scrapes that take long.
TEST(Server, N6_OneThatIsAnsweredKeepsItsPlace) {
  sim::Scheduler world(1);
  Server server(world, {.connections = 2});
  server.route("/slow", [&](const Request&) {
    (void)world.sleep(5s);
    return Response{200, {}, "slow"};
  });
  Door door(world);
  door.most = 1;
  world.spawn([&] {
    Within limit(world, 1min);
    server.run([&] {
      while (door.clients.size() >= door.most)
        if (auto slept = to_result(world.sleep(10ms), "accept"); !slept)
          return Result<std::unique_ptr<Stream>>(slept.error());
      return door.accept();
    });
  });
  const std::string ask = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
  world.spawn([&] {
    (void)world.sleep(1s);
    ASSERT_TRUE(door.clients[0]->write(ask));
    (void)world.sleep(1s);
    door.most = 70;
    (void)world.sleep(1s);
    ASSERT_TRUE(door.clients[69]->write(ask));
    char space[100];
    for (const std::size_t one : {0U, 69U}) {
      auto n = door.clients[one]->read(space);
      ASSERT_TRUE(n);
      EXPECT_EQ(std::string_view(space, *n).substr(0, 15), "HTTP/1.1 200 OK");
    }
    EXPECT_TRUE(is_closed(world, *door.clients[68]));
    door.most = 71;
    ASSERT_TRUE(door.clients[0]->write(ask));
    ASSERT_TRUE(door.clients[69]->write(ask));
    (void)world.sleep(1s);
    EXPECT_TRUE(is_closed(world, *door.clients[70])) << "both are being answered";
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

/// A handshake: the client sends "y".
Result<std::unique_ptr<Stream>> shake_hands(std::unique_ptr<Stream> stream) {
  char said[1];
  auto n = stream->read(said);
  if (!n) return n.error();
  if (*n == 0 || said[0] != 'y') return Error{Code::Denied, "no"};
  return stream;
}

TEST(Server, EachConnectionIsOpenedOnAFiberOfItsOwnAndClosedIfThatFailsOrTakesTooLong) {
  sim::Scheduler world(1);
  Server server(world, {.open = shake_hands});
  server.route("/healthz", [](const Request&) { return Response{200, {}, "ok"}; });
  Door door(world);
  world.spawn([&] {
    Within limit(world, 1h);
    server.run([&] { return door.accept(); });
  });
  world.spawn([&] {
    (void)world.sleep(1s);
    ASSERT_TRUE(door.clients[1]->write("n"));
    EXPECT_TRUE(is_closed(world, *door.clients[1]));
    ASSERT_TRUE(door.clients[2]->write("yGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"));
    char space[100];
    EXPECT_TRUE(door.clients[2]->read(space));
    EXPECT_EQ(world.now().time_since_epoch(), 1s) << "nobody waits for the first one";
    EXPECT_FALSE(is_closed(world, *door.clients[0]));
    (void)world.sleep(28s);
    EXPECT_TRUE(is_closed(world, *door.clients[0]));
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST(Server, AHandlerMaySuspendUntilTheLimitAndSeesHeadersInLowerCase) {
  sim::Scheduler world(1);
  Server server(world, {});
  server.route("/slow", [&](const Request& r) {
    EXPECT_EQ(r.headers.at("authorization"), "Bearer T");
    EXPECT_EQ(world.sleep(1h), Woken::Deadline);
    return Response{503, {}, "too late"};
  });
  auto [client, peer] = sim::pipe(world);
  world.spawn([&, &end = peer] { server.serve(std::move(end)); });
  world.spawn([&, &end = client] {
    ASSERT_TRUE(end->write("GET /slow HTTP/1.1\r\nAUTHORIZATION: Bearer T\r\n\r\n"));
    char space[1];
    (void)end->read(space);
    EXPECT_EQ(world.now().time_since_epoch(), 30s);
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST(Server, N2_AHandlerThatThrowsEndsNoServer) {
  sim::Scheduler world(1);
  Server server(world, {});
  server.route("/metrics", [](const Request&) -> Response { throw std::runtime_error("a bug"); });
  auto [client, peer] = sim::pipe(world);
  std::string out;
  world.spawn([&, &end = peer] { server.serve(std::move(end)); });
  world.spawn([&, &end = client] {
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(end->write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"));
      char space[512];
      auto n = end->read(space);
      ASSERT_TRUE(n);
      out.append(space, 34);
    }
    end->close();
  });
  world.run();
  EXPECT_EQ(out,
            "HTTP/1.1 500 Internal Server Error"
            "HTTP/1.1 500 Internal Server Error");
}

TEST(Server, AnAcceptThatFailsIsTriedAgain) {
  sim::Scheduler world(1);
  Server server(world, {});
  Door door(world);
  door.failing = 3;
  world.spawn([&] {
    Within limit(world, 10s);
    server.run([&] { return door.accept(); });
    EXPECT_EQ(door.clients.size(), 3U);
    EXPECT_EQ(world.now().time_since_epoch(), 10s);
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

}  // namespace
}  // namespace etcdop::http
