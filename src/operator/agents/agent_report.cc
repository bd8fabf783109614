#include "operator/agents/agent_report.h"

#include "api/codec.h"

namespace etcdop {
namespace {

constexpr std::size_t kIdDigits = 16;

Error corrupt(const std::string& what) { return {Code::Corrupt, "the agent's report: " + what}; }

bool is_id(std::string_view text) { return text.size() == kIdDigits && is_hex(text); }

Result<Done> check_report(const AgentReport& report) {
  if (report.failed()) {
    if (!is_report_reason(report.reason)) return corrupt("no reason");
    return Done{};
  }
  if (!is_report_uri(report.uri) || report.uri.find('"') != report.uri.npos)
    return corrupt("no uri of a snapshot");
  if (report.size_bytes <= 0) return corrupt("no size");
  if (!is_report_checksum(report.checksum)) return corrupt("no sha256");
  if (!report.digest.empty() && !is_report_checksum(report.digest)) return corrupt("no digest");
  if (!is_id(report.cluster_id) || !is_id(report.member_id))
    return corrupt("ids must be 16 hex digits");
  return Done{};
}

}  // namespace

std::string to_text(const AgentReport& report) {
  return cut_to_fit(report.message, [&](const std::string& message) {
    AgentReport cut = report;
    cut.message = message;
    return serialize(api::Codec<AgentReport>::encode(cut));
  });
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
