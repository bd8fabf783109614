// The part of a member's state that clients see: keys with their history, alarms. Pure; each member
// derives it from its log.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::sim {

class WordReader;

/// Why etcd refuses, with the gRPC code; 0: it does not refuse.
struct Refusal {
  int code = 0;
  std::string text;
};
inline constexpr int kInvalidArgument = 3, kNotFound = 5, kPermissionDenied = 7,
                     kResourceExhausted = 8, kFailedPrecondition = 9, kOutOfRange = 11,
                     kUnavailable = 14, kDataLoss = 15, kUnauthenticated = 16;
Refusal refused(const char* text, int code = kFailedPrecondition);

/// Keys and their versions, back to the last compaction. Revisions count as in etcd: an empty store
/// has 1, and each put and each delete that finds something adds 1.
///
/// Sizes, in bytes: 16 KiB for an empty store, plus key, value and 64 for each version that still
/// exists. The file shrinks only in defragment(). Not modelled: pages, the free list, and that a
/// real etcd updates its size with a delay.
class Store {
 public:
  struct Version {
    std::int64_t revision = 0, created = 0, count = 0;
    std::string value;
    bool gone = false;
    bool operator==(const Version&) const = default;
  };
  std::int64_t revision() const { return revision_; }
  /// -1: never compacted.
  std::int64_t compacted() const { return compacted_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t file_bytes() const { return file_bytes_; }

  void put(const std::string& key, std::string value);
  /// A fault: changes the newest value of that key on this member only.
  void falsify(const std::string& key) { keys_.at(key).back().value += "?"; }
  /// Deletes [key, end), or only `key` if `end` is empty. Returns how many existed.
  std::int64_t erase(const std::string& key, const std::string& end);
  Refusal compact(std::int64_t revision);
  void defragment() { file_bytes_ = bytes_; }

  struct Found {
    std::string key;
    const Version* version;
  };
  /// The keys at that revision; 0: now. The revision must not be compacted or in the future.
  std::vector<Found> range(const std::string& key, const std::string& end,
                           std::int64_t revision) const;
  /// Whether a version that still exists has this value.
  bool keeps(const std::string& key, const std::string& value) const;
  /// Whether that revision can be read.
  Refusal must_have(std::int64_t revision) const;
  /// The hash of all kept versions up to that revision. Equal for members with equal compactions.
  std::uint32_t hash(std::int64_t revision) const;
  /// The newest revision among the kept versions; 0: none.
  std::int64_t newest_key() const;
  /// `etcdutl snapshot restore --bump-revision --mark-compacted`: the revision becomes the newest
  /// key's plus `by`, and everything before it is compacted. Source:
  /// etcdutl/snapshot/v3_snapshot.go.
  void bump(std::int64_t by);
  void write(std::string& out) const;
  static Store read(WordReader&);
  /// Compares keys and history, not the file size, which each member has of its own.
  bool operator==(const Store&) const;

 private:
  using Versions = std::vector<Version>;
  static const Version* newest(const Versions&, std::int64_t revision);
  void add(const std::string& key, Versions&, Version);
  static std::int64_t cost(const std::string& key, const Version& version);
  static constexpr std::int64_t kEmpty = 16384, kEach = 64;

  std::map<std::string, Versions> keys_;
  std::int64_t revision_ = 1, compacted_ = -1, bytes_ = kEmpty, file_bytes_ = kEmpty + 4096;
};

using etcd::Alarm;
using etcd::AlarmKind;
using Alarms = std::set<Alarm>;
bool any(const Alarms&, AlarmKind);

}  // namespace etcdop::sim
