#include "operator/agents/verify_report.h"

#include <algorithm>
#include <array>

#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

const char* missing(const VerifyReport& success) {
  if (!is_report_uri(success.uri)) return "no uri of a snapshot";
  if (!is_report_checksum(success.checksum)) return "no sha256";
  if (!success.revision) return "no revision";
  return nullptr;
}

}  // namespace

bool is_finding(std::string_view reason) {
  static constexpr auto kFindings = std::to_array<std::string_view>(
      {"SourceNotFound", "SnapshotBroken", "SnapshotForeign", "SnapshotDiffers"});
  return std::ranges::find(kFindings, reason) != kFindings.end();
}

std::string to_text(const VerifyReport& report) { return write_report(report); }

Result<VerifyReport> to_verify_report(std::string_view text) {
  return read_report<VerifyReport>(text, "the verify agent's report", missing);
}

}  // namespace etcdop
