// The client against a server that plays a script over pipes, in virtual time.
#include "http/http_client.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "sim/pipe.h"
#include "sim/scheduler.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;

/// The server's side of one connection.
class Peer {
 public:
  explicit Peer(Stream& stream) : stream_(stream) {}
  /// The next request's header and, as Content-Length says, body; empty once the client has closed.
  std::string request() {
    std::size_t end;
    while ((end = pending_.find("\r\n\r\n")) == pending_.npos)
      if (!more()) return {};
    end += 4;
    constexpr std::string_view length = "Content-Length: ";
    if (const auto at = pending_.find(length); at < end)
      end += std::stoul(pending_.substr(at + length.size()));
    while (pending_.size() < end)
      if (!more()) return {};
    const std::string whole = pending_.substr(0, end);
    pending_.erase(0, end);
    return whole;
  }
  /// False once the client has closed.
  bool say(std::string_view bytes) { return bool(stream_.write(bytes)); }
  void close() { stream_.close(); }

 private:
  bool more() {
    char space[1000];
    auto n = stream_.read(space);
    if (!n || *n == 0) return false;
    pending_.append(space, *n);
    return true;
  }
  Stream& stream_;
  std::string pending_;
};

std::string ok(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// Runs with several seeds: they decide the order of events that are due at the same time.
class HttpClientTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// Plays one connection; the first is 0. The connection closes when it returns.
  using Script = std::function<void(Peer&, int connection)>;

  HttpClient::Dial dial(Script script) {
    return [this, script = std::move(script)]() -> Result<std::unique_ptr<Stream>> {
      auto [ours, theirs] = sim::pipe(world);
      const int number = dials++;
      world.spawn([script, number, end = std::shared_ptr<Stream>(std::move(theirs))] {
        Peer peer(*end);
        script(peer, number);
      });
      return std::move(ours);
    };
  }

  /// Runs `body` on a fiber, and the world until no event is left.
  void run(const std::function<void()>& body) {
    world.spawn(body);
    world.run();
    EXPECT_EQ(world.alive(), 0U);
  }

  /// Runs `body` with a client. The client ends with it, so kept connections end too.
  void with_client(Script script, HttpClient::Options options,
                   const std::function<void(HttpClient&)>& body) {
    run([&] {
      HttpClient client(world, dial(std::move(script)), std::move(options));
      body(client);
    });
  }

  /// The client's result when a server answers a GET with `answer` and closes.
  Result<Response> answered(const std::string& answer, HttpClient::Options options = {"host"},
                            const std::string& method = "GET") {
    Result<Response> result = Error{Code::Corrupt, "never ran"};
    const auto say = [&](Peer& peer, int) {
      (void)peer.request();
      (void)peer.say(answer);
    };
    with_client(say, std::move(options),
                [&](HttpClient& client) { result = client.send({method, "/x", {}, {}, {}}); });
    return result;
  }

  /// The bytes of a request as the server receives it; the server answers "made".
  std::string written(HttpClient::Options options, const Request& request) {
    std::string seen;
    with_client(
        [&](Peer& peer, int) {
          seen = peer.request();
          (void)peer.say(ok("made"));
        },
        std::move(options),
        [&](HttpClient& client) {
          auto response = client.send(request);
          ASSERT_TRUE(response);
          EXPECT_EQ(response->status, 200);
          EXPECT_EQ(response->body, "made");
        });
    return seen;
  }

  sim::Scheduler world{GetParam()};
  int dials = 0;
};

void expect_error(const Result<Response>& result, Code code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

TEST_P(HttpClientTest, ARequestIsWrittenAsItIs) {
  EXPECT_EQ(written({"host:1234"},
                    {"POST", "/a?b=c", {{"Accept", "x/y"}}, "body", {}, {{"B", "2"}, {"B", "1"}}}),
            "POST /a?b=c HTTP/1.1\r\nHost: host:1234\r\nAccept: x/y\r\nB: 2\r\nB: 1\r\n"
            "Content-Length: 4\r\n\r\nbody");
}

TEST_P(HttpClientTest, ALargeBodyComesAfterTheOther) {
  const std::string large(100'000, 'x');
  EXPECT_EQ(
      written({"host"}, {.method = "PUT", .target = "/x", .body = "first ", .large_body = large}),
      "PUT /x HTTP/1.1\r\nHost: host\r\nContent-Length: 100006\r\n\r\nfirst " + large);
}

TEST_P(HttpClientTest, AnAnswersBodyEndsInEachOfTheThreeWays) {
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")->body, "hello");
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "3;ext=1\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: x\r\n\r\n")
                ->body,
            "hello");
  EXPECT_EQ(answered("HTTP/1.0 200 OK\r\n\r\nhello")->body, "hello");
}

/// Beast's parser asserts that the five bytes of a last chunk are present when it continues with
/// it.
TEST_P(HttpClientTest, AnEmptyBodyInChunksMayComeInPieces) {
  const std::string answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  for (std::size_t at = answer.size() - 5; at < answer.size(); ++at)
    with_client(
        [&](Peer& peer, int) {
          (void)peer.request();
          for (const std::string& piece : {answer.substr(0, at), answer.substr(at, 1)}) {
            (void)peer.say(piece);
            (void)world.sleep(1s);
          }
          (void)peer.say(answer.substr(at + 1));
        },
        {"h"},
        [&](HttpClient& client) {
          auto response = client.send({"GET", "/", {}, {}, {}});
          ASSERT_TRUE(response) << response.error().message;
          EXPECT_EQ(response->body, "");
        });
}

TEST_P(HttpClientTest, AnAnswerWithoutABodyEndsWithItsHeader) {
  EXPECT_EQ(answered("HTTP/1.1 204 No Content\r\n\r\n")->status, 204);
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")->body, "");
  auto head = answered("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", {"host"}, "HEAD");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers.at("content-length"), "5");
}

TEST_P(HttpClientTest, ARefusalIsAnAnswerAndNotAnError) {
  auto response = answered(
      "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nX-A: 1\r\nx-a: 2\r\n"
      "\r\nnone");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 404);
  EXPECT_EQ(response->body, "none");
  EXPECT_EQ(response->headers.at("x-a"), "2") << "of equal names, the last";
}

TEST_P(HttpClientTest, InterimAnswersArePassedOverButNotForever) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(answered(interim + "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok("at last"))->body,
            "at last");
  std::string many;
  for (int i = 0; i < 20; ++i) many += interim;
  expect_error(answered(many + ok("too late")), Code::Corrupt, "too many interim answers");
  expect_error(answered("HTTP/1.1 101 Switching Protocols\r\n\r\n"), Code::Corrupt,
               "switches protocols");
}

TEST_P(HttpClientTest, AConnectionWhoseAnswerMadeNoSenseIsNotUsedAgain) {
  std::string many;
  for (int i = 0; i < 9; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
  for (const std::string& senseless :
       {std::string("HTTP/1.1 101 Switching Protocols\r\n\r\n"), many}) {
    dials = 0;
    with_client(
        [&](Peer& peer, int connection) {
          (void)peer.request();
          (void)peer.say(connection == 0 ? senseless : ok("made"));
          (void)peer.request();
        },
        {"host"},
        [&](HttpClient& client) {
          EXPECT_TRUE(client.get("/x").failed_with(Code::Corrupt));
          auto response = client.send({"POST", "/x", {}, {}, {}});
          ASSERT_TRUE(response) << response.error().message;
          EXPECT_EQ(response->body, "made");
        });
    EXPECT_EQ(dials, 2);
  }
}

TEST_P(HttpClientTest, WhatIsNotHttpIsCorrupt) {
  for (const char* garbage :
       {"SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n"})
    expect_error(answered(garbage), Code::Corrupt, "GET /x: the answer is not HTTP");
}

TEST_P(HttpClientTest, LimitsAreOfTheHeaderTheBodyAndAnyLine) {
  const std::string long_header = "HTTP/1.1 200 OK\r\nX: " + std::string(5000, 'x') + "\r\n";
  expect_error(answered(long_header + "\r\n", {.host = "h", .header_limit = 4096}), Code::Corrupt,
               "header limit");
  EXPECT_TRUE(answered(long_header + "Content-Length: 0\r\n\r\n", {.host = "h"}));
  expect_error(answered("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x')), Code::Corrupt,
               "not HTTP");
  expect_error(answered(ok(std::string(101, 'x')), {.host = "h", .body_limit = 100}), Code::Corrupt,
               "over the limit of 100 bytes");
  EXPECT_EQ(answered(ok(std::string(100, 'x')), {.host = "h", .body_limit = 100})->body.size(),
            100U);
  expect_error(answered("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" +
                        std::string(1'000'000, 'x')),
               Code::Corrupt, "line without end");
  std::string trailers = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 100'000; ++i) trailers += "T" + std::to_string(i) + ": x\r\n";
  EXPECT_TRUE(answered(trailers).failed_with(Code::Corrupt));
}

TEST_P(HttpClientTest, AConnectionThatEndsTooEarlyIsALostAnswer) {
  for (const char* part : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"})
    expect_error(answered(part), Code::Lost, "GET /x: connection closed before the answer's end");
}

TEST_P(HttpClientTest, WhatCannotBeWrittenAsHttpIsRefusedBeforeAnythingIsSent) {
  with_client(
      [](Peer&, int) {}, {"host"},
      [&](HttpClient& client) {
        const auto sent = [&](const Request& request) { return client.send(request); };
        expect_error(sent({"GET", "/a b", {}, {}, {}}), Code::Invalid, "target \"/a b\"");
        expect_error(sent({"GET", "/a\r\nX: y", {}, {}, {}}), Code::Invalid, "target \"/a??X: y\"");
        expect_error(sent({"GET", "a", {}, {}, {}}), Code::Invalid, "target");
        expect_error(sent({"GET", "", {}, {}, {}}), Code::Invalid, "target");
        expect_error(sent({"GE T", "/", {}, {}, {}}), Code::Invalid, "method");
        expect_error(sent({"GET", "/", {{"X", "a\nY: b"}}, {}, {}}), Code::Invalid, "header X");
        expect_error(sent({"GET", "/", {{"X: a", "b"}}, {}, {}}), Code::Invalid, "header name");
        expect_error(sent({"GET", "/", {{"content-length", "1"}}, {}, {}}), Code::Invalid,
                     "header name");
        HttpClient nameless(world, dial([](Peer&, int) {}), {"a\r\nb"});
        expect_error(nameless.get("/"), Code::Invalid, "host");
      });
  EXPECT_EQ(dials, 0);
}

TEST_P(HttpClientTest, AFailedDialIsTheErrorOfTheCall) {
  HttpClient client(
      world,
      []() -> Result<std::unique_ptr<Stream>> { return Error{Code::Unavailable, "refused"}; },
      {"host"});
  run([&] { expect_error(client.get("/x"), Code::Unavailable, "GET /x: refused"); });
}

/// Answers every request with its connection's number.
void counting(Peer& peer, int connection) {
  while (!peer.request().empty() && peer.say(ok(std::to_string(connection)))) {}
}

TEST_P(HttpClientTest, AConnectionIsUsedAgainUnlessItWasIdleForTooLong) {
  with_client(counting, {.host = "h", .kept_limit = 30s}, [&](HttpClient& client) {
    EXPECT_EQ(client.get("/")->body, "0");
    (void)world.sleep(30s);
    EXPECT_EQ(client.get("/")->body, "0");
    (void)world.sleep(31s);
    EXPECT_EQ(client.get("/")->body, "1");
  });
}

TEST_P(HttpClientTest, AfterRenewingNoConnectionFromBeforeIsUsed) {
  with_client(
      [&](Peer& peer, int connection) {
        while (!peer.request().empty()) {
          (void)world.sleep(2s);
          if (!peer.say(ok(std::to_string(connection)))) return;
        }
      },
      {.host = "h"},
      [&](HttpClient& client) {
        const auto under_way = world.spawn([&] { EXPECT_EQ(client.get("/")->body, "0"); });
        (void)world.sleep(1s);
        client.renew_connections();
        (void)under_way->join();
        EXPECT_EQ(client.get("/")->body, "1") << "that one was under way, so it was not kept";
        client.renew_connections();
        EXPECT_EQ(client.get("/")->body, "2") << "that one was kept";
        EXPECT_EQ(client.get("/")->body, "2");
      });
}

TEST_P(HttpClientTest, AConnectionIsNotUsedAgainIfTheServerDoesNotWantThat) {
  EXPECT_EQ(dials, 0);
  with_client(
      [](Peer& peer, int) {
        (void)peer.request();
        (void)peer.say(
            "HTTP/1.1 200 OK\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n");
        EXPECT_EQ(peer.request(), "") << "the client closed it";
      },
      {"h"},
      [&](HttpClient& client) {
        EXPECT_TRUE(client.get("/"));
        EXPECT_TRUE(client.get("/"));
      });
  EXPECT_EQ(dials, 2);
}

TEST_P(HttpClientTest, BytesBeyondAnAnswerSpoilTheConnection) {
  with_client(
      [](Peer& peer, int) {
        (void)peer.request();
        (void)peer.say(ok("1") + ok("an answer to nothing"));
      },
      {"h"},
      [&](HttpClient& client) {
        EXPECT_EQ(client.get("/")->body, "1");
        EXPECT_EQ(client.get("/")->body, "1");
      });
  EXPECT_EQ(dials, 2);
}

/// Answers one request on the first connection and then closes it, like a server that restarts.
void restarting(Peer& peer, int connection) {
  if (connection > 0) return counting(peer, connection);
  (void)peer.request();
  (void)peer.say(ok("before"));
}

TEST_P(HttpClientTest, AReadOnAStaleConnectionIsSentAgain) {
  with_client(restarting, {"h"}, [&](HttpClient& client) {
    EXPECT_EQ(client.get("/")->body, "before");
    (void)world.sleep(1s);
    EXPECT_EQ(client.get("/")->body, "1");
  });
  EXPECT_EQ(dials, 2);
}

TEST_P(HttpClientTest, AWriteOnAStaleConnectionIsLostAndNotRepeated) {
  with_client(restarting, {"h"}, [&](HttpClient& client) {
    EXPECT_EQ(client.get("/")->body, "before");
    (void)world.sleep(1s);
    EXPECT_TRUE(client.send({"POST", "/", {}, "x", {}}).failed_with(Code::Lost));
  });
  EXPECT_EQ(dials, 1);
}

TEST_P(HttpClientTest, AReadThatIsLostOnAFreshConnectionIsNotRepeated) {
  EXPECT_TRUE(answered("").failed_with(Code::Lost));
  EXPECT_EQ(dials, 1);
}

TEST_P(HttpClientTest, CallsWaitInLineForAConnectionButStreamsDoNotHoldThemUp) {
  HttpClient client(world, dial([&](Peer& peer, int) {
                      while (!peer.request().empty()) {
                        (void)world.sleep(10s);
                        if (!peer.say(ok("slow"))) return;
                      }
                    }),
                    {.host = "h", .connections = 2, .streams = 3, .kept = 0});
  std::vector<std::int64_t> ends, stream_ends;
  for (int i = 0; i < 4; ++i) {
    world.spawn([&] {
      EXPECT_TRUE(client.get("/"));
      ends.push_back(world.now().time_since_epoch() / 1s);
    });
    world.spawn([&] {
      EXPECT_TRUE(client.stream({"GET", "/", {}, {}, {}}, [](std::string_view) { return true; }));
      stream_ends.push_back(world.now().time_since_epoch() / 1s);
    });
  }
  world.run();
  EXPECT_EQ(ends, (std::vector<std::int64_t>{10, 10, 20, 20}));
  EXPECT_EQ(stream_ends, (std::vector<std::int64_t>{10, 10, 10, 20}));
}

TEST_P(HttpClientTest, WaitingInLineEndsAtTheDeadline) {
  HttpClient client(world, dial([&](Peer&, int) { (void)world.sleep(10s); }),
                    {.host = "h", .connections = 1});
  world.spawn([&] { (void)client.get("/"); });
  world.spawn([&] {
    (void)world.sleep(1s);
    Within limit(world, 2s);
    expect_error(client.get("/"), Code::TimedOut, "GET /");
  });
  world.run();
}

TEST_P(HttpClientTest, AnAnswerThatDoesNotComeEndsAtTheDeadlineAndItsConnectionIsNotUsedAgain) {
  with_client(
      [&](Peer& peer, int connection) {
        (void)peer.request();
        (void)world.sleep(10s);
        (void)peer.say(ok(std::to_string(connection)));
      },
      {"h"},
      [&](HttpClient& client) {
        {
          Within limit(world, 5s);
          expect_error(client.get("/x"), Code::TimedOut, "GET /x");
          EXPECT_EQ(world.now().time_since_epoch(), 5s);
        }
        EXPECT_EQ(client.get("/")->body, "1")
            << "the answer to the first must not be read as its own";
      });
}

TEST_P(HttpClientTest, ACancelledCallSaysSo) {
  HttpClient client(world, dial([&](Peer&, int) { (void)world.sleep(10s); }), {"h"});
  auto caller = world.spawn([&] { EXPECT_TRUE(client.get("/").failed_with(Code::Cancelled)); });
  run([&] {
    (void)world.sleep(1s);
    caller->cancel();
    (void)caller->join();
    EXPECT_EQ(world.now().time_since_epoch(), 1s);
  });
}

TEST_P(HttpClientTest, AServerThatTakesNothingEndsAtTheDeadline) {
  with_client([&](Peer&, int) { (void)world.sleep(10s); }, {"h"},
              [&](HttpClient& client) {
                Within limit(world, 3s);
                EXPECT_TRUE(client.send({"PUT", "/", {}, std::string(1'000'000, 'x'), {}})
                                .failed_with(Code::TimedOut));
              });
}

TEST_P(HttpClientTest, AnAnswerThatComesBeforeTheRequestsEndIsRead) {
  with_client([&](Peer& peer,
                  int) { (void)peer.say("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"); },
              {"h"},
              [&](HttpClient& client) {
                auto response = client.send({"PUT", "/", {}, std::string(1'000'000, 'x'), {}});
                ASSERT_TRUE(response) << response.error().message;
                EXPECT_EQ(response->status, 413);
              });
}

TEST_P(HttpClientTest, AWatchSeesEachPieceAsItComes) {
  std::string seen;
  with_client(
      [&](Peer& peer, int) {
        (void)peer.request();
        (void)peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (int i = 0; i < 3; ++i) {
          (void)world.sleep(10s);
          (void)peer.say("5\r\nevent\r\n");
        }
        (void)peer.say("0\r\n\r\n");
      },
      {"h"},
      [&](HttpClient& client) {
        auto end = client.stream({"GET", "/watch", {}, {}, {}}, [&](std::string_view part) {
          seen +=
              std::to_string(world.now().time_since_epoch() / 1s) + ':' + std::string(part) + ' ';
          return true;
        });
        ASSERT_TRUE(end);
        EXPECT_EQ(end->body, "");
      });
  EXPECT_EQ(seen, "10:event 20:event 30:event ");
}

TEST_P(HttpClientTest, ASilentWatchIsGivenUpThoughItsDeadlineIsFar) {
  with_client(
      [&](Peer& peer, int) {
        (void)peer.request();
        (void)peer.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        (void)world.sleep(60s);
        (void)peer.say("1\r\na\r\n");
        EXPECT_EQ(peer.request(), "");
      },
      {"h"},
      [&](HttpClient& client) {
        expect_error(
            client.stream({"GET", "/w", {}, {}, 90s}, [](std::string_view) { return true; }),
            Code::TimedOut, "GET /w");
        EXPECT_EQ(world.now().time_since_epoch(), 150s);
      });
}

TEST_P(HttpClientTest, ASinkThatHasEnoughEndsTheCallAndTheConnection) {
  with_client(
      [&](Peer& peer, int) {
        (void)peer.request();
        (void)peer.say("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst");
        EXPECT_EQ(peer.request(), "");
      },
      {"h"},
      [&](HttpClient& client) {
        int calls = 0;
        EXPECT_TRUE(client.stream({}, [&](std::string_view) { return ++calls == 0; })
                        .failed_with(Code::Invalid));
        EXPECT_TRUE(client.stream({"GET", "/", {}, {}, {}},
                                  [&](std::string_view) { return ++calls == 0; }));
        EXPECT_EQ(calls, 1);
      });
}

TEST_P(HttpClientTest, ARefusedWatchShowsItsSinkNothingAndKeepsABoundedBody) {
  const std::string body(200'000, 'x');
  with_client(
      [&](Peer& peer, int connection) {
        (void)peer.request();
        if (connection == 0)
          (void)peer.say("HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\nexpired");
        else (void)peer.say("HTTP/1.1 500 Oh\r\nContent-Length: 200000\r\n\r\n" + body);
      },
      {.host = "h", .kept = 0},
      [&](HttpClient& client) {
        const auto never = [](std::string_view) {
          ADD_FAILURE() << "not an event";
          return true;
        };
        auto gone = client.stream({"GET", "/", {}, {}, {}}, never);
        ASSERT_TRUE(gone);
        EXPECT_EQ(gone->status, 410);
        EXPECT_EQ(gone->body, "expired");
        auto failed = client.stream({"GET", "/", {}, {}, {}}, never);
        ASSERT_TRUE(failed);
        EXPECT_EQ(failed->status, 500);
        EXPECT_EQ(failed->body.size(), HttpClient::kRefusalLimit);
      });
}

INSTANTIATE_TEST_SUITE_P(Seeds, HttpClientTest, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace etcdop::http
