// Reads single keys of a bbolt database, etcd's file, without trusting any byte of it. Read-only;
// not for a file that is being written. The format: page.go, meta.go and bucket.go of
// go.etcd.io/bbolt.
//
//   file    := page* of meta.page_size bytes; pages 0 and 1 have a meta each
//   page    := id u64, flags u16, count u16, overflow u32, element*, key and value bytes
//   meta    := magic u32, version u32, page_size u32, flags u32, bucket, freelist u64,
//              pages u64, transaction u64, FNV-1a of all before u64
//   branch  := position u32, key size u32, page id u64
//   leaf    := flags u32, position u32, key size u32, value size u32
//   bucket  := root page id u64, sequence u64; id 0: its only page follows
//
// Positions count from the element; numbers are little-endian.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace etcdop::agent {

/// Memory is bounded whatever the file says: at a time it holds a number, or a key or value of at
/// most kBytesMax. Errors of all calls: Corrupt: not a valid database; otherwise those of ReadAt.
class BoltDatabase {
 public:
  /// `count` bytes from `offset` on; fewer at the end of the file.
  using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::size_t count)>;
  /// `size`: of the database, in bytes; other bytes may follow.
  static Result<BoltDatabase> open(ReadAt, std::uint64_t size);

  /// For a top-level bucket; nullopt: the key or the bucket does not exist.
  Result<std::optional<std::string>> find(std::string_view bucket, std::string_view key) const;
  /// The greatest key; nullopt: the bucket is missing or empty.
  Result<std::optional<std::string>> last_key(std::string_view bucket) const;
  Result<bool> has(std::string_view bucket) const;

  static constexpr std::size_t kBytesMax = 64 << 10;
  static constexpr int kDepthMax = 32;  ///< Branches above a leaf; real files have < 10.

 private:
  struct Meta;
  struct Page;
  struct Element;
  struct Root;
  BoltDatabase(ReadAt read_at, std::uint64_t size) : read_at_(std::move(read_at)), size_(size) {}
  Result<std::string> bytes(std::uint64_t offset, std::uint64_t count) const;
  Result<Meta> meta_at(std::uint64_t offset) const;
  Result<Meta> search_meta() const;
  Result<Page> page_at(std::uint64_t offset, std::uint64_t end) const;
  Result<Page> page(std::uint64_t id) const;
  Result<Element> element(const Page&, std::uint32_t index) const;
  Result<std::uint32_t> lower_bound(const Page&, std::string_view key) const;
  Result<bool> is_less(const Page&, std::uint32_t index, std::string_view key) const;
  Result<bool> is_key(const Element&, std::string_view key) const;
  Result<std::uint32_t> towards(const Page& branch, std::string_view key) const;
  /// nullopt for `key`: descend to the greatest key.
  Result<Page> leaf(const Root&, std::optional<std::string_view> key) const;
  Result<std::optional<Element>> find_in(const Root&, std::string_view key) const;
  Result<std::optional<Root>> root_of(std::string_view bucket) const;

  ReadAt read_at_;
  std::uint64_t size_;
  std::uint64_t page_size_ = 0, pages_ = 0, root_ = 0;
};

}  // namespace etcdop::agent
