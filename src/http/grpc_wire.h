// What gRPC puts on HTTP/2: prefixed messages, status codes, percent-encoded text, timeouts. Pure.
// Source: grpc/doc/PROTOCOL-HTTP2.md.
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

/// Cuts a body, fed in any pieces, into its messages.
class GrpcMessages {
 public:
  /// `limit`: bytes of one message.
  explicit GrpcMessages(std::size_t limit) : limit_(limit) {}
  void feed(std::string_view bytes);
  /// The next whole message, nullopt if there is none yet. Corrupt: it is compressed or over the
  /// limit; nothing sensible follows.
  Result<std::optional<std::string>> next();
  /// True if a message has begun and not ended.
  bool unfinished() const { return at_ < bytes_.size(); }

 private:
  std::size_t limit_;
  std::string bytes_;
  std::size_t at_ = 0;
};

/// grpc-status, not 0. What the server did not say to have done nothing about may have happened:
/// Lost, as for Unknown and Internal.
Code code_of_grpc(int status);
/// For an answer without grpc-status, of something between us and the server.
Code code_of_http(int status);
/// Of grpc-message; what is no percent-encoding stays.
std::string percent_decoded(std::string_view);
/// Of grpc-status, "200"...; -1 if it is no whole number.
int to_number(std::string_view);
/// grpc-timeout for what is left, at least 1 ms: "1500m". Empty if it needs more than eight digits.
std::string to_grpc_timeout(Duration left);

}  // namespace etcdop::http
