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

/// Segment by segment, so that no symbolic link leads out.
Result<Done> FolderDestination::open() {
  auto folder = Folder::open(options_.target.mount_path);
  if (!folder) return during(folder.error(), "the volume");
  for (const std::string& segment : segments(options_.target)) {
    auto inside = folder->inside(segment);
    if (!inside) return during(inside.error(), "the folder");
    *folder = std::move(*inside);
  }
  folder_ = std::move(*folder);
  return Done{};
}

/// The uid of the name's owner; nullopt: no owner.
Result<std::optional<std::string>> FolderDestination::read_owner() {
  return read_uid(*folder_, uid_file());
}

/// The report of complete data; nullopt: none.
Result<std::optional<AgentReport>> FolderDestination::finished() {
  const std::optional<AgentReport> nothing;
  auto size = folder_->size_of(options_.file_name);
  if (!size) return size.error();
  if (!*size) return nothing;
  auto text = folder_->read(manifest_file());
  if (text.failed_with(Code::NotFound)) return nothing;
  if (!text) return text.error();
  auto manifest = to_manifest(*text);
  const bool whole = manifest && manifest->snapshot_uid == options_.storer.uid &&
                     manifest->report.uri == uri() &&
                     static_cast<std::uint64_t>(manifest->report.size_bytes) == **size;
  if (!whole) return nothing;
  return std::optional(manifest->report);
}

/// AlreadyExists: the name belongs to another owner. Also checks which of our own files exist.
Result<Done> FolderDestination::must_be_free() {
  auto owner = read_owner();
  if (!owner) return owner.error();
  owner_ = std::move(*owner);
  for (const auto& [name, there] : {std::pair{options_.file_name, &data_is_there_},
                                    std::pair{manifest_file(), &manifest_is_there_}}) {
    auto size = folder_->size_of(name);
    if (!size) return size.error();
    *there = size->has_value();
    if (*there && !is_ours())
      return Error{Code::AlreadyExists,
                   "the volume has " + name + " already, which is not of this EtcdSnapshot"};
  }
  return Done{};
}

Result<std::optional<AgentReport>> FolderDestination::look() {
  if (auto opened = open(); !opened) return opened.error();
  if (auto free = must_be_free(); !free) return free.error();
  return finished();
}

/// Time has passed since look(): data stored meanwhile stays.
Result<Done> FolderDestination::must_be_as_seen() {
  const bool data_was_there = data_is_there_;
  if (auto free = must_be_free(); !free) return free;
  auto whole = finished();
  if (!whole) return whole.error();
  if (*whole || (data_is_there_ && !data_was_there))
    return Error{Code::Conflict, uri() + " was stored by another run of this agent meanwhile"};
  return Done{};
}

/// Removes the leftovers of earlier runs for this EtcdSnapshot.
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

/// Conflict: another run for this EtcdSnapshot has begun, and removed this run's file.
Result<Done> FolderDestination::give_name(const std::string& temporary_name,
                                          const std::string& name, Folder::Replace replace) {
  auto named = folder_->rename(temporary_name, name, replace);
  if (!named.failed_with(Code::NotFound)) return named;
  return Error{Code::Conflict, uri() + " is being stored by another run of this agent"};
}

Result<Done> FolderDestination::write_small(const std::string& name, const std::string& text,
                                            Folder::Replace replace) {
  const std::string temporary_name = temporary() + ".json";
  if (auto removed = folder_->remove(temporary_name); !removed) return removed;
  auto file = folder_->create(temporary_name, kFactsMode);
  if (!file) return file.error();
  if (auto written = file->write(text); !written) return written;
  if (auto on_disk = file->finish(); !on_disk) return on_disk;
  if (auto named = give_name(temporary_name, name, replace); !named) return named;
  return folder_->sync();
}

/// Makes the name ours. Conflict: another owner does that at the same time; the winner is not known
/// yet.
Result<Done> FolderDestination::mark() {
  const Error conflict{Code::Conflict, uri() + " is being stored by another process as well"};
  const auto replace = owner_ ? Folder::Replace::Yes : Folder::Replace::No;
  auto marked = write_small(uid_file(), options_.storer.uid, replace);
  if (marked.failed_with(Code::AlreadyExists)) return conflict;
  if (!marked) return marked;
  auto owner = read_owner();  // On a slow disk, that took a while.
  if (!owner) return owner.error();
  return *owner == options_.storer.uid ? Result<Done>(Done{}) : conflict;
}

/// Whether a manifest of this EtcdSnapshot exists.
Result<bool> FolderDestination::has_manifest() {
  auto text = folder_->read(manifest_file());
  if (text.failed_with(Code::NotFound)) return false;
  if (!text) return text.error();
  auto manifest = to_manifest(*text);
  return manifest && manifest->snapshot_uid == options_.storer.uid;
}

/// A file was stored after this run marked the name. Either another run for this EtcdSnapshot
/// stored it, and the mark is that run's, too; or another owner did, and its file must not become
/// ours.
Result<Done> FolderDestination::too_late(const Error& error) {
  auto ours = has_manifest();
  if (!ours) return ours.error();
  if (*ours)
    return Error{Code::Conflict, uri() + " was stored by another run of this agent meanwhile"};
  auto owner = read_owner();
  if (owner && *owner == options_.storer.uid) (void)folder_->remove(uid_file());
  return error;
}

/// Gives the written file its name.
Result<Done> FolderDestination::publish() {
  const bool marks = !is_ours();
  if (marks)
    if (auto marked = mark(); !marked) return marked;
  const auto replace = data_is_there_ ? Folder::Replace::Yes : Folder::Replace::No;
  auto named = give_name(temporary(), options_.file_name, replace);
  if (marks && named.failed_with(Code::AlreadyExists)) return too_late(named.error());
  if (!named) return named;
  return folder_->sync();
}

Result<Done> FolderDestination::finish(Manifest manifest) {
  if (auto on_disk = file_->finish(); !on_disk) return on_disk;
  if (auto same = must_be_as_seen(); !same) return same;
  if (manifest_is_there_)
    if (auto removed = folder_->remove(manifest_file()); !removed) return removed;
  if (auto published = publish(); !published) return published;
  manifest.attempt = options_.storer.attempt;
  return write_small(manifest_file(), to_text(manifest), Folder::Replace::Yes);
}

void FolderDestination::abandon() {
  file_.reset();
  if (!folder_) return;
  for (const std::string& name : {temporary(), temporary() + ".json"}) (void)folder_->remove(name);
}

}  // namespace etcdop::agent
