// What lies beside a stored snapshot as <name>.db.json and says that it is whole. Values only.
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
  /// Which run of the agent stored it: of several with one uid, only the one that the object is of
  /// counts.
  std::string attempt;
  AgentReport report;  ///< Of a success.
  bool operator==(const Manifest&) const = default;
};

inline constexpr const char* kManifestSuffix = ".json";

/// JSON, readable for people.
std::string to_text(const Manifest&);
/// Corrupt: it is no manifest, or one of a format that is not known.
Result<Manifest> to_manifest(std::string_view text);

}  // namespace etcdop::agent
