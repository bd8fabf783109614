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

/// Identifies bytes, and only that: an opaque text, as the store sent it. For a multipart object,
/// and under encryption, it is no MD5.
struct Tag {
  std::string text;
  auto operator<=>(const Tag&) const = default;
};

struct Object {
  std::uint64_t size = 0;  ///< Bytes of the whole object, even if a range was read.
  Tag tag = {};
  Metadata metadata = {};
  bool operator==(const Object&) const = default;
};

struct GetOptions {
  struct Range {
    std::uint64_t first = 0, count = 0;  ///< In bytes; fewer arrive at the object's end.
  };
  std::optional<Range> range = {};
  std::optional<Tag> only_if = {};  ///< Conflict if the object has another tag.
};

struct PutOptions {
  Metadata metadata = {};
  bool only_if_absent = false;  ///< AlreadyExists if the key exists; nothing is stored then.
};

/// A multipart upload.
struct Upload {
  std::string key, id;
  bool operator==(const Upload&) const = default;
};

struct Part {
  int number = 0;  ///< 1 to kPartsMax.
  Tag tag = {};    ///< As upload_part() returned it.
};

/// Bytes to store, with their MD5. The MD5 costs as much as sending them, so it is computed once.
/// The bytes are not copied, and must outlive this.
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
  std::string token = {};  ///< From the previous page; empty: the first page.
  int count = kCountMax;   ///< Maximum number per page.
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
  std::string token;  ///< For the next page, which may be empty; empty: this is the last page.
};

/// Calls on the objects of one bucket. Each may suspend the fiber, is sent once, and has its own
/// deadline within the fiber's: kCallLimit, complete() kCompleteLimit. So large objects are read
/// range by range and written part by part.
///
/// Errors: NotFound: the object, or upload, does not exist. AlreadyExists, Conflict: as the options
/// say; for complete(), Conflict also: another write came in between. Invalid: a wrong bucket,
/// region, part or key; only another request can help. Denied: credentials, permissions, TLS, a
/// wrong clock. Unavailable: it did not happen (busy, not connected), or for a read: ask again.
/// Lost, TimedOut: a write may have happened: look. Corrupt: the answer is not S3. Each message
/// says what a person can do about it.
class Store {
 public:
  using Sink = std::function<bool(std::string_view)>;
  virtual ~Store() = default;
  /// Facts of an object. Without the permission to list, stores answer 403 for a missing object:
  /// Denied, which is not NotFound.
  virtual Result<Object> head(const std::string& key) = 0;
  /// Passes pieces to the sink as they arrive; false from it ends the call. After an error the sink
  /// may have received some of them. Success: all announced bytes arrived, or the sink returned
  /// false.
  virtual Result<Object> get(const std::string& key, const GetOptions&, const Sink&) = 0;
  /// Replaces the object, in one piece.
  virtual Result<Tag> put(const std::string& key, std::string_view bytes, const PutOptions&) = 0;
  /// The object appears at complete(); until abort(), uploaded parts are kept, and paid for.
  virtual Result<Upload> create_multipart(const std::string& key, const Metadata&) = 0;
  /// The same number again replaces the part. Every part except the last has kPartBytesMin bytes or
  /// more.
  virtual Result<Tag> upload_part(const Upload&, int number, const Payload&) = 0;
  /// The parts in order of number. After Lost or TimedOut, head() tells the outcome.
  virtual Result<Tag> complete(const Upload&, const std::vector<Part>&, bool only_if_absent) = 0;
  /// NotFound: it was aborted or completed already.
  virtual Result<Done> abort(const Upload&) = 0;
  virtual Result<Page> list(const ListOptions&) = 0;
  /// Uploads neither completed nor aborted; the first ListOptions::kCountMax of them.
  virtual Result<std::vector<Upload>> uploads(const std::string& prefix) = 0;
  /// Success if the object is missing.
  virtual Result<Done> remove(const std::string& key) = 0;

  static constexpr Duration kCallLimit = std::chrono::seconds(60);
  static constexpr Duration kCompleteLimit = std::chrono::minutes(5);
  static constexpr int kPartsMax = 10'000;
  static constexpr std::uint64_t kPartBytesMin = 5 << 20;
};

}  // namespace etcdop::s3
