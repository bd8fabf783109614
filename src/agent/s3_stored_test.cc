#include "agent/s3_stored.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/delete_snapshot.h"
#include "agent/s3_destination.h"
#include "agent/stored_data.h"
#include "sim/scheduler.h"
#include "sim/store/object_store.h"
#include "test/support/memory_log.h"
#include "test/support/wrapped_store.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using sim::StoreFault;
using Keys = std::vector<std::string>;

const std::string kKey = "prod/nightly.db", kManifest = kKey + ".json", kOther = kKey + "x";

/// Runs a test's action at each call, or answers in the store's place.
class Meddled final : public testing::WrappedStore {
 public:
  /// How a call fails, if it does: before or after its effect.
  struct Trouble {
    Error error;
    bool done = false;
  };
  using Meddle = std::function<std::optional<Trouble>(const std::string& call)>;
  Meddled(s3::Store& below, Meddle meddle) : WrappedStore(below), meddle_(std::move(meddle)) {}
  Result<s3::Object> head(const std::string& key) override {
    return meddled<s3::Object>("HEAD " + key, [&] { return below_.head(key); });
  }
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    return meddled<s3::Object>("GET " + key, [&] { return below_.get(key, options, sink); });
  }
  Result<Done> remove(const std::string& key) override {
    return meddled<Done>("DELETE " + key, [&] { return below_.remove(key); });
  }

 private:
  template <class T>
  Result<T> meddled(const std::string& name, const std::function<Result<T>()>& call) {
    const auto trouble = meddle_(name);
    if (!trouble) return call();
    if (trouble->done) (void)call();
    return trouble->error;
  }

  const Meddle meddle_;
};

class S3StoredTest : public ::testing::Test {
 protected:
  S3StoredTest() {
    store_.make_bucket("b");
    store_.put("b", kOther, {.bytes = "other"});
  }
  ~S3StoredTest() override {
    EXPECT_EQ(misuse_, "");
    EXPECT_EQ(stored(kOther), "other");
  }

  void run(const std::function<void()>& body) {
    bool done = false;
    (void)world_.spawn([&] {
      body();
      done = true;
    });
    world_.run();
    EXPECT_TRUE(done);
  }
  void empty() {
    for (const std::string& key : {kKey, kManifest}) store_.remove("b", key);
  }
  /// Stores as the agent of the EtcdSnapshot with this uid does.
  void store(const std::string& uid = "uid-1") {
    empty();
    run([&] {
      const auto door = store_.as({}, "b");
      S3Destination to(world_, log_, *door,
                       {.bucket = "b", .key = kKey, .storer = {.uid = uid, .attempt = "1"}});
      ASSERT_TRUE(store_data(to, uid));
    });
    ASSERT_TRUE(whole());
  }
  AgentReport remove(s3::Store& door) {
    AgentReport out;
    run([&] {
      S3Stored there(world_, log_, door, {.bucket = "b", .key = kKey, .uid = "uid-1"});
      out = delete_snapshot(world_, log_, there);
    });
    return out;
  }
  AgentReport remove(const sim::StoreUser& user = {}) { return remove(*store_.as(user, "b")); }
  AgentReport remove(Meddled::Meddle meddle) {
    const auto door = store_.as({}, "b");
    Meddled meddled(*door, std::move(meddle));
    return remove(meddled);
  }
  int calls_of_a_run() {
    store();
    int calls = 0;
    const auto count = [&](const std::string&) -> std::optional<Meddled::Trouble> {
      ++calls;
      return std::nullopt;
    };
    EXPECT_FALSE(remove(count).failed());
    return calls;
  }
  std::string stored(const std::string& key) {
    const sim::StoredObject* const object = store_.look("b", key);
    return object ? object->bytes : "nothing";
  }
  bool whole() {
    auto manifest = to_manifest(stored(kManifest));
    const sim::StoredObject* const data = store_.look("b", kKey);
    return manifest && data && data->metadata.at("etcd-snapshot-attempt") == manifest->attempt;
  }
  void spoil(const std::string& key, const std::string& uid) {
    store_.look("b", key)->metadata["etcd-snapshot-uid"] = uid;
  }

  const Keys left_ = {kOther}, all_ = {kKey, kManifest, kOther};
  sim::Scheduler world_{1};
  testing::MemoryLog log_;
  std::string misuse_;
  sim::ObjectStore store_{world_, sim::Dice(1), [this](const std::string& how) { misuse_ += how; }};
};

TEST_F(S3StoredTest, TheManifestGoesAndThenTheData) {
  store();
  Keys removed;
  const AgentReport report =
      remove([&](const std::string& call) -> std::optional<Meddled::Trouble> {
        if (call.starts_with("DELETE ")) removed.push_back(call.substr(7));
        return std::nullopt;
      });
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.uri, "s3://b/prod/nightly.db");
  EXPECT_EQ(report.message, "removed prod/nightly.db.json, prod/nightly.db");
  EXPECT_EQ(removed, (Keys{kManifest, kKey}));
  EXPECT_EQ(store_.keys("b"), left_);
}

TEST_F(S3StoredTest, WhereNothingIsItIsGoneAlready) {
  const AgentReport report = remove({.may_write = false, .may_delete = false});
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.message, "already gone");
  EXPECT_EQ(store_.keys("b"), left_);
}

TEST_F(S3StoredTest, WhatIsNotOursStaysAndAllThatIsWithIt) {
  const std::string of_another = [&] {
    store("uid-2");
    return stored(kManifest);
  }();
  const std::function<void()> cases[] = {
      [&] { spoil(kKey, "uid-2"); },
      [&] { spoil(kManifest, "uid-2"); },
      [&] { store_.look("b", kKey)->metadata = {}; },
      [&] { store_.look("b", kManifest)->metadata = {}; },
      [&] { spoil(kKey, "uid-11"); },
      [&] { spoil(kKey, ""); },
      [&] { store_.look("b", kManifest)->bytes = of_another; },
      [&] { store("uid-2"); },
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    store();
    cases[i]();
    const std::string data = stored(kKey), manifest = stored(kManifest);
    const AgentReport report = remove();
    EXPECT_EQ(report.reason, "DestinationExists") << i;
    EXPECT_NE(report.message.find("s3://b/prod/nightly.db"), std::string::npos) << i;
    EXPECT_EQ(store_.keys("b"), all_) << i;
    EXPECT_EQ(stored(kKey) + stored(kManifest), data + manifest) << i;
  }
  empty();
  store_.put("b", kManifest, {.bytes = of_another});
  EXPECT_EQ(remove().reason, "DestinationExists") << "a manifest of another, and no data";
  EXPECT_EQ(stored(kManifest), of_another);
}

TEST_F(S3StoredTest, WhatACrashHasLeftIsOurs) {
  const std::function<void()> cases[] = {
      [&] { store_.remove("b", kManifest); },
      [&] { store_.remove("b", kKey); },
      [&] { store_.look("b", kManifest)->bytes.resize(20); },
      [&] { store_.look("b", kManifest)->bytes.assign(100'000, ' '); },
      [&] { store_.look("b", kKey)->bytes.clear(); },
      [&] { store_.look("b", kKey)->metadata["etcd-snapshot-attempt"] = "2"; },
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    store();
    cases[i]();
    const AgentReport report = remove();
    EXPECT_FALSE(report.failed()) << i << ": " << report.message;
    EXPECT_EQ(store_.keys("b"), left_) << i;
  }
}

TEST_F(S3StoredTest, KilledAtAnyCallItLeavesNothingWholeAndTheNextRunEndsIt) {
  const int calls_in_all = calls_of_a_run();
  EXPECT_GE(calls_in_all, 8);
  for (const bool done : {false, true})
    for (int crash = 0; crash < calls_in_all; ++crash) {
      store();
      int calls = 0;
      bool removed = false;
      (void)remove([&](const std::string& call) -> std::optional<Meddled::Trouble> {
        if (++calls <= crash) {
          removed = removed || call.starts_with("DELETE");
          return std::nullopt;
        }
        removed = removed || (done && calls == crash + 1 && call.starts_with("DELETE"));
        return Meddled::Trouble{{Code::Cancelled, "killed"}, done && calls == crash + 1};
      });
      EXPECT_EQ(whole(), !removed) << crash;
      const sim::StoredObject* const data = store_.look("b", kKey);
      if (data) { EXPECT_EQ(data->metadata.at("etcd-snapshot-uid"), "uid-1") << crash; }
      const AgentReport again = remove();
      EXPECT_FALSE(again.failed()) << crash << ": " << again.message;
      EXPECT_EQ(store_.keys("b"), left_) << crash;
    }
}

TEST_F(S3StoredTest, WhatSomebodyPutsThereMeanwhileStays) {
  const int calls_in_all = calls_of_a_run();
  int kept = 0;
  for (const std::string& key : {kKey, kManifest})
    for (int at = 1; at <= calls_in_all; ++at) {
      store();
      int calls = 0;
      std::string meddled_at;
      const auto report = remove([&](const std::string& call) -> std::optional<Meddled::Trouble> {
        if (++calls == at) {
          store_.put("b", key, {.bytes = "foreign"});
          meddled_at = call;
        }
        return std::nullopt;
      });
      if (meddled_at == "DELETE " + key) continue;  // No agent can notice that in time.
      EXPECT_EQ(stored(key), "foreign") << meddled_at;
      if (report.failed()) { EXPECT_EQ(report.reason, "DestinationExists") << meddled_at; }
      ++kept;
    }
  EXPECT_EQ(kept, 2 * calls_in_all - 2);
}

TEST_F(S3StoredTest, AnAnswerThatIsLostIsNoReasonToStop) {
  for (const bool done : {false, true})
    for (const int times : {1, 3, 4}) {
      store();
      int left = times;
      const auto report = remove([&](const std::string& call) -> std::optional<Meddled::Trouble> {
        if (!call.starts_with("DELETE") || left == 0) return std::nullopt;
        --left;
        return Meddled::Trouble{{Code::Lost, "connection closed"}, done};
      });
      const bool works = done || times < 4;
      EXPECT_EQ(report.reason, works ? "" : "DestinationUnreachable") << done << times;
      EXPECT_EQ(whole(), !works);
      if (works) { EXPECT_EQ(store_.keys("b"), left_); }
    }
}

TEST_F(S3StoredTest, SaysWhatIsWrong) {
  store();
  const auto reason = [&](const sim::StoreUser& user) { return remove(user).reason; };
  EXPECT_EQ(reason({.known_key = false}), "DestinationCredentialsRejected");
  EXPECT_EQ(reason({.right_secret = false}), "DestinationCredentialsRejected");
  EXPECT_EQ(reason({.clock_ahead = 20min}), "DestinationClockSkewed");
  EXPECT_EQ(reason({.may_read = false}), "DestinationAccessDenied");
  EXPECT_EQ(reason({.may_delete = false}), "DestinationAccessDenied");
  EXPECT_EQ(reason({.region = "eu-1", .endpoint_region = "eu-1"}), "DestinationInvalid");
  EXPECT_TRUE(whole());
  empty();
  const AgentReport blind = remove({.may_list = false});
  EXPECT_EQ(blind.reason, "DestinationAccessDenied") << "nobody can tell whether it is gone";
  EXPECT_NE(blind.message.find("s3:ListBucket"), std::string::npos);
  sim::ObjectStore none(world_, sim::Dice(1), [](const std::string&) {});
  EXPECT_EQ(remove(*none.as({}, "b")).reason, "BucketNotFound");
}

TEST_F(S3StoredTest, WhateverAStoreDoesItEndsInTimeAndSaysSo) {
  const std::pair<StoreFault, const char*> cases[] = {
      {StoreFault::Silent, "DestinationUnreachable"},
      {StoreFault::SlowDown, "DestinationFailed"},
      {StoreFault::Reset, "DestinationUnreachable"},
      {StoreFault::AnswerLost, "DestinationUnreachable"},
      {StoreFault::Forgets, "DestinationFailed"},
      {StoreFault::Truncates, "DestinationUnreachable"}};
  for (const auto& [fault, reason] : cases) {
    store();
    store_.strike(fault, {.one_in = 1});
    const Instant begin = world_.now();
    EXPECT_EQ(remove().reason, reason) << to_string(fault);
    EXPECT_LE(world_.now() - begin, kDeleteLimit) << to_string(fault);
    EXPECT_TRUE(whole()) << to_string(fault);
    store_.heal();
    EXPECT_EQ(remove().reason, "") << to_string(fault);
    EXPECT_EQ(store_.keys("b"), left_) << to_string(fault);
  }
}

TEST_F(S3StoredTest, UnderAnyFaultsItSaysGoneOnlyOfWhatIsGone) {
  int gone = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    store();
    sim::ObjectStore faulty(world_, sim::Dice(seed), [](const std::string& how) { FAIL() << how; });
    faulty.make_bucket("b");
    for (const std::string& key : all_) faulty.put("b", key, *store_.look("b", key));
    faulty.draw_faults();
    const auto door = faulty.as({}, "b");
    for (int run = 1; run <= 4; ++run) {
      const AgentReport report = remove(*door);
      EXPECT_NE(report.reason, "DestinationExists") << seed;
      if (report.failed()) continue;
      EXPECT_EQ(faulty.keys("b"), left_) << seed;
      ++gone;
      break;
    }
  }
  EXPECT_GT(gone, 80) << "and mostly it is";
}

}  // namespace
}  // namespace etcdop::agent
