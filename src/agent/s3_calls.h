// Questions to an object store as the agents ask them: again while that may help, and with what an
// object says of itself.
#pragma once
#include <optional>
#include <string>

#include "base/fiber.h"
#include "base/log.h"
#include "s3/store.h"

namespace etcdop::agent {

/// In an object's metadata: the EtcdSnapshot that it is of, and the run of the agent that stored
/// it.
inline constexpr const char* kUidMark = "etcd-snapshot-uid";
inline constexpr const char* kAttemptMark = "etcd-snapshot-attempt";

/// Empty: it has none.
std::string mark_of(const s3::Object&, const char* mark);

/// Repeats calls that may succeed later, kTriesMax times in all.
class Patience {
 public:
  /// Both outlive this.
  Patience(Executor& executor, Log& log) : executor_(executor), log_(log) {}
  /// Again after what may go away by itself. `call` gives a Result.
  template <class Call>
  auto repeat(const char* doing, Call call) -> decltype(call()) {
    for (int tries = 0;; ++tries) {
      auto answer = call();
      if (answer || !transient(answer.error().code) || tries + 1 == kTriesMax) return answer;
      if (auto paused = pause(doing, tries, answer.error()); !paused) return answer;
    }
  }
  /// Says that it will be tried again, and waits for that, the longer the more tries there were.
  Result<Done> pause(const char* doing, int tries, const Error&);

  static constexpr int kTriesMax = 4;

 private:
  Executor& executor_;
  Log& log_;
};

/// HEAD, with Patience; nullopt: there is no such object. An error has the store's words for it,
/// which the answer to HEAD has not.
Result<std::optional<s3::Object>> look_at(Patience, s3::Store&, const std::string& key);

struct SmallObject {
  s3::Object object;
  std::string text;  ///< The first kBytesMax of it.
  static constexpr std::size_t kBytesMax = 64 << 10;
};
/// With Patience; nullopt: there is no such object.
Result<std::optional<SmallObject>> read_small(Patience, s3::Store&, const std::string& key);

}  // namespace etcdop::agent
