// The parts of gRPC on HTTP/2: prefixed messages, status codes, percent-encoded text, timeouts.
// Pure. Source: grpc/doc/PROTOCOL-HTTP2.md.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/fiber.h"
#include "base/result.h"

namespace etcdop::http {

/// A message with its five-byte prefix.
std::string to_grpc_frame(std::string_view message);

/// Splits a body, fed in pieces of any size, into its messages.
class GrpcMessages {
 public:
  /// `limit`: bytes of one message.
  explicit GrpcMessages(std::size_t limit) : limit_(limit) {}
  void feed(std::string_view bytes);
  /// The next whole message, until feed() is called; nullopt if it is not complete yet. Corrupt: it
  /// is compressed, or its prefix says that it is over the limit; do not read on.
  Result<std::optional<std::string_view>> next();
  /// Bytes of a message that has begun and not ended, with its prefix.
  std::size_t unread() const { return bytes_.size() - at_; }

 private:
  std::size_t limit_;
  std::string bytes_;
  std::size_t at_ = 0;
};

/// For a grpc-status other than 0. Unless the server says that it did nothing, the call may have
/// happened: Lost, as for Unknown and Internal.
Code code_of_grpc(int status);
/// For an answer without grpc-status, from something between us and the server.
Code code_of_http(int status);
/// Decodes grpc-message; an invalid percent-encoding stays as it is.
std::string percent_decoded(std::string_view);
/// Parses grpc-status, "200"...; -1 if it is not a whole number.
int to_number(std::string_view);
/// grpc-timeout for the time left, at least 1 ms: "1500m". Empty if it needs more than eight
/// digits.
std::string to_grpc_timeout(Duration left);

}  // namespace etcdop::http
