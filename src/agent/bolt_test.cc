#include "agent/bolt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/database_facts.h"
#include "agent/stored_databases.h"
#include "base/fnv.h"

namespace etcdop::agent {
namespace {

constexpr std::size_t kPageBytes = 512;
constexpr const char* kDatabases = AGENT_FOLDER "/databases.json";

template <class Number>
void put(std::string& text, std::size_t at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    text[at + i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i));
}

struct Item {
  std::string key, value = {};
  std::uint32_t flags = 0;  // For a leaf.
  std::uint64_t child = 0;  // For a branch.
};

/// Header, elements, then keys and values.
std::string page_of(std::uint64_t id, bool branch, const std::vector<Item>& items) {
  std::string out(16 + items.size() * 16, 0);
  put<std::uint64_t>(out, 0, id);
  put<std::uint16_t>(out, 8, branch ? 1 : 2);
  put<std::uint16_t>(out, 10, static_cast<std::uint16_t>(items.size()));
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t at = 16 + i * 16, position = branch ? at : at + 4;
    put<std::uint32_t>(out, position, static_cast<std::uint32_t>(out.size() - at));
    put<std::uint32_t>(out, position + 4, static_cast<std::uint32_t>(items[i].key.size()));
    if (branch) put<std::uint64_t>(out, at + 8, items[i].child);
    else put<std::uint32_t>(out, at, items[i].flags);
    if (!branch)
      put<std::uint32_t>(out, at + 12, static_cast<std::uint32_t>(items[i].value.size()));
    out += items[i].key + items[i].value;
  }
  return out;
}

std::string bucket_at(std::uint64_t root) {
  std::string out(16, 0);
  put<std::uint64_t>(out, 0, root);
  return out;
}

std::string bucket_with(const std::vector<Item>& items) {
  return bucket_at(0) + page_of(0, false, items);
}

/// Two metas, the second one newer, then pages from 2 on.
class File {
 public:
  File() : bytes_(2 * kPageBytes, 0) {}
  void add(bool branch, const std::vector<Item>& items) {
    std::string page = page_of(bytes_.size() / kPageBytes, branch, items);
    const std::size_t pages = (page.size() + kPageBytes - 1) / kPageBytes;
    put<std::uint32_t>(page, 12, static_cast<std::uint32_t>(pages - 1));
    page.resize(pages * kPageBytes);
    bytes_ += page;
  }
  std::string finish(std::uint64_t root) {
    for (std::uint64_t i = 0; i < 2; ++i) {
      std::string meta(64, 0);
      put<std::uint32_t>(meta, 0, 0xED0CDAED);
      put<std::uint32_t>(meta, 4, 2);
      put<std::uint32_t>(meta, 8, kPageBytes);
      put<std::uint64_t>(meta, 16, i == 0 ? 999 : root);  // The old root is no longer valid.
      put<std::uint64_t>(meta, 40, bytes_.size() / kPageBytes);
      put<std::uint64_t>(meta, 48, 7 + i);
      put<std::uint64_t>(meta, 56, fnv1a(std::string_view(meta).substr(0, 56)));
      bytes_.replace(i * kPageBytes + 16, meta.size(), meta);
    }
    return bytes_;
  }

 private:
  std::string bytes_;
};

/// Counts reads: whatever the file says, they must end.
struct Reading {
  const std::string& bytes;
  int reads = 0;
  BoltDatabase::ReadAt at() {
    return [this](std::uint64_t offset, std::size_t count) -> Result<std::string> {
      ++reads;
      EXPECT_LE(count, BoltDatabase::kBytesMax);
      return bytes.substr(std::min<std::size_t>(offset, bytes.size()), count);
    };
  }
};

/// The value from the database in `bytes`, or a word for the failure.
std::string found(const std::string& bytes, std::string_view bucket, std::string_view key) {
  Reading reading{bytes};
  auto database = BoltDatabase::open(reading.at(), bytes.size());
  if (!database) return database.failed_with(Code::Corrupt) ? "corrupt" : "error";
  auto value = database->find(bucket, key);
  if (!value) return value.failed_with(Code::Corrupt) ? "corrupt" : "error";
  return value->value_or("none");
}

/// A tree of two levels, an inline bucket, an empty one, and a leaf that needs three pages.
std::string tree() {
  File file;
  file.add(false, {{"auth", bucket_with({{"on", "1"}}), 1},
                   {"empty", bucket_with({}), 1},
                   {"key", bucket_at(3), 1},
                   {"plain", "no bucket"}});
  file.add(true, {{.key = "b", .child = 4}, {.key = "f", .child = 5}, {.key = "k", .child = 8}});
  file.add(false, {{"b", "1"}, {"d", "2"}});
  file.add(false, {{"f", std::string(1200, 'x')}, {"h", "3"}});
  file.add(false, {{"k", "4"}, {"m", "5"}, {"z", "6"}});
  return file.finish(2);
}

TEST(BoltDatabase, FindsWhatIsThere) {
  const std::string bytes = tree();
  const std::map<std::string, std::string> expected = {
      {"a", "none"}, {"b", "1"},    {"c", "none"},
      {"d", "2"},    {"e", "none"}, {"f", std::string(1200, 'x')},
      {"g", "none"}, {"h", "3"},    {"i", "none"},
      {"k", "4"},    {"l", "none"}, {"m", "5"},
      {"n", "none"}, {"z", "6"},    {"zz", "none"},
      {"", "none"}};
  for (const auto& [key, value] : expected) EXPECT_EQ(found(bytes, "key", key), value) << key;
  EXPECT_EQ(found(bytes, "auth", "on"), "1");
  EXPECT_EQ(found(bytes, "auth", "onn"), "none");
  EXPECT_EQ(found(bytes, "empty", "on"), "none");
  EXPECT_EQ(found(bytes, "none", "on"), "none");
  EXPECT_EQ(found(bytes, "plain", "on"), "corrupt") << "etcd has only buckets there";
}

TEST(BoltDatabase, KnowsTheLastKey) {
  const std::string bytes = tree();
  Reading reading{bytes};
  auto database = BoltDatabase::open(reading.at(), bytes.size());
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_EQ((*database->last_key("key")).value_or(""), "z");
  EXPECT_EQ((*database->last_key("auth")).value_or(""), "on");
  EXPECT_FALSE((*database->last_key("empty")).has_value());
  EXPECT_FALSE((*database->last_key("none")).has_value());
  EXPECT_TRUE(*database->has("empty"));
  EXPECT_FALSE(*database->has("none"));
}

TEST(BoltDatabase, GoesByTheMetaThatIsWhole) {
  std::string bytes = tree();
  bytes[16 + 8] ^= 1;  // The first meta, whose page size gives the place of the second.
  EXPECT_EQ(found(bytes, "key", "b"), "1");
  bytes = tree();
  bytes[kPageBytes + 16 + 20] ^= 1;
  EXPECT_EQ(found(bytes, "key", "b"), "corrupt") << "the older one's root is gone";
  bytes[16] ^= 1;
  EXPECT_EQ(found(bytes, "key", "b"), "corrupt");
}

TEST(BoltDatabase, ACircleEnds) {
  File file;
  file.add(true, {{.key = "a", .child = 3}});
  file.add(true, {{.key = "a", .child = 2}});
  EXPECT_EQ(found(file.finish(2), "key", "b"), "corrupt");
  File empty;
  empty.add(true, {});
  EXPECT_EQ(found(empty.finish(2), "key", "b"), "corrupt");
}

TEST(BoltDatabase, RefusesWhatIsNone) {
  const std::string bytes = tree();
  EXPECT_EQ(found("", "key", "b"), "corrupt");
  EXPECT_EQ(found(std::string(100'000, 0), "key", "b"), "corrupt");
  for (std::size_t size = 0; size < bytes.size(); size += 37)
    EXPECT_EQ(found(bytes.substr(0, size), "key", "b"), "corrupt") << size;
}

TEST(BoltDatabase, AnErrorOfTheFileIsNoDamage) {
  const auto broken = [](std::uint64_t, std::size_t) -> Result<std::string> {
    return Error{Code::Lost, "the disk"};
  };
  EXPECT_TRUE(BoltDatabase::open(broken, 100'000).failed_with(Code::Lost));
}

/// Sets each byte to three other values: answers may be wrong, but they must come, and from few
/// reads.
TEST(BoltDatabase, NoByteLeadsItAstray) {
  const std::string whole = tree();
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      Reading reading{bytes};
      auto database = BoltDatabase::open(reading.at(), bytes.size());
      if (!database) continue;
      for (const char* key : {"a", "f", "z"}) (void)database->find("key", key);
      (void)database->last_key("key");
      EXPECT_LT(reading.reads, 500) << at;
    }
}

TEST(DatabaseFacts, OfRealEtcds) {
  const auto databases = stored_databases(kDatabases);
  ASSERT_GE(databases.size(), 8u);
  for (const StoredDatabase& one : databases) {
    Reading reading{one.snapshot};
    auto facts = read_facts(reading.at(), one.snapshot.size() - 32);
    ASSERT_TRUE(facts) << one.version << ": " << facts.error().message;
    const std::string minor = one.version.substr(0, one.version.rfind('.'));
    EXPECT_EQ(facts->etcd_version, minor + ".0") << one.version;
    EXPECT_EQ(facts->auth_enabled, one.auth) << one.version;
    EXPECT_EQ(facts->revision, 4) << one.version;
    EXPECT_LT(reading.reads, 300);
  }
}

TEST(DatabaseFacts, NoByteOfARealOneLeadsThemAstray) {
  const std::string whole = stored_databases(kDatabases).front().snapshot;
  for (std::size_t at = 0; at < whole.size() - 32; ++at) {
    if (whole[at] == 0 && at % 64 != 0) continue;  // Most of the file is empty.
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 0xFF);
    Reading reading{bytes};
    auto facts = read_facts(reading.at(), bytes.size() - 32);
    EXPECT_TRUE(facts || facts.failed_with(Code::Corrupt)) << at;
    EXPECT_LT(reading.reads, 2000) << at;
  }
}

TEST(DatabaseFacts, OfNoDatabaseOfEtcd) {
  const std::string bytes = tree();  // It has keys, but no bucket "meta".
  Reading reading{bytes};
  EXPECT_TRUE(read_facts(reading.at(), bytes.size()).failed_with(Code::Corrupt));
}

/// A compaction may have removed all keys; a key without a revision is damage.
TEST(DatabaseFacts, TheNewestRevision) {
  const auto revision = [](unsigned char last) { return std::string(7, 0) + char(last) + "_0000"; };
  const auto facts_with = [](const std::vector<Item>& keys, const std::vector<Item>& meta) {
    File file;
    file.add(false, {{"key", bucket_with(keys), 1}, {"meta", bucket_with(meta), 1}});
    const std::string bytes = file.finish(2);
    Reading reading{bytes};
    auto facts = read_facts(reading.at(), bytes.size());
    using Pair = std::pair<std::int64_t, std::int64_t>;
    if (facts.failed_with(Code::Corrupt)) return Pair(-1, -1);
    EXPECT_TRUE(facts);
    return Pair(*facts->revision, *facts->newest_key);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(facts_with({}, {}), Pair(1, 0));
  EXPECT_EQ(facts_with({{revision(5)}, {revision(9)}}, {}), Pair(9, 9));
  EXPECT_EQ(facts_with({{revision(5)}}, {{"finishedCompactRev", revision(7)}}), Pair(7, 5));
  EXPECT_EQ(facts_with({{std::string(8, '\xFF')}}, {}), Pair(-1, -1));
  EXPECT_EQ(facts_with({{"short"}}, {}), Pair(-1, -1));
}

}  // namespace
}  // namespace etcdop::agent
