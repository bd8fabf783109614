#include "operator/agents/verify_report.h"

#include <algorithm>
#include <array>

#include "api/codec.h"
#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

Error no_verification(const std::string& what) {
  return {Code::Corrupt, "the verify agent's report: " + what};
}

Result<Done> check_report(const VerifyReport& report) {
  if (report.failed()) {
    if (!is_report_reason(report.reason)) return no_verification("no reason");
    return Done{};
  }
  if (!is_report_uri(report.uri)) return no_verification("no uri of a snapshot");
  if (!is_report_checksum(report.checksum)) return no_verification("no sha256");
  if (!report.revision) return no_verification("no revision");
  return Done{};
}

}  // namespace

bool is_finding(std::string_view reason) {
  static constexpr auto kFindings = std::to_array<std::string_view>(
      {"SourceNotFound", "SnapshotBroken", "SnapshotForeign", "SnapshotDiffers"});
  return std::ranges::find(kFindings, reason) != kFindings.end();
}

std::string to_text(const VerifyReport& report) {
  return cut_to_fit(report.message, [&](const std::string& message) {
    VerifyReport cut = report;
    cut.message = message;
    return serialize(api::Codec<VerifyReport>::encode(cut));
  });
}

Result<VerifyReport> to_verify_report(std::string_view text) {
  boost::system::error_code wrong;
  const Json json = json::parse(text, wrong);
  if (wrong) return no_verification("not JSON: " + wrong.message());
  VerifyReport report;
  if (const api::Verdict bad = api::Codec<VerifyReport>::decode(json, report))
    return no_verification(bad->where + ": " + bad->what);
  if (auto good = check_report(report); !good) return good.error();
  return report;
}

}  // namespace etcdop
