// A folder and the files in it, for who must not be led out of it: symbolic links are not followed.
// The calls block; for programs that have nothing else to do meanwhile.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace etcdop {

/// Owns an open file of the kernel.
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

/// Errors, also of Folder: NotFound; AlreadyExists; Denied: permission, or a file system that one
/// only reads; Unavailable: no space is left, or none by quota; Invalid: it is no plain file, no
/// folder, or a symbolic link; Lost: the file system failed.
class NewFile {
 public:
  NewFile(Descriptor file, std::string name) : file_(std::move(file)), name_(std::move(name)) {}
  Result<Done> write(std::string_view bytes);
  /// Whatever the process's umask is.
  Result<Done> set_mode(unsigned mode);
  /// Until it is on the disk. Nothing can be written any more.
  Result<Done> finish();

 private:
  Descriptor file_;
  std::string name_;
};

/// A file that was there.
class OldFile {
 public:
  OldFile(Descriptor file, std::string name, std::uint64_t size)
      : file_(std::move(file)), name_(std::move(name)), size_(size) {}
  /// In bytes, when it was opened.
  std::uint64_t size() const { return size_; }
  /// So many bytes from there on; fewer where the file ends.
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
  /// The folder of that name in this one, made with mode 0755 if it is missing.
  Result<Folder> inside(const std::string& name) const;
  /// The same, but NotFound if it is missing.
  Result<Folder> existing(const std::string& name) const;

  // Names of files have no slash.

  /// Whole; 64 KiB at most.
  Result<std::string> read(const std::string& name) const;
  /// In bytes; nullopt: there is nothing of that name.
  Result<std::optional<std::uint64_t>> size_of(const std::string& name) const;
  Result<OldFile> open_file(const std::string& name) const;
  Result<NewFile> create(const std::string& name, unsigned mode) const;
  enum class Replace { Yes, No };
  /// No: AlreadyExists if there is something.
  Result<Done> rename(const std::string& from, const std::string& to, Replace) const;
  /// What has that name there, which may be a folder, gets that name in `to`, of the same file
  /// system. AlreadyExists if there is something.
  Result<Done> move(const std::string& from, const Folder& to, const std::string& name) const;
  /// Success if there is none.
  Result<Done> remove(const std::string& name) const;
  /// Likewise; of a folder with all that is in it.
  Result<Done> remove_tree(const std::string& name) const;
  /// All, but for "." and "..".
  Result<std::vector<std::string>> names() const;
  /// Until what is in it by name is on the disk.
  Result<Done> sync() const;
  /// The same of all files and folders in it, too.
  Result<Done> sync_tree() const;
  /// Until this is destroyed nobody else can; Conflict: somebody else has. Success, too, on file
  /// systems without locks.
  Result<Done> lock() const;
  /// What its file system has left for us, in bytes.
  Result<std::uint64_t> free_bytes() const;
  /// Whether anything has that name.
  Result<bool> has(const std::string& name) const;

  static constexpr int kDepthMax = 16;  ///< Folders in folders, for whole trees.

 private:
  Folder(Descriptor folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  Result<Done> remove_tree(const std::string& name, int depth) const;
  Result<Done> sync_tree(int depth) const;
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  Descriptor folder_;
  std::string path_;  // For messages.
};

}  // namespace etcdop
