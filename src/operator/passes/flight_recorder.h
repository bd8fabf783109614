// What the last passes over each object saw and planned, for `./dev replay`. Bounded, in memory
// only, and without anything that is secret: the annotations of objects are left out, as anybody
// may have put anything there.
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

/// A ring for each object. The newest pair is kept whole, each older one as its difference from the
/// one after it: passes over one object are much alike. A pass that differs from the last one in
/// nothing but time and etcd's raft index is only counted.
class FlightRecorder {
 public:
  struct Limits {
    std::size_t pairs = 256;              ///< Of one object.
    std::size_t object_bytes = 64 << 10;  ///< Of one object; a larger pair is not kept.
    std::size_t total_bytes = 1 << 20;    ///< The pair that is oldest of all goes first.
  };
  FlightRecorder() = default;
  explicit FlightRecorder(Limits limits) : limits_(limits) {}
  FlightRecorder(const FlightRecorder&) = delete;

  /// `observation` and `plan` are objects: their encodings. `kind` outlives this. Never throws:
  /// what cannot be recorded is left out, and with it what was kept of that object.
  void record(const char* kind, const api::ObjectKey&, WallTime now, Json observation, Json plan);
  /// The object is gone. Its pairs stay until others need the room.
  void gone(const char* kind, const api::ObjectKey&);

  /// JSON lines for FlightReader, each object's pairs together and from its newest to its oldest.
  std::string text() const;
  /// The last pair of an object, one line of JSON; empty: none is kept.
  std::string newest(const char* kind, const api::ObjectKey&) const;
  /// What is kept, nearly: texts, and a fixed amount for each pair and each object.
  std::size_t bytes() const { return bytes_; }

 private:
  struct Pair {
    std::string text;  ///< The newest: itself. Else: what makes it of the one after it.
    std::uint64_t nth = 0, times = 1;
    WallTime until;
  };
  struct Ring {
    std::list<Pair> pairs;   ///< Oldest first. Empty: others needed the room.
    std::uint64_t last = 0;  ///< Hash of the newest pair ever, without what changes all the time.
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
  void forget(Rings::iterator);

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
    std::int64_t times = 1;  ///< How many passes were like it...
    std::string until;       ///< ...and when the last of them was.
  };
  /// Invalid: says what is wrong with the line.
  Result<Pair> read(std::string_view line);

 private:
  std::optional<std::pair<std::string, Json>> last_;  // Whose, and the pair.
};

}  // namespace etcdop
