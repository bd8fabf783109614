#include "agent/manifest.h"

#include <utility>

#include "api/describe.h"
#include "operator/agents/report_text.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::agent {
namespace {

constexpr const char* kKind = "EtcdSnapshotManifest";
constexpr std::int64_t kFormatVersion = 1;

/// The fields besides the report.
struct Frame {
  std::string kind = kKind;
  std::int64_t format_version = kFormatVersion;
  std::string name, uid, attempt;
  WallTime taken_at;
  bool operator==(const Frame&) const = default;

  template <class S = Frame>
  static auto describe() {
    return api::value(
        api::required("kind", &S::kind), api::required("formatVersion", &S::format_version),
        api::required("snapshotName", &S::name), api::required("snapshotUID", &S::uid),
        api::required("attempt", &S::attempt), api::required("takenAt", &S::taken_at));
  }
};

Error corrupt(const std::string& what) { return {Code::Corrupt, "the manifest: " + what}; }

}  // namespace

std::string to_text(const Manifest& manifest) {
  Frame frame;
  frame.name = manifest.snapshot_name;
  frame.uid = manifest.snapshot_uid;
  frame.attempt = manifest.attempt;
  frame.taken_at = manifest.taken_at;
  json::object out = api::Codec<Frame>::encode(frame).as_object();
  const Json report = api::Codec<AgentReport>::encode(manifest.report);
  for (const auto& [key, value] : report.as_object()) out[key] = value;
  return serialize(out) + "\n";
}

Result<Manifest> to_manifest(std::string_view text) {
  auto frame = from_text<Frame>(text, "the manifest");
  if (!frame) return frame.error();
  if (frame->kind != kKind || frame->format_version != kFormatVersion)
    return corrupt("of another kind or format");
  auto report = to_agent_report(text);
  if (!report) return report.error();
  if (report->failed()) return corrupt("of a failure");
  return Manifest{.snapshot_name = std::move(frame->name),
                  .snapshot_uid = std::move(frame->uid),
                  .taken_at = frame->taken_at,
                  .attempt = std::move(frame->attempt),
                  .report = std::move(*report)};
}

}  // namespace etcdop::agent
