// The observations and plans of the last passes over each object, for `./dev replay`. Bounded, in
// memory only, and without secrets: the annotations of objects are left out, as users may put
// anything there.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/meta.h"
#include "base/json.h"
#include "base/result.h"
#include "base/wall_time.h"

namespace etcdop {

/// Has a ring for each object. The newest pair is kept whole, each older one as its difference from
/// the next newer one, because passes over one object are alike. A pass that differs from the last
/// one only in the time, the wait and etcd's raft index is only counted.
class FlightRecorder {
 public:
  struct Limits {
    std::size_t pairs = 256;              ///< Per object.
    std::size_t object_bytes = 64 << 10;  ///< Per object; a larger pair is not kept.
    std::size_t total_bytes = 1 << 20;    ///< In total; the oldest pair of all is dropped first.
  };
  FlightRecorder() = default;
  explicit FlightRecorder(Limits limits) : limits_(limits) {}
  FlightRecorder(const FlightRecorder&) = delete;

  /// `observation` and `plan` are the encoded objects. `kind` must outlive the recorder. Never
  /// throws: if a pass cannot be recorded, the pairs of that object are dropped.
  void record(const char* kind, const api::ObjectKey&, WallTime now, Json observation, Json plan);
  /// Drops the pairs of an object, which stays.
  void forget(const char* kind, const api::ObjectKey&);
  /// The object is deleted. Its pairs stay until others need the room.
  void gone(const char* kind, const api::ObjectKey&);

  /// JSON lines for FlightReader: the pairs of each object together, the newest first.
  std::string text() const;
  /// The newest pair of an object, one line of JSON; empty: none is kept.
  std::string newest(const char* kind, const api::ObjectKey&) const;
  /// The approximate size: the texts, and a fixed amount for each pair and each object.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Pair {
    std::string text;  ///< The newest pair: whole. An older one: its delta from the next newer one.
    std::uint64_t nth = 0, times = 1;
    WallTime until;
  };
  struct Ring {
    std::list<Pair> pairs;   ///< Oldest first. Empty: dropped for room.
    std::uint64_t last = 0;  ///< Hash of the newest pair ever, without fields that always change.
    std::size_t bytes = 0;
    bool gone = false;
  };
  using Rings = std::map<std::pair<std::string_view, api::ObjectKey>, Ring>;

  void keep(const char* kind, const api::ObjectKey&, WallTime now, Json observation, Json plan);
  Ring& ring_of(const char* kind, const api::ObjectKey&);
  void append(Ring&, std::string text, WallTime now);
  void drop_oldest(Ring&);
  void make_room();
  void grow(Ring&, std::size_t more);
  void shrink(Ring&, std::size_t less);
  void erase(Rings::iterator);

  Limits limits_;
  Rings rings_;
  std::size_t bytes_ = 0;
  std::uint64_t recorded_ = 0;
};

/// Reads what FlightRecorder::text() wrote, line by line.
class FlightReader {
 public:
  struct Pair {
    std::string kind, object;  ///< "EtcdCluster", "prod/db".
    Json observation, plan;
    std::int64_t times = 1;  ///< The number of passes like it...
    std::string until;       ///< ...and the time of the last of them.
  };
  /// Invalid: the error says what is wrong with the line.
  Result<Pair> read(std::string_view line);

 private:
  std::optional<std::pair<std::string, Json>> last_;  // "EtcdCluster prod/db", and the pair.
};

}  // namespace etcdop
