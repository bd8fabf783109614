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
  /// Until it is on the disk. Nothing can be written any more.
  Result<Done> finish();

 private:
  Descriptor file_;
  std::string name_;
};

class Folder {
 public:
  /// Symbolic links in `path` itself are followed.
  static Result<Folder> open(const std::string& path);
  /// The folder of that name in this one, made with mode 0755 if it is missing.
  Result<Folder> inside(const std::string& name) const;

  // Names of files have no slash.

  /// Whole; 64 KiB at most.
  Result<std::string> read(const std::string& name) const;
  /// In bytes; nullopt: there is nothing of that name.
  Result<std::optional<std::uint64_t>> size_of(const std::string& name) const;
  Result<NewFile> create(const std::string& name, unsigned mode) const;
  enum class Replace { Yes, No };
  /// No: AlreadyExists if there is something.
  Result<Done> rename(const std::string& from, const std::string& to, Replace) const;
  /// Success if there is none.
  Result<Done> remove(const std::string& name) const;
  /// All, but for "." and "..".
  Result<std::vector<std::string>> names() const;
  /// Until what is in it by name is on the disk.
  Result<Done> sync() const;

 private:
  Folder(Descriptor folder, std::string path)
      : folder_(std::move(folder)), path_(std::move(path)) {}
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  Descriptor folder_;
  std::string path_;  // For messages.
};

}  // namespace etcdop
