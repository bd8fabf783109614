// The body of a watch: JSON objects, one per line, that arrive in pieces of any size. Pure.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api.h"
#include "kube/object_text.h"

namespace etcdop::kube {

/// Joins pieces and passes on whole events, whose long fields are replaced (object_text.h): an
/// object of any length ends no watch. One for each watch.
class WatchLines {
 public:
  /// Limit of what is left of a line.
  static constexpr std::size_t kLineMax = 4 << 20;
  using Each = std::function<bool(WatchEvent)>;

  /// `each` must outlive this; false from it ends the watch.
  WatchLines(const Call& call, const Each& each) : call_(call), each_(each) {}
  /// False: the watch is over, because `each` returned false or because of error().
  bool take(std::string_view piece);
  /// Success so far and, at the body's end, no half line left. Otherwise the error of an ERROR
  /// event (mostly Expired); Corrupt for an invalid event or a line that is too long; Unavailable
  /// for a half line.
  Result<Done> result() const;

 private:
  bool line(std::string_view);
  bool fail(Error);
  const Call& call_;
  const Each& each_;
  std::optional<Pruner> begun_;  // The beginning of an incomplete line.
  bool over_ = false;
  std::optional<Error> error_;
};

}  // namespace etcdop::kube
