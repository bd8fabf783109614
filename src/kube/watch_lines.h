// The body of a watch: JSON objects, one a line, that arrive in pieces of any size. Pure.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api.h"

namespace etcdop::kube {

/// Puts pieces together and hands over whole events. One for each watch.
class WatchLines {
 public:
  /// Twice what etcd takes for an object, for JSON is longer than what it is stored as.
  static constexpr std::size_t kLineMax = 4 << 20;
  using Each = std::function<bool(WatchEvent)>;

  /// `each` is used as long as this lives; false from it ends the watch.
  WatchLines(const Call& call, const Each& each) : call_(call), each_(each) {}
  /// False: it is over, because `each` said so or because of error().
  bool take(std::string_view piece);
  /// Success so far and, at the body's end, no half line left. Otherwise an ERROR event's own error
  /// (Expired above all); Corrupt for what is no event, or too long a line; Unavailable for a half
  /// line.
  Result<Done> result() const;

 private:
  bool line(std::string_view);
  bool fail(Error);
  const Call& call_;
  const Each& each_;
  std::string rest_;  // The beginning of a line.
  bool over_ = false;
  std::optional<Error> error_;
};

}  // namespace etcdop::kube
