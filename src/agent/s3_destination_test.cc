#include "agent/s3_destination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "s3/answers.h"
#include "sim/scheduler.h"
#include "sim/store/object_store.h"
#include "test/support/memory_log.h"
#include "test/support/wrapped_store.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using sim::StoreFault;
using testing::WrappedStore;

constexpr std::size_t kPart = s3::Store::kPartBytesMin;
const std::string kKey = "prod/nightly.db", kManifest = kKey + ".json";

std::string bytes(std::size_t size) {
  std::string out(size, 0);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + i / 251);
  return out;
}

Manifest manifest_of(const std::string& data) {
  AgentReport report;
  report.uri = "s3://b/" + kKey;
  report.size_bytes = static_cast<std::int64_t>(data.size());
  report.checksum = "sha256:" + std::string(64, '0');
  report.cluster_id = report.member_id = "00000000000000c1";
  return {.snapshot_name = "nightly",
          .snapshot_uid = "uid-1",
          .taken_at = {},
          .attempt = {},
          .report = report};
}

/// Cuts the first uploads of part 2: before or after the store has it.
class CutsAtFirst final : public WrappedStore {
 public:
  CutsAtFirst(s3::Store& below, int times, bool stored)
      : WrappedStore(below), left_(times), stored_(stored) {}
  Result<s3::Tag> upload_part(const s3::Upload& upload, int number,
                              const s3::Payload& data) override {
    const bool cut = number == 2 && left_ > 0;
    if (cut) --left_;
    if (cut && !stored_) return Error{Code::Lost, "connection closed"};
    auto tag = below_.upload_part(upload, number, data);
    if (cut) return Error{Code::Lost, "connection closed"};
    return tag;
  }

 private:
  int left_;
  const bool stored_;
};

/// Ignores HTTP's conditions.
class IgnoresConditions final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    return below_.put(key, data, {.metadata = options.metadata});
  }
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool) override {
    return below_.complete(upload, parts, false);
  }
};

/// From the second HEAD on, answers are senseless.
class GarblesHead final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Object> head(const std::string& key) override {
    if (heads_++ == 0) return below_.head(key);
    return Error{Code::Corrupt, "the answer has no ETag: is this endpoint an S3 store?"};
  }

 private:
  int heads_ = 0;
};

/// When the object is read, it has other bytes of the same number.
class SwapsBytes final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    return below_.get(key, options, [&](std::string_view piece) {
      return sink(key == kKey ? std::string(piece.size(), '?') : std::string(piece));
    });
  }
};

/// Does not support HTTP's conditions.
class WithoutConditions final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    if (options.only_if_absent) return refusal("PutObject", key);
    return below_.put(key, data, options);
  }
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool only_if_absent) override {
    if (only_if_absent) return refusal("CompleteMultipartUpload", upload.key);
    return below_.complete(upload, parts, false);
  }

 private:
  static Error refusal(const char* call, const std::string& key) {
    return s3::to_error(s3::Asked{.call = call, .writes = true, .bucket = "b", .key = key},
                        s3::Refusal{.status = 501, .code = "NotImplemented"});
  }
};

/// Is busy when the object is first stored without a condition. `meanwhile` runs before that, or
/// after the object was stored all the same.
class BusyAtFirst final : public WrappedStore {
 public:
  BusyAtFirst(s3::Store& below, bool stored, std::function<void()> meanwhile)
      : WrappedStore(below), stored_(stored), meanwhile_(std::move(meanwhile)) {}
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    return answer(key == kKey && !options.only_if_absent,
                  [&] { return below_.put(key, data, options); });
  }
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool only_if_absent) override {
    return answer(!only_if_absent, [&] { return below_.complete(upload, parts, only_if_absent); });
  }

 private:
  Result<s3::Tag> answer(bool concerned, const std::function<Result<s3::Tag>()>& store) {
    const auto meanwhile = concerned ? std::exchange(meanwhile_, nullptr) : nullptr;
    if (!meanwhile) return store();
    if (stored_) (void)store();
    meanwhile();
    return Error{Code::Unavailable, "busy"};
  }

  const bool stored_;
  std::function<void()> meanwhile_;
};

/// Takes a second for each part; the first ones take the longest.
class SlowParts final : public WrappedStore {
 public:
  SlowParts(s3::Store& below, Executor& executor) : WrappedStore(below), executor_(executor) {}
  Result<s3::Tag> upload_part(const s3::Upload& upload, int number,
                              const s3::Payload& data) override {
    at_once_max = std::max(at_once_max, ++at_once_);
    (void)executor_.sleep(1s + 100ms / number);
    --at_once_;
    return below_.upload_part(upload, number, data);
  }

  int at_once_max = 0;

 private:
  Executor& executor_;
  int at_once_ = 0;
};

/// When the object is stored, another manifest appears.
class ManifestComes final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    auto tag = below_.put(key, data, options);
    if (key == kKey) (void)below_.put(kManifest, "another", {.metadata = options.metadata});
    return tag;
  }
};

/// Loses manifests while it is broken.
class LosesManifests final : public WrappedStore {
 public:
  enum Lost { Whole, Half, Answer };
  LosesManifests(s3::Store& below, Lost lost) : WrappedStore(below), lost_(lost) {}
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    if (broken && key == kManifest && asked_) return Error{Code::Lost, "connection closed"};
    asked_ |= key == kManifest;  // The first read, before anything is stored.
    return below_.get(key, options, sink);
  }
  Result<s3::Tag> put(const std::string& key, std::string_view data,
                      const s3::PutOptions& options) override {
    if (!broken || key != kManifest) return below_.put(key, data, options);
    if (lost_ == Half) data = data.substr(0, data.size() / 2);
    if (lost_ != Whole) (void)below_.put(key, data, options);
    return Error{Code::Lost, "connection closed"};
  }

  bool broken = true;

 private:
  const Lost lost_;
  bool asked_ = false;
};

/// Returns another ETag for a completed upload than for the object.
class MistakesUploads final : public WrappedStore {
 public:
  using WrappedStore::WrappedStore;
  Result<s3::Tag> complete(const s3::Upload& upload, const std::vector<s3::Part>& parts,
                           bool only_if_absent) override {
    auto tag = below_.complete(upload, parts, only_if_absent);
    if (!tag) return tag;
    return s3::Tag{"\"another\""};
  }
};

class S3DestinationTest : public ::testing::Test {
 protected:
  S3DestinationTest() { store_.make_bucket("b"); }
  ~S3DestinationTest() override { EXPECT_EQ(misuse_, ""); }

  void run(const std::function<void()>& body) {
    bool done = false;
    (void)world_.spawn([&] {
      body();
      done = true;
    });
    world_.run();
    EXPECT_TRUE(done);
  }
  /// One run of an agent. After a failure it has cleaned up.
  Result<AgentReport> upload(const std::string& data, const sim::StoreUser& user = {},
                             const std::string& uid = "uid-1") {
    Result<AgentReport> out = Error{Code::Cancelled, "not run"};
    run([&] {
      const auto door = store_.as(user, "b");
      S3Destination to(world_, log_, *door,
                       {.bucket = "b",
                        .key = kKey,
                        .storer = {.uid = uid, .attempt = std::to_string(++attempts_)}});
      out = upload_to(to, data);
      if (!out) to.abandon();
    });
    return out;
  }
  static Result<AgentReport> upload_to(Destination& to, const std::string& data) {
    auto known = to.look();
    if (!known) return known.error();
    if (*known) return **known;
    if (auto begun = to.begin(data.size()); !begun) return begun.error();
    for (std::size_t at = 0; at < data.size(); at += 32 << 10)
      if (auto written = to.write(std::string_view(data).substr(at, 32 << 10)); !written)
        return written.error();
    const Manifest manifest = manifest_of(data);
    if (auto finished = to.finish(manifest); !finished) return finished.error();
    return manifest.report;
  }
  std::string stored(const std::string& key) {
    const sim::StoredObject* const object = store_.look("b", key);
    return object ? object->bytes : "nothing";
  }
  void expect_whole(const std::string& data) {
    EXPECT_TRUE(stored(kKey) == data);
    auto manifest = to_manifest(stored(kManifest));
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->report, manifest_of(data).report);
    const sim::StoredObject* const object = store_.look("b", kKey);
    EXPECT_EQ(object->metadata.at("etcd-snapshot-uid"), "uid-1");
    EXPECT_EQ(object->metadata.at("etcd-snapshot-attempt"), manifest->attempt);
  }
  /// Whether a finished snapshot exists: an object and its manifest.
  bool finished() {
    auto manifest = to_manifest(stored(kManifest));
    const sim::StoredObject* const object = store_.look("b", kKey);
    return manifest && object &&
           object->metadata.at("etcd-snapshot-attempt") == manifest->attempt &&
           std::cmp_equal(object->bytes.size(), manifest->report.size_bytes);
  }
  Reason reason(const Result<AgentReport>& result) {
    EXPECT_FALSE(result);
    return reason_of(Side::Store, result.error());
  }

  sim::Scheduler world_{1};
  testing::MemoryLog log_;
  std::string misuse_;
  int attempts_ = 0;
  sim::ObjectStore store_{world_, sim::Dice(1), [this](const std::string& how) { misuse_ += how; }};
};

TEST(PartBytes, AnyDatabaseFitsAndAnOrdinaryOneTakesLittleMemory) {
  for (const std::uint64_t expected : {0ULL, 1ULL << 20, 8ULL << 30, 100ULL << 30, 500ULL << 30}) {
    std::uint64_t room = 0;
    for (int number = 1; number <= s3::Store::kPartsMax; ++number)
      room += part_bytes(expected, number);
    EXPECT_GT(room, 2 * expected + (100ULL << 30)) << expected;
    EXPECT_GE(part_bytes(expected, 1), s3::Store::kPartBytesMin);
    EXPECT_EQ(part_bytes(expected, 1), part_bytes(expected, 8'000)) << "stores may want them equal";
  }
  EXPECT_EQ(part_bytes(8ULL << 30, 1), s3::Store::kPartBytesMin);
  EXPECT_LE(part_bytes(60ULL << 30, 1), 8u << 20);
}

TEST_F(S3DestinationTest, StoresWhateverTheSize) {
  for (const std::size_t size : {std::size_t{1}, kPart - 1, kPart, kPart + 1, 3 * kPart + 7}) {
    store_.remove_bucket("b");
    store_.make_bucket("b");
    const std::string data = bytes(size);
    auto report = upload(data);
    ASSERT_TRUE(report) << size << ": " << report.error().message;
    expect_whole(data);
    EXPECT_EQ(store_.unfinished("b"), 0u);
  }
}

TEST_F(S3DestinationTest, LeavesAloneWhatIsNotOurs) {
  const std::string data = bytes(100);
  run([&] { ASSERT_TRUE(store_.as({}, "b")->put(kKey, "foreign", {})); });
  EXPECT_EQ(reason(upload(data)), Reason::DestinationExists);
  EXPECT_EQ(stored(kKey), "foreign");
  EXPECT_EQ(stored(kManifest), "nothing");

  store_.remove_bucket("b");
  store_.make_bucket("b");
  ASSERT_TRUE(upload(data, {}, "uid-2"));
  EXPECT_EQ(reason(upload(bytes(200))), Reason::DestinationExists) << "of another EtcdSnapshot";
  EXPECT_TRUE(stored(kKey) == data);

  store_.remove_bucket("b");
  store_.make_bucket("b");
  run([&] { ASSERT_TRUE(store_.as({}, "b")->put(kManifest, "foreign", {})); });
  EXPECT_EQ(reason(upload(data)), Reason::DestinationExists);
  EXPECT_EQ(stored(kManifest), "foreign");
  EXPECT_EQ(stored(kKey), "nothing");
}

TEST_F(S3DestinationTest, LeavesAloneWhatComesWhileItUploads) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1}) {
    store_.remove_bucket("b");
    store_.make_bucket("b");
    run([&] {
      const auto door = store_.as({}, "b");
      S3Destination to(world_, log_, *door,
                       {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
      ASSERT_TRUE(to.look());
      ASSERT_TRUE(to.begin(size));
      ASSERT_TRUE(to.write(bytes(size)));
      ASSERT_TRUE(door->put(kKey, "foreign", {}));
      auto finished = to.finish(manifest_of(bytes(size)));
      EXPECT_EQ(reason_of(Side::Store, finished.error()), Reason::DestinationExists);
      to.abandon();
    });
    EXPECT_EQ(stored(kKey), "foreign");
    EXPECT_EQ(stored(kManifest), "nothing");
    EXPECT_EQ(store_.unfinished("b"), 0u);
  }
}

TEST_F(S3DestinationTest, LooksOnceMoreBeforeItStores) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1})
    for (const auto& [uid, why] : {std::pair{"uid-2", Reason::DestinationExists},
                                   std::pair{"uid-1", Reason::DestinationFailed}}) {
      store_.remove_bucket("b");
      store_.make_bucket("b");
      run([&] {
        const auto door = store_.as({}, "b");
        IgnoresConditions careless(*door);
        S3Destination to(world_, log_, careless,
                         {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
        ASSERT_TRUE(to.look());
        ASSERT_TRUE(to.begin(size));
        ASSERT_TRUE(to.write(bytes(size)));
        S3Destination other(world_, log_, *door,
                            {.bucket = "b", .key = kKey, .storer = {.uid = uid, .attempt = "2"}});
        ASSERT_TRUE(upload_to(other, bytes(300)));
        auto finished = to.finish(manifest_of(bytes(size)));
        ASSERT_FALSE(finished);
        EXPECT_EQ(reason_of(Side::Store, finished.error()), why);
        to.abandon();
      });
      EXPECT_TRUE(stored(kKey) == bytes(300)) << uid;
      EXPECT_TRUE(finished()) << uid;
    }
}

TEST_F(S3DestinationTest, LooksOnceMoreBeforeItRemovesAManifest) {
  ASSERT_TRUE(upload(bytes(100)));
  run([&] {
    const auto door = store_.as({}, "b");
    ASSERT_TRUE(door->remove(kKey));
    S3Destination to(world_, log_, *door,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
    ASSERT_TRUE(to.look());
    ASSERT_TRUE(to.begin(3));
    ASSERT_TRUE(to.write("abc"));
    S3Destination other(world_, log_, *door,
                        {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "b"}});
    ASSERT_TRUE(upload_to(other, bytes(300)));
    EXPECT_TRUE(to.finish(manifest_of("abc")).failed_with(Code::Conflict));
  });
  expect_whole(bytes(300));
  EXPECT_TRUE(finished());
}

TEST_F(S3DestinationTest, LeavesAloneWhatItsOwnerFinishesWhileItUploads) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1}) {
    store_.remove_bucket("b");
    store_.make_bucket("b");
    ASSERT_TRUE(upload(bytes(300)));
    const sim::StoredObject manifest = *store_.look("b", kManifest);
    store_.remove("b", kManifest);
    run([&] {
      const auto door = store_.as({}, "b");
      S3Destination to(world_, log_, *door,
                       {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
      auto known = to.look();
      ASSERT_TRUE(known);
      EXPECT_FALSE(*known);
      ASSERT_TRUE(to.begin(size));
      ASSERT_TRUE(to.write(bytes(size)));
      store_.put("b", kManifest, manifest);
      EXPECT_TRUE(to.finish(manifest_of(bytes(size))).failed_with(Code::Conflict));
      to.abandon();
    });
    expect_whole(bytes(300));
    EXPECT_TRUE(finished());
    EXPECT_EQ(store_.unfinished("b"), 0u);
  }
}

TEST_F(S3DestinationTest, WhatItStoredAndCannotFinishGoesAway) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1})
    for (const auto lost : {LosesManifests::Whole, LosesManifests::Half}) {
      run([&] {
        const auto door = store_.as({}, "b");
        LosesManifests loses(*door, lost);
        S3Destination to(world_, log_, loses,
                         {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
        EXPECT_EQ(reason(upload_to(to, bytes(size))), Reason::DestinationUnreachable);
        EXPECT_TRUE(stored(kKey) == bytes(size));
        loses.broken = false;
        to.abandon();
      });
      EXPECT_EQ(store_.keys("b").size(), 0u) << size;
      EXPECT_EQ(store_.unfinished("b"), 0u);
    }
}

TEST_F(S3DestinationTest, WhatHasItsManifestCountsAndStaysThoughItsAnswerWasLost) {
  run([&] {
    const auto door = store_.as({}, "b");
    LosesManifests loses(*door, LosesManifests::Answer);
    S3Destination to(world_, log_, loses,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
    EXPECT_EQ(reason(upload_to(to, bytes(100))), Reason::DestinationUnreachable);
    loses.broken = false;
    to.abandon();
  });
  EXPECT_TRUE(finished());
  ASSERT_TRUE(upload(bytes(200))) << "the next run says so";
  expect_whole(bytes(100));
}

TEST_F(S3DestinationTest, WhatAnotherRunStoredInItsPlaceStays) {
  run([&] {
    const auto door = store_.as({}, "b");
    LosesManifests loses(*door, LosesManifests::Whole);
    S3Destination to(world_, log_, loses,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
    EXPECT_FALSE(upload_to(to, bytes(100)));
    S3Destination other(world_, log_, *door,
                        {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "b"}});
    ASSERT_TRUE(upload_to(other, bytes(300)));
    loses.broken = false;
    to.abandon();
  });
  expect_whole(bytes(300));
  EXPECT_TRUE(finished());
}

TEST_F(S3DestinationTest, AnUploadThatBecameAnotherObjectIsNotBelievedAndGoesAway) {
  run([&] {
    const auto door = store_.as({}, "b");
    MistakesUploads mistakes(*door);
    S3Destination to(world_, log_, mistakes,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
    auto report = upload_to(to, bytes(kPart + 1));
    EXPECT_EQ(reason(report), Reason::DestinationFailed);
    EXPECT_NE(report.error().message.find("another ETag"), std::string::npos);
    EXPECT_FALSE(finished());
    to.abandon();
  });
  EXPECT_EQ(store_.keys("b").size(), 0u);
  EXPECT_EQ(store_.unfinished("b"), 0u);
}

TEST_F(S3DestinationTest, AfterItRemovedAManifestItReplacesNone) {
  ASSERT_TRUE(upload(bytes(100)));
  run([&] {
    const auto door = store_.as({}, "b");
    ASSERT_TRUE(door->remove(kKey));
    ManifestComes comes(*door);
    S3Destination to(world_, log_, comes,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
    EXPECT_TRUE(upload_to(to, "abc").failed_with(Code::Conflict));
  });
  EXPECT_EQ(stored(kManifest), "another");
}

TEST_F(S3DestinationTest, LooksOnceMoreBeforeItTriesAgain) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1})
    for (const bool unfinished : {true, false}) {
      store_.remove_bucket("b");
      store_.make_bucket("b");
      if (unfinished) { ASSERT_TRUE(upload(bytes(200))); }
      run([&] {
        const auto door = store_.as({}, "b");
        ASSERT_TRUE(door->remove(kManifest));
        WithoutConditions old(*door);
        BusyAtFirst busy(old, false, [&] {
          S3Destination other(
              world_, log_, *door,
              {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "b"}});
          ASSERT_TRUE(upload_to(other, bytes(300)));
        });
        S3Destination to(world_, log_, busy,
                         {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
        EXPECT_TRUE(upload_to(to, bytes(size)).failed_with(Code::Conflict)) << size << unfinished;
        to.abandon();
      });
      expect_whole(bytes(300));
    }
}

TEST_F(S3DestinationTest, WhatItStoredItselfIsNoReasonToStop) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1}) {
    store_.remove_bucket("b");
    store_.make_bucket("b");
    ASSERT_TRUE(upload(bytes(200)));
    run([&] {
      const auto door = store_.as({}, "b");
      ASSERT_TRUE(door->remove(kManifest));
      BusyAtFirst busy(*door, true, [] {});
      S3Destination to(world_, log_, busy,
                       {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "a"}});
      auto report = upload_to(to, bytes(size));
      ASSERT_TRUE(report) << report.error().message;
    });
    expect_whole(bytes(size));
  }
}

TEST_F(S3DestinationTest, RemovesNothingItHasNotSeenToBeItsOwn) {
  run([&] {
    const auto door = store_.as({}, "b");
    GarblesHead garbled(*door);
    S3Destination to(world_, log_, garbled,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
    ASSERT_TRUE(to.look());
    ASSERT_TRUE(to.begin(3));
    ASSERT_TRUE(to.write("abc"));
    ASSERT_TRUE(door->put(kKey, "foreign", {}));
    auto finished = to.finish(manifest_of("abc"));
    EXPECT_EQ(reason_of(Side::Store, finished.error()), Reason::DestinationFailed);
  });
  EXPECT_EQ(stored(kKey), "foreign");
}

TEST_F(S3DestinationTest, ReadsBackWhatHasNoParts) {
  run([&] {
    const auto door = store_.as({}, "b");
    SwapsBytes swaps(*door);
    S3Destination to(world_, log_, swaps,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
    auto report = upload_to(to, bytes(100'000));
    EXPECT_EQ(reason(report), Reason::DestinationFailed);
  });
  EXPECT_FALSE(finished());
}

TEST_F(S3DestinationTest, WhatAnEarlierRunHasStoredIsTheResult) {
  const std::string data = bytes(kPart + 3);
  auto first = upload(data);
  ASSERT_TRUE(first);
  auto again = upload(bytes(10));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first);
  expect_whole(data);
}

TEST_F(S3DestinationTest, WhatAnEarlierRunHasNotFinishedIsWrittenAnew) {
  const std::string data = bytes(1'000);
  const auto spoiled = [&](const std::function<void()>& spoil) {
    ASSERT_TRUE(upload(bytes(2'000)));
    spoil();
    auto report = upload(data);
    ASSERT_TRUE(report) << report.error().message;
    expect_whole(data);
    store_.remove_bucket("b");
    store_.make_bucket("b");
  };
  spoiled([&] { run([&] { (void)store_.as({}, "b")->remove(kManifest); }); });
  spoiled([&] { run([&] { (void)store_.as({}, "b")->remove(kKey); }); });
  spoiled([&] { store_.look("b", kManifest)->bytes.resize(20); });
  spoiled([&] { store_.look("b", kKey)->bytes.resize(1'999); });
  spoiled([&] { store_.look("b", kKey)->metadata["etcd-snapshot-attempt"] = "another"; });
}

TEST_F(S3DestinationTest, SaysWhatIsWrong) {
  const std::string data = bytes(kPart + 1);
  EXPECT_EQ(reason(upload(data, {.known_key = false})), Reason::DestinationCredentialsRejected);
  EXPECT_EQ(reason(upload(data, {.right_secret = false})), Reason::DestinationCredentialsRejected);
  EXPECT_EQ(reason(upload(data, {.clock_ahead = 20min})), Reason::DestinationClockSkewed);
  EXPECT_EQ(reason(upload(data, {.may_write = false})), Reason::DestinationAccessDenied);
  EXPECT_EQ(reason(upload(data, {.may_read = false})), Reason::DestinationAccessDenied);
  auto blind = upload(data, {.may_list = false});
  EXPECT_EQ(reason(blind), Reason::DestinationAccessDenied);
  EXPECT_NE(blind.error().message.find("s3:ListBucket"), std::string::npos);
  auto elsewhere = upload(data, {.region = "eu-1", .endpoint_region = "eu-1"});
  EXPECT_EQ(reason(elsewhere), Reason::DestinationInvalid);
  EXPECT_NE(elsewhere.error().message.find("us-east-1"), std::string::npos);
  store_.remove_bucket("b");
  EXPECT_EQ(reason(upload(data)), Reason::BucketNotFound);
}

TEST_F(S3DestinationTest, APartThatIsCutIsSentAgain) {
  const std::string data = bytes(3 * kPart);
  for (const bool stored : {false, true})
    for (const int times : {1, 3, 4}) {
      store_.remove_bucket("b");
      store_.make_bucket("b");
      run([&] {
        const auto door = store_.as({}, "b");
        CutsAtFirst cut(*door, times, stored);
        S3Destination to(world_, log_, cut,
                         {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
        auto report = upload_to(to, data);
        EXPECT_EQ(bool(report), times < 4) << times;
        if (!report) { EXPECT_EQ(reason(report), Reason::DestinationUnreachable); }
        to.abandon();
      });
      if (times < 4) expect_whole(data);
      else EXPECT_EQ(store_.keys("b").size(), 0u);
      EXPECT_EQ(store_.unfinished("b"), 0u);
    }
}

TEST_F(S3DestinationTest, WhileAPartIsOnItsWayTheNextOneComes) {
  const std::string data = bytes(6 * kPart + 1'000);
  Instant started, ended;
  run([&] {
    const auto door = store_.as({}, "b");
    SlowParts slow(*door, world_);
    S3Destination to(world_, log_, slow,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
    started = world_.now();
    ASSERT_TRUE(upload_to(to, data));
    ended = world_.now();
    EXPECT_EQ(slow.at_once_max, 2) << "and there is no memory for more";
  });
  EXPECT_LT(ended - started, 5s) << "seven parts of a second each";
  expect_whole(data);
}

TEST_F(S3DestinationTest, AnETagOfOtherBytesIsNotBelieved) {
  const std::string data = bytes(3 * kPart);
  store_.strike(StoreFault::WrongTag, {.one_in = 1, .part = 2});
  auto late = upload(data);
  EXPECT_EQ(reason(late), Reason::DestinationFailed) << "the part before had its MD5";
  EXPECT_NE(late.error().message.find("ETag"), std::string::npos);
  store_.strike(StoreFault::WrongTag, {.one_in = 1, .part = 1});
  EXPECT_EQ(reason(upload(data)), Reason::DestinationFailed) << "the store does not know the tag";
  EXPECT_FALSE(finished());
  EXPECT_EQ(store_.unfinished("b"), 0u);
}

TEST_F(S3DestinationTest, ASlowStoreEndsInTime) {
  store_.strike(StoreFault::Slow, {.one_in = 1});
  const Instant begin = world_.now();
  EXPECT_EQ(reason(upload(bytes(2 * kPart))), Reason::DestinationUnreachable);
  EXPECT_LT(world_.now() - begin, 10min);
}

TEST_F(S3DestinationTest, ASilentStoreEndsInTime) {
  store_.strike(StoreFault::Silent, {.one_in = 1});
  const Instant begin = world_.now();
  EXPECT_EQ(reason(upload(bytes(10))), Reason::DestinationUnreachable);
  EXPECT_LT(world_.now() - begin, 10min);
}

TEST_F(S3DestinationTest, NothingCountsThatAStoreHasNotKept) {
  for (const StoreFault fault : {StoreFault::Forgets, StoreFault::StoresHalf})
    for (const std::size_t size : {std::size_t{100}, kPart + 1}) {
      store_.remove_bucket("b");
      store_.make_bucket("b");
      store_.strike(fault, {.one_in = 1});
      EXPECT_EQ(reason(upload(bytes(size))), Reason::DestinationFailed);
      EXPECT_FALSE(finished());
      store_.heal();
      auto report = upload(bytes(size));
      ASSERT_TRUE(report) << report.error().message;
      expect_whole(bytes(size));
    }
}

TEST_F(S3DestinationTest, AStoreMayNotKnowConditions) {
  for (const std::size_t size : {std::size_t{100}, kPart + 1}) {
    store_.remove_bucket("b");
    store_.make_bucket("b");
    const std::string data = bytes(size);
    run([&] {
      const auto door = store_.as({}, "b");
      WithoutConditions old(*door);
      S3Destination to(world_, log_, old,
                       {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
      auto report = upload_to(to, data);
      ASSERT_TRUE(report) << report.error().message;
    });
    expect_whole(data);
  }
}

TEST_F(S3DestinationTest, CancelledItLeavesNoUpload) {
  std::shared_ptr<Fiber> work;
  run([&] {
    const auto door = store_.as({}, "b");
    S3Destination to(world_, log_, *door,
                     {.bucket = "b", .key = kKey, .storer = {.uid = "uid-1", .attempt = "1"}});
    work = world_.spawn([&] {
      ASSERT_TRUE(to.look());
      ASSERT_TRUE(to.begin(0));
      Result<Done> written = Done{};
      while (written) written = to.write(bytes(kPart));
      EXPECT_TRUE(written.failed_with(Code::Cancelled));
      to.abandon();
    });
    (void)world_.sleep(100ms);
    EXPECT_EQ(store_.unfinished("b"), 1u);
    work->cancel();
    (void)work->join();
  });
  EXPECT_EQ(store_.unfinished("b"), 0u);
  EXPECT_EQ(stored(kKey), "nothing");
}

TEST_F(S3DestinationTest, WhateverAStoreDoesNothingWrongCountsAsFinished) {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    sim::ObjectStore store(world_, sim::Dice(seed), [](const std::string& how) { FAIL() << how; });
    store.make_bucket("b");
    store.draw_faults();
    const std::string data = bytes(seed % 2 ? 1'000 : kPart + 1'000);
    run([&] {
      const auto door = store.as({}, "b");
      for (int attempt = 1; attempt <= 4; ++attempt) {
        S3Destination to(world_, log_, *door,
                         {.bucket = "b",
                          .key = kKey,
                          .storer = {.uid = "uid-1", .attempt = std::to_string(attempt)}});
        auto report = upload_to(to, data);
        if (!report) to.abandon();
        if (!report) continue;
        EXPECT_TRUE(store.look("b", kKey) && store.look("b", kKey)->bytes == data) << seed;
        EXPECT_EQ(*report, manifest_of(data).report);
        ++whole;
        break;
      }
    });
  }
  EXPECT_GT(whole, 20) << "and often it is stored all the same";
}

}  // namespace
}  // namespace etcdop::agent
