#include "operator/agents/restore_report.h"

#include "api/codec.h"
#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

Error not_a_report(const std::string& what) {
  return {Code::Corrupt, "the restore agent's report: " + what};
}

Result<Done> check_report(const RestoreReport& report) {
  if (report.failed()) {
    if (!is_report_reason(report.reason)) return not_a_report("no reason");
    return Done{};
  }
  if (report.already) return Done{};
  if (!is_report_uri(report.uri)) return not_a_report("no uri of a snapshot");
  if (!is_report_checksum(report.checksum)) return not_a_report("no sha256");
  return Done{};
}

}  // namespace

std::string to_text(const RestoreReport& report) {
  return cut_to_fit(report.message, [&](const std::string& message) {
    RestoreReport cut = report;
    cut.message = message;
    return serialize(api::Codec<RestoreReport>::encode(cut));
  });
}

Result<RestoreReport> to_restore_report(std::string_view text) {
  boost::system::error_code wrong;
  const Json json = json::parse(text, wrong);
  if (wrong) return not_a_report("not JSON: " + wrong.message());
  RestoreReport report;
  if (const api::Verdict bad = api::Codec<RestoreReport>::decode(json, report))
    return not_a_report(bad->where + ": " + bad->what);
  if (auto good = check_report(report); !good) return good.error();
  return report;
}

}  // namespace etcdop
