// The object store of simulated worlds and tests: buckets, parts, permissions, and the ways in
// which real stores are slow, partial or wrong.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "s3/store.h"
#include "sim/dice.h"

namespace etcdop::sim {

/// Faults of a call.
enum class StoreFault {
  Slow,        ///< Bytes are transferred at kSlowBytesASecond.
  Silent,      ///< It takes the call and never answers.
  SlowDown,    ///< 503; nothing happened.
  Reset,       ///< The connection ends in the middle of the request; nothing happened.
  AnswerLost,  ///< The call takes effect, and the connection ends before the answer.
  Truncates,   ///< A read ends early, under correct headers.
  WrongTag,    ///< It is stored, but the answer has another ETag.
  Forgets,     ///< A write is acknowledged but not done.
  StoresHalf,  ///< A write is acknowledged, but only the first half is stored.
  /// Completing an upload that has ended succeeds if any object exists at the key.
  ClaimsComplete,
  kCount,
};

const char* to_string(StoreFault);

/// When a fault strikes.
struct StoreStrike {
  std::uint64_t one_in = 0;  ///< At random; 1: each call; 0: none.
  int part = 0;              ///< Only at this part of uploads; 0: at any call.
};

/// The caller and its settings.
struct StoreUser {
  bool known_key = true, right_secret = true;
  bool may_read = true, may_write = true, may_delete = true, may_list = true;
  std::string region = "us-east-1";           ///< The region that it signs for.
  std::string endpoint_region = "us-east-1";  ///< The region of the endpoint that it calls.
  std::chrono::seconds clock_ahead{0};        ///< Ahead of the store's clock.
};

struct StoredObject {
  std::string bytes;
  s3::Tag tag = {};
  s3::Metadata metadata = {};
};

/// All buckets of one store. Each call takes effect at one instant, so later reads see every write.
/// It is stricter than real stores: a call that is not modelled is misuse, which fails a test.
class ObjectStore {
 public:
  /// Called with what no correct program does, or with what this store does not model.
  using Misuse = std::function<void(const std::string& how)>;
  ObjectStore(Executor&, Dice, Misuse);

  void make_bucket(const std::string& name, const std::string& region = "us-east-1");
  /// With all its objects.
  void remove_bucket(const std::string& name);
  /// The store as that user's program calls it; this must outlive it. The bucket may be missing.
  std::unique_ptr<s3::Store> as(const StoreUser&, const std::string& bucket);
  /// The same for a program whose fibers run on another executor.
  std::unique_ptr<s3::Store> as(const StoreUser&, const std::string& bucket, Executor& caller);

  // Faults.

  void strike(StoreFault, StoreStrike);
  /// Draws a subset by the seed. Each fault strikes one call in 2 to 9.
  void draw_faults();
  void heal() { strikes_ = {}; }
  /// No caller gets an answer from now on (or callers do again).
  void be_away(bool on) { away_ = on; }
  /// How often the fault has struck.
  std::uint64_t struck(StoreFault fault) const { return struck_[static_cast<std::size_t>(fault)]; }

  // The truth, for checkers and for faults.

  /// Null if absent.
  StoredObject* look(const std::string& bucket, const std::string& key);
  /// Everything that was ever stored there, oldest first.
  const std::vector<std::string>& ever(const std::string& bucket, const std::string& key);
  /// Writes as a user does, over whatever exists there; or removes it.
  void put(const std::string& bucket, const std::string& key, StoredObject);
  void remove(const std::string& bucket, const std::string& key);
  /// All keys, in order.
  std::vector<std::string> keys(const std::string& bucket) const;
  /// Uploads that were neither completed nor aborted.
  std::size_t unfinished(const std::string& bucket) const;

  static constexpr std::uint64_t kSlowBytesASecond = 1000;
  static constexpr Duration kAnswerTime = std::chrono::milliseconds(20);
  static constexpr std::chrono::seconds kSkewMax = std::chrono::minutes(15);

 private:
  class Door;
  struct Begun {  // An upload.
    std::string key;
    s3::Metadata metadata = {};
    std::map<int, StoredObject> parts = {};
  };
  struct Bucket {
    std::string region;
    std::map<std::string, StoredObject> objects = {};
    std::map<std::string, Begun> uploads = {};
  };
  static constexpr auto kFaults = static_cast<std::size_t>(StoreFault::kCount);
  bool strikes(StoreFault, int part);
  void keep(const std::string& bucket, const std::string& key, StoredObject);
  const Bucket& bucket(const std::string&) const;

  Executor& executor_;
  Dice dice_;
  const Misuse misuse_;
  std::map<std::string, Bucket> buckets_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> ever_;
  std::array<StoreStrike, kFaults> strikes_{};
  std::array<std::uint64_t, kFaults> struck_{};
  std::uint64_t uploads_begun_ = 0;
  bool away_ = false;
};

}  // namespace etcdop::sim
