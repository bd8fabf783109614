// gRPC calls over one HTTP/2 connection, any Stream. nghttp2 stays inside grpc_channel.cc; messages
// are bytes here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::http {

/// What the server said, for the adapter that knows its texts.
struct GrpcStatus {
  int code = -1;        ///< grpc-status; -1 if the server gave none.
  std::string message;  ///< grpc-message, decoded and otherwise unchanged.
};

/// What goes with a request, by lower-case names; no index of the connection keeps a value, so that
/// it may be a secret.
using GrpcFields = std::vector<std::pair<std::string, std::string>>;

/// Calls may run side by side. Deadline and cancellation are the calling fiber's; the server is
/// told the deadline (grpc-timeout), and sees RST_STREAM when a call is given up.
///
/// Errors: a status other than OK is mapped by its code (grpc_wire.h), with grpc-message as the
/// text. Unavailable: the server did not get the call whole, or said that it did not take it. Lost:
/// the connection ended before the answer, so it may have been carried out. Denied also: the server
/// refused our certificate. Corrupt: an answer that is not gRPC or over a limit; it may have been
/// carried out. TimedOut and Cancelled: may have been carried out too.
///
/// Limits: a message of an answer 16 MiB, the header of an answer 64 KiB, what lies unread in one
/// call 256 KiB (the server then waits), 5 s for the connection to take a piece of what we send.
class GrpcChannel {
 public:
  /// Sees each message of the answer; false ends the call there. It may suspend.
  using Sink = std::function<bool(std::string_view)>;
  GrpcChannel(Executor&, std::unique_ptr<Stream>, std::string authority);
  /// Closes the connection; on a fiber it also waits for its own fibers to end. No call may run.
  ~GrpcChannel();
  /// One message each way. The error's message is `path` + ": " + grpc-message; `status`, if given,
  /// is always set.
  Result<std::string> unary(std::string_view path, std::string_view request,
                            GrpcStatus* status = nullptr, const GrpcFields& = {});
  /// One message there, any number back. Unavailable also: it waited for `silence_max`, and nothing
  /// came of this call.
  Result<Done> stream(std::string_view path, std::string_view request, const Sink&,
                      GrpcStatus* status = nullptr, const GrpcFields& = {},
                      Duration silence_max = Duration::max());
  /// False once the server said goodbye or the connection ended: dial another. Calls already
  /// running go on.
  bool usable() const;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;  // Shared with its fibers.
};

}  // namespace etcdop::http
