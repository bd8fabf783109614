// Tests that the contract with a real store cannot cover: permissions, regions, faults, refusals.
#include "sim/store/object_store.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/scheduler.h"
#include "sim/store/tags.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;
using s3::Store;

class SimObjectStore : public ::testing::Test {
 protected:
  SimObjectStore() { store_.make_bucket("b"); }
  void run(const std::function<void(Store&)>& body, const StoreUser& user = {}) {
    bool done = false;
    (void)world_.spawn([&] {
      const auto door = store_.as(user, "b");
      body(*door);
      done = true;
    });
    world_.run();
    EXPECT_TRUE(done);
  }
  Duration passed() const { return world_.now().time_since_epoch(); }
  std::string stored(const std::string& key) {
    const StoredObject* const object = store_.look("b", key);
    return object ? object->bytes : "nothing";
  }
  static std::string read(Store& store, const std::string& key) {
    std::string bytes;
    auto object = store.get(key, {}, [&](std::string_view piece) {
      bytes += piece;
      return true;
    });
    return object ? bytes : bytes + "|" + object.error().message;
  }

  Scheduler world_{1};
  std::vector<std::string> misuse_;
  ObjectStore store_{world_, Dice(1), [this](const std::string& how) { misuse_.push_back(how); }};
};

TEST_F(SimObjectStore, TagsAreMd5sAndThoseOfPartsAreNot) {
  EXPECT_EQ(tag_of("hello").text, "\"5d41402abc4b2a76b9719d911017c592\"");
  // md5(md5("hello") + md5("")), computed elsewhere.
  EXPECT_EQ(tag_of_parts({tag_of("hello"), tag_of("")}).text,
            "\"a169f9255cc30bf56198c64ae2a09832-2\"");
}

TEST_F(SimObjectStore, WithoutThePermissionToListWhatIsMissingLooksForbidden) {
  run([](Store& store) { EXPECT_TRUE(store.put("k", "v", {})); });
  run(
      [](Store& store) {
        EXPECT_TRUE(store.head("k"));
        auto missing = store.head("missing");
        ASSERT_TRUE(missing.failed_with(Code::Denied));
        EXPECT_NE(missing.error().message.find("s3:ListBucket"), std::string::npos);
        EXPECT_TRUE(store.list({}).failed_with(Code::Denied));
      },
      {.may_list = false});
  run([](Store& store) { EXPECT_TRUE(store.head("missing").failed_with(Code::NotFound)); });
}

TEST_F(SimObjectStore, EachPermissionIsAskedFor) {
  run([](Store& store) { EXPECT_TRUE(store.put("k", "v", {})); });
  run([](Store& store) { EXPECT_TRUE(store.put("k", "w", {}).failed_with(Code::Denied)); },
      {.may_write = false});
  run([](Store& store) { EXPECT_TRUE(store.head("k").failed_with(Code::Denied)); },
      {.may_read = false});
  run([](Store& store) { EXPECT_TRUE(store.remove("k").failed_with(Code::Denied)); },
      {.may_delete = false});
  EXPECT_EQ(stored("k"), "v");
}

TEST_F(SimObjectStore, ABucketOfAnotherRegionSaysWhere) {
  store_.make_bucket("b", "eu-west-3");
  const auto expect_region = [](const Error& error) {
    EXPECT_EQ(error.code, Code::Invalid);
    EXPECT_NE(error.message.find("set region to eu-west-3"), std::string::npos) << error.message;
  };
  run([&](Store& store) {
    expect_region(store.put("k", "v", {}).error());
    expect_region(store.head("k").error());
  });
  run([&](Store& store) { expect_region(store.put("k", "v", {}).error()); },
      {.endpoint_region = "eu-west-3"});
  run([](Store& store) { EXPECT_TRUE(store.put("k", "v", {})); },
      {.region = "eu-west-3", .endpoint_region = "eu-west-3"});
}

TEST_F(SimObjectStore, SlowIsAThousandBytesASecondAndTheDeadlineHolds) {
  store_.strike(StoreFault::Slow, {.one_in = 1});
  const std::string bytes(30'000, 'x');
  run([&](Store& store) { EXPECT_TRUE(store.put("k", bytes, {})); });
  EXPECT_EQ(passed(), 30s + ObjectStore::kAnswerTime);
  run([&](Store& store) { EXPECT_EQ(read(store, "k"), bytes); });
  EXPECT_EQ(passed(), 60s + 2 * ObjectStore::kAnswerTime);
  run([&](Store& store) {
    const Instant start = world_.now();
    EXPECT_TRUE(store.put("k", bytes + bytes, {}).failed_with(Code::TimedOut));
    EXPECT_EQ(world_.now() - start, Store::kCallLimit);
  });
  EXPECT_EQ(stored("k"), bytes);
}

TEST_F(SimObjectStore, SilenceEndsWithTheDeadline) {
  store_.strike(StoreFault::Silent, {.one_in = 1});
  run([](Store& store) {
    EXPECT_TRUE(store.head("k").failed_with(Code::TimedOut));
    EXPECT_TRUE(store.complete({"k", "i"}, {}, false).failed_with(Code::TimedOut));
  });
  EXPECT_EQ(passed(), Store::kCallLimit + Store::kCompleteLimit);
}

TEST_F(SimObjectStore, BusyMeansThatNothingHappened) {
  store_.strike(StoreFault::SlowDown, {.one_in = 1});
  run([](Store& store) { EXPECT_TRUE(store.put("k", "v", {}).failed_with(Code::Unavailable)); });
  EXPECT_EQ(stored("k"), "nothing");
  EXPECT_EQ(store_.struck(StoreFault::SlowDown), 1U);
}

TEST_F(SimObjectStore, AResetStrikesAtOnePart) {
  store_.strike(StoreFault::Reset, {.one_in = 1, .part = 2});
  run([this](Store& store) {
    const s3::Upload upload = *store.create_multipart("k", {});
    const s3::Tag first = *store.upload_part(upload, 1, "a");
    EXPECT_TRUE(store.upload_part(upload, 2, "b").failed_with(Code::Lost));
    auto tag =
        store.complete(upload, {{.number = 1, .tag = first}, {.number = 2, .tag = first}}, false);
    EXPECT_TRUE(tag.failed_with(Code::Invalid)) << "part 2 is not there";
    EXPECT_EQ(store_.unfinished("b"), 1U);
    EXPECT_TRUE(store.abort(upload));
  });
  EXPECT_EQ(store_.unfinished("b"), 0U);
  EXPECT_TRUE(store_.keys("b").empty());
}

TEST_F(SimObjectStore, ALostAnswerMayHideASuccess) {
  store_.strike(StoreFault::AnswerLost, {.one_in = 1});
  run([](Store& store) {
    EXPECT_TRUE(store.put("k", "v", {}).failed_with(Code::Lost));
    EXPECT_TRUE(store.head("k").failed_with(Code::Unavailable));
  });
  EXPECT_EQ(stored("k"), "v");
}

TEST_F(SimObjectStore, ATruncatedBodyIsNoSuccess) {
  run([](Store& store) { EXPECT_TRUE(store.put("k", "whole", {})); });
  store_.strike(StoreFault::Truncates, {.one_in = 1});
  run([](Store& store) { EXPECT_EQ(read(store, "k").substr(0, 3), "wh|"); });
}

TEST_F(SimObjectStore, ItMayLie) {
  store_.strike(StoreFault::WrongTag, {.one_in = 1});
  run([](Store& store) {
    const s3::Tag told = *store.put("tag", "v", {});
    EXPECT_NE(told, tag_of("v"));
    EXPECT_EQ(store.head("tag")->tag, tag_of("v"));
  });
  store_.heal();
  store_.strike(StoreFault::Forgets, {.one_in = 1});
  run([](Store& store) {
    EXPECT_TRUE(store.put("forgotten", "v", {}));
    EXPECT_TRUE(store.remove("tag"));
  });
  store_.heal();
  store_.strike(StoreFault::StoresHalf, {.one_in = 1});
  run([](Store& store) { EXPECT_EQ(*store.put("half", "whole", {}), tag_of("whole")); });
  EXPECT_EQ(store_.keys("b"), (std::vector<std::string>{"half", "tag"}));
  EXPECT_EQ(stored("half"), "wh");
}

TEST_F(SimObjectStore, AnUploadThatHasEndedIsNotFoundUnlessTheStoreLies) {
  run([this](Store& store) {
    const s3::Upload upload = *store.create_multipart("k", {});
    const s3::Tag tag = *store.upload_part(upload, 1, "v");
    EXPECT_TRUE(store.abort(upload));
    EXPECT_TRUE(store.put("k", "other", {}));
    EXPECT_TRUE(
        store.complete(upload, {{.number = 1, .tag = tag}}, false).failed_with(Code::NotFound));
    store_.strike(StoreFault::ClaimsComplete, {.one_in = 1});
    EXPECT_TRUE(store.complete(upload, {{.number = 1, .tag = tag}}, false));
  });
  EXPECT_EQ(stored("k"), "other");
}

TEST_F(SimObjectStore, ASeedSwitchesOnSomeFaultsAndHealingEndsThem) {
  std::array<std::uint64_t, static_cast<std::size_t>(StoreFault::kCount)> seeds_with{};
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ObjectStore store(world_, Dice(seed), [](const std::string&) {});
    store.make_bucket("b");
    store.draw_faults();
    (void)world_.spawn([&] {
      const auto door = store.as({}, "b");
      for (int i = 0; i < 40; ++i) {
        (void)door->put("k", "v", {});
        (void)read(*door, "k");
      }
      store.heal();
      EXPECT_TRUE(door->put("k", "healed", {}));
      EXPECT_EQ(read(*door, "k"), "healed");
    });
    world_.run();
    for (std::size_t i = 0; i < seeds_with.size(); ++i)
      seeds_with[i] += store.struck(static_cast<StoreFault>(i)) > 0 ? 1 : 0;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(StoreFault::ClaimsComplete); ++i) {
    EXPECT_GT(seeds_with[i], 5U) << to_string(static_cast<StoreFault>(i));
    EXPECT_LT(seeds_with[i], 35U) << to_string(static_cast<StoreFault>(i));
  }
}

TEST_F(SimObjectStore, WhatIsNotModelledIsMisuse) {
  run([](Store& store) {
    (void)store.head("a//b");
    (void)store.head("folder/");
    (void)store.head(std::string(256, 'a'));
    (void)store.list({.count = 0});
    (void)store.list({.count = 1001});
  });
  ASSERT_EQ(misuse_.size(), 5U);
  for (const std::string& how : misuse_)
    EXPECT_NE(how.find("not modelled"), std::string::npos) << how;
}

}  // namespace
}  // namespace etcdop::sim
