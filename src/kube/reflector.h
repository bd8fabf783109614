// Fills a Store with one kind, of one namespace or of all.
#pragma once
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kube/list_watch.h"
#include "kube/object_text.h"
#include "kube/store.h"

namespace etcdop::kube {

/// Name, namespace and UID, even of an otherwise unreadable object; empty where missing.
struct Identity {
  ObjectKey key;
  std::string uid;
};
Identity identity_of(const Json& object);

/// For --watch-namespace=a,b: one reflector for each namespace, all into one store. ListWatch
/// decides when to list and watch, and what follows a failure.
///
/// An object that cannot be decoded, or is too large, is logged, reported to `on_unreadable`, and
/// skipped. Its known state stays, and it does not hold up the others.
template <class T>
class Reflector final : private Mirror {
 public:
  struct Options {
    std::string ns = {};  ///< Empty: all namespaces.
    std::string label_selector = {};
    bool optional = false;  ///< The kind may not be installed.
    /// Called whenever an undecodable object is seen, with the reason; and with an empty reason
    /// once the object can be decoded, or is deleted. Must not suspend.
    std::function<void(const Identity&, const std::string& why)> on_unreadable = {};
    /// Limit of an object's fields that we read, as JSON, after Store::trim; a longer one is passed
    /// over.
    std::size_t bytes_max = std::numeric_limits<std::size_t>::max();
  };
  /// The store is not synced before this reflector's first list. References must live until stop().
  Reflector(Executor& executor, Random& random, Log& log, Api& api, Store<T>& store,
            Options options)
      : log_(log),
        store_(store),
        ns_(options.ns),
        on_unreadable_(std::move(options.on_unreadable)),
        bytes_max_(options.bytes_max),
        list_watch_(
            executor, random, log, api, *this,
            {T::resource, options.ns, std::move(options.label_selector), options.optional}) {
    store_.expect(ns_);
  }
  void start() { list_watch_.start(); }
  /// May suspend. If it was started, call stop() before the destructor.
  void stop() { list_watch_.stop(); }

 private:
  void list_begins() override {
    mark_ = store_.mark();
    listed_.clear();
    unreadable_.clear();
  }
  void listed(const Json& json) override {
    if (auto object = read(json)) listed_.push_back(std::move(*object));
    else unreadable_.insert(identity_of(json).key);
  }
  void list_ends(Instant now) override {
    store_.replace(std::exchange(listed_, {}), mark_, now, ns_, unreadable_);
    for (const ObjectKey& key : std::exchange(told_, unreadable_))
      if (!unreadable_.contains(key)) tell({key, ""}, "");
    unreadable_.clear();
  }
  void event(WatchEvent::Type type, const Json& json) override {
    if (type == WatchEvent::Type::Deleted) {  // The identity is enough, and always readable.
      const Identity gone = identity_of(json);
      store_.saw_deleted(gone.key, gone.uid);
      if (told_.erase(gone.key) > 0) tell(gone, "");
      return;
    }
    auto object = read(json);
    if (!object) {
      told_.insert(identity_of(json).key);
      return;
    }
    if (told_.erase(object->key) > 0) tell(identity_of(json), "");
    store_.saw(std::move(*object));
  }
  bool heard(Instant now) override {
    store_.heard(now, ns_);
    return !store_.overdue(now, ns_);
  }
  /// As the store keeps it: a list of large objects is never in memory parsed.
  std::optional<typename Store<T>::Listed> read(const Json& json) {
    T object;
    std::string why = decode(json, object);
    if (why.empty()) why = store_.trim(object);
    if (why.empty()) {
      auto out = store_.listed(object);
      if (out.kept.bytes() <= bytes_max_) return out;
      why = "it has more than " + std::to_string(bytes_max_) + " bytes";
    }
    const Identity which = identity_of(json);
    log_.error("object cannot be read and is passed over",
               {{"kind", T::resource.kind}, {"object", to_string(which.key)}, {"error", why}});
    tell(which, why);
    return std::nullopt;
  }
  /// Why not; empty: it is decoded.
  static std::string decode(const Json& json, T& object) {
    const auto ok = api::decode(json, object, T::resource.kind);
    if (ok) return "";
    std::string replaced = replaced_field(json);
    return replaced.empty() ? ok.error().message : replaced;
  }
  void tell(const Identity& which, const std::string& why) const {
    if (on_unreadable_) on_unreadable_(which, why);
  }

  Log& log_;
  Store<T>& store_;
  std::string ns_;
  std::function<void(const Identity&, const std::string&)> on_unreadable_;
  const std::size_t bytes_max_;
  std::uint64_t mark_ = 0;
  std::vector<typename Store<T>::Listed> listed_;
  std::set<ObjectKey> unreadable_;  ///< Unreadable objects of the list that is being read.
  std::set<ObjectKey> told_;        ///< Unreadable objects already reported to on_unreadable.
  ListWatch list_watch_;
};

}  // namespace etcdop::kube
