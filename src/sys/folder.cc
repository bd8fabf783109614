#include "sys/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace etcdop {
namespace {

constexpr std::size_t kReadMax = 64 << 10;
constexpr mode_t kFolderMode = 0755;

Code code_of(int number) {
  switch (number) {
    case ENOENT: return Code::NotFound;
    case EEXIST: return Code::AlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::Denied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return Code::Unavailable;
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
    case ENXIO: return Code::Invalid;
    default: return Code::Lost;
  }
}

Error failure(const std::string& path, int number) {
  const std::string why = number == ELOOP ? "is a symbolic link" : std::strerror(number);
  return {code_of(number), path + ": " + why};
}

/// Repeats `call` while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto out = call();
  while (out < 0 && errno == EINTR) out = call();
  return out;
}

/// Never replaces an existing name.
int rename_to_free(int from_folder, const char* from, int to_folder, const char* to) {
  return renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE);
}
/// Some file systems do not support RENAME_NOREPLACE (NFS does not): then we check for the name
/// before the rename.
bool cannot_tell_free() { return errno == EINVAL || errno == ENOSYS; }

Error not_plain(const std::string& path) { return {Code::Invalid, path + ": is no plain file"}; }

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Result<Done> NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        uninterrupted([&] { return ::write(file_.get(), bytes.data(), bytes.size()); });
    if (n < 0) return failure(name_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return Done{};
}

Result<Done> NewFile::set_mode(unsigned mode) {
  if (fchmod(file_.get(), mode) < 0) return failure(name_, errno);
  return Done{};
}

Result<Done> NewFile::finish() {
  if (uninterrupted([&] { return fsync(file_.get()); }) < 0) return failure(name_, errno);
  // Some file systems report only here that no space is left. After EINTR the file is closed, too.
  if (close(file_.release()) < 0 && errno != EINTR) return failure(name_, errno);
  return Done{};
}

Result<Folder> Folder::open(const std::string& path) {
  Descriptor folder(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (folder.get() < 0) return failure(path, errno);
  return Folder(std::move(folder), path);
}

Result<Folder> Folder::inside(const std::string& name) const {
  const bool made = mkdirat(folder_.get(), name.c_str(), kFolderMode) == 0;
  if (!made && errno != EEXIST) return failure(path_of(name), errno);
  // Or a node that loses power loses the folder, with all files that were synced in it.
  if (made)
    if (auto synced = sync(); !synced) return synced.error();
  return existing(name);
}

Result<Folder> Folder::existing(const std::string& name) const {
  Descriptor folder(uninterrupted([&] {
    return openat(folder_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }));
  if (folder.get() < 0 && errno == ENOTDIR)  // A symbolic link gives ENOTDIR, too.
    return Error{Code::Invalid, path_of(name) + ": is no folder, or a symbolic link"};
  if (folder.get() < 0) return failure(path_of(name), errno);
  return Folder(std::move(folder), path_of(name));
}

Result<OldFile> Folder::open_file(const std::string& name) const {
  Descriptor file(uninterrupted([&] {
    return openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  }));
  if (file.get() < 0) return failure(path_of(name), errno);
  struct stat facts{};
  if (fstat(file.get(), &facts) < 0) return failure(path_of(name), errno);
  if (!S_ISREG(facts.st_mode)) return not_plain(path_of(name));
  return OldFile(std::move(file), path_of(name), static_cast<std::uint64_t>(facts.st_size));
}

Result<std::string> OldFile::read_at(std::uint64_t offset, std::size_t count) const {
  std::string out(count, 0);
  std::size_t size = 0;
  for (ssize_t n = 1; n > 0 && size < count; size += static_cast<std::size_t>(n)) {
    const auto at = static_cast<off_t>(offset + size);
    n = uninterrupted([&] { return pread(file_.get(), out.data() + size, count - size, at); });
    if (n < 0) return failure(name_, errno);
  }
  out.resize(size);
  return out;
}

Result<std::string> Folder::read(const std::string& name) const {
  auto file = open_file(name);
  if (!file) return file.error();
  auto out = file->read_at(0, kReadMax + 1);
  if (out && out->size() > kReadMax)
    return Error{Code::Invalid, path_of(name) + ": larger than 64 KiB"};
  return out;
}

Result<std::optional<std::uint64_t>> Folder::size_of(const std::string& name) const {
  struct stat facts{};
  if (fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno == ENOENT) return std::optional<std::uint64_t>();
    return failure(path_of(name), errno);
  }
  if (S_ISLNK(facts.st_mode)) return failure(path_of(name), ELOOP);
  if (!S_ISREG(facts.st_mode)) return not_plain(path_of(name));
  return std::optional(static_cast<std::uint64_t>(facts.st_size));
}

Result<NewFile> Folder::create(const std::string& name, unsigned mode) const {
  Descriptor file(uninterrupted([&] {
    return openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                  mode);
  }));
  if (file.get() < 0) return failure(path_of(name), errno);
  return NewFile(std::move(file), path_of(name));
}

Result<Done> Folder::rename(const std::string& from, const std::string& to, Replace replace) const {
  const int at = folder_.get();
  if (replace == Replace::No) {
    if (rename_to_free(at, from.c_str(), at, to.c_str()) == 0) return Done{};
    if (!cannot_tell_free()) return failure(path_of(to), errno);
    auto taken = size_of(to);
    if (!taken) return taken.error();
    if (*taken) return failure(path_of(to), EEXIST);
  }
  if (renameat(at, from.c_str(), at, to.c_str()) < 0) return failure(path_of(to), errno);
  return Done{};
}

Result<Done> Folder::remove(const std::string& name) const {
  if (unlinkat(folder_.get(), name.c_str(), 0) < 0 && errno != ENOENT)
    return failure(path_of(name), errno);
  return Done{};
}

Result<std::vector<std::string>> Folder::names() const {
  Descriptor again(openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (again.get() < 0) return failure(path_, errno);
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  const std::unique_ptr<DIR, Close> folder(fdopendir(again.get()));
  if (!folder) return failure(path_, errno);
  again.release();  // closedir() closes the descriptor.
  std::vector<std::string> out;
  errno = 0;
  while (const dirent* const entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  if (errno != 0) return failure(path_, errno);
  return out;
}

Result<Done> Folder::sync() const {
  // Some file systems cannot sync a folder, and say EINVAL.
  if (fsync(folder_.get()) < 0 && errno != EINVAL) return failure(path_, errno);
  return Done{};
}

Result<bool> Folder::has(const std::string& name) const {
  struct stat facts{};
  if (fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return failure(path_of(name), errno);
}

Result<Done> Folder::move(const std::string& from, const Folder& to,
                          const std::string& name) const {
  const int here = folder_.get(), there = to.folder_.get();
  if (rename_to_free(here, from.c_str(), there, name.c_str()) == 0) return Done{};
  if (!cannot_tell_free()) return failure(to.path_of(name), errno);
  auto taken = to.has(name);
  if (!taken) return taken.error();
  if (*taken) return failure(to.path_of(name), EEXIST);
  if (renameat(here, from.c_str(), there, name.c_str()) < 0)
    return failure(to.path_of(name), errno);
  return Done{};
}

Result<Done> Folder::remove_tree(const std::string& name) const { return remove_tree(name, 0); }

Result<Done> Folder::remove_tree(const std::string& name, int depth) const {
  struct stat facts{};
  if (fstatat(folder_.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) < 0)
    return errno == ENOENT ? Result<Done>(Done{}) : failure(path_of(name), errno);
  if (!S_ISDIR(facts.st_mode)) return remove(name);
  if (depth == kDepthMax) return Error{Code::Invalid, path_of(name) + ": too many folders deep"};
  auto folder = existing(name);
  if (!folder) return folder.error();
  auto inside = folder->names();
  if (!inside) return inside.error();
  for (const std::string& each : *inside)
    if (auto removed = folder->remove_tree(each, depth + 1); !removed) return removed;
  if (unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR) < 0 && errno != ENOENT)
    return failure(path_of(name), errno);
  return Done{};
}

Result<Done> Folder::sync_tree() const { return sync_tree(0); }

Result<Done> Folder::sync_tree(int depth) const {
  if (depth == kDepthMax) return Error{Code::Invalid, path_ + ": too many folders deep"};
  auto all = names();
  if (!all) return all.error();
  for (const std::string& name : *all) {
    const Descriptor each(uninterrupted([&] {
      return openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    }));
    struct stat facts{};
    if (each.get() < 0 || fstat(each.get(), &facts) < 0) return failure(path_of(name), errno);
    if (S_ISDIR(facts.st_mode)) {
      auto folder = existing(name);
      if (!folder) return folder.error();
      if (auto synced = folder->sync_tree(depth + 1); !synced) return synced;
    } else if (fsync(each.get()) < 0) {
      return failure(path_of(name), errno);
    }
  }
  return sync();
}

Result<Done> Folder::lock() const {
  if (flock(folder_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return Done{};
  return Error{Code::Conflict, path_ + " is locked by another program"};
}

Result<std::uint64_t> Folder::free_bytes() const {
  struct statvfs facts{};
  if (fstatvfs(folder_.get(), &facts) < 0) return failure(path_, errno);
  return std::uint64_t{facts.f_bavail} * facts.f_frsize;
}

}  // namespace etcdop
