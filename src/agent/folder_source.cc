#include "agent/folder_source.h"

#include <utility>

#include "agent/folder_layout.h"
#include "agent/manifest.h"

namespace etcdop::agent {
namespace {

/// nullopt: the file does not exist.
Result<std::optional<std::string>> read_if_there(const Folder& folder, const std::string& name) {
  auto text = folder.read(name);
  if (text.failed_with(Code::NotFound)) return std::optional<std::string>();
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

}  // namespace

FolderSource::FolderSource(const FolderTarget& target) : target_(target) {}

std::string FolderSource::uri() const {
  return "file://" + target_.mount_path + "/" + target_.sub_path;
}

Result<SourceFacts> FolderSource::look() {
  auto path = segments(target_);
  const std::string name = path.empty() ? "" : path.back();
  if (!path.empty()) path.pop_back();
  auto folder = Folder::open(target_.mount_path);
  if (!folder) return Error(folder.error()).during("the volume");
  folder = descend(std::move(*folder), path);
  if (!folder) return folder.error();
  auto file = folder->open_file(name);
  if (!file) return file.error();
  file_ = std::move(*file);
  auto owner = read_if_there(*folder, name + ".uid");
  if (!owner) return owner.error();
  auto manifest = read_if_there(*folder, name + kManifestSuffix);
  if (!manifest) return manifest.error();
  SourceFacts facts;
  facts.size_bytes = file_->size();
  facts.uid = owner->value_or("");
  while (facts.uid.ends_with('\n')) facts.uid.pop_back();
  facts.manifest = std::move(*manifest);
  return facts;
}

Result<Done> FolderSource::read(const Take& take) {
  for (std::uint64_t at = 0; at < file_->size();) {
    const std::uint64_t left = file_->size() - at;
    auto piece = file_->read_at(at, left < kPieceBytes ? left : kPieceBytes);
    if (!piece) return piece.error();
    if (piece->empty()) return Error{Code::Conflict, uri() + " became shorter while it was read"};
    if (auto taken = take(*piece); !taken) return taken;
    at += piece->size();
  }
  return Done{};
}

}  // namespace etcdop::agent
