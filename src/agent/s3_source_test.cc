#include "agent/s3_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "s3/answers.h"
#include "sim/scheduler.h"
#include "sim/store/object_store.h"
#include "sim/store/tags.h"
#include "test/support/memory_log.h"

namespace etcdop::agent {
namespace {

using sim::StoreFault;

const std::string kKey = "prod/nightly.db", kManifest = kKey + ".json";

std::string bytes(std::size_t size) {
  std::string out(size, 0);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 31 + i / 251);
  return out;
}

class S3SourceTest : public ::testing::Test {
 protected:
  S3SourceTest() { store_.make_bucket("b"); }
  void put(const std::string& key, const std::string& text, const s3::Metadata& metadata = {}) {
    store_.put("b", key, {.bytes = text, .tag = sim::tag_of(text), .metadata = metadata});
  }
  /// Runs `body` on a fiber, with a source of this user.
  void with_source(const std::function<void(S3Source&)>& body, const sim::StoreUser& user = {},
                   const std::string& bucket = "b") {
    const auto store = store_.as(user, bucket);
    S3Source source(scheduler_, log_, *store, {.bucket = bucket, .key = kKey});
    auto fiber = scheduler_.spawn([&] { body(source); });
    scheduler_.run();
    EXPECT_TRUE(fiber->done());
  }
  /// The bytes read after a look, or the error's words.
  static std::string read(S3Source& source) {
    std::string out;
    auto facts = source.look();
    if (!facts) return facts.error().message;
    auto read = source.read([&](std::string_view piece) -> Result<Done> {
      EXPECT_LE(piece.size(), S3Source::kRangeBytes);
      out += piece;
      return Done{};
    });
    return read ? out : read.error().message;
  }
  RestoreReason refusal(const sim::StoreUser& user, const std::string& bucket = "b") {
    RestoreReason out{};
    with_source(
        [&](S3Source& source) {
          auto facts = source.look();
          ASSERT_FALSE(facts);
          out = reason_of(source.side(), facts.error());
        },
        user, bucket);
    return out;
  }

  sim::Scheduler scheduler_{1};
  sim::ObjectStore store_{scheduler_, sim::Dice(1),
                          [](const std::string& how) { ADD_FAILURE() << how; }};
  testing::MemoryLog log_;
};

TEST_F(S3SourceTest, ReadsAnObjectOfAnySize) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1}, S3Source::kRangeBytes,
                                   S3Source::kRangeBytes + 1, 3 * S3Source::kRangeBytes - 7}) {
    put(kKey, bytes(size));
    with_source([&](S3Source& source) { EXPECT_TRUE(read(source) == bytes(size)) << size; });
  }
}

TEST_F(S3SourceTest, TellsWhatLiesBesideIt) {
  put(kKey, "snapshot", {{"etcd-snapshot-uid", "uid-1"}, {"etcd-snapshot-attempt", "2"}});
  with_source([&](S3Source& source) {
    EXPECT_EQ(source.uri(), "s3://b/prod/nightly.db");
    auto facts = source.look();
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->size_bytes, 8u);
    EXPECT_EQ(facts->uid, "uid-1");
    EXPECT_EQ(facts->attempt, "2");
    EXPECT_FALSE(facts->manifest);
    put(kManifest, "{}");
    EXPECT_EQ(source.look()->manifest, "{}");
    put(kManifest, bytes(1 << 20));
    EXPECT_EQ(source.look()->manifest->size(), 64u << 10) << "no memory for more";
  });
}

TEST_F(S3SourceTest, AsksAgainAndGetsEachByteOnce) {
  const std::string stored = bytes(5 * S3Source::kRangeBytes);
  put(kKey, stored);
  for (const StoreFault fault :
       {StoreFault::SlowDown, StoreFault::Reset, StoreFault::AnswerLost, StoreFault::Truncates}) {
    store_.heal();
    store_.strike(fault, {.one_in = 4});
    with_source([&](S3Source& source) { EXPECT_TRUE(read(source) == stored); });
    EXPECT_GT(store_.struck(fault), 0u) << to_string(fault);
  }
}

TEST_F(S3SourceTest, GivesUpOnAStoreThatIsAway) {
  put(kKey, "snapshot");
  store_.strike(StoreFault::SlowDown, {.one_in = 1});
  with_source([&](S3Source& source) { EXPECT_TRUE(source.look().failed_with(Code::Unavailable)); });
  EXPECT_EQ(log_.count("trying again"), 3);
}

TEST_F(S3SourceTest, NoticesThatItWasReplaced) {
  put(kKey, bytes(2 * S3Source::kRangeBytes));
  with_source([&](S3Source& source) {
    ASSERT_TRUE(source.look());
    int pieces = 0;
    auto read = source.read([&](std::string_view) -> Result<Done> {
      ++pieces;
      put(kKey, bytes(2 * S3Source::kRangeBytes) + "x");
      return Done{};
    });
    EXPECT_TRUE(read.failed_with(Code::Conflict));
    EXPECT_EQ(pieces, 1);
    EXPECT_EQ(log_.count("trying again"), 0) << "that does not go away";
  });
}

TEST_F(S3SourceTest, EndsWhereItsReaderDoes) {
  put(kKey, bytes(2 * S3Source::kRangeBytes));
  with_source([&](S3Source& source) {
    ASSERT_TRUE(source.look());
    auto read = source.read([](std::string_view) -> Result<Done> {
      return Error{Code::Unavailable, "the volume is full"};
    });
    EXPECT_EQ(read.error(), (Error{Code::Unavailable, "the volume is full"}));
    EXPECT_EQ(log_.count("trying again"), 0);
  });
}

TEST_F(S3SourceTest, SaysWhyNot) {
  EXPECT_EQ(refusal({}), RestoreReason::SourceNotFound);
  EXPECT_EQ(refusal({}, "none"), RestoreReason::BucketNotFound);
  EXPECT_EQ(refusal({.may_list = false}), RestoreReason::SourceAccessDenied)
      << "whether it is there, nobody may know";
  put(kKey, "snapshot");
  EXPECT_EQ(refusal({.may_read = false}), RestoreReason::SourceAccessDenied);
  EXPECT_EQ(refusal({.known_key = false}), RestoreReason::SourceCredentialsRejected);
  EXPECT_EQ(refusal({.right_secret = false}), RestoreReason::SourceCredentialsRejected);
  EXPECT_EQ(refusal({.clock_ahead = std::chrono::hours(1)}), RestoreReason::SourceClockSkewed);
}

/// For a user that may read objects but not list them: an object that another program stored.
TEST_F(S3SourceTest, DoesWithoutAManifestThatItMayNotLookFor) {
  put(kKey, "snapshot");
  with_source([&](S3Source& source) { EXPECT_EQ(read(source), "snapshot"); }, {.may_list = false});
  EXPECT_EQ(log_.count("continuing without it"), 1);
}

/// Passes on all calls, without If-Match.
class WithoutConditions final : public s3::Store {
 public:
  explicit WithoutConditions(s3::Store& below) : below_(below) {}
  Result<s3::Object> head(const std::string& key) override { return below_.head(key); }
  Result<s3::Object> get(const std::string& key, const s3::GetOptions& options,
                         const Sink& sink) override {
    if (!options.only_if) return below_.get(key, options, sink);
    return s3::to_error(s3::Asked{.call = "GET", .bucket = "b", .key = key},
                        s3::Refusal{.status = 501, .code = "NotImplemented"});
  }
  Result<s3::Tag> put(const std::string&, std::string_view, const s3::PutOptions&) override {
    return unexpected();
  }
  Result<s3::Upload> create_multipart(const std::string&, const s3::Metadata&) override {
    return unexpected();
  }
  Result<s3::Tag> upload_part(const s3::Upload&, int, const s3::Payload&) override {
    return unexpected();
  }
  Result<s3::Tag> complete(const s3::Upload&, const std::vector<s3::Part>&, bool) override {
    return unexpected();
  }
  Result<Done> abort(const s3::Upload&) override { return unexpected(); }
  Result<s3::Page> list(const s3::ListOptions&) override { return unexpected(); }
  Result<std::vector<s3::Upload>> uploads(const std::string&) override { return unexpected(); }
  Result<Done> remove(const std::string&) override { return unexpected(); }

 private:
  static Error unexpected() {
    ADD_FAILURE() << "a source only reads";
    return {Code::Denied, ""};
  }
  s3::Store& below_;
};

TEST_F(S3SourceTest, AStoreMayNotKnowConditions) {
  const std::string stored = bytes(2 * S3Source::kRangeBytes);
  put(kKey, stored);
  const auto store = store_.as({}, "b");
  WithoutConditions without(*store);
  S3Source source(scheduler_, log_, without, {.bucket = "b", .key = kKey});
  (void)scheduler_.spawn([&] {
    EXPECT_TRUE(read(source) == stored);
    ASSERT_TRUE(source.look());
    auto replaced = source.read([&](std::string_view) -> Result<Done> {
      put(kKey, stored + "x");
      return Done{};
    });
    EXPECT_TRUE(replaced.failed_with(Code::Conflict)) << "the tag of the answer tells";
  });
  scheduler_.run();
}

}  // namespace
}  // namespace etcdop::agent
