// Fills a Store with one kind, of one namespace or of all.
#pragma once
#include <chrono>
#include <functional>
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
/// An object that cannot be decoded is logged, reported to `on_unreadable`, and skipped. Its known
/// state stays, and it does not hold up the others.
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
  };
  /// The store is not synced before this reflector's first list. References must live until stop().
  Reflector(Executor& executor, Random& random, Log& log, Api& api, Store<T>& store,
            Options options)
      : log_(log),
        store_(store),
        ns_(options.ns),
        on_unreadable_(std::move(options.on_unreadable)),
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
    T object;
    if (read(json, object)) listed_.push_back(std::move(object));
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
    T object;
    if (!read(json, object)) {
      told_.insert(identity_of(json).key);
      return;
    }
    if (told_.erase(object.metadata.key()) > 0) tell(identity_of(json), "");
    store_.saw(std::move(object));
  }
  bool heard(Instant now) override {
    store_.heard(now, ns_);
    return !store_.overdue(now, ns_);
  }
  bool read(const Json& json, T& object) {
    const auto ok = api::decode(json, object, T::resource.kind);
    if (ok) return true;
    const Identity which = identity_of(json);
    const std::string deep = too_deep_field(json);
    const std::string why = deep.empty() ? ok.error().message
                                         : deep + " is nested more than " +
                                               std::to_string(kObjectDepthMax) + " levels deep";
    log_.error("object cannot be read and is passed over",
               {{"kind", T::resource.kind}, {"object", to_string(which.key)}, {"error", why}});
    tell(which, why);
    return false;
  }
  void tell(const Identity& which, const std::string& why) const {
    if (on_unreadable_) on_unreadable_(which, why);
  }

  Log& log_;
  Store<T>& store_;
  std::string ns_;
  std::function<void(const Identity&, const std::string&)> on_unreadable_;
  std::uint64_t mark_ = 0;
  std::vector<T> listed_;
  std::set<ObjectKey> unreadable_;  ///< Unreadable objects of the list that is being read.
  std::set<ObjectKey> told_;        ///< Unreadable objects already reported to on_unreadable.
  ListWatch list_watch_;
};

}  // namespace etcdop::kube
