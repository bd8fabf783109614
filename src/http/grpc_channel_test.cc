// gRPC against an HTTP/2 server that a test controls, over pipes, in virtual time.
#include "http/grpc_channel.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/grpc_wire.h"
#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "sys/tls.h"
#include "test/support/certificates.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;
using Fields = std::vector<std::pair<std::string, std::string>>;

const Fields kHead = {{":status", "200"}, {"content-type", "application/grpc"}};

std::vector<nghttp2_nv> to_nv(const Fields& fields) {
  std::vector<nghttp2_nv> out;
  for (const auto& [name, value] : fields)
    out.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                   reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                   value.size(), NGHTTP2_NV_FLAG_NONE});
  return out;
}

/// A call as the server sees it, and its pending answer.
struct ServerCall {
  std::map<std::string, std::string> fields;
  std::string body, answer;
  std::size_t answered = 0;  ///< Bytes of `answer` already sent.
  bool ends = true;          ///< If false, nothing follows `answer`.
  Fields trailer;
  std::optional<std::uint32_t> reset;
};

/// The server's end of one connection. Runs a test's hook when the whole request of a call has
/// arrived.
class Server {
 public:
  using Hook = std::function<void(Server&, std::int32_t id)>;

  Server(std::shared_ptr<Stream> stream, Hook hook)
      : stream_(std::move(stream)), hook_(std::move(hook)) {
    nghttp2_session_callbacks* on = nullptr;
    nghttp2_option* options = nullptr;
    nghttp2_session_callbacks_new(&on);
    nghttp2_option_new(&options);
    nghttp2_option_set_max_send_header_block_length(options, 1 << 20);
    set_callbacks(on);
    nghttp2_session_server_new2(&session_, on, this, options);
    nghttp2_session_callbacks_del(on);
    nghttp2_option_del(options);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Server() { nghttp2_session_del(session_); }

  void serve() {
    flush();
    char space[4096];
    for (;;) {
      auto n = stream_->read(space);
      if (!n || *n == 0) break;
      if (nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(space), *n) < 0)
        break;
      for (const std::int32_t id : std::exchange(whole_, {})) hook_(*this, id);
      flush();
    }
    stream_->close();
  }

  /// Sends head, bytes, trailer.
  void respond(std::int32_t id, const Fields& head, std::string body, Fields trailer) {
    ServerCall& call = calls[id];
    call.answer = std::move(body);
    call.trailer = std::move(trailer);
    nghttp2_data_provider source{};
    source.read_callback = [](nghttp2_session* session, std::int32_t stream, std::uint8_t* into,
                              std::size_t space, std::uint32_t* flags, nghttp2_data_source*,
                              void* p) {
      ServerCall& from = static_cast<Server*>(p)->calls[stream];
      const std::size_t n = std::min(space, from.answer.size() - from.answered);
      std::memcpy(into, from.answer.data() + from.answered, n);
      from.answered += n;
      if (!from.ends && n == 0) return ssize_t{NGHTTP2_ERR_DEFERRED};
      if (from.ends && from.answered == from.answer.size()) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (!from.trailer.empty()) {
          *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
          const auto fields = to_nv(from.trailer);
          nghttp2_submit_trailer(session, stream, fields.data(), fields.size());
        }
      }
      return static_cast<ssize_t>(n);
    };
    const auto fields = to_nv(head);
    EXPECT_EQ(nghttp2_submit_response(session_, id, fields.data(), fields.size(), &source), 0);
    flush();
  }
  void reply(std::int32_t id, const std::string& message) {
    respond(id, kHead, to_grpc_frame(message), {{"grpc-status", "0"}});
  }
  /// Sends only a head, which ends the call.
  void refuse(std::int32_t id, const Fields& head) {
    const auto fields = to_nv(head);
    nghttp2_submit_response(session_, id, fields.data(), fields.size(), nullptr);
    flush();
  }
  void reset(std::int32_t id, std::uint32_t code) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, code);
    flush();
  }
  void goaway(std::int32_t last_id) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, last_id, NGHTTP2_NO_ERROR, nullptr, 0);
    flush();
  }
  void close() { stream_->close(); }

  std::map<std::int32_t, ServerCall> calls;

 private:
  static Server& self(void* p) { return *static_cast<Server*>(p); }

  static void set_callbacks(nghttp2_session_callbacks* on) {
    nghttp2_session_callbacks_set_on_header_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
               std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
               std::uint8_t, void* p) {
          const std::string key(reinterpret_cast<const char*>(name), name_size);
          self(p).calls[frame->hd.stream_id].fields[key] =
              std::string(reinterpret_cast<const char*>(value), value_size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        on, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
               std::size_t size, void* p) {
          self(p).calls[id].body.append(reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        on, [](nghttp2_session*, const nghttp2_frame* frame, void* p) {
          const std::int32_t id = frame->hd.stream_id;
          if (frame->hd.type == NGHTTP2_RST_STREAM)
            self(p).calls[id].reset = frame->rst_stream.error_code;
          else if (id > 0 && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0)
            self(p).whole_.push_back(id);
          return 0;
        });
  }

  void flush() {
    if (std::exchange(flushing_, true)) return;
    const std::uint8_t* data = nullptr;
    for (ssize_t n; (n = nghttp2_session_mem_send(session_, &data)) > 0;) {
      const std::string frame(reinterpret_cast<const char*>(data), std::size_t(n));
      if (!stream_->write(frame)) break;
    }
    flushing_ = false;
  }

  std::shared_ptr<Stream> stream_;
  Hook hook_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::int32_t> whole_;
  bool flushing_ = false;
};

/// Runs with several seeds: they decide the order of events that are due at the same time.
class GrpcChannelTest : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  /// Runs `body` with a channel to a server with `hook`, until no event is left.
  void connected(Server::Hook hook, const std::function<void(GrpcChannel&)>& body,
                 ByteBudget* large_answers = nullptr) {
    world.spawn([&] {
      auto [ours, theirs] = sim::pipe(world);
      server = std::make_shared<Server>(std::move(theirs), std::move(hook));
      world.spawn([serving = server] { serving->serve(); });
      GrpcChannel channel(world, std::move(ours), "member-0", large_answers);
      body(channel);
    });
    world.run();
    EXPECT_EQ(world.alive(), 0U) << "a fiber that nothing will ever wake";
  }

  /// One unary call to a server with `hook`.
  Result<std::string> call(Server::Hook hook, GrpcStatus* status = nullptr) {
    Result<std::string> answer = Error{Code::Corrupt, "never ran"};
    connected(std::move(hook),
              [&](GrpcChannel& channel) { answer = channel.unary("/s/M", "question", status); });
    return answer;
  }

  static void echo(Server& server, std::int32_t id) {
    server.reply(id, server.calls[id].body.substr(5));
  }

  sim::Scheduler world{GetParam()};
  std::shared_ptr<Server> server;
};

template <class T>
void expect_error(const Result<T>& result, Code code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
}

TEST_P(GrpcChannelTest, ACallIsWrittenAsTheProtocolSays) {
  EXPECT_EQ(*call(echo), "question");
  auto& seen = server->calls[1];
  EXPECT_EQ(seen.body, to_grpc_frame("question"));
  EXPECT_EQ(seen.fields, (std::map<std::string, std::string>{{":method", "POST"},
                                                             {":scheme", "https"},
                                                             {":path", "/s/M"},
                                                             {":authority", "member-0"},
                                                             {"content-type", "application/grpc"},
                                                             {"te", "trailers"}}));
}

TEST_P(GrpcChannelTest, WhatGoesWithARequestArrives) {
  connected(echo, [&](GrpcChannel& channel) {
    EXPECT_TRUE(channel.unary("/s/M", "", nullptr, {.fields = {{"token", "abc.7"}}}));
    EXPECT_TRUE(channel.unary("/s/M", ""));
  });
  EXPECT_EQ(server->calls[1].fields["token"], "abc.7");
  EXPECT_FALSE(server->calls[3].fields.contains("token")) << "of that call only";
}

TEST_P(GrpcChannelTest, TheServerIsToldTheDeadline) {
  connected(echo, [&](GrpcChannel& channel) {
    Within limit(world, 1500ms);
    EXPECT_TRUE(channel.unary("/s/M", ""));
  });
  EXPECT_EQ(server->calls[1].fields["grpc-timeout"], "1500m");
}

TEST_P(GrpcChannelTest, AStatusIsMappedByItsCodeAndItsTextIsKept) {
  const struct {
    const char* status;
    Code code;
  } cases[] = {{"1", Code::Cancelled}, {"2", Code::Lost},         {"3", Code::Invalid},
               {"4", Code::TimedOut},  {"5", Code::NotFound},     {"6", Code::AlreadyExists},
               {"7", Code::Denied},    {"8", Code::Unavailable},  {"9", Code::Invalid},
               {"10", Code::Conflict}, {"11", Code::Invalid},     {"12", Code::Invalid},
               {"13", Code::Lost},     {"14", Code::Unavailable}, {"15", Code::Corrupt},
               {"16", Code::Denied},   {"99", Code::Lost}};
  for (const auto& [text, code] : cases) {
    GrpcStatus status;
    auto answer = call(
        [&, sent = text](Server& s, std::int32_t id) {
          Fields head = kHead;
          head.push_back({"grpc-status", sent});
          head.push_back({"grpc-message", "etcdserver: 100%25 no"});
          s.refuse(id, head);
        },
        &status);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), (Error{code, "/s/M: etcdserver: 100% no"})) << text;
    EXPECT_EQ(std::to_string(status.code), text);
    EXPECT_EQ(status.message, "etcdserver: 100% no");
  }
}

/// The message reaches conditions, logs and the flight recorder.
TEST_P(GrpcChannelTest, N1_AMessageThatIsNoUtf8IsMadeUtf8) {
  GrpcStatus status;
  auto answer = call(
      [](Server& s, std::int32_t id) {
        Fields head = kHead;
        head.push_back({"grpc-status", "14"});
        head.push_back({"grpc-message", "a%FFb%C3%A9"});
        s.refuse(id, head);
      },
      &status);
  ASSERT_FALSE(answer);
  EXPECT_EQ(status.message,
            "a\xEF\xBF\xBD"
            "b\xC3\xA9");
}

TEST_P(GrpcChannelTest, AStatusInTheTrailersCountsThoughAMessageCame) {
  GrpcStatus status;
  expect_error(call(
                   [](Server& s, std::int32_t id) {
                     s.respond(id, kHead, to_grpc_frame("half"),
                               {{"grpc-status", "5"}, {"grpc-message", "gone"}});
                   },
                   &status),
               Code::NotFound, "/s/M: gone");
  EXPECT_EQ(status.code, 5);
}

TEST_P(GrpcChannelTest, AUnaryAnswerHasExactlyOneMessage) {
  const auto answering = [&](const std::string& body) {
    return call(
        [body](Server& s, std::int32_t id) { s.respond(id, kHead, body, {{"grpc-status", "0"}}); });
  };
  expect_error(answering(""), Code::Corrupt, "no message");
  expect_error(answering(to_grpc_frame("a") + to_grpc_frame("b")), Code::Corrupt,
               "more than one message");
  expect_error(answering(to_grpc_frame("cut").substr(0, 6)), Code::Corrupt, "cut");
  EXPECT_EQ(*answering(to_grpc_frame("")), "");
}

TEST_P(GrpcChannelTest, AnAnswerOfSomethingInBetweenIsMappedByItsHttpStatus) {
  const auto answering = [&](const std::string& status) {
    return call([status](Server& s, std::int32_t id) { s.refuse(id, {{":status", status}}); });
  };
  expect_error(answering("503"), Code::Unavailable, "HTTP 503");
  expect_error(answering("502"), Code::Lost, "HTTP 502");
  expect_error(answering("403"), Code::Denied, "HTTP 403");
  expect_error(answering("404"), Code::Invalid, "HTTP 404");
  expect_error(answering("200"), Code::Lost, "without a status");
}

TEST_P(GrpcChannelTest, AMessageThatIsCompressedOrTooLargeEndsItsCallOnly) {
  for (const std::string& body :
       {std::string("\1\0\0\0\1x", 6), std::string("\0\xFF\0\0\0", 5) + std::string(1000, 'x')})
    connected(
        [&](Server& s, std::int32_t id) {
          if (id == 1) s.respond(id, kHead, body, {{"grpc-status", "0"}});
          else echo(s, id);
        },
        [&](GrpcChannel& channel) {
          EXPECT_TRUE(channel.unary("/s/M", "first").failed_with(Code::Corrupt));
          EXPECT_EQ(*channel.unary("/s/M", "second"), "second");
        });
}

/// A server that says a length and then waits makes the client keep no more than the limit.
TEST_P(GrpcChannelTest, N5_TheLimitOfTheCallCountsFromTheFirstFrame) {
  connected(
      [&](Server& s, std::int32_t id) {
        s.calls[id].ends = false;
        const std::string whole = to_grpc_frame(std::string(1001, 'x'));
        s.respond(id, kHead, id == 1 ? whole.substr(0, 5) : whole, {});
      },
      [&](GrpcChannel& channel) {
        for (int i = 0; i < 2; ++i) {
          const Within limit(world, 1min);
          expect_error(channel.unary("/s/M", "", nullptr, {.message_max = 1000}), Code::Corrupt,
                       "a message of 1001 bytes");
        }
        EXPECT_EQ(server->calls[1].reset, NGHTTP2_CANCEL);
      });
}

TEST_P(GrpcChannelTest, N5_LargeAnswersShareABudget) {
  ByteBudget budget(250'000);
  const std::string large = to_grpc_frame(std::string(120'000, 'x'));
  connected(
      [&](Server& s, std::int32_t id) {
        s.calls[id].ends = s.calls[id].fields[":path"] != "/s/Waits";
        s.respond(id, kHead, s.calls[id].ends ? large : large.substr(0, 110'000),
                  {{"grpc-status", "0"}});
      },
      [&](GrpcChannel& channel) {
        const Within limit(world, 1min);
        const auto waits = [&] { (void)channel.unary("/s/Waits", ""); };
        EXPECT_TRUE(channel.unary("/s/M", ""));
        const auto one = world.spawn(waits), two = world.spawn(waits);
        (void)world.sleep(1s);
        expect_error(channel.unary("/s/Waits", ""), Code::Unavailable, "too many large answers");
        one->cancel();
        (void)one->join();
        EXPECT_TRUE(channel.unary("/s/M", "")) << "its room is free";
        two->cancel();
        (void)two->join();
      },
      &budget);
}

TEST_P(GrpcChannelTest, AtTheDeadlineTheServerIsToldAndTheConnectionGoesOn) {
  connected(
      [&](Server& s, std::int32_t id) {
        if (id > 1) echo(s, id);
      },
      [&](GrpcChannel& channel) {
        {
          Within limit(world, 2s);
          expect_error(channel.unary("/s/M", "first"), Code::TimedOut, "/s/M: ");
          EXPECT_EQ(world.now().time_since_epoch(), 2s);
        }
        EXPECT_TRUE(channel.usable());
        EXPECT_EQ(*channel.unary("/s/M", "second"), "second");
        EXPECT_EQ(server->calls[1].reset, NGHTTP2_CANCEL);
      });
}

TEST_P(GrpcChannelTest, AServerThatResetsAtTheDeadlineIsNoOtherErrorThanOurOwnTimer) {
  const auto reset_after = [&](Duration time, Code code) {
    connected(
        [&, time](Server& s, std::int32_t id) {
          world.spawn([&, time, id] {
            (void)world.sleep(time);
            s.reset(id, NGHTTP2_CANCEL);
          });
        },
        [&](GrpcChannel& channel) {
          Within limit(world, 2s);
          expect_error(channel.unary("/s/M", ""), code, "/s/M: ");
        });
  };
  reset_after(2s, Code::TimedOut);
  reset_after(1s, Code::Lost);
}

TEST_P(GrpcChannelTest, ACallWhoseDeadlineHasPassedIsNotSent) {
  connected(echo, [&](GrpcChannel& channel) {
    Within limit(world, 1s);
    (void)world.sleep(2s);
    EXPECT_TRUE(channel.unary("/s/M", "").failed_with(Code::TimedOut));
  });
  EXPECT_TRUE(server->calls.empty());
}

TEST_P(GrpcChannelTest, ACancelledCallIsResetAtOnce) {
  connected([](Server&, std::int32_t) {},
            [&](GrpcChannel& channel) {
              auto caller = world.spawn(
                  [&] { EXPECT_TRUE(channel.unary("/s/M", "").failed_with(Code::Cancelled)); });
              (void)world.sleep(1s);
              caller->cancel();
              (void)caller->join();
              (void)world.sleep(1s);
              EXPECT_EQ(server->calls[1].reset, NGHTTP2_CANCEL);
            });
}

TEST_P(GrpcChannelTest, CallsRunSideBySide) {
  int answers = 0;
  connected(
      [&](Server& s, std::int32_t id) {  // The last call is answered first.
        if (id == 39)
          for (; id > 0; id -= 2) echo(s, id);
      },
      [&](GrpcChannel& channel) {
        std::list<std::shared_ptr<Fiber>> callers;
        for (int i = 0; i < 20; ++i)
          callers.push_back(world.spawn([&, i] {
            const std::string question(1000, static_cast<char>('a' + i));
            auto answer = channel.unary("/s/M", question);
            answers += answer && *answer == question;
          }));
        for (const auto& caller : callers) (void)caller->join();
      });
  EXPECT_EQ(answers, 20);
}

TEST_P(GrpcChannelTest, ACallThatTheServerDidNotTakeIsUnavailable) {
  connected(
      [](Server& s, std::int32_t id) {
        if (id == 1) s.reset(id, NGHTTP2_REFUSED_STREAM);
        else echo(s, id);
      },
      [&](GrpcChannel& channel) {
        expect_error(channel.unary("/s/M", ""), Code::Unavailable, "did not take the call");
        EXPECT_EQ(*channel.unary("/s/M", "again"), "again")
            << "the connection is as good as before";
      });
}

TEST_P(GrpcChannelTest, ACallThatTheServerResetForAnotherReasonIsLost) {
  expect_error(call([](Server& s, std::int32_t id) { s.reset(id, NGHTTP2_INTERNAL_ERROR); }),
               Code::Lost, "without a status");
}

TEST_P(GrpcChannelTest, AGoodbyeBelowACallSaysThatItWasNotTaken) {
  connected([](Server& s, std::int32_t) { s.goaway(0); },
            [&](GrpcChannel& channel) {
              expect_error(channel.unary("/s/M", ""), Code::Unavailable, "did not take the call");
              EXPECT_FALSE(channel.usable());
              expect_error(channel.unary("/s/M", ""), Code::Unavailable, "going away");
            });
}

TEST_P(GrpcChannelTest, AGoodbyeAboveACallLetsItEnd) {
  connected(
      [&](Server& s, std::int32_t id) {
        s.goaway(id);
        world.spawn([&, id] {
          (void)world.sleep(1s);
          echo(s, id);
        });
      },
      [&](GrpcChannel& channel) {
        EXPECT_EQ(*channel.unary("/s/M", "last"), "last");
        EXPECT_FALSE(channel.usable());
      });
}

TEST_P(GrpcChannelTest, AConnectionCutAfterTheRequestIsALostAnswer) {
  connected([](Server& s, std::int32_t) { s.close(); },
            [&](GrpcChannel& channel) {
              expect_error(channel.unary("/s/M", ""), Code::Lost, "closed the connection");
              EXPECT_FALSE(channel.usable());
              EXPECT_TRUE(channel.unary("/s/M", "").failed_with(Code::Unavailable));
            });
}

TEST_P(GrpcChannelTest, AConnectionCutBeforeTheRequestsEndDidNothing) {
  world.spawn([&] {
    auto [ours, theirs] = sim::pipe(world, 1000);
    GrpcChannel channel(world, std::move(ours), "silent");
    world.spawn([&, &end = theirs] {
      (void)world.sleep(1s);
      end->close();
    });
    EXPECT_TRUE(channel.unary("/s/M", std::string(1'000'000, 'x')).failed_with(Code::Unavailable));
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST_P(GrpcChannelTest, AServerThatTakesNothingIsGoneAfterFiveSecondsAndHoldsNobodyLonger) {
  world.spawn([&] {
    auto [ours, theirs] = sim::pipe(world, 1000);
    GrpcChannel channel(world, std::move(ours), "silent");
    auto hasty = world.spawn([&] {
      Within limit(world, 1s);
      EXPECT_TRUE(channel.unary("/s/M", "x").failed_with(Code::TimedOut));
      EXPECT_EQ(world.now().time_since_epoch(), 1s);
    });
    EXPECT_TRUE(channel.unary("/s/M", std::string(100'000, 'x')).failed_with(Code::Unavailable));
    EXPECT_EQ(world.now().time_since_epoch(), 5s);
    EXPECT_FALSE(channel.usable());
    (void)hasty->join();
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST_P(GrpcChannelTest, ASlowReaderHoldsTheServerBackAndLosesNothing) {
  constexpr std::size_t messages = 64, size = 32'000;
  std::string body;
  for (std::size_t i = 0; i < messages; ++i)
    body += to_grpc_frame(std::string(size, static_cast<char>('A' + i % 26)));
  std::size_t seen = 0;
  connected(
      [&](Server& s, std::int32_t id) {
        if (id > 1) return echo(s, id);
        s.respond(id, kHead, body, {{"grpc-status", "0"}});
      },
      [&](GrpcChannel& channel) {
        auto end = channel.stream("/s/M", "", [&](std::string_view message) {
          if (seen == 0) {
            (void)world.sleep(10s);
            EXPECT_LE(server->calls[1].answered, 2U * 256 * 1024) << "of two million";
            auto other = channel.unary("/s/M", "x");
            EXPECT_TRUE(other) << "another call is served meanwhile: " << other.error().message;
          }
          EXPECT_EQ(message, std::string(size, static_cast<char>('A' + seen % 26)));
          ++seen;
          return true;
        });
        EXPECT_TRUE(end);
      });
  EXPECT_EQ(seen, messages);
}

TEST_P(GrpcChannelTest, AServerThatFallsSilentIsUnavailableButNotWhileTheSinkIsBusy) {
  connected(
      [&](Server& s, std::int32_t id) {
        if (id > 1) return echo(s, id);
        s.calls[id].ends = false;
        s.respond(id, kHead, to_grpc_frame("1"), {});
      },
      [&](GrpcChannel& channel) {
        const auto busy = [&](std::string_view) {
          (void)world.sleep(10min);
          return true;
        };
        const Within limit(world, 1h);
        expect_error(channel.stream("/s/M", "", busy, nullptr, {.silence_max = 60s}),
                     Code::Unavailable, "nothing came");
        EXPECT_EQ(world.now().time_since_epoch(), 11min);
        EXPECT_EQ(server->calls[1].fields["grpc-timeout"], "3600000m")
            << "the server may take longer";
        EXPECT_EQ(*channel.unary("/s/M", "next"), "next");
        EXPECT_EQ(server->calls[1].reset, NGHTTP2_CANCEL);
      });
}

TEST_P(GrpcChannelTest, ASinkThatHasEnoughEndsTheCall) {
  connected(
      [&](Server& s, std::int32_t id) {
        if (id > 1) return echo(s, id);
        s.respond(id, kHead, to_grpc_frame("1") + to_grpc_frame("2"), {});
      },
      [&](GrpcChannel& channel) {
        int seen = 0;
        EXPECT_TRUE(channel.stream("/s/M", "", [&](std::string_view) { return ++seen == 0; }));
        EXPECT_EQ(seen, 1);
        EXPECT_EQ(*channel.unary("/s/M", "next"), "next");
      });
}

TEST_P(GrpcChannelTest, AHeaderThatIsFarLargerThanItsBytesEndsItsCallOnly) {
  connected(
      [&](Server& s, std::int32_t id) {
        if (id > 1) return echo(s, id);
        Fields head = kHead;  // HPACK encodes a repeated field in one byte.
        for (int i = 0; i < 1000; ++i) head.push_back({"x-flood", std::string(1000, 'x')});
        s.refuse(id, head);
      },
      [&](GrpcChannel& channel) {
        expect_error(channel.unary("/s/M", ""), Code::Corrupt, "header is too long");
        EXPECT_EQ(*channel.unary("/s/M", "next"), "next");
      });
}

TEST_P(GrpcChannelTest, WhatIsNotHttp2EndsTheConnection) {
  world.spawn([&] {
    auto [ours, theirs] = sim::pipe(world);
    EXPECT_TRUE(theirs->write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
    GrpcChannel channel(world, std::move(ours), "web");
    EXPECT_FALSE(channel.unary("/s/M", ""));
    EXPECT_FALSE(channel.usable());
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

TEST_P(GrpcChannelTest, AServerThatRefusesOurCertificateIsADenial) {
  testing::Authority authority;
  const auto identity = authority.issue({.names = {"member-0"}});
  auto trust = TlsClient::load({authority.certificate(), "", {}, "h2"});
  auto guard = TlsServer::load({identity.certificate, identity.key, authority.certificate(), "h2"});
  ASSERT_TRUE(trust && guard);
  auto [ours, theirs] = sim::pipe(world);
  world.spawn([&, &end = theirs] { (void)guard->over(std::move(end)); });
  world.spawn([&, &end = ours] {
    auto secure = trust->over(std::move(end), "member-0");
    ASSERT_TRUE(secure);
    GrpcChannel channel(world, std::move(*secure), "member-0");
    expect_error(channel.unary("/s/M", ""), Code::Denied, "certificate required");
  });
  world.run();
  EXPECT_EQ(world.alive(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GrpcChannelTest, ::testing::Range<std::uint64_t>(1, 9));

}  // namespace
}  // namespace etcdop::http
