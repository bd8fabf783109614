// The client against an API server that plays a script over pipes, in virtual time.
#include "kube/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "kube/request.h"
#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "test/support/seeded_random.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kPods{"", "v1", "pods", "Pod"};

/// The server's end of one connection.
class Peer {
 public:
  Peer(sim::Scheduler& world, Stream& stream) : world_(world), stream_(stream) {}
  /// The next request, header and body; empty once the client has closed.
  std::string request() {
    std::size_t end;
    while ((end = pending_.find("\r\n\r\n")) == pending_.npos)
      if (!more()) return {};
    end += 4;
    constexpr std::string_view kLength = "Content-Length: ";
    if (const auto at = pending_.find(kLength); at < end)
      end += std::stoul(pending_.substr(at + kLength.size()));
    while (pending_.size() < end)
      if (!more()) return {};
    const std::string whole = pending_.substr(0, end);
    pending_.erase(0, end);
    return whole;
  }
  /// False once the client has closed.
  bool answer(int status, const std::string& body, const std::string& header = "") {
    return say("HTTP/1.1 " + std::to_string(status) + " x\r\n" + header +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  bool begin_watch() { return say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"); }
  bool chunk(const std::string& bytes) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
    return say(size + bytes + "\r\n");
  }
  bool end_watch() { return say("0\r\n\r\n"); }
  void sleep(Duration d) { (void)world_.sleep(d); }
  /// Sends nothing until the client has closed.
  void be_silent() {
    while (more()) {}
  }

  bool say(const std::string& bytes) { return bool(stream_.write(bytes)); }

 private:
  bool more() {
    char space[1000];
    auto n = stream_.read(space);
    if (!n || *n == 0) return false;
    pending_.append(space, *n);
    return true;
  }
  sim::Scheduler& world_;
  Stream& stream_;
  std::string pending_;
};

std::string status(const char* reason) {
  return std::string(R"({"kind":"Status","message":"the server says why","reason":")") + reason +
         "\"}";
}
std::string event(const char* type, const char* name) {
  return std::string(R"({"type":")") + type + R"(","object":{"metadata":{"name":")" + name +
         "\"}}}\n";
}

Call get() {
  Call out;
  out.resource = kPods;
  out.ns = "prod";
  out.name = "db-0";
  return out;
}
Call create() {
  Call out = get();
  out.verb = Verb::Create;
  out.name = "";
  out.body = json::object{};
  return out;
}
Call watching() {
  Call out = get();
  out.verb = Verb::Watch;
  out.name = "";
  out.query["resourceVersion"] = "5";
  return out;
}

class ClientTest : public ::testing::Test {
 protected:
  /// Plays one connection; the first is 0. The connection closes when it returns.
  using Script = std::function<void(Peer&, int connection)>;

  http::HttpClient::Dial dial(Script script) {
    return [this, script = std::move(script)]() -> Result<std::unique_ptr<Stream>> {
      auto [ours, theirs] = sim::pipe(world);
      const int number = dials++;
      world.spawn([this, script, number, end = std::shared_ptr<Stream>(std::move(theirs))] {
        Peer peer(world, *end);
        script(peer, number);
      });
      return std::move(ours);
    };
  }
  /// Runs `body` with a client, which ends with it, until no event is left.
  void with(http::HttpClient::Dial dial, const std::function<void(Client&)>& body) {
    world.spawn([&] {
      const ReadFile read_file = [this](const std::string& path) -> Result<std::string> {
        return files[path];
      };
      Client client(world, random, config, std::move(dial), read_file,
                    {.version = "1.2",
                     .on_answer =
                         [this](Verb verb, const Resource& r, int code) {
                           answers += std::string(to_string(verb)) + " " + r.plural + " " +
                                      std::to_string(code) + "; ";
                         },
                     .plugin = plugin});
      body(client);
    });
    world.run();
    EXPECT_EQ(world.alive(), 0U);
  }
  void with(Script script, const std::function<void(Client&)>& body) {
    with(dial(std::move(script)), body);
  }
  /// One call to a server that answers each request on its connection with the next of `replies`:
  /// status, header, body.
  struct Reply {
    int status;
    std::string header, body;
  };
  Result<Json> call(const Call& call, const std::vector<Reply>& replies) {
    Result<Json> result = Error{Code::Corrupt, "never ran"};
    with(
        [&](Peer& peer, int) {
          for (const Reply& reply : replies) {
            if (peer.request().empty()) return;
            ++requests;
            if (!peer.answer(reply.status, reply.body, reply.header)) return;
          }
          peer.be_silent();
        },
        [&](Client& client) { result = client.call(call); });
    return result;
  }
  /// Records the names of the received objects; returns how the watch ended.
  Result<Done> watch(Script script, std::size_t enough = 1000) {
    Result<Done> result = Done{};
    with(std::move(script), [&](Client& client) {
      result = client.watch(watching(), [&](const WatchEvent& e) {
        events.push_back(std::to_string(int(e.type)) +
                         std::string(e.object.at("metadata").at("name").as_string()));
        return events.size() < enough;
      });
    });
    return result;
  }
  Duration elapsed() const { return world.now().time_since_epoch(); }

  sim::Scheduler world{1};
  testing::SeededRandom random{1};
  Config config = [] {
    Config out;
    out.host = "fd00::1";
    out.port = "6443";
    out.base_path = "/base";
    out.token_file = "/token";
    return out;
  }();
  std::map<std::string, std::string> files{{"/token", "one"}};
  int dials = 0, requests = 0;
  PluginCredentials* plugin = nullptr;
  std::string answers;
  std::vector<std::string> events;
};

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(int(result.error().code), int(code)) << result.error().message;
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

TEST_F(ClientTest, ACallSaysWhoWeAre) {
  std::string seen;
  with(
      [&](Peer& peer, int) {
        seen = peer.request();
        (void)peer.answer(200, R"({"kind":"Pod"})");
      },
      [&](Client& client) {
        auto object = client.call(get());
        ASSERT_TRUE(object) << object.error().message;
        EXPECT_EQ(object->at("kind"), "Pod");
      });
  for (const char* part :
       {"GET /base/api/v1/namespaces/prod/pods/db-0 HTTP/1.1\r\n", "Host: [fd00::1]:6443\r\n",
        "Authorization: Bearer one\r\n", "User-Agent: etcd-operator/1.2\r\n"})
    EXPECT_NE(seen.find(part), std::string::npos) << seen;
  EXPECT_EQ(answers, "get pods 200; ");
}

TEST_F(ClientTest, ATokenThatIsRefusedIsReadAgainOnce) {
  std::vector<std::string> tokens;
  const auto refuse = [&](int times) {
    return [&, times](Peer& peer, int) {
      for (std::string seen; !(seen = peer.request()).empty();) {
        const auto at = seen.find("Bearer ") + 7;
        tokens.push_back(seen.substr(at, seen.find('\r', at) - at));
        files["/token"] = "two";
        const bool refused = int(tokens.size()) <= times;
        (void)peer.answer(refused ? 401 : 200, refused ? status("Unauthorized") : "{}");
      }
    };
  };
  with(refuse(1), [](Client& client) { EXPECT_TRUE(client.call(create())); });
  EXPECT_EQ(tokens, (std::vector<std::string>{"one", "two"}));
  tokens.clear();
  with(refuse(9), [](Client& client) {
    expect_error(client.call(create()), Code::Denied, "the server says why");
  });
  EXPECT_EQ(tokens.size(), 2U);
  tokens.clear();
  config.token_file = "";
  config.token = Secret("fixed");
  with(refuse(9),
       [](Client& client) { EXPECT_TRUE(client.call(get()).failed_with(Code::Denied)); });
  EXPECT_EQ(tokens, (std::vector<std::string>{"fixed"}));
}

TEST_F(ClientTest, WhomWeStandInForIsSaidInEachRequest) {
  config.impersonation = {{"Impersonate-User", "u"},
                          {"Impersonate-Group", "b"},
                          {"Impersonate-Group", "a"},
                          {"Impersonate-Extra-k%2Fx", "v"}};
  std::vector<std::string> seen;
  with(
      [&](Peer& peer, int) {
        for (std::string request; !(request = peer.request()).empty();) {
          seen.push_back(request);
          (void)peer.answer(200, "{}");
        }
      },
      [&](Client& client) {
        EXPECT_TRUE(client.call(create()));
        (void)client.watch(watching(), [](const WatchEvent&) { return true; });
      });
  ASSERT_EQ(seen.size(), 2U);
  for (const std::string& request : seen)
    EXPECT_NE(request.find("Impersonate-User: u\r\nImpersonate-Group: b\r\n"
                           "Impersonate-Group: a\r\nImpersonate-Extra-k%2Fx: v\r\n"),
              std::string::npos)
        << request;
}

/// A client whose identity comes from a plugin that returns another token and certificate each
/// time.
class PluginClientTest : public ClientTest {
 protected:
  PluginClientTest() {
    config.token_file = "";
    config.exec = ExecPlugin{.field = "f",
                             .program = "p",
                             .args = {},
                             .env = {},
                             .api_version = "v",
                             .install_hint = ""};
    credentials.emplace(world, wall, *config.exec, [this](const Command&) -> Result<CommandOutput> {
      ++runs;
      const std::string run = std::to_string(certificates ? runs : 1);
      CommandOutput out;
      out.out = Secret(R"({"kind":"ExecCredential","apiVersion":"v","status":{"token":"t)" +
                       std::to_string(runs) +
                       R"(","clientCertificateData":"-----BEGIN CERTIFICATE-----)" + run +
                       R"(","clientKeyData":"-----BEGIN PRIVATE KEY-----"}})");
      return out;
    });
    plugin = &*credentials;
  }
  /// Notes "CONNECTION:TOKEN" of each request and refuses the tokens of `refused`.
  Script noting(std::string refused) {
    return [this, refused](Peer& peer, int connection) {
      for (std::string request; !(request = peer.request()).empty();) {
        const auto at = request.find("Bearer ") + 7;
        const std::string token = request.substr(at, request.find('\r', at) - at);
        seen += std::to_string(connection) + ":" + token + " ";
        const bool no = refused.find(token) != std::string::npos;
        (void)peer.answer(no ? 401 : 200, no ? status("Unauthorized") : "{}");
      }
    };
  }
  testing::VirtualWallClock wall{world};
  std::optional<PluginCredentials> credentials;
  bool certificates = false;  ///< Another one each time.
  int runs = 0;
  std::string seen;
};

TEST_F(PluginClientTest, ARefusedTokenIsRenewedByThePluginOnce) {
  with(noting("t2 t3"), [&](Client& client) {
    EXPECT_TRUE(client.call(get()));
    (void)world.sleep(20s);
    EXPECT_TRUE(client.call(get()));
  });
  EXPECT_EQ(seen, "0:t1 0:t1 ") << "one run serves many calls";
  seen = "";
  with(noting("t1 t2"), [&](Client& client) {
    expect_error(client.call(create()), Code::Denied, "the server says why");
    EXPECT_EQ(runs, 2);
    expect_error(client.call(get()), Code::Denied, "the server says why");
    EXPECT_EQ(runs, 2) << "a plugin that has just been run is not run for each refusal";
    (void)world.sleep(10s);
    EXPECT_TRUE(client.call(get()));
  });
  EXPECT_EQ(seen, "1:t1 1:t2 1:t2 1:t2 1:t3 ");
}

TEST_F(PluginClientTest, ANewCertificateNeedsNewConnections) {
  certificates = true;
  with(noting("t1"), [&](Client& client) {
    (void)credentials->get();
    (void)world.sleep(10s);
    EXPECT_TRUE(client.call(create()));
    EXPECT_TRUE(client.call(create()));
  });
  EXPECT_EQ(seen, "0:t1 1:t2 1:t2 ");
}

TEST_F(PluginClientTest, APluginThatFailsIsTheErrorOfTheCallAndNothingIsSent) {
  PluginCredentials failing(world, wall, *config.exec, [](const Command&) -> Result<CommandOutput> {
    return Error{Code::NotFound, "run 'p': No such file"};
  });
  plugin = &failing;
  with(noting(""), [](Client& client) {
    expect_error(client.call(create()), Code::Unavailable, "f.command: run 'p': No such file");
  });
  EXPECT_EQ(dials, 0);
}

TEST_F(ClientTest, WithoutATokenNothingIsSent) {
  files.clear();
  with([](Peer&, int) {},
       [](Client& client) { expect_error(client.call(get()), Code::Denied, "/token"); });
  EXPECT_EQ(dials, 0);
}

TEST_F(ClientTest, WhatTheServerPutOffIsSentAgainWhenItSays) {
  const Reply later{429, "Retry-After: 2\r\n", status("TooManyRequests")};
  EXPECT_TRUE(call(create(), {later, {503, "Retry-After: 1\r\n", status("x")}, {201, "", "{}"}}));
  EXPECT_GE(elapsed(), 3s);
  EXPECT_LE(elapsed(), 3750ms);
  EXPECT_EQ(answers, "create pods 429; create pods 503; create pods 201; ");
}

TEST_F(ClientTest, ItIsSentAgainFourTimesAtMost) {
  const Reply later{429, "Retry-After: 1\r\n", status("TooManyRequests")};
  expect_error(call(create(), std::vector<Reply>(9, later)), Code::Unavailable, "says why");
  EXPECT_EQ(requests, Client::kAttempts);
}

TEST_F(ClientTest, AWaitBeyondTheDeadlineIsNotBegun) {
  expect_error(call(get(), {{429, "Retry-After: 30\r\n", status("x")}}), Code::Unavailable, "why");
  EXPECT_EQ(elapsed(), 0s);
  expect_error(call(get(), {{429, "", status("x")}}), Code::Unavailable, "why");
  EXPECT_EQ(requests, 2) << "no Retry-After: the caller backs off";
  expect_error(call(get(), {{504, "Retry-After: 1\r\n", status("x")}}), Code::Unavailable, "why");
  EXPECT_EQ(requests, 3) << "such as Too large resource version, after three seconds already";
}

TEST_F(ClientTest, AWriteOfUnknownFateIsNeverSentAgain) {
  for (const Reply& reply : std::vector<Reply>{{500, "Retry-After: 1\r\n", status("InternalError")},
                                               {504, "Retry-After: 1\r\n", status("Timeout")},
                                               {503, "Retry-After: 1\r\n", "<html>proxy</html>"},
                                               {201, "", "<html>proxy</html>"}}) {
    requests = 0;
    EXPECT_TRUE(call(create(), {reply, {201, "", "{}"}}).failed_with(Code::Lost)) << reply.status;
    EXPECT_EQ(requests, 1);
  }
}

TEST_F(ClientTest, AConnectionCutAfterSendingLosesAWriteButNotARead) {
  const auto cut = [](Peer& peer, int) { (void)peer.request(); };
  with(cut, [](Client& client) {
    EXPECT_TRUE(client.call(create()).failed_with(Code::Lost));
    EXPECT_TRUE(client.call(get()).failed_with(Code::Unavailable));
  });
  EXPECT_EQ(answers, "create pods 0; get pods 0; ");
}

TEST_F(ClientTest, AnAnswerThatIsNotHttpLosesAWriteToo) {
  const auto babble = [](Peer& peer, int) {
    (void)peer.request();
    (void)peer.say("220 mail.example ESMTP\r\n\r\n");
  };
  with(babble, [](Client& client) {
    EXPECT_TRUE(client.call(create()).failed_with(Code::Lost));
    EXPECT_TRUE(client.call(get()).failed_with(Code::Corrupt));
  });
}

TEST_F(ClientTest, AServerThatIsNotThereIsUnavailable) {
  const auto refused = []() -> Result<std::unique_ptr<Stream>> {
    return Error{Code::Unavailable, "connection refused"};
  };
  with(refused, [](Client& client) {
    expect_error(client.call(create()), Code::Unavailable, "connection refused");
    expect_error(client.watch(watching(), [](WatchEvent) { return true; }), Code::Unavailable,
                 "connection refused");
  });
}

/// The API server waits up to 30 s for an admission webhook.
TEST_F(ClientTest, K8_AReadEndsAfterTenSecondsAndAWriteAfterThirtyFive) {
  with([](Peer& peer, int) { peer.be_silent(); },
       [this](Client& client) {
         expect_error(client.call(get()), Code::TimedOut,
                      "the API server gave no answer within 10 s");
         EXPECT_EQ(elapsed(), 10s);
         expect_error(client.call(create()), Code::TimedOut,
                      "the API server gave no answer within 35 s: it may wait for an admission "
                      "webhook");
         EXPECT_EQ(elapsed(), 45s);
         Within sooner(world, 1s);
         EXPECT_TRUE(client.call(create()).failed_with(Code::TimedOut));
         EXPECT_EQ(elapsed(), 46s);
       });
}

TEST_F(ClientTest, AWatchWhoseServerCannotBeDialedEndsToo) {
  const auto hang = [this]() -> Result<std::unique_ptr<Stream>> {
    return to_result(world.sleep(1h), "dial").error();
  };
  with(hang, [this](Client& client) {
    const auto ended = client.watch(watching(), [](WatchEvent) { return true; });
    EXPECT_TRUE(ended.failed_with(Code::TimedOut));
    EXPECT_EQ(elapsed(), 10s);
  });
}

TEST_F(ClientTest, AWatchHandsOverEventsHoweverTheyAreCut) {
  const std::string all =
      event("ADDED", "a") + event("BOOKMARK", "b") + event("MODIFIED", "c") + event("DELETED", "d");
  std::string seen;
  const auto ended = watch([&](Peer& peer, int) {
    seen = peer.request();
    (void)peer.begin_watch();
    for (std::size_t at = 0; at < all.size(); at += 7) (void)peer.chunk(all.substr(at, 7));
    (void)peer.end_watch();
  });
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(events, (std::vector<std::string>{"0a", "3b", "1c", "2d"}));
  EXPECT_NE(seen.find("?allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds="),
            std::string::npos);
}

/// As GET /api/v1/pods answers. An object of megabytes keeps its name; the others are whole.
TEST_F(ClientTest, N4_AListIsReadObjectByObjectAndALongOneHidesNoOther) {
  const std::string body =
      R"({"kind":"PodList","metadata":{"continue":"t","resourceVersion":"9"},"items":[)"
      R"({"metadata":{"name":"a","managedFields":[{"x":[1]}]},"spec":{"x":"}],[{\"","y":[1,2]}},)"
      R"({"metadata":{"name":"b"},"spec":{"x":[)" +
      std::string(3 << 20, '1') + R"(]},"status":{"phase":"Running"}},{"metadata":{"name":"c"}}]})";
  Call all = get();
  all.verb = Verb::List;
  all.name = "";
  for (const std::size_t piece : {std::size_t{100'000}, body.size()}) {
    std::string seen;
    Result<Json> page = Json();
    with(
        [&](Peer& peer, int) {
          (void)peer.request();
          (void)peer.begin_watch();
          for (std::size_t at = 0; at < body.size(); at += piece)
            (void)peer.chunk(body.substr(at, piece));
          (void)peer.end_watch();
        },
        [&](Client& client) {
          page = client.list(all, [&](const Json& item) { seen += serialize(item) + "\n"; });
        });
    EXPECT_EQ(
        seen,
        R"({"metadata":{"name":"a","managedFields":[]},"spec":{"x":"}],[{\"","y":[1,2]}})"
        "\n"
        R"({"metadata":{"name":"b"},"spec":"too long to be read","status":{"phase":"Running"}})"
        "\n"
        R"({"metadata":{"name":"c"}})"
        "\n");
    ASSERT_TRUE(page) << page.error().message;
    EXPECT_EQ(serialize(*page),
              R"({"kind":"PodList","metadata":{"continue":"t","resourceVersion":"9"},"items":[]})");
  }
}

TEST_F(ClientTest, AListThatIsRefusedOrCutOrNoListSaysSo) {
  Call all = get();
  all.verb = Verb::List;
  all.name = "";
  const auto list = [&](int code, const std::string& body) {
    Result<Json> page = Json();
    with([&](Peer& peer, int) { (void)peer.request(), (void)peer.answer(code, body); },
         [&](Client& client) { page = client.list(all, [](const Json&) {}); });
    return page;
  };
  expect_error(list(410, status("Expired")), Code::Expired, "the server says why");
  expect_error(list(403, status("Forbidden")), Code::Denied, "the server says why");
  expect_error(list(200, R"({"items":[{"a":1})"), Code::Corrupt, "not JSON");
  expect_error(list(200, R"({"items":[{"a":x}]})"), Code::Corrupt, "not JSON");
  expect_error(list(200, std::string(300 << 10, ' ')), Code::Corrupt, "beside its objects");
}

TEST_F(ClientTest, N4_AnObjectOfAnyLengthEndsNoWatch) {
  const std::string large = R"({"type":"MODIFIED","object":{"metadata":{"name":"large"},"spec":[)" +
                            std::string(6 << 20, '1') + "]}}\n";
  const auto ended = watch([&](Peer& peer, int) {
    (void)peer.request();
    (void)peer.begin_watch();
    (void)peer.chunk(event("ADDED", "a") + large + event("ADDED", "b"));
    (void)peer.end_watch();
  });
  EXPECT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(events, (std::vector<std::string>{"0a", "1large", "0b"}));
}

TEST_F(ClientTest, TheServerIsAskedToCloseAfterFiveToTenMinutesAtRandom) {
  std::vector<int> asked;
  with(
      [&](Peer& peer, int) {
        const std::string seen = peer.request();
        asked.push_back(std::stoi(seen.substr(seen.find("timeoutSeconds=") + 15)));
        (void)peer.begin_watch();
        (void)peer.end_watch();
      },
      [&](Client& client) {
        for (int i = 0; i < 50; ++i)
          EXPECT_TRUE(client.watch(watching(), [](WatchEvent) { return true; }));
      });
  ASSERT_EQ(asked.size(), 50U);
  EXPECT_GE(*std::min_element(asked.begin(), asked.end()), 300);
  EXPECT_LE(*std::max_element(asked.begin(), asked.end()), 600);
  EXPECT_NE(asked[0], asked[1]);
}

TEST_F(ClientTest, AWatchEndsWhenItsReaderHasEnough) {
  const auto ended = watch(
      [](Peer& peer, int) {
        (void)peer.request();
        (void)peer.begin_watch();
        (void)peer.chunk(event("ADDED", "a") + event("ADDED", "b") + event("ADDED", "c"));
        peer.be_silent();
      },
      2);
  EXPECT_TRUE(ended);
  EXPECT_EQ(events.size(), 2U);
  EXPECT_EQ(elapsed(), 0s);
}

TEST_F(ClientTest, AWatchLivesAsLongAsSomethingComes) {
  const auto ended = watch([](Peer& peer, int) {
    (void)peer.request();
    (void)peer.begin_watch();
    for (int minute = 0; minute < 10; ++minute) {
      peer.sleep(60s);
      (void)peer.chunk(event("BOOKMARK", "b"));
    }
    peer.be_silent();
  });
  EXPECT_TRUE(ended.failed_with(Code::TimedOut));
  EXPECT_EQ(events.size(), 10U);
  EXPECT_EQ(elapsed(), 10min + 90s);
}

TEST_F(ClientTest, AWatchThatIsTooOldIsExpiredInEitherWayOfSayingSo) {
  auto ended = watch([](Peer& peer, int) {
    (void)peer.request();
    (void)peer.begin_watch();
    (void)peer.chunk(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
                     "\n");
    peer.be_silent();
  });
  expect_error(ended, Code::Expired, "too old");
  ended = watch([](Peer& peer, int) {
    (void)peer.request();
    (void)peer.answer(410, status("Expired"));
  });
  expect_error(ended, Code::Expired, "the server says why");
}

TEST_F(ClientTest, AWatchThatIsCutOrMakesNoSenseSaysSo) {
  const auto body = [this](const std::string& bytes, bool whole) {
    return watch([=](Peer& peer, int) {
      (void)peer.request();
      (void)peer.begin_watch();
      (void)peer.chunk(bytes);
      if (whole) (void)peer.end_watch();
    });
  };
  expect_error(body(event("ADDED", "a"), false), Code::Unavailable, "closed");
  expect_error(body(R"({"type":"ADD)", true), Code::Unavailable, "middle of an event");
  expect_error(body("hello\n", true), Code::Corrupt, "no event");
  expect_error(body("{}\n", true), Code::Corrupt, "no event");
  expect_error(body(event("RENAMED", "a"), true), Code::Corrupt, "unknown type");
  expect_error(body(std::string(5 << 20, 'x'), true), Code::Corrupt, "4194304 bytes");
  EXPECT_TRUE(body("\n\r\n", true)) << "empty lines are nothing";
}

}  // namespace
}  // namespace etcdop::kube
