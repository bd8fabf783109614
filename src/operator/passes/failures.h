// Objects that the operator recreates and that fail again at once: each next one waits longer.
#pragma once
#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "api/meta.h"
#include "base/fiber.h"

namespace etcdop {

/// Failures in a row, by the object for which something is recreated. After the first failure it is
/// recreated at once: that is an eviction, or the end of a node. The second waits a second, each
/// further one twice as long, up to five minutes: ten in five minutes at most.
class Failures {
 public:
  /// The recreated object with that UID failed now, with these words. A repeated report counts
  /// once. `told`: for how long an earlier process of the operator has told of failures; the row
  /// goes on with that pause, and one second: the pauses of a row add up to the next one but that.
  void failed(const api::ObjectKey& key, const std::string& uid, std::string words, Instant now,
              Duration told = Duration(0)) {
    const bool goes_on = !rows_.contains(key) && told > Duration(0);
    Row& row = rows_[key];
    if (row.uid == uid) return;
    const bool in_a_row = row.count > 0 && now - row.last <= row.pause + kMost;
    row.count = goes_on ? 2 : in_a_row ? row.count + 1 : 1;
    row.pause = row.count == 1 ? Duration(0) : row.count == 2 ? kFirst : row.pause * 2;
    if (goes_on) row.pause = told + kFirst;
    row.pause = std::min(row.pause, kMost);
    row.uid = uid;
    row.words = std::move(words);
    row.last = now;
  }
  /// How long to wait before it is recreated; zero: it may be recreated now.
  Duration wait(const api::ObjectKey& key, Instant now) const {
    const auto row = rows_.find(key);
    return row == rows_.end() ? Duration(0)
                              : std::max(row->second.last + row->second.pause - now, Duration(0));
  }
  /// The last words of failures in a row; empty: there was one at most, or the row has ended.
  std::string words(const api::ObjectKey& key, Instant now) const {
    const auto row = rows_.find(key);
    const bool in_a_row = row != rows_.end() && row->second.count > 1 &&
                          now - row->second.last <= row->second.pause + kMost;
    return in_a_row ? row->second.words : "";
  }
  void forget(const api::ObjectKey& key) { rows_.erase(key); }

 private:
  static constexpr Duration kFirst = std::chrono::seconds(1), kMost = std::chrono::minutes(5);
  struct Row {
    int count = 0;
    Duration pause{0};
    std::string uid, words;
    Instant last{};
  };
  std::map<api::ObjectKey, Row> rows_;
};

}  // namespace etcdop
