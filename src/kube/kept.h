// Compact storage for objects that may number thousands and are read once a minute.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "api/describe.h"
#include "base/check.h"
#include "kube/object_text.h"

namespace etcdop::kube {

/// The most recently read objects, so that they need not be parsed again.
template <class T>
class Latest {
 public:
  void add(std::shared_ptr<const T> object) {
    objects_.push_back(std::move(object));
    if (objects_.size() > kObjects) objects_.pop_front();
  }

 private:
  static constexpr std::size_t kObjects = 64;
  std::deque<std::shared_ptr<const T>> objects_;
};

/// One object, as text: a third of the memory. The parsed object lives while a caller holds the
/// result of get(). Fields without a description (api/describe.h) are not kept; they were not read
/// either.
template <class T>
class Kept {
 public:
  using Pointer = std::shared_ptr<const T>;

  void put(T object, Latest<T>& latest) {
    version_ = object.metadata.resource_version;
    text_ = serialize(api::encode(object));
    text_.shrink_to_fit();
    // Not make_shared: its memory would live as long as `whole_`.
    const Pointer whole(new T(std::move(object)));
    whole_ = whole;
    latest.add(whole);
  }
  Pointer get(Latest<T>& latest) const {
    Pointer whole = whole_.lock();
    if (!whole) {
      auto read = std::make_unique<T>();
      boost::system::error_code wrong;
      const auto ok = api::decode(parse_objects(text_, 0, wrong), *read, T::resource.kind);
      check(!wrong && ok, "what was written can be read");
      whole = Pointer(std::move(read));
      whole_ = whole;
    }
    latest.add(whole);
    return whole;
  }
  const std::string& version() const { return version_; }

 private:
  std::string version_, text_;
  mutable std::weak_ptr<const T> whole_;
};

}  // namespace etcdop::kube
