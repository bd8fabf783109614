#include "operator/agents/report_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace etcdop {
namespace {

constexpr std::string_view kChecksumPrefix = "sha256:";
constexpr std::size_t kChecksumBytes = kChecksumPrefix.size() + 64;
constexpr std::size_t kReasonBytesMax = 64;
constexpr std::size_t kEscapedBytesMax = 6;  // "\u0000"

}  // namespace

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_report_checksum(std::string_view text) {
  return text.size() == kChecksumBytes && text.starts_with(kChecksumPrefix) &&
         is_hex(text.substr(kChecksumPrefix.size()));
}

bool is_report_reason(std::string_view text) {
  return !text.empty() && text.size() <= kReasonBytesMax && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

bool is_report_uri(std::string_view text) {
  const bool known = text.starts_with("s3://") || text.starts_with("file:///");
  return known &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F; });
}

std::string cut_to_fit(const std::string& any_bytes,
                       const std::function<std::string(const std::string& message)>& with) {
  // An error may quote bytes of a server; JSON has only UTF-8.
  const std::string message = as_utf8(any_bytes);
  std::string text = with(message);
  // In small steps: one byte of the message may have become six.
  for (std::size_t left = message.size(); text.size() > kAgentReportBytesMax && left > 0;) {
    const std::size_t excess = text.size() - kAgentReportBytesMax;
    left -= std::min(left, excess / kEscapedBytesMax + 3);  // "..." is added.
    text = with(shortened(message, left));
  }
  return text;
}

}  // namespace etcdop
