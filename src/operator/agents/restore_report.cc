#include "operator/agents/restore_report.h"

#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

const char* missing(const RestoreReport& success) {
  if (success.already) return nullptr;
  if (!is_report_uri(success.uri)) return "no uri of a snapshot";
  if (!is_report_checksum(success.checksum)) return "no sha256";
  return nullptr;
}

}  // namespace

std::string to_text(const RestoreReport& report) { return write_report(report); }

Result<RestoreReport> to_restore_report(std::string_view text) {
  return read_report<RestoreReport>(text, "the restore agent's report", missing);
}

}  // namespace etcdop
