#include "agent/bolt.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/fnv.h"

namespace etcdop::agent {
namespace {

constexpr std::uint64_t kHeaderBytes = 16, kElementBytes = 16, kMetaBytes = 64, kRootBytes = 16;
constexpr std::uint64_t kSummedBytes = kMetaBytes - 8;
constexpr std::uint32_t kMagic = 0xED0CDAED, kVersion = 2;
constexpr std::uint64_t kPageBytesMin = 512, kPageBytesMax = 1 << 20;
constexpr std::uint64_t kPagesOfMetas = 2;
constexpr unsigned kBranch = 1, kLeaf = 2;  // Flags of pages.
constexpr std::uint32_t kIsBucket = 1;      // Flags of a leaf's elements.

Error no_database(const std::string& why) { return {Code::Corrupt, "no database of etcd: " + why}; }

/// The number at `at` of a text that is long enough.
template <class Number>
Number number_at(std::string_view text, std::size_t at) {
  std::uint64_t out = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    out = out << 8 | static_cast<unsigned char>(text[at + i]);
  return static_cast<Number>(out);
}

}  // namespace

struct BoltDatabase::Meta {
  std::uint64_t page_size, root, pages, transaction;
};

/// Its place in the file; its elements, keys and values end before `end`.
struct BoltDatabase::Page {
  std::uint64_t begin, end;
  bool branch;
  std::uint32_t count;
};

struct BoltDatabase::Element {
  bool bucket;
  std::uint64_t key, key_size, value, value_size;  // Offsets in the file, and sizes in bytes.
  std::uint64_t child;                             // For a branch.
};

/// Root of a bucket: the id of its page, or the place of its only page, if that is inside another
/// page.
struct BoltDatabase::Root {
  std::uint64_t id, begin = 0, end = 0;
};

Result<std::string> BoltDatabase::bytes(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset || count > kBytesMax)
    return no_database("something in it is beyond its end");
  auto out = read_at_(offset, count);
  if (out && out->size() != count) return no_database("it is shorter than it was");
  return out;
}

Result<BoltDatabase::Meta> BoltDatabase::meta_at(std::uint64_t offset) const {
  auto text = bytes(offset + kHeaderBytes, kMetaBytes);
  if (!text) return text.error();
  if (number_at<std::uint32_t>(*text, 0) != kMagic ||
      number_at<std::uint32_t>(*text, 4) != kVersion)
    return no_database("it does not begin as one");
  if (number_at<std::uint64_t>(*text, kSummedBytes) !=
      fnv1a(std::string_view(*text).substr(0, kSummedBytes)))
    return no_database("its first page is damaged");
  const Meta meta{.page_size = number_at<std::uint32_t>(*text, 8),
                  .root = number_at<std::uint64_t>(*text, 16),
                  .pages = number_at<std::uint64_t>(*text, 40),
                  .transaction = number_at<std::uint64_t>(*text, 48)};
  const bool good = std::has_single_bit(meta.page_size) && meta.page_size >= kPageBytesMin &&
                    meta.page_size <= kPageBytesMax && meta.pages <= size_ / meta.page_size;
  return good ? Result<Meta>(meta) : no_database("it is cut off");
}

/// The second meta, at the first place where it may be.
Result<BoltDatabase::Meta> BoltDatabase::search_meta() const {
  for (std::uint64_t at = kPageBytesMin; at <= kPageBytesMax; at *= 2) {
    auto meta = meta_at(at);
    if ((meta && meta->page_size == at) || (!meta && !meta.failed_with(Code::Corrupt))) return meta;
  }
  return no_database("it does not begin as one");
}

Result<BoltDatabase> BoltDatabase::open(ReadAt read_at, std::uint64_t size) {
  BoltDatabase out(std::move(read_at), size);
  auto meta = out.meta_at(0);
  if (meta.failed_with(Code::Corrupt)) meta = out.search_meta();
  else if (meta) {
    auto second = out.meta_at(meta->page_size);
    // The newer of two valid metas.
    if (second && second->transaction > meta->transaction) meta = second;
  }
  if (!meta) return meta.error();
  out.page_size_ = meta->page_size;
  out.pages_ = meta->pages;
  out.root_ = meta->root;
  return out;
}

Result<BoltDatabase::Page> BoltDatabase::page_at(std::uint64_t offset, std::uint64_t end) const {
  auto header = bytes(offset, kHeaderBytes);
  if (!header) return header.error();
  const unsigned flags = number_at<std::uint16_t>(*header, 8);
  const std::uint32_t count = number_at<std::uint16_t>(*header, 10);
  if (flags != kBranch && flags != kLeaf) return no_database("a page is of the wrong kind");
  if (end - offset < kHeaderBytes + count * kElementBytes)
    return no_database("a page has more elements than room");
  return Page{.begin = offset, .end = end, .branch = flags == kBranch, .count = count};
}

Result<BoltDatabase::Page> BoltDatabase::page(std::uint64_t id) const {
  if (id < kPagesOfMetas || id >= pages_) return no_database("a page that there cannot be");
  auto header = bytes(id * page_size_, kHeaderBytes);
  if (!header) return header.error();
  const std::uint64_t length = std::uint64_t{number_at<std::uint32_t>(*header, 12)} + 1;
  if (number_at<std::uint64_t>(*header, 0) != id || length > pages_ - id)
    return no_database("a page is not where it says");
  return page_at(id * page_size_, (id + length) * page_size_);
}

Result<BoltDatabase::Element> BoltDatabase::element(const Page& page, std::uint32_t index) const {
  const std::uint64_t at = page.begin + kHeaderBytes + index * kElementBytes;
  auto text = bytes(at, kElementBytes);
  if (!text) return text.error();
  Element out{};
  const std::size_t position = page.branch ? 0 : 4;
  out.key = at + number_at<std::uint32_t>(*text, position);
  out.key_size = number_at<std::uint32_t>(*text, position + 4);
  out.value = out.key + out.key_size;
  if (page.branch) out.child = number_at<std::uint64_t>(*text, 8);
  else out.value_size = number_at<std::uint32_t>(*text, 12);
  out.bucket = !page.branch && (number_at<std::uint32_t>(*text, 0) & kIsBucket) != 0;
  if (out.value > page.end || out.value_size > page.end - out.value)
    return no_database("a key is beyond its page");
  return out;
}

/// Reads only as much of a key as the comparison needs.
Result<bool> BoltDatabase::is_key(const Element& element, std::string_view key) const {
  if (element.key_size != key.size()) return false;
  auto text = bytes(element.key, element.key_size);
  if (!text) return text.error();
  return *text == key;
}

Result<bool> BoltDatabase::is_less(const Page& page, std::uint32_t index,
                                   std::string_view key) const {
  auto element = this->element(page, index);
  if (!element) return element.error();
  auto text = bytes(element->key, std::min<std::uint64_t>(element->key_size, key.size() + 1));
  if (!text) return text.error();
  return std::string_view(*text) < key;
}

/// The first element that is not less than the key; `count` if none is.
Result<std::uint32_t> BoltDatabase::lower_bound(const Page& page, std::string_view key) const {
  std::uint32_t begin = 0, end = page.count;
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    auto less = is_less(page, middle, key);
    if (!less) return less.error();
    if (*less) begin = middle + 1;
    else end = middle;
  }
  return begin;
}

/// The child of a branch that may have the key: each child has the keys from its element's on.
Result<std::uint32_t> BoltDatabase::towards(const Page& branch, std::string_view key) const {
  auto bound = lower_bound(branch, key);
  if (!bound || *bound == 0) return bound;
  if (*bound == branch.count) return branch.count - 1;
  auto at = element(branch, *bound);
  if (!at) return at.error();
  auto exact = is_key(*at, key);
  if (!exact) return exact.error();
  return *exact ? *bound : *bound - 1;
}

Result<BoltDatabase::Page> BoltDatabase::leaf(const Root& root,
                                              std::optional<std::string_view> key) const {
  auto here = root.id == 0 ? page_at(root.begin, root.end) : page(root.id);
  for (int depth = 0; here && here->branch; ++depth) {
    if (depth == kDepthMax || here->count == 0) return no_database("its branches lead nowhere");
    Result<std::uint32_t> index = here->count - 1;
    if (key) index = towards(*here, *key);
    if (!index) return index.error();
    auto child = element(*here, *index);
    if (!child) return child.error();
    here = page(child->child);
  }
  return here;
}

Result<std::optional<BoltDatabase::Element>> BoltDatabase::find_in(const Root& root,
                                                                   std::string_view key) const {
  const std::optional<Element> nothing;
  auto page = leaf(root, key);
  if (!page) return page.error();
  auto index = lower_bound(*page, key);
  if (!index) return index.error();
  if (*index == page->count) return nothing;
  auto found = element(*page, *index);
  if (!found) return found.error();
  auto same = is_key(*found, key);
  if (!same) return same.error();
  return *same ? std::optional(*found) : nothing;
}

Result<std::optional<BoltDatabase::Root>> BoltDatabase::root_of(std::string_view bucket) const {
  const std::optional<Root> nothing;
  auto found = find_in({.id = root_}, bucket);
  if (!found) return found.error();
  if (!*found) return nothing;
  const Element& is = **found;
  if (!is.bucket || is.value_size < kRootBytes) return no_database("a bucket that is none");
  auto text = bytes(is.value, kRootBytes);
  if (!text) return text.error();
  return std::optional(Root{.id = number_at<std::uint64_t>(*text, 0),
                            .begin = is.value + kRootBytes,
                            .end = is.value + is.value_size});
}

Result<std::optional<std::string>> BoltDatabase::find(std::string_view bucket,
                                                      std::string_view key) const {
  const std::optional<std::string> nothing;
  auto root = root_of(bucket);
  if (!root) return root.error();
  if (!*root) return nothing;
  auto found = find_in(**root, key);
  if (!found) return found.error();
  if (!*found || (*found)->bucket) return nothing;
  auto text = bytes((*found)->value, (*found)->value_size);
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

Result<std::optional<std::string>> BoltDatabase::last_key(std::string_view bucket) const {
  const std::optional<std::string> nothing;
  auto root = root_of(bucket);
  if (!root) return root.error();
  if (!*root) return nothing;
  auto page = leaf(**root, std::nullopt);
  if (!page) return page.error();
  if (page->count == 0) return nothing;
  auto last = element(*page, page->count - 1);
  if (!last) return last.error();
  auto text = bytes(last->key, last->key_size);
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

Result<bool> BoltDatabase::has(std::string_view bucket) const {
  auto root = root_of(bucket);
  if (!root) return root.error();
  return root->has_value();
}

}  // namespace etcdop::agent
