#include "agent/folder_destination.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etcdop::agent {
namespace {

constexpr unsigned kDataMode = 0600, kFactsMode = 0644;

Error during(const Error& error, const char* doing) { return Error(error).during(doing); }

}  // namespace

FolderDestination::FolderDestination(const Options& options) : options_(options) {}

std::string FolderDestination::uri() const {
  const FolderTarget& target = options_.target;
  const std::string sub_path = target.sub_path.empty() ? "" : "/" + target.sub_path;
  return "file://" + target.mount_path + sub_path + "/" + options_.file_name;
}

/// Segment by segment, so that no symbolic link leads out.
Result<Done> FolderDestination::open() {
  auto folder = Folder::open(options_.target.mount_path);
  if (!folder) return during(folder.error(), "the volume");
  std::string_view rest = options_.target.sub_path;
  while (!rest.empty()) {
    const std::string segment(rest.substr(0, rest.find('/')));
    rest.remove_prefix(std::min(segment.size() + 1, rest.size()));
    auto inside = folder->inside(segment);
    if (!inside) return during(inside.error(), "the folder");
    *folder = std::move(*inside);
  }
  folder_ = std::move(*folder);
  return Done{};
}

/// Whether the name is this EtcdSnapshot's, if anything is there.
Result<bool> FolderDestination::is_ours() {
  auto uid = folder_->read(uid_file());
  if (uid.failed_with(Code::NotFound)) return false;
  if (!uid) return uid.error();
  while (uid->ends_with('\n')) uid->pop_back();
  return *uid == options_.storer.uid;
}

Result<std::optional<AgentReport>> FolderDestination::finished(std::uint64_t size) {
  const std::optional<AgentReport> nothing;
  auto text = folder_->read(manifest_file());
  if (text.failed_with(Code::NotFound)) return nothing;
  if (!text) return text.error();
  auto manifest = to_manifest(*text);
  const bool whole = manifest && manifest->snapshot_uid == options_.storer.uid &&
                     manifest->report.uri == uri() &&
                     static_cast<std::uint64_t>(manifest->report.size_bytes) == size;
  if (!whole) return nothing;
  return std::optional(manifest->report);
}

/// AlreadyExists: the name is somebody else's. Looks what is there of ours.
Result<Done> FolderDestination::must_be_free() {
  auto ours = is_ours();
  if (!ours) return ours.error();
  marked_ = *ours;
  for (const auto& [name, there] : {std::pair{options_.file_name, &data_is_there_},
                                    std::pair{manifest_file(), &manifest_is_there_}}) {
    auto size = folder_->size_of(name);
    if (!size) return size.error();
    *there = size->has_value();
    if (*there && !marked_)
      return Error{Code::AlreadyExists,
                   "the volume has " + name + " already, which is not of this EtcdSnapshot"};
  }
  return Done{};
}

Result<std::optional<AgentReport>> FolderDestination::look() {
  if (auto opened = open(); !opened) return opened.error();
  if (auto free = must_be_free(); !free) return free.error();
  auto size = folder_->size_of(options_.file_name);
  if (!size) return size.error();
  if (!*size) return std::optional<AgentReport>();
  return finished(**size);
}

/// What earlier runs for this EtcdSnapshot have left.
Result<Done> FolderDestination::sweep() {
  auto names = folder_->names();
  if (!names) return names.error();
  for (const std::string& name : *names)
    if (name.starts_with(temporary_prefix()))
      if (auto removed = folder_->remove(name); !removed) return removed;
  return Done{};
}

Result<Done> FolderDestination::begin(std::uint64_t) {
  if (auto swept = sweep(); !swept) return swept;
  auto file = folder_->create(temporary(), kDataMode);
  if (!file) return file.error();
  file_ = std::move(*file);
  return Done{};
}

Result<Done> FolderDestination::write(std::string_view bytes) { return file_->write(bytes); }

Result<Done> FolderDestination::write_small(const std::string& name, const std::string& text) {
  const std::string temporary_name = temporary() + ".json";
  if (auto removed = folder_->remove(temporary_name); !removed) return removed;
  auto file = folder_->create(temporary_name, kFactsMode);
  if (!file) return file.error();
  if (auto written = file->write(text); !written) return written;
  if (auto on_disk = file->finish(); !on_disk) return on_disk;
  if (auto named = folder_->rename(temporary_name, name, Folder::Replace::Yes); !named)
    return named;
  return folder_->sync();
}

/// The name was free when it began; that was long ago.
Result<Done> FolderDestination::finish(Manifest manifest) {
  if (auto on_disk = file_->finish(); !on_disk) return on_disk;
  if (auto free = must_be_free(); !free) return free;
  if (manifest_is_there_)
    if (auto removed = folder_->remove(manifest_file()); !removed) return removed;
  const bool marks = !marked_;
  if (marks)
    if (auto marked = write_small(uid_file(), options_.storer.uid); !marked) return marked;
  const auto replace = data_is_there_ ? Folder::Replace::Yes : Folder::Replace::No;
  if (auto named = folder_->rename(temporary(), options_.file_name, replace); !named) {
    // Somebody was faster: what is there is not to become ours.
    if (marks && named.failed_with(Code::AlreadyExists)) (void)folder_->remove(uid_file());
    return named;
  }
  if (auto on_disk = folder_->sync(); !on_disk) return on_disk;
  manifest.attempt = options_.storer.attempt;
  return write_small(manifest_file(), to_text(manifest));
}

void FolderDestination::abandon() {
  file_.reset();
  if (!folder_) return;
  for (const std::string& name : {temporary(), temporary() + ".json"}) (void)folder_->remove(name);
}

}  // namespace etcdop::agent
