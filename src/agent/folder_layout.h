// How a snapshot lies in a folder of a volume: the names beside it, and who they say it is of.
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
/// Of FolderTarget::sub_path, from the mount downwards.
std::vector<std::string> segments(const FolderTarget&);

/// The folder below that one, segment by segment, so that no symbolic link leads out.
Result<Folder> descend(Folder from, const std::vector<std::string>& segments);

inline std::string uid_file_of(const std::string& file_name) { return file_name + ".uid"; }
/// What begins so is of an EtcdSnapshot with that uid, and was not finished.
inline std::string temporary_prefix_of(const std::string& uid) {
  return ".etcd-snapshot-" + uid + "-";
}
/// nullopt: there is no such file.
Result<std::optional<std::string>> read_uid(const Folder&, const std::string& uid_file);

}  // namespace etcdop::agent
