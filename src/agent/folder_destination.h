// A snapshot as a file in a folder of a volume.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "agent/destination.h"
#include "agent/folder_layout.h"
#include "agent/task.h"
#include "sys/folder.h"

namespace etcdop::agent {

/// The file has a temporary name until it is complete and on the disk. <name>.db.uid names the
/// owner; it is written before the file, so that no crash leaves a file that nothing may replace.
/// Symbolic links below the mount are not followed.
class FolderDestination final : public Destination {
 public:
  struct Options {
    FolderTarget target;
    std::string file_name;  ///< "<name>.db".
    Storer storer;
  };
  explicit FolderDestination(const Options&);
  Result<std::optional<AgentReport>> look() override;
  Result<Done> begin(std::uint64_t bytes_expected) override;
  Result<Done> write(std::string_view bytes) override;
  Result<Done> finish(Manifest) override;
  void abandon() override;
  std::string uri() const override { return uri_of(options_.target, options_.file_name); }
  Side side() const override { return Side::Folder; }

 private:
  std::string temporary_prefix() const { return temporary_prefix_of(options_.storer.uid); }
  std::string temporary() const { return temporary_prefix() + options_.storer.attempt + ".db.tmp"; }
  std::string uid_file() const { return uid_file_of(options_.file_name); }
  std::string manifest_file() const { return options_.file_name + kManifestSuffix; }
  Result<Done> open();
  Result<std::optional<std::string>> read_owner();
  bool is_ours() const { return owner_ == options_.storer.uid; }
  Result<Done> must_be_free();
  Result<Done> must_be_as_seen();
  Result<std::optional<AgentReport>> finished();
  Result<Done> sweep();
  Result<Done> give_name(const std::string& temporary_name, const std::string& name,
                         Folder::Replace);
  /// Completely or not at all.
  Result<Done> write_small(const std::string& name, const std::string& text, Folder::Replace);
  Result<Done> mark();
  Result<bool> has_manifest();
  Result<Done> too_late(const Error&);
  Result<Done> publish();

  const Options options_;
  std::optional<Folder> folder_;
  std::optional<NewFile> file_;       // Has the temporary name.
  std::optional<std::string> owner_;  // Uid of the name's owner, when last read.
  bool data_is_there_ = false, manifest_is_there_ = false;  // Incomplete, if the work continues.
};

}  // namespace etcdop::agent
