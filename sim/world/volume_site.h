// A volume of a simulated world, where a member is restored.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "agent/restore_site.h"
#include "sim/etcd/net.h"
#include "sim/world/doors.h"

namespace etcdop::sim {

/// Leftovers of restores on a volume, beside the member's data; they stay when a restore is killed.
struct Scratch {
  std::optional<std::string> snapshot;
  bool finished = false;             ///< The snapshot is on the disk.
  std::shared_ptr<DataDir> rebuilt;  ///< By etcdutl; null: nothing, or incomplete.
  bool begun = false;                ///< etcdutl has begun.
  bool is_clean() const { return !snapshot && !rebuilt && !begun; }
};

/// Trouble on nodes that restores notice.
struct SiteTrouble {
  std::uint64_t free_bytes = std::uint64_t{1} << 40;
  bool tool_missing = false;
  int tool_fails = 0;  ///< The next calls that fail.
  int etcd_fails = 0;  ///< The same for the etcd that a verification starts.
};

/// The passage sees its calls like those of a store: "rebuild", "commit"...
class VolumeSite final : public agent::RestoreSite {
 public:
  /// All arguments outlive this; the last two belong to the volume.
  VolumeSite(Passage&, SiteTrouble&, DataDir&, Scratch&);
  Result<bool> has_member() override;
  Result<Done> find_tool() override;
  Result<Done> sweep() override;
  Result<std::uint64_t> free_bytes() override;
  Result<Done> create() override;
  Result<Done> write(std::string_view bytes) override;
  Result<Done> finish() override;
  Result<agent::DatabaseFacts> inspect() override;
  Result<Done> rebuild(const agent::Rebuild&) override;
  Result<Done> commit() override;

 private:
  template <class Call>
  auto through(const std::string& what, const Call& call) -> decltype(call());
  Passage& passage_;
  SiteTrouble& trouble_;
  DataDir& dir_;
  Scratch& scratch_;
};

}  // namespace etcdop::sim
