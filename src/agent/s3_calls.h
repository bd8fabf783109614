// The agents' calls to an object store: with retries, and with an object's marks.
#pragma once
#include <optional>
#include <string>

#include "base/fiber.h"
#include "base/log.h"
#include "s3/store.h"

namespace etcdop::agent {

/// Marks in an object's metadata: its EtcdSnapshot, and the agent's run that stored it.
inline constexpr const char* kUidMark = "etcd-snapshot-uid";
inline constexpr const char* kAttemptMark = "etcd-snapshot-attempt";

/// Empty: the object has no such mark.
std::string mark_of(const s3::Object&, const char* mark);

/// Repeats calls that may succeed later, kTriesMax times in total.
class Patience {
 public:
  /// Both must outlive this.
  Patience(Executor& executor, Log& log) : executor_(executor), log_(log) {}
  /// Retries after errors that may pass by themselves. `call` returns a Result.
  template <class Call>
  auto repeat(const char* doing, Call call) -> decltype(call()) {
    for (int tries = 0;; ++tries) {
      auto answer = call();
      if (answer || !transient(answer.error().code) || tries + 1 == kTriesMax) return answer;
      if (auto paused = pause(doing, tries, answer.error()); !paused) return answer;
    }
  }
  /// Logs the retry, and waits before it; longer after each try.
  Result<Done> pause(const char* doing, int tries, const Error&);

  static constexpr int kTriesMax = 4;

 private:
  Executor& executor_;
  Log& log_;
};

/// HEAD, with Patience; nullopt: the object does not exist. An error has the store's own words,
/// which the answer to HEAD lacks.
Result<std::optional<s3::Object>> look_at(Patience, s3::Store&, const std::string& key);

struct SmallObject {
  s3::Object object;
  std::string text;  ///< Its first kBytesMax bytes.
  static constexpr std::size_t kBytesMax = 64 << 10;
};
/// With Patience; nullopt: the object does not exist.
Result<std::optional<SmallObject>> read_small(Patience, s3::Store&, const std::string& key);

}  // namespace etcdop::agent
