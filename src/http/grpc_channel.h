// gRPC calls over one HTTP/2 connection, over any Stream. nghttp2 stays inside grpc_channel.cc;
// messages are bytes here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "http/byte_budget.h"
#include "sys/stream.h"

namespace etcdop::http {

/// The server's status, for the adapter that knows its texts.
struct GrpcStatus {
  int code = -1;        ///< grpc-status; -1 if the server gave none.
  std::string message;  ///< grpc-message, decoded and otherwise unchanged.
};

/// Header fields of a request, by lower-case names. HPACK does not index the values, so they may be
/// secret.
using GrpcFields = std::vector<std::pair<std::string, std::string>>;

struct GrpcOptions {
  GrpcFields fields = {};
  /// For a stream: Unavailable if nothing of the call arrives for so long.
  Duration silence_max = Duration::max();
  std::size_t message_max = 1 << 20;  ///< Bytes of a message of the answer; more: Corrupt.
};

/// Calls may run at the same time. Deadline and cancellation are the calling fiber's. The server
/// gets the deadline (grpc-timeout), and RST_STREAM when a call is given up.
///
/// Errors: a status other than OK is mapped by its code (grpc_wire.h), with grpc-message as the
/// text. Unavailable: the server did not receive the whole call, or said that it did not process
/// it. Lost: the connection ended before the answer, so the call may have been carried out. Denied
/// also: the server refused our certificate. Corrupt: the answer is not gRPC or over a limit; the
/// call may have been carried out. TimedOut and Cancelled: it may have been carried out too.
///
/// Limits: 64 KiB for the header of an answer, 256 KiB for the unread bytes of one call (the server
/// then waits), 5 s for the connection to take a piece that we send. A call is also Unavailable if
/// the budget of all channels has no room for its answer; an answer of 4 KiB needs none of it.
class GrpcChannel {
 public:
  /// Receives each message of the answer; false ends the call there. It may suspend.
  using Sink = std::function<bool(std::string_view)>;
  /// `large_answers` is shared with other channels, and outlives this one; null: no such bound.
  GrpcChannel(Executor&, std::unique_ptr<Stream>, std::string authority,
              ByteBudget* large_answers = nullptr);
  /// Closes the connection; on a fiber it also waits for its own fibers to end. No call may be
  /// running.
  ~GrpcChannel();
  /// One message each way. The error's message is `path` + ": " + grpc-message; `status`, if given,
  /// is always set.
  Result<std::string> unary(std::string_view path, std::string_view request,
                            GrpcStatus* status = nullptr, const GrpcOptions& = {});
  /// One message to the server, any number back.
  Result<Done> stream(std::string_view path, std::string_view request, const Sink&,
                      GrpcStatus* status = nullptr, const GrpcOptions& = {});
  /// False after the server said goodbye or the connection ended: dial another. Running calls
  /// continue.
  bool usable() const;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;  // Shared with its fibers.
};

}  // namespace etcdop::http
