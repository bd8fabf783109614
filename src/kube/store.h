// The watched state of one kind: objects trimmed to the fields we use, with read-your-writes.
// Values only; reflectors (reflector.h) fill it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "base/fiber.h"
#include "kube/kept.h"

namespace etcdop::kube {

using api::ObjectKey;

/// The last few texts of a kind, for membership tests.
class Recent {
 public:
  void add(const std::string& text) {
    texts_.push_back(text);
    if (texts_.size() > kKept) texts_.pop_front();
  }
  void forget(const std::string& text) { std::erase(texts_, text); }
  bool contains(const std::string& text) const {
    return std::find(texts_.begin(), texts_.end(), text) != texts_.end();
  }

 private:
  static constexpr std::size_t kKept = 256;
  std::deque<std::string> texts_;
};

/// T has `metadata` (api::ObjectMeta). Objects are immutable and shared: a pass keeps the objects
/// that it saw.
///
/// Several reflectors may fill one store, each for its own scope: a namespace, or "" for all of
/// them.
///
/// Read your writes: after wrote(object), older events about that object are ignored until the
/// event with the resourceVersion of our write, its deletion, or a list that began after the write.
/// Versions are compared for equality only.
///
/// Guarantees: the answer to a write changes nothing if the watch was quicker (the object has
/// changed again, or is deleted). An awaited event that never comes (a server may merge changes
/// into one after a reconnect) makes the store overdue after kAwaitMax; the reflector then lists
/// again, which settles it. Until then the store keeps the object as we wrote it.
template <class T>
class Store {
 public:
  using Pointer = std::shared_ptr<const T>;
  /// The key of the reconcile that an object belongs to (its cluster); nullopt: no reconcile.
  using Group = std::function<std::optional<ObjectKey>(const T&)>;
  /// Called after each change with the group's key; the store is consistent then. Must not suspend.
  using Changed = std::function<void(const ObjectKey& group)>;
  /// Much longer than any event takes, so that a delayed event is not overtaken.
  static constexpr Duration kAwaitMax = std::chrono::seconds(10);

  /// An object ready to be stored: its key fields, and its text.
  struct Listed {
    ObjectKey key;
    std::string uid;
    std::optional<ObjectKey> group;
    Kept<T> kept;
    Pointer whole = nullptr;  ///< The parsed object, if it is to be held a while.
  };

  /// Takes out of an object what is never used. Returns why the object is passed over, as if it
  /// could not be read; mostly empty.
  using Trim = std::function<std::string(T&)>;

  /// Stores that have equal `texts` keep what their objects have in common once.
  explicit Store(Group group, SharedTexts texts = {}, Trim trim = {})
      : group_(std::move(group)), texts_(std::move(texts)), trim_(std::move(trim)) {}
  void on_change(Changed changed) { changed_.push_back(std::move(changed)); }

  Pointer get(const ObjectKey& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.get(latest_);
  }
  /// Ordered by name.
  std::vector<Pointer> in_group(const ObjectKey& group) const {
    std::vector<Pointer> out;
    if (const auto found = groups_.find(group); found != groups_.end())
      for (const ObjectKey& key : found->second) out.push_back(objects_.at(key).get(latest_));
    return out;
  }
  /// Objects of a namespace whose names have this prefix, ordered by name. Does not visit the
  /// others.
  std::vector<Pointer> named(const ObjectKey& begin) const {
    std::vector<Pointer> out;
    for (auto it = objects_.lower_bound(begin); it != objects_.end(); ++it) {
      if (it->first.ns != begin.ns || !it->first.name.starts_with(begin.name)) break;
      out.push_back(it->second.get(latest_));
    }
    return out;
  }
  std::vector<Pointer> all() const {
    std::vector<Pointer> out;
    for (const auto& [key, object] : objects_) out.push_back(object.get(latest_));
    return out;
  }
  std::size_t size() const { return objects_.size(); }
  /// True once the first list of every scope is complete.
  bool synced() const { return oldest().has_value(); }
  /// Time since the server last sent anything (event, bookmark, list), for the scope where this is
  /// longest; nullopt before the first lists. Some minutes are healthy if nothing changes.
  std::optional<Duration> age(Instant now) const {
    const auto heard = oldest();
    return heard ? std::optional<Duration>(now - *heard) : std::nullopt;
  }

  /// The answer to our own write.
  void wrote(T object);

  // For reflectors:
  /// Announces a scope: the store is not synced before its first list.
  void expect(const std::string& scope) { heard_.emplace(scope, std::nullopt); }
  /// Take the mark before requesting a list; the list does not undo later writes.
  std::uint64_t mark() const { return writes_; }
  void heard(Instant now, const std::string& scope = "") { heard_[scope] = now; }
  std::string trim(T& object) const { return trim_ ? trim_(object) : ""; }
  Listed listed(const T& object);
  void saw(T object) { saw(with_whole(std::move(object))); }
  void saw(Listed object);
  void saw_deleted(const ObjectKey& key, const std::string& uid);
  void saw_deleted(const T& object) { saw_deleted(object.metadata.key(), object.metadata.uid); }
  /// The whole list of a scope. `unreadable` names objects that exist but could not be decoded:
  /// their known state stays.
  void replace(std::vector<Listed> listed, std::uint64_t mark, Instant now,
               const std::string& scope = "", const std::set<ObjectKey>& unreadable = {});
  /// True if an awaited event of that scope is missing for too long: list again. The time counts
  /// from the first such call after the write.
  bool overdue(Instant now, const std::string& scope = "");

 private:
  struct Awaited {
    std::string version;           // Events are stale until this version arrives.
    std::uint64_t write = 0;       // Number of our write.
    std::optional<Instant> since;  // Time of the first overdue() call for it.
  };
  static bool in_scope(const ObjectKey& key, const std::string& scope) {
    return scope.empty() || key.ns == scope;
  }
  std::optional<Instant> oldest() const;
  bool has(const ObjectKey& key, const std::string& version) const {
    const auto found = objects_.find(key);
    return found != objects_.end() && found->second.version() == version;
  }
  Listed with_whole(T object) {
    Listed out = listed(object);
    out.whole = Pointer(new T(std::move(object)));
    return out;
  }
  void put(Listed object);
  void drop(const ObjectKey& key);
  void leave(const std::optional<ObjectKey>& group, const ObjectKey& key);
  void tell(const std::optional<ObjectKey>& group) const {
    if (group)
      for (const Changed& changed : changed_) changed(*group);
  }

  Group group_;
  SharedTexts texts_;
  Trim trim_;
  std::vector<Changed> changed_;
  std::map<ObjectKey, Kept<T>> objects_;
  mutable Latest<T> latest_;
  std::map<ObjectKey, std::set<ObjectKey>> groups_;
  std::map<ObjectKey, Awaited> awaited_;
  std::map<std::string, std::optional<Instant>> heard_;  // By scope.
  Recent past_versions_;                                 // Earlier versions of the objects.
  Recent past_uids_;                                     // UIDs that we saw deleted.
  std::uint64_t writes_ = 0;
};

template <class T>
std::optional<Instant> Store<T>::oldest() const {
  std::optional<Instant> out;
  for (const auto& [scope, heard] : heard_) {
    if (!heard) return std::nullopt;
    out = out ? std::min(*out, *heard) : *heard;
  }
  return out;
}

template <class T>
void Store<T>::leave(const std::optional<ObjectKey>& group, const ObjectKey& key) {
  if (!group) return;
  const auto members = groups_.find(*group);
  members->second.erase(key);
  if (members->second.empty()) groups_.erase(members);
}

template <class T>
typename Store<T>::Listed Store<T>::listed(const T& object) {
  return {object.metadata.key(), object.metadata.uid, group_(object), Kept<T>(object, texts_)};
}

template <class T>
void Store<T>::put(Listed object) {
  const ObjectKey key = std::move(object.key);
  const auto& group = object.group;
  std::optional<ObjectKey> left;
  const auto [place, is_new] = objects_.try_emplace(key);
  if (!is_new) {
    past_versions_.add(place->second.version());
    left = group_(*place->second.get(latest_));
  }
  place->second = std::move(object.kept);
  if (object.whole) place->second.know(std::exchange(object.whole, nullptr), latest_);
  if (left != group) leave(left, key);
  if (group) groups_[*group].insert(key);
  if (left != group) tell(left);
  tell(group);
}

template <class T>
void Store<T>::drop(const ObjectKey& key) {
  const auto found = objects_.find(key);
  const Pointer object = found->second.get(latest_);
  past_versions_.add(object->metadata.resource_version);
  past_uids_.add(object->metadata.uid);
  const auto group = group_(*object);
  objects_.erase(found);
  awaited_.erase(key);
  leave(group, key);
  tell(group);
}

template <class T>
void Store<T>::wrote(T object) {
  if (!trim(object).empty()) return;
  const ObjectKey key = object.metadata.key();
  const std::string version = object.metadata.resource_version;
  const bool known_already = has(key, version);
  const bool overtaken =
      past_versions_.contains(version) || past_uids_.contains(object.metadata.uid);
  // Covers a write that changed nothing, too: it has no event of its own to await.
  if (known_already || overtaken) return;
  awaited_[key] = {version, ++writes_, std::nullopt};
  put(with_whole(std::move(object)));
}

template <class T>
void Store<T>::saw(Listed object) {
  const ObjectKey& key = object.key;
  const std::string& version = object.kept.version();
  if (const auto awaited = awaited_.find(key); awaited != awaited_.end()) {
    if (awaited->second.version != version) {
      past_versions_.add(version);  // The answer to that write may come even later.
      return;
    }
    awaited_.erase(awaited);
  }
  if (has(key, version)) return;
  past_uids_.forget(object.uid);  // The object had only lost its label.
  put(std::move(object));
}

template <class T>
void Store<T>::saw_deleted(const ObjectKey& key, const std::string& uid) {
  const Pointer known = get(key);
  // The deletion of an earlier object of that name does not delete the one we have just made.
  if (known && known->metadata.uid == uid) drop(key);
  else past_uids_.add(uid);
}

template <class T>
void Store<T>::replace(std::vector<Listed> listed, std::uint64_t mark, Instant now,
                       const std::string& scope, const std::set<ObjectKey>& unreadable) {
  heard_[scope] = now;
  const auto written_since = [&](const ObjectKey& key) {
    const auto awaited = awaited_.find(key);
    return awaited != awaited_.end() && awaited->second.write > mark;
  };
  std::set<ObjectKey> present = unreadable;
  for (Listed& object : listed) {
    const ObjectKey& key = object.key;
    present.insert(key);
    if (!written_since(key)) awaited_.erase(key);
    saw(std::move(object));
  }
  std::vector<ObjectKey> gone;
  for (const auto& [key, object] : objects_)
    if (in_scope(key, scope) && !present.contains(key) && !written_since(key)) gone.push_back(key);
  for (const ObjectKey& key : gone) drop(key);
}

template <class T>
bool Store<T>::overdue(Instant now, const std::string& scope) {
  bool out = false;
  for (auto& [key, awaited] : awaited_) {
    if (!in_scope(key, scope)) continue;
    if (!awaited.since) awaited.since = now;
    out = out || now - *awaited.since >= kAwaitMax;
  }
  return out;
}

}  // namespace etcdop::kube
