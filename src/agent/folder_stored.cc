#include "agent/folder_stored.h"

#include <algorithm>
#include <utility>

#include "agent/manifest.h"

namespace etcdop::agent {

Error FolderStored::not_ours(const std::string& name) const {
  return {Code::AlreadyExists, "the volume's " + name + " is not of this EtcdSnapshot: it stays"};
}

/// NotFound: the mount itself does not exist. A missing folder below it holds nothing.
Result<Done> FolderStored::open() {
  folder_.reset();
  auto folder = Folder::open(options_.target.mount_path);
  if (!folder) return Error(folder.error()).during("the volume");
  auto inside = descend(std::move(*folder), segments(options_.target));
  if (inside.failed_with(Code::NotFound)) return Done{};
  if (!inside) return Error(inside.error()).during("the folder");
  folder_ = std::move(*inside);
  return Done{};
}

/// Whether the name belongs to this EtcdSnapshot.
Result<bool> FolderStored::is_ours(const std::string& uid_file) const {
  auto uid = read_uid(*folder_, uid_file);
  if (!uid) return uid.error();
  return *uid == options_.uid;
}

/// An unreadable manifest (cut, or of a later release's format) is ours by its mark. If the file's
/// size differs from the manifest, another program has replaced our file, and our mark still
/// exists.
Result<Done> FolderStored::manifest_must_agree(const std::string& name) const {
  auto text = folder_->read(name);
  if (!text) return text.error();
  auto manifest = to_manifest(*text);
  if (!manifest) return Done{};
  if (manifest->snapshot_uid != options_.uid) return not_ours(name);
  auto size = folder_->size_of(options_.file_name);
  if (!size) return size.error();
  if (*size && !std::cmp_equal(**size, manifest->report.size_bytes))
    return not_ours(options_.file_name);
  return Done{};
}

/// The file with the uid is removed last, because it names the owner of the others. Then follow the
/// unfinished files: their names contain the uid.
Result<std::vector<std::string>> FolderStored::look_inside() const {
  const std::string manifest = options_.file_name + kManifestSuffix;
  const std::string uid_file = uid_file_of(options_.file_name);
  auto ours = is_ours(uid_file);
  if (!ours) return ours.error();
  std::vector<std::string> out;
  for (const std::string& name : {manifest, options_.file_name}) {
    auto size = folder_->size_of(name);
    if (!size) return size.error();
    if (!*size) continue;
    if (!*ours) return not_ours(name);
    if (name == manifest)
      if (auto agrees = manifest_must_agree(name); !agrees) return agrees.error();
    out.push_back(name);
  }
  if (*ours) out.push_back(uid_file);
  auto names = folder_->names();
  if (!names) return names.error();
  std::ranges::sort(*names);
  for (const std::string& name : *names)
    if (name.starts_with(temporary_prefix_of(options_.uid))) out.push_back(name);
  return out;
}

Result<std::vector<std::string>> FolderStored::look() {
  if (auto opened = open(); !opened) return opened.error();
  if (!folder_) return std::vector<std::string>();
  return look_inside();
}

/// On the disk before the next removal, so that the order holds whatever happens to the node.
Result<Done> FolderStored::remove(const std::string& name) {
  auto names = look();
  if (!names) return names.error();
  if (std::ranges::find(*names, name) == names->end()) return Done{};
  if (auto removed = folder_->remove(name); !removed) return removed;
  return folder_->sync();
}

}  // namespace etcdop::agent
