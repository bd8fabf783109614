// Reports of agents: the termination messages of containers that ran beside data of any origin.
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/utf8.h"
#include "operator/agents/agent_report.h"
#include "operator/agents/report_text.h"
#include "operator/agents/restore_report.h"
#include "operator/agents/verify_report.h"

namespace etcdop {
namespace {

/// A report is written as it was read, within the limit, as UTF-8.
template <class Report>
void again(Result<Report> read, Result<Report> (*parse)(std::string_view)) {
  if (!read) return;
  const std::string text = to_text(*read);
  check(text.size() <= kAgentReportBytesMax && is_utf8(text), "a kubelet keeps it whole");
  auto back = parse(text);
  check(back && back->failed() == read->failed() && back->reason == read->reason,
        "it is read as it was");
}

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  using namespace etcdop;
  const std::string_view text(data, size);
  again(to_agent_report(text), &to_agent_report);
  again(to_restore_report(text), &to_restore_report);
  again(to_verify_report(text), &to_verify_report);
  return 0;
}
