#include "agent/folder_layout.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etcdop::agent {

std::string uri_of(const FolderTarget& target, const std::string& file_name) {
  const std::string sub_path = target.sub_path.empty() ? "" : "/" + target.sub_path;
  return "file://" + target.mount_path + sub_path + "/" + file_name;
}

std::vector<std::string> segments(const FolderTarget& target) {
  std::vector<std::string> out;
  for (std::string_view rest = target.sub_path; !rest.empty();) {
    out.emplace_back(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(out.back().size() + 1, rest.size()));
  }
  return out;
}

Result<Folder> descend(Folder from, const std::vector<std::string>& segments) {
  for (const std::string& segment : segments) {
    auto inside = from.existing(segment);
    if (!inside) return inside;
    from = std::move(*inside);
  }
  return from;
}

Result<std::optional<std::string>> read_uid(const Folder& folder, const std::string& uid_file) {
  auto uid = folder.read(uid_file);
  if (uid.failed_with(Code::NotFound)) return std::optional<std::string>();
  if (!uid) return uid.error();
  while (uid->ends_with('\n')) uid->pop_back();
  return std::optional(std::move(*uid));
}

}  // namespace etcdop::agent
