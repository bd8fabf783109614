// One bucket of an object store. client.h speaks to real ones; the simulation has its own
// (sim/store).
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "sys/digest.h"

namespace etcdop::s3 {

/// Names in lower case, without "x-amz-meta-"; values are printable ASCII.
using Metadata = std::map<std::string, std::string>;

/// Identifies bytes, and only that: an opaque text, as the store sent it. Of an object made of
/// parts, and under encryption, it is no MD5.
struct Tag {
  std::string text;
  auto operator<=>(const Tag&) const = default;
};

struct Object {
  std::uint64_t size = 0;  ///< Bytes of all of it, also if a range was read.
  Tag tag = {};
  Metadata metadata = {};
  bool operator==(const Object&) const = default;
};

struct GetOptions {
  struct Range {
    std::uint64_t first = 0, count = 0;  ///< In bytes; less comes at the object's end.
  };
  std::optional<Range> range = {};
  std::optional<Tag> only_if = {};  ///< Conflict if the object is another one by now.
};

struct PutOptions {
  Metadata metadata = {};
  bool only_if_absent = false;  ///< AlreadyExists if the key is taken; nothing is stored then.
};

/// An object that comes in parts.
struct Upload {
  std::string key, id;
  bool operator==(const Upload&) const = default;
};

struct Part {
  int number = 0;  ///< 1 to kPartsMax.
  Tag tag = {};    ///< As upload_part() gave it.
};

/// What is to be stored, with its MD5, which costs as much as sending it does: so it is made once.
/// The bytes are not copied, and outlive it.
struct Payload {
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  Payload(const Text& text) : bytes(text) {
    Digest sum(Digest::Kind::Md5);
    sum.add(bytes);
    md5 = sum.bytes();
  }
  std::string_view bytes;
  std::string md5;  ///< 16 bytes.
};

struct ListOptions {
  std::string prefix = {};
  std::string token = {};  ///< From the page before; empty: the first page.
  int count = kCountMax;   ///< At most so many of a page.
  static constexpr int kCountMax = 1000;
};

struct Listed {
  std::string key = {};
  std::uint64_t size = 0;
  Tag tag = {};
  bool operator==(const Listed&) const = default;
};

struct Page {
  std::vector<Listed> objects;  ///< By key, in byte order.
  std::string token;  ///< For the next page, which may have none; empty: this is the last.
};

/// Calls on the objects of one bucket. Each may suspend the fiber, is sent once, and has its own
/// deadline inside the fiber's: kCallLimit, complete() kCompleteLimit. So large objects are read
/// range by range and written part by part.
///
/// Errors: NotFound: no such object, or upload. AlreadyExists, Conflict: as the options say; of
/// complete(), Conflict also: another write came in between. Invalid: a wrong bucket, region, part
/// or key, which only another request can mend. Denied: credentials, permissions, TLS, a clock
/// that is wrong. Unavailable: it did not happen (busy, not connected), or of a read: ask again.
/// Lost, TimedOut: of a write, it may have happened: look. Corrupt: the answer is not S3. Each
/// message says what a person can do about it.
class Store {
 public:
  using Sink = std::function<bool(std::string_view)>;
  virtual ~Store() = default;
  /// What is there. Without the permission to list, stores answer 403 for what is not there:
  /// Denied, which is not NotFound.
  virtual Result<Object> head(const std::string& key) = 0;
  /// Pieces go to the sink as they come; if it returns false the call ends there. After an error
  /// the sink may have had a part of them. Success: as many bytes came as were announced, or the
  /// sink had enough.
  virtual Result<Object> get(const std::string& key, const GetOptions&, const Sink&) = 0;
  /// Replaces what was there, in one piece.
  virtual Result<Tag> put(const std::string& key, std::string_view bytes, const PutOptions&) = 0;
  /// Nothing is there until complete(); what was uploaded is kept, and paid for, until abort().
  virtual Result<Upload> create_multipart(const std::string& key, const Metadata&) = 0;
  /// Again with the same number: the last one counts. Each but the last: kPartBytesMin or more.
  virtual Result<Tag> upload_part(const Upload&, int number, const Payload&) = 0;
  /// The parts in order of number. After Lost or TimedOut head() tells.
  virtual Result<Tag> complete(const Upload&, const std::vector<Part>&, bool only_if_absent) = 0;
  /// NotFound: it was aborted or completed already.
  virtual Result<Done> abort(const Upload&) = 0;
  virtual Result<Page> list(const ListOptions&) = 0;
  /// Begun and neither completed nor aborted; the first ListOptions::kCountMax of them.
  virtual Result<std::vector<Upload>> uploads(const std::string& prefix) = 0;
  /// Success if there is none.
  virtual Result<Done> remove(const std::string& key) = 0;

  static constexpr Duration kCallLimit = std::chrono::seconds(60);
  static constexpr Duration kCompleteLimit = std::chrono::minutes(5);
  static constexpr int kPartsMax = 10'000;
  static constexpr std::uint64_t kPartBytesMin = 5 << 20;
};

}  // namespace etcdop::s3
