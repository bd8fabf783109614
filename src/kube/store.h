// What a watch has told us about one kind: objects trimmed to the fields we use, with
// read-your-writes. Values only; the reflector (reflector.h) fills it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop::kube {

using api::ObjectKey;

/// T has `metadata` (api::ObjectMeta). Objects are immutable and shared: a pass keeps what it saw.
///
/// Read your writes: after wrote(object) older events about that object are ignored until the event
/// with the resourceVersion of our write, its deletion, or a list that began after the write.
/// Versions are compared for equality only.
template <class T>
class Store {
 public:
  using Pointer = std::shared_ptr<const T>;
  /// The key of the reconcile that an object belongs to (its cluster); nullopt: it concerns nobody.
  using Group = std::function<std::optional<ObjectKey>(const T&)>;
  /// Called after each change with the group's key.
  using Changed = std::function<void(const ObjectKey& group)>;

  explicit Store(Group group) : group_(std::move(group)) {}
  void on_change(Changed changed) { changed_.push_back(std::move(changed)); }

  Pointer get(const ObjectKey& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.object;
  }
  /// Ordered by name.
  std::vector<Pointer> in_group(const ObjectKey& group) const {
    std::vector<Pointer> out;
    if (const auto found = groups_.find(group); found != groups_.end())
      for (const ObjectKey& key : found->second) out.push_back(objects_.at(key).object);
    return out;
  }
  std::vector<Pointer> all() const {
    std::vector<Pointer> out;
    for (const auto& [key, entry] : objects_) out.push_back(entry.object);
    return out;
  }
  std::size_t size() const { return objects_.size(); }
  /// True once the first list is in.
  bool synced() const { return heard_.has_value(); }
  /// Since the server last said anything (event, bookmark, list); nullopt before the first list.
  std::optional<Duration> age(Instant now) const {
    return heard_ ? std::optional<Duration>(now - *heard_) : std::nullopt;
  }

  /// What a write of ours answered.
  void wrote(T object) {
    const std::string version = object.metadata.resource_version;
    put(std::move(object));
    if (auto found = objects_.find(last_); found != objects_.end()) {
      found->second.awaited = version;
      found->second.awaited_since = ++writes_;
    }
  }

  // For the reflector:
  /// Taken before a list is asked for; what is written after it is not undone by that list.
  std::uint64_t mark() const { return writes_; }
  void heard(Instant now) { heard_ = now; }
  void saw(T object);
  void saw_deleted(const T& object);
  void replace(std::vector<T> listed, std::uint64_t mark, Instant now);

 private:
  struct Entry {
    Pointer object;
    std::string awaited;  // Events are stale until this version comes; empty: not waiting.
    std::uint64_t awaited_since = 0;  // Which write of ours.
  };
  void put(T object);
  void drop(const ObjectKey& key);
  void tell(const std::optional<ObjectKey>& group) const {
    if (group)
      for (const Changed& changed : changed_) changed(*group);
  }

  Group group_;
  std::vector<Changed> changed_;
  std::map<ObjectKey, Entry> objects_;
  std::map<ObjectKey, std::set<ObjectKey>> groups_;
  std::optional<Instant> heard_;
  std::uint64_t writes_ = 0;
  ObjectKey last_;
};

template <class T>
void Store<T>::put(T object) {
  const ObjectKey key = object.metadata.key();
  const auto group = group_(object);
  if (const auto before = get(key)) {
    const auto old_group = group_(*before);
    if (old_group && old_group != group) {
      groups_[*old_group].erase(key);
      tell(old_group);
    }
  }
  objects_[key].object = std::make_shared<const T>(std::move(object));
  if (group) groups_[*group].insert(key);
  last_ = key;
  tell(group);
}

template <class T>
void Store<T>::drop(const ObjectKey& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  const auto group = group_(*found->second.object);
  objects_.erase(found);
  if (group) {
    const auto members = groups_.find(*group);
    members->second.erase(key);
    if (members->second.empty()) groups_.erase(members);
  }
  tell(group);
}

template <class T>
void Store<T>::saw(T object) {
  const auto found = objects_.find(object.metadata.key());
  if (found != objects_.end()) {
    Entry& entry = found->second;
    if (!entry.awaited.empty() && entry.awaited != object.metadata.resource_version) return;
    entry.awaited.clear();
    if (entry.object->metadata.resource_version == object.metadata.resource_version) return;
  }
  put(std::move(object));
}

template <class T>
void Store<T>::saw_deleted(const T& object) {
  const auto found = objects_.find(object.metadata.key());
  // The end of an earlier object of that name does not end the one we have just made.
  if (found == objects_.end() || found->second.object->metadata.uid != object.metadata.uid) return;
  drop(object.metadata.key());
}

template <class T>
void Store<T>::replace(std::vector<T> listed, std::uint64_t mark, Instant now) {
  std::set<ObjectKey> present;
  heard_ = now;
  for (T& object : listed) {
    const ObjectKey key = object.metadata.key();
    present.insert(key);
    const auto found = objects_.find(key);
    if (found != objects_.end()) {
      if (!found->second.awaited.empty() && found->second.awaited_since > mark &&
          found->second.awaited != object.metadata.resource_version)
        continue;
      found->second.awaited.clear();
      if (found->second.object->metadata.resource_version == object.metadata.resource_version)
        continue;
    }
    put(std::move(object));
  }
  std::vector<ObjectKey> gone;
  for (const auto& [key, entry] : objects_)
    if (!present.contains(key) && (entry.awaited.empty() || entry.awaited_since <= mark))
      gone.push_back(key);
  for (const ObjectKey& key : gone) drop(key);
}

}  // namespace etcdop::kube
