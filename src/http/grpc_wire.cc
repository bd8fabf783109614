#include "http/grpc_wire.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace etcdop::http {
namespace {
constexpr std::size_t kPrefix = 5;  // A flag, then the length.
}

std::string to_grpc_frame(std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::string frame;
  frame.reserve(kPrefix + message.size());
  for (const std::uint32_t byte : {0U, size >> 24, size >> 16, size >> 8, size})
    frame += static_cast<char>(byte & 0xFF);
  return frame += message;
}

void GrpcMessages::feed(std::string_view bytes) {
  bytes_.erase(0, at_);
  at_ = 0;
  bytes_ += bytes;
}

Result<std::optional<std::string_view>> GrpcMessages::next() {
  const std::string_view left = std::string_view(bytes_).substr(at_);
  if (left.size() < kPrefix) return std::optional<std::string_view>();
  std::uint32_t size = 0;
  for (const char byte : left.substr(1, 4)) size = size << 8 | static_cast<unsigned char>(byte);
  if (left[0] != 0) return Error{Code::Corrupt, "a compressed message, which we did not ask for"};
  if (size > limit_)
    return Error{Code::Corrupt, "a message of " + std::to_string(size) +
                                    " bytes, over the limit of " + std::to_string(limit_)};
  if (left.size() - kPrefix < size) return std::optional<std::string_view>();
  at_ += kPrefix + size;
  return std::optional(left.substr(kPrefix, size));
}

Code code_of_grpc(int status) {
  switch (status) {
    case 1: return Code::Cancelled;
    case 3:   // Invalid argument
    case 9:   // Failed precondition
    case 11:  // Out of range
    case 12:  // Unimplemented
      return Code::Invalid;
    case 4: return Code::TimedOut;
    case 5: return Code::NotFound;
    case 6: return Code::AlreadyExists;
    case 7:   // Permission denied
    case 16:  // Unauthenticated
      return Code::Denied;
    case 8:   // Resource exhausted
    case 14:  // Unavailable
      return Code::Unavailable;
    case 10: return Code::Conflict;  // Aborted
    case 15: return Code::Corrupt;   // Data loss
    default: return Code::Lost;      // Unknown, internal, and undefined codes.
  }
}

Code code_of_http(int status) {
  switch (status) {
    case 400:
    case 404: return Code::Invalid;
    case 401:
    case 403: return Code::Denied;
    case 429:
    case 503: return Code::Unavailable;
    default: return Code::Lost;
  }
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

int to_number(std::string_view text) {
  int n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n >= 0 ? n : -1;
}

std::string to_grpc_timeout(Duration left) {
  const auto ms =
      std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(left).count());
  return ms > 99'999'999 ? "" : std::to_string(ms) + 'm';
}

}  // namespace etcdop::http
