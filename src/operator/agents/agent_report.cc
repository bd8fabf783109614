#include "operator/agents/agent_report.h"

namespace etcdop {
namespace {

constexpr std::size_t kIdDigits = 16;

bool is_id(std::string_view text) { return text.size() == kIdDigits && is_hex(text); }

const char* missing(const AgentReport& success) {
  if (!is_report_uri(success.uri) || success.uri.find('"') != success.uri.npos)
    return "no uri of a snapshot";
  if (success.size_bytes <= 0) return "no size";
  if (!is_report_checksum(success.checksum)) return "no sha256";
  if (!success.digest.empty() && !is_report_checksum(success.digest)) return "no digest";
  if (!is_id(success.cluster_id) || !is_id(success.member_id)) return "ids must be 16 hex digits";
  return nullptr;
}

}  // namespace

std::string to_text(const AgentReport& report) { return write_report(report); }

Result<AgentReport> to_agent_report(std::string_view text) {
  return read_report<AgentReport>(text, "the agent's report", missing);
}

}  // namespace etcdop
