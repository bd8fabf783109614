// A folder and its files. Does not follow symbolic links, so no path leads out of the folder. The
// calls block: use it in programs that have no other work meanwhile.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace etcdop {

/// Owns a file descriptor of the kernel.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Errors, also for Folder: NotFound; AlreadyExists; Denied: permission, or a read-only file
/// system; Unavailable: no space or no quota left; Invalid: not a plain file, not a folder, or a
/// symbolic link; Lost: the file system failed.
class NewFile {
 public:
  NewFile(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  Result<Done> write(std::string_view bytes);
  /// Sets the mode regardless of the process's umask.
  Result<Done> set_mode(unsigned mode);
  /// Returns when the file is on the disk. Do not write afterwards.
  Result<Done> finish();

 private:
  Descriptor file_;
  std::string name_;
};

/// An existing file.
class OldFile {
 public:
  OldFile(Descriptor file, std::string name, std::uint64_t size)
      : file_(std::move(file)), name_(std::move(name)), size_(size) {}
  /// In bytes, at the time it was opened.
  std::uint64_t size() const { return size_; }
  /// `count` bytes from `offset` on; fewer at the end of the file.
  Result<std::string> read_at(std::uint64_t offset, std::size_t count) const;

 private:
  Descriptor file_;
  std::string name_;
  std::uint64_t size_;
};

class Folder {
 public:
  /// Symbolic links in `path` itself are followed.
  static Result<Folder> open(const std::string& path);
  /// The subfolder of that name; created with mode 0755 if it is missing.
  Result<Folder> inside(const std::string& name) const;
  /// The subfolder of that name; NotFound if it is missing.
  Result<Folder> existing(const std::string& name) const;

  // File names contain no slash.

  /// The whole file; 64 KiB at most.
  Result<std::string> read(const std::string& name) const;
  /// In bytes; nullopt if the name does not exist.
  Result<std::optional<std::uint64_t>> size_of(const std::string& name) const;
  Result<OldFile> open_file(const std::string& name) const;
  Result<NewFile> create(const std::string& name, unsigned mode) const;
  enum class Replace { Yes, No };
  /// With No: AlreadyExists if `to` exists.
  Result<Done> rename(const std::string& from, const std::string& to, Replace) const;
  /// Moves the file or folder `name` into `to`, under the same name. `to` is on the same file
  /// system. AlreadyExists if the name exists there.
  Result<Done> move(const std::string& from, const Folder& to, const std::string& name) const;
  /// Success if the file is missing.
  Result<Done> remove(const std::string& name) const;
  /// The same for a folder and everything in it.
  Result<Done> remove_tree(const std::string& name) const;
  /// All names except "." and "..".
  Result<std::vector<std::string>> names() const;
  /// Returns when the folder's entries are on the disk.
  Result<Done> sync() const;
  /// The same, and for all files and folders in it.
  Result<Done> sync_tree() const;
  /// Locks the folder until this object is destroyed. Conflict: another process holds the lock.
  /// Also succeeds on file systems without locks.
  Result<Done> lock() const;
  /// Space that its file system has left for us, in bytes.
  Result<std::uint64_t> free_bytes() const;
  /// Whether `name` exists.
  Result<bool> has(const std::string& name) const;

  static constexpr int kDepthMax = 16;  ///< Nesting limit for whole trees.

 private:
  Folder(Descriptor folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  Result<Done> remove_tree(const std::string& name, int depth) const;
  Result<Done> sync_tree(int depth) const;
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  Descriptor folder_;
  std::string path_;  // For error messages.
};

}  // namespace etcdop
