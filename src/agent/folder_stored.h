// A stored snapshot in a folder of a volume: a file, its manifest, and the file that names the
// owner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "agent/folder_layout.h"
#include "agent/stored_snapshot.h"
#include "agent/task.h"
#include "sys/folder.h"

namespace etcdop::agent {

/// As FolderDestination stores it. Symbolic links below the mount are not followed; folders stay,
/// also empty ones.
class FolderStored final : public StoredSnapshot {
 public:
  struct Options {
    FolderTarget target;
    std::string file_name;  ///< "<name>.db".
    std::string uid;        ///< The EtcdSnapshot's.
  };
  explicit FolderStored(const Options& options) : options_(options) {}
  Result<std::vector<std::string>> look() override;
  Result<Done> remove(const std::string& name) override;
  std::string uri() const override { return uri_of(options_.target, options_.file_name); }
  Side side() const override { return Side::Folder; }

 private:
  Result<Done> open();
  Result<std::vector<std::string>> look_inside() const;
  Result<bool> is_ours(const std::string& uid_file) const;
  Result<Done> manifest_must_agree(const std::string& name) const;
  Error not_ours(const std::string& name) const;

  const Options options_;
  std::optional<Folder> folder_;  // nullopt: missing, or not opened yet.
};

}  // namespace etcdop::agent
