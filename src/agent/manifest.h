// The file <name>.db.json beside a stored snapshot, which says that it is complete. Values only.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/wall_time.h"
#include "operator/agents/agent_report.h"

namespace etcdop::agent {

struct Manifest {
  std::string snapshot_name, snapshot_uid;
  WallTime taken_at;
  /// The agent's run that stored it: of several runs with one uid, only the run that stored the
  /// object counts.
  std::string attempt;
  AgentReport report;  ///< From a successful run.
  bool operator==(const Manifest&) const = default;
};

inline constexpr const char* kManifestSuffix = ".json";

/// JSON, readable for people.
std::string to_text(const Manifest&);
/// Corrupt: not a manifest, or one of an unknown format.
Result<Manifest> to_manifest(std::string_view text);

}  // namespace etcdop::agent
