// The layout of a snapshot in a folder of a volume: the files beside it, and how they name the
// owner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "agent/task.h"
#include "base/result.h"
#include "sys/folder.h"

namespace etcdop::agent {

/// "file:///folder/nightly.db".
std::string uri_of(const FolderTarget&, const std::string& file_name);
/// Segments of FolderTarget::sub_path, from the mount downwards.
std::vector<std::string> segments(const FolderTarget&);

/// The folder below `from`, opened segment by segment, so that no symbolic link leads out.
Result<Folder> descend(Folder from, const std::vector<std::string>& segments);

inline std::string uid_file_of(const std::string& file_name) { return file_name + ".uid"; }
/// A file with this prefix is an unfinished one of the EtcdSnapshot with that uid.
inline std::string temporary_prefix_of(const std::string& uid) {
  return ".etcd-snapshot-" + uid + "-";
}
/// nullopt: the file does not exist.
Result<std::optional<std::string>> read_uid(const Folder&, const std::string& uid_file);

}  // namespace etcdop::agent
