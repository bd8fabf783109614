#include "sim/etcd/store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/etcd/words.h"

namespace etcdop::sim {

Refusal refused(const char* text, int code) { return {code, std::string("etcdserver: ") + text}; }

bool any(const Alarms& alarms, AlarmKind kind) {
  return std::ranges::any_of(alarms, [&](const Alarm& alarm) { return alarm.kind == kind; });
}

std::int64_t Store::cost(const std::string& key, const Version& version) {
  return static_cast<std::int64_t>(key.size() + version.value.size()) + kEach;
}

const Store::Version* Store::newest(const Versions& versions, std::int64_t revision) {
  const Version* found = nullptr;
  for (const Version& version : versions)
    if (version.revision <= revision) found = &version;
  return found;
}

void Store::add(const std::string& key, Versions& versions, Version version) {
  bytes_ += cost(key, version);
  file_bytes_ = std::max(file_bytes_, bytes_);
  versions.push_back(std::move(version));
}

void Store::put(const std::string& key, std::string value) {
  Versions& versions = keys_[key];
  const bool lives = !versions.empty() && !versions.back().gone;
  ++revision_;
  Version version{.revision = revision_, .created = revision_, .count = 1, .value = {}};
  if (lives) {
    version.created = versions.back().created;
    version.count = versions.back().count + 1;
  }
  version.value = std::move(value);
  add(key, versions, std::move(version));
}

std::int64_t Store::erase(const std::string& key, const std::string& end) {
  const auto found = range(key, end, 0);
  if (found.empty()) return 0;
  ++revision_;
  for (const Found& one : found)
    add(one.key, keys_[one.key], {.revision = revision_, .value = {}, .gone = true});
  return static_cast<std::int64_t>(found.size());
}

Refusal Store::compact(std::int64_t revision) {
  if (revision <= compacted_)
    return refused("mvcc: required revision has been compacted", kOutOfRange);
  if (revision > revision_)
    return refused("mvcc: required revision is a future revision", kOutOfRange);
  compacted_ = revision;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& [key, versions] = *at;
    const Version* kept = newest(versions, revision);
    if (kept && kept->gone) ++kept;  // One past it, which may be the end.
    const auto first = kept ? versions.begin() + (kept - versions.data()) : versions.begin();
    for (auto dropped = versions.begin(); dropped != first; ++dropped)
      bytes_ -= cost(key, *dropped);
    versions.erase(versions.begin(), first);
    at = versions.empty() ? keys_.erase(at) : std::next(at);
  }
  return {};
}

Refusal Store::must_have(std::int64_t revision) const {
  if (revision > revision_)
    return refused("mvcc: required revision is a future revision", kOutOfRange);
  if (revision > 0 && revision < compacted_)
    return refused("mvcc: required revision has been compacted", kOutOfRange);
  return {};
}

std::vector<Store::Found> Store::range(const std::string& key, const std::string& end,
                                       std::int64_t revision) const {
  const std::int64_t then = revision > 0 ? revision : revision_;
  std::vector<Found> found;
  for (auto at = keys_.lower_bound(key); at != keys_.end(); ++at) {
    const bool inside =
        end.empty() ? at->first == key : end == std::string(1, '\0') || at->first < end;
    if (!inside) break;
    const Version* version = newest(at->second, then);
    if (version && !version->gone) found.push_back({at->first, version});
  }
  return found;
}

bool Store::keeps(const std::string& key, const std::string& value) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && std::ranges::any_of(found->second, [&](const Version& version) {
           return !version.gone && version.value == value;
         });
}

std::uint32_t Store::hash(std::int64_t revision) const {
  std::uint32_t sum = 2166136261U;  // FNV-1a.
  const auto take = [&](const std::string& bytes) {
    for (const char byte : bytes + '\0') sum = (sum ^ static_cast<unsigned char>(byte)) * 16777619U;
  };
  for (const auto& [key, versions] : keys_)
    for (const Version& version : versions) {
      if (version.revision > revision) continue;
      take(key);
      take(std::to_string(version.revision) + (version.gone ? "-" : "+") + version.value);
    }
  return sum;
}

void Store::write(std::string& out) const {
  write_word(out, revision_);
  write_word(out, compacted_);
  write_word(out, static_cast<std::int64_t>(keys_.size()));
  for (const auto& [key, versions] : keys_) {
    write_word(out, key);
    write_word(out, static_cast<std::int64_t>(versions.size()));
    for (const Version& version : versions) {
      for (const std::int64_t number :
           {version.revision, version.created, version.count, std::int64_t{version.gone}})
        write_word(out, number);
      write_word(out, version.value);
    }
  }
}

Store Store::read(WordReader& reader) {
  Store store;
  store.revision_ = reader.number();
  store.compacted_ = reader.number();
  for (std::int64_t keys = reader.number(); reader.good() && keys > 0; --keys) {
    const std::string key = reader.string();
    Versions& versions = store.keys_[key];
    for (std::int64_t left = reader.number(); reader.good() && left > 0; --left) {
      Version version;
      version.revision = reader.number();
      version.created = reader.number();
      version.count = reader.number();
      version.gone = reader.number() != 0;
      version.value = reader.string();
      store.add(key, versions, std::move(version));
    }
  }
  return store;
}

std::int64_t Store::newest_key() const {
  std::int64_t newest = 0;
  for (const auto& [key, versions] : keys_) newest = std::max(newest, versions.back().revision);
  return newest;
}

void Store::bump(std::int64_t by) {
  revision_ = newest_key() + by;
  (void)compact(revision_);
}

bool Store::operator==(const Store& other) const {
  return revision_ == other.revision_ && compacted_ == other.compacted_ && keys_ == other.keys_;
}

}  // namespace etcdop::sim
