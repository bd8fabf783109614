// HTTP/1.1: an answer to our client, and a request to our server. The first byte is the size of the
// pieces; an odd one leaves the connection open at the end.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "http/http_exchange.h"
#include "http/server.h"
#include "sim/scheduler.h"
#include "test/fuzz/scripted_stream.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;
using fuzz::ScriptedStream;

constexpr std::size_t kHeaderLimit = 2000, kBodyLimit = 1000, kRefusalLimit = 100;

void in_a_world(const std::function<void(Executor&)>& body) {
  sim::Scheduler world(1);
  bool ended = false;
  (void)world.spawn([&] {
    body(world);
    ended = true;
  });
  world.run();
  check(ended && world.alive() == 0, "everything ends");
}

void answer(const ScriptedStream::Script& script, bool streamed, bool head) {
  in_a_world([&](Executor& executor) {
    const Within limit(executor, 1min);
    ScriptedStream stream(executor, script);
    std::size_t pieces_left = 5;
    const std::function<bool(std::string_view)> sink = [&](std::string_view) {
      return --pieces_left > 0;
    };
    const Exchanged got = exchange(executor, stream, "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "",
                                   {.sink = streamed ? &sink : nullptr,
                                    .header_limit = kHeaderLimit,
                                    .body_limit = kBodyLimit,
                                    .refusal_limit = kRefusalLimit,
                                    .silence_limit = 10s,
                                    .head = head});
    check(!got.reusable || got.response, "a connection that failed is not used again");
    if (!got.response) return;
    Result<Response> response = got.response;
    check(response->status >= 200 && response->status <= 999, "a status has three digits");
    check(response->body.size() <= (streamed ? kRefusalLimit : kBodyLimit), "a body has its limit");
  });
}

void request(ScriptedStream::Script script) {
  std::string heard;
  script.heard = &heard;
  in_a_world([&](Executor& executor) {
    Server server(executor, {.header_limit = kHeaderLimit});
    server.route("/healthz", [](const Request&) { return Response{200, {}, "ok"}; });
    server.serve(std::make_unique<ScriptedStream>(executor, script));
  });
  check(heard.empty() || heard.starts_with("HTTP/1."), "what it says is HTTP");
}

}  // namespace
}  // namespace etcdop::http

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  if (size == 0) return 0;
  const auto first = static_cast<unsigned char>(data[0]);
  const etcdop::fuzz::ScriptedStream::Script script{.bytes = {data + 1, size - 1},
                                                    .piece = first == 0 ? 4096U : first,
                                                    .stays_silent = first % 2 == 1};
  for (const bool streamed : {false, true}) etcdop::http::answer(script, streamed, false);
  etcdop::http::answer(script, false, true);
  etcdop::http::request(script);
  return 0;
}
