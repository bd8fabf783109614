// gRPC calls over one HTTP/2 connection, any Stream. nghttp2 stays inside grpc_channel.cc; messages
// are bytes here.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::http {

/// What the server said, for the adapter that knows its texts.
struct GrpcStatus {
  int code = -1;        ///< grpc-status; -1 if the server gave none.
  std::string message;  ///< grpc-message, decoded and otherwise unchanged.
};

/// Calls may run side by side. Deadline and cancellation are the calling fiber's; the server then
/// sees RST_STREAM.
///
/// Errors: a status other than OK is mapped by its code, with grpc-message as the text.
/// Unavailable: the server did not take the call. Lost: the connection ended before the answer, so
/// it may have been carried out.
class GrpcChannel {
 public:
  /// Sees each message of the answer; false ends the call there.
  using Sink = std::function<bool(std::string_view)>;
  GrpcChannel(Executor&, std::unique_ptr<Stream>, std::string authority);
  /// Closes the connection and waits for the reading fiber to end.
  ~GrpcChannel();
  /// The error's message is `path` + ": " + grpc-message; `status`, if given, is always set.
  Result<std::string> unary(std::string_view path, std::string_view request,
                            GrpcStatus* status = nullptr);
  Result<Done> stream(std::string_view path, std::string_view request, const Sink&,
                      GrpcStatus* status = nullptr);
  /// False once the server said goodbye or the connection ended: dial another. Calls already
  /// running go on.
  bool usable() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // Shared with the reading fiber.
};

}  // namespace etcdop::http
