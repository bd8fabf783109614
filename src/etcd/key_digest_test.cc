#include "etcd/key_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/unscripted_etcd.h"

namespace etcdop::etcd {
namespace {

using namespace std::chrono_literals;

/// Serves pages of its keys.
class Keys final : public testing::UnscriptedEtcd {
 public:
  explicit Keys(Executor& executor) : executor_(executor) {}
  Result<KeyPage> keys(const KeyQuestion& asked) override {
    EXPECT_EQ(asked.revision, 7);
    limits.push_back(asked.limit);
    if (auto took = to_result(executor_.sleep(takes), "Range"); !took) return took.error();
    KeyPage page;
    std::size_t bytes = 0;
    for (auto it = all.lower_bound(asked.from); it != all.end() && !page.more; ++it) {
      page.more = std::ssize(page.keys) == asked.limit;
      if (page.more) break;
      page.keys.push_back(it->second);
      bytes += it->second.value.size();
    }
    if (bytes > bytes_max) return Error{Code::Corrupt, "over a limit"};
    return page;
  }
  void put(const KeyValue& one) { all[one.key] = one; }

  std::map<std::string, KeyValue> all;
  std::vector<std::int64_t> limits;
  std::size_t bytes_max = 4 << 20;
  Duration takes{};

 private:
  Executor& executor_;
};

class KeyDigestTest : public ::testing::Test {
 protected:
  Result<std::string> read() {
    Result<std::string> out = std::string();
    (void)scheduler_.spawn([&] { out = digest_keys(scheduler_, etcd_, 7); });
    scheduler_.run();
    return out;
  }
  /// The digest of all keys at once.
  std::string expected() const {
    KeyDigest digest;
    for (const auto& [key, value] : etcd_.all) digest.add(value);
    return digest.text();
  }

  sim::Scheduler scheduler_{1};
  Keys etcd_{scheduler_};
};

/// Made with Python's hashlib and struct: stored digests must stay comparable.
TEST_F(KeyDigestTest, IsWhatTheFormatSays) {
  EXPECT_EQ(*read(), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  etcd_.put({.key = std::string("b\0", 2),
             .value = std::string(300, '\xff'),
             .created = 3,
             .modified = 1'000'000'005,
             .version = 4});
  etcd_.put({.key = "a", .value = "1", .created = 2, .modified = 2, .version = 1});
  EXPECT_EQ(*read(), "sha256:67002c7285ef785e1fbe336f5b02b15a418f87edbc08884325d655c8bbec9973");
}

TEST_F(KeyDigestTest, DependsOnAllThatIsKept) {
  const KeyValue kept{.key = "a", .value = "bc", .created = 1, .modified = 2, .version = 3};
  std::vector<KeyValue> others(6, kept);
  others[0].key = "b";
  others[1].value = "bd";
  others[2].created = 2;
  others[3].modified = 1;
  others[4].version = 4;
  others[5].key = "ab";
  others[5].value = "c";
  etcd_.put(kept);
  const std::string digest = *read();
  for (const KeyValue& other : others) {
    etcd_.all.clear();
    etcd_.put(other);
    EXPECT_NE(*read(), digest);
  }
}

TEST_F(KeyDigestTest, ReadsManyKeysInPages) {
  for (int i = 0; i < 3000; ++i)
    etcd_.put({.key = "k" + std::to_string(i), .value = "v", .created = i, .modified = i});
  EXPECT_EQ(*read(), expected());
  EXPECT_EQ(etcd_.limits.front(), 32);
  EXPECT_EQ(etcd_.limits.back(), 500);
  EXPECT_LT(etcd_.limits.size(), 15U);
}

TEST_F(KeyDigestTest, LargeValuesComeInSmallPages) {
  for (int i = 0; i < 600; ++i)
    etcd_.put({.key = "k" + std::to_string(i), .value = std::string(i < 500 ? 10 : 1 << 20, 'v')});
  EXPECT_EQ(*read(), expected());
  EXPECT_GT(std::ranges::count(etcd_.limits, 1), 90) << "a mebibyte alone is a page";
}

TEST_F(KeyDigestTest, APageThatWasTooLargeIsAskedForKeyByKey) {
  etcd_.bytes_max = 1 << 20;
  for (int i = 0; i < 20; ++i)
    etcd_.put({.key = "k" + std::to_string(i), .value = std::string(400 << 10, 'v')});
  EXPECT_EQ(*read(), expected());
  EXPECT_EQ(etcd_.limits[1], 1);
  etcd_.bytes_max = 1000;
  EXPECT_TRUE(read().failed_with(Code::Corrupt)) << "not without end";
}

TEST_F(KeyDigestTest, LeavesTheMemberAThirdOfItsTime) {
  for (int i = 0; i < 300; ++i) etcd_.put({.key = "k" + std::to_string(i), .value = "v"});
  etcd_.takes = 100ms;
  const Instant begin = scheduler_.now();
  ASSERT_TRUE(read());
  const auto pages = static_cast<int>(etcd_.limits.size());
  EXPECT_EQ(scheduler_.now() - begin, 100ms * pages + 50ms * (pages - 1));
}

}  // namespace
}  // namespace etcdop::etcd
