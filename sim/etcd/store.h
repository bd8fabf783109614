// What a member keeps for its clients: keys with their history, alarms, users. Pure; each member
// makes it from its log.
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

/// Why etcd refuses, as gRPC has it; code 0: it does not.
struct Refusal {
  int code = 0;
  std::string text;
};
inline constexpr int kInvalidArgument = 3, kNotFound = 5, kPermissionDenied = 7,
                     kResourceExhausted = 8, kFailedPrecondition = 9, kOutOfRange = 11,
                     kUnavailable = 14, kDataLoss = 15, kUnauthenticated = 16;
Refusal refused(const char* text, int code = kFailedPrecondition);

/// Keys and their versions, back to the last compaction. Revisions count as etcd's do: an empty
/// store has 1, each put and each delete that finds something adds one.
///
/// Sizes, in bytes: 16 KiB to begin with, and for each version that is still there its key, its
/// value and 64. The file never shrinks but by defragment(). Pages and the free list of a real one
/// are not modelled, nor that it counts them a moment late.
class Store {
 public:
  struct Version {
    std::int64_t revision = 0, created = 0, count = 0;
    std::string value;
    bool gone = false;
    bool operator==(const Version&) const = default;
  };
  std::int64_t revision() const { return revision_; }
  /// -1: never.
  std::int64_t compacted() const { return compacted_; }
  std::int64_t bytes() const { return bytes_; }
  std::int64_t file_bytes() const { return file_bytes_; }

  void put(const std::string& key, std::string value);
  /// A fault: the newest version of that key says something else from now on, on this member.
  void falsify(const std::string& key) { keys_.at(key).back().value += "?"; }
  /// Of [key, end), or of `key` alone if `end` is empty. How many there were.
  std::int64_t erase(const std::string& key, const std::string& end);
  Refusal compact(std::int64_t revision);
  void defragment() { file_bytes_ = bytes_; }

  struct Found {
    std::string key;
    const Version* version;
  };
  /// As they were then; 0: now. It was not compacted and is not of the future.
  std::vector<Found> range(const std::string& key, const std::string& end,
                           std::int64_t revision) const;
  /// Whether a version that is still there says so.
  bool keeps(const std::string& key, const std::string& value) const;
  /// Whether it can be asked for.
  Refusal must_have(std::int64_t revision) const;
  /// Of all that is kept of the versions up to that one. Equal in members that compacted alike.
  std::uint32_t hash(std::int64_t revision) const;
  /// Of the versions that are kept; 0: there is none.
  std::int64_t newest_key() const;
  /// `etcdutl snapshot restore --bump-revision --mark-compacted`: the revision is higher by so
  /// much than the newest key's, and all before that is compacted. Source:
  /// etcdutl/snapshot/v3_snapshot.go.
  void bump(std::int64_t by);
  void write(std::string& out) const;
  static Store read(WordReader&);
  /// Keys and history; not the file, which is each member's own.
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
