// A snapshot in a file of a folder of a volume.
#pragma once
#include <optional>
#include <string>

#include "agent/source.h"
#include "agent/task.h"
#include "sys/folder.h"

namespace etcdop::agent {

/// Symbolic links below the mount are not followed, so none leads out. Reads block.
class FolderSource final : public SnapshotSource {
 public:
  /// The target's sub_path is the path of the file.
  explicit FolderSource(const FolderTarget&);
  Result<SourceFacts> look() override;
  Result<Done> read(const Take&) override;
  std::string uri() const override;
  RestoreSide side() const override { return RestoreSide::Folder; }

  static constexpr std::size_t kPieceBytes = 1 << 20;

 private:
  const FolderTarget target_;
  std::optional<OldFile> file_;  // As look() found it.
};

}  // namespace etcdop::agent
