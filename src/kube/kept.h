// Compact storage for objects that may number thousands and are read once a minute.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/describe.h"
#include "base/check.h"
#include "kube/object_text.h"
#include "kube/shared_texts.h"

namespace etcdop::kube {

/// The most recently read objects, so that they need not be parsed again. Parsed, an object takes
/// several times the memory of its text, so large ones are few.
template <class T>
class Latest {
 public:
  /// `bytes`: the length of its text.
  void add(std::shared_ptr<const T> object, std::size_t bytes) {
    bytes_ += bytes;
    objects_.emplace_back(std::move(object), bytes);
    while (objects_.size() > kObjects || bytes_ > kBytes) {
      bytes_ -= objects_.front().second;
      objects_.pop_front();
    }
  }

 private:
  static constexpr std::size_t kObjects = 64, kBytes = 256 << 10;
  std::deque<std::pair<std::shared_ptr<const T>, std::size_t>> objects_;
  std::size_t bytes_ = 0;
};

/// An object as text. Long fields of its spec, its status and its status.observed are apart, and
/// shared with other objects.
struct PackedText {
  struct Part {
    std::string path;  ///< "spec/podTemplate"
    SharedTexts::Text text;
  };
  std::string text;  ///< Without the parts.
  std::vector<Part> parts;

  std::size_t bytes() const {
    std::size_t out = text.size();
    for (const Part& part : parts) out += part.text->size();
    return out;
  }
};

/// Packs what api::encode returned.
PackedText packed(Json object, SharedTexts& shared);
/// The same object.
Json unpacked(const PackedText& packed);

/// One object, as text: a third of the memory. The parsed object lives while a caller holds the
/// result of get(). Fields without a description (api/describe.h) are not kept; they were not read
/// either.
template <class T>
class Kept {
 public:
  using Pointer = std::shared_ptr<const T>;

  Kept() = default;
  Kept(const T& object, SharedTexts& shared)
      : version_(object.metadata.resource_version), packed_(packed(api::encode(object), shared)) {}

  /// The parsed object, if it is at hand: spares get() the work.
  void know(Pointer whole, Latest<T>& latest) const {
    whole_ = whole;
    latest.add(std::move(whole), bytes());
  }
  Pointer get(Latest<T>& latest) const {
    Pointer whole = whole_.lock();
    if (!whole) {
      auto read = std::make_unique<T>();
      const auto ok = api::decode(unpacked(packed_), *read, T::resource.kind);
      check(bool(ok), "what was written can be read");
      whole =
          Pointer(std::move(read));  // Not make_shared: its memory would live as long as whole_.
      whole_ = whole;
    }
    latest.add(whole, bytes());
    return whole;
  }
  const std::string& version() const { return version_; }
  /// Length of its text, with the parts that it shares.
  std::size_t bytes() const { return packed_.bytes(); }

 private:
  std::string version_;
  PackedText packed_;
  mutable std::weak_ptr<const T> whole_;
};

}  // namespace etcdop::kube
