#include "sys/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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

/// Again while a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto out = call();
  while (out < 0 && errno == EINTR) out = call();
  return out;
}

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

Result<Done> NewFile::finish() {
  if (uninterrupted([&] { return fsync(file_.get()); }) < 0) return failure(name_, errno);
  // Only here some file systems say that they have no space. After EINTR it is closed, too.
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
  if (mkdirat(folder_.get(), name.c_str(), kFolderMode) < 0 && errno != EEXIST)
    return failure(path_of(name), errno);
  Descriptor folder(uninterrupted([&] {
    return openat(folder_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }));
  if (folder.get() < 0 && errno == ENOTDIR)  // Also of a symbolic link.
    return Error{Code::Invalid, path_of(name) + ": is no folder, or a symbolic link"};
  if (folder.get() < 0) return failure(path_of(name), errno);
  return Folder(std::move(folder), path_of(name));
}

Result<std::string> Folder::read(const std::string& name) const {
  const Descriptor file(uninterrupted([&] {
    return openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  }));
  if (file.get() < 0) return failure(path_of(name), errno);
  struct stat facts{};
  if (fstat(file.get(), &facts) < 0) return failure(path_of(name), errno);
  if (!S_ISREG(facts.st_mode)) return not_plain(path_of(name));
  std::string out(kReadMax + 1, 0);
  std::size_t size = 0;
  for (ssize_t n = 1; n > 0 && size < out.size(); size += static_cast<std::size_t>(n)) {
    n = uninterrupted([&] { return ::read(file.get(), out.data() + size, out.size() - size); });
    if (n < 0) return failure(path_of(name), errno);
  }
  if (size > kReadMax) return Error{Code::Invalid, path_of(name) + ": larger than 64 KiB"};
  out.resize(size);
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
    if (renameat2(at, from.c_str(), at, to.c_str(), RENAME_NOREPLACE) == 0) return Done{};
    if (errno != EINVAL && errno != ENOSYS) return failure(path_of(to), errno);
    // Not every file system can do that (NFS cannot): then a look before has to do.
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
  again.release();  // closedir() closes it.
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
  // Some file systems cannot do that to a folder, and say EINVAL.
  if (fsync(folder_.get()) < 0 && errno != EINVAL) return failure(path_, errno);
  return Done{};
}

}  // namespace etcdop
