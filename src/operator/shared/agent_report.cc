#include "operator/shared/agent_report.h"

#include <algorithm>
#include <utility>

#include "api/codec.h"

namespace etcdop {
namespace {

constexpr std::string_view kChecksumPrefix = "sha256:";
constexpr std::size_t kChecksumBytes = kChecksumPrefix.size() + 64;
constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kReasonBytesMax = 64;
constexpr std::string_view kCut = "...";
constexpr std::size_t kEscapedBytesMax = 6;  // "\u0000"

Error corrupt(const std::string& what) { return {Code::Corrupt, "the agent's report: " + what}; }

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

bool is_checksum(std::string_view text) {
  return text.size() == kChecksumBytes && text.starts_with(kChecksumPrefix) &&
         is_hex(text.substr(kChecksumPrefix.size()));
}

bool is_id(std::string_view text) { return text.size() == kIdDigits && is_hex(text); }

bool is_reason(std::string_view text) {
  return text.size() <= kReasonBytesMax && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
         });
}

bool is_uri(std::string_view text) {
  const bool known = text.starts_with("s3://") || text.starts_with("file:///");
  return known && std::ranges::none_of(
                      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7F || c == '"'; });
}

Result<Done> check_report(const AgentReport& report) {
  if (report.failed()) {
    if (!is_reason(report.reason)) return corrupt("no reason");
    return Done{};
  }
  if (!is_uri(report.uri)) return corrupt("no uri of a snapshot");
  if (report.size_bytes <= 0) return corrupt("no size");
  if (!is_checksum(report.checksum)) return corrupt("no sha256");
  if (!is_id(report.cluster_id) || !is_id(report.member_id))
    return corrupt("ids must be 16 hex digits");
  return Done{};
}

/// Where one may cut without splitting a character of UTF-8: at `size` or before.
std::size_t cut_at(std::string_view text, std::size_t size) {
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return size;
}

}  // namespace

std::string to_text(const AgentReport& report) {
  std::string text = serialize(api::Codec<AgentReport>::encode(report));
  AgentReport cut = report;
  // Little by little, as a byte of the message may have become six.
  for (std::size_t left = report.message.size(); text.size() > kAgentReportBytesMax && left > 0;) {
    const std::size_t excess = text.size() - kAgentReportBytesMax;
    left = cut_at(report.message, left - std::min(left, excess / kEscapedBytesMax + kCut.size()));
    cut.message = report.message.substr(0, left) + std::string(kCut);
    text = serialize(api::Codec<AgentReport>::encode(cut));
  }
  return text;
}

Result<AgentReport> to_agent_report(std::string_view text) {
  boost::system::error_code wrong;
  const Json json = json::parse(text, wrong);
  if (wrong) return corrupt("not JSON: " + wrong.message());
  AgentReport report;
  if (const api::Verdict bad = api::Codec<AgentReport>::decode(json, report))
    return corrupt(bad->where + ": " + bad->what);
  if (auto good = check_report(report); !good) return good.error();
  return report;
}

}  // namespace etcdop
