// Manifests, which any user of a bucket can write, and agents' reports, which any Pod can write.
#include <string>
#include <string_view>

#include "agent/manifest.h"
#include "base/check.h"

namespace etcdop {
namespace {

void manifest(std::string_view text) {
  auto read = agent::to_manifest(text);
  if (!read) return;
  auto again = agent::to_manifest(agent::to_text(*read));
  check(again && *again == *read, "what was read is read again from what is written of it");
}

void report(std::string_view text) {
  auto read = to_agent_report(text);
  if (!read) return;
  auto again = to_agent_report(to_text(*read));
  if (to_text(*read).size() < kAgentReportBytesMax)  // Otherwise its message was cut.
    check(again && *again == *read, "what was read is read again from what is written of it");
}

/// A failure in any bytes is reported.
void failure(std::string_view bytes) {
  AgentReport failed;
  failed.reason = "DestinationFailed";
  failed.message = bytes;
  const std::string text = to_text(failed);
  check(text.size() <= kAgentReportBytesMax, "the kubelet keeps all of it");
  auto read = to_agent_report(text);
  check(read && read->reason == failed.reason, "the operator can read it");
}

}  // namespace
}  // namespace etcdop

extern "C" int LLVMFuzzerTestOneInput(const char* data, std::size_t size) {
  const std::string_view text(data, size);
  etcdop::manifest(text);
  etcdop::report(text);
  etcdop::failure(text);
  return 0;
}
