// gRPC: its messages, and a whole connection on which the server sends the input. The first byte is
// the size of the pieces; an odd one leaves the connection open at the end.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "http/grpc_channel.h"
#include "http/grpc_wire.h"
#include "sim/scheduler.h"
#include "test/fuzz/scripted_stream.h"

namespace etcdop::http {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLimit = 1000;  // Per message.

struct Cut {
  std::vector<std::string> messages;
  std::string error;
  bool operator==(const Cut&) const = default;
};

/// The messages of a body that arrives in such pieces.
Cut cut(std::string_view body, std::size_t piece) {
  GrpcMessages messages(kLimit);
  Cut out;
  while (!body.empty()) {
    messages.feed(body.substr(0, piece));
    body.remove_prefix(std::min(piece, body.size()));
    for (;;) {
      auto message = messages.next();
      if (!message) out.error = message.error().message;
      if (!message) return out;
      if (!*message) break;
      out.messages.emplace_back(**message);
    }
  }
  return out;
}

void messages(std::string_view body, std::size_t piece) {
  const Cut whole = cut(body, body.size());
  check(cut(body, piece) == whole, "it does not matter in which pieces a body comes");
  std::string again;
  for (const std::string& message : whole.messages) again += to_grpc_frame(message);
  check(body.starts_with(again), "the messages are the body's");
  check(percent_decoded(body).size() <= body.size(), "decoded it is not longer");
  check(to_number(body) >= -1, "a number is one, or -1");
}

/// Two concurrent calls, which end whatever the server sends.
void connection(std::string_view bytes, std::size_t piece, bool stays_silent) {
  sim::Scheduler world(1);
  int ended = 0;
  const auto script = [&] {
    return std::make_unique<fuzz::ScriptedStream>(
        world,
        fuzz::ScriptedStream::Script{.bytes = bytes, .piece = piece, .stays_silent = stays_silent});
  };
  (void)world.spawn([&] {
    GrpcChannel channel(world, script(), "etcd:2379");
    const auto one = world.spawn([&] {
      const Within limit(world, 1min);
      GrpcStatus status;
      (void)channel.unary("/etcdserverpb.KV/Range", "question", &status,
                          {.fields = {{"token", "t"}}});
      ++ended;
    });
    const auto many = world.spawn([&] {
      const Within limit(world, 1min);
      std::size_t left = 3;
      (void)channel.stream("/etcdserverpb.Maintenance/Snapshot", "",
                           [&](std::string_view) { return --left > 0; });
      ++ended;
    });
    (void)one->join();
    (void)many->join();
    (void)channel.usable();
  });
  world.run();
  check(ended == 2 && world.alive() == 0, "everything ends");
}

}  // namespace
}  // namespace etcdop::http

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  if (size == 0) return 0;
  const auto first = static_cast<unsigned char>(data[0]);
  const std::string_view bytes(data + 1, size - 1);
  const std::size_t piece = first == 0 ? 4096 : first;
  etcdop::http::messages(bytes, piece);
  etcdop::http::connection(bytes, piece, first % 2 == 1);
  return 0;
}
