// Tests an object store's answers to our client. The same tests run against a real store and
// against the simulated one, to prove that it behaves alike. s3_contract_test [--program=FILE]
// [gtest flags]: FILE is versitygw; without it, the simulated store.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/delete_snapshot.h"
#include "agent/s3_stored.h"
#include "test/contract/s3_stores.h"
#include "test/support/memory_log.h"

namespace etcdop::contract {
namespace {

using s3::Store;
using s3::Tag;

std::string tested_program;

std::unique_ptr<Stores> make_stores() {
  static std::uint64_t seed = 0;  // --gtest_repeat runs other worlds.
  return tested_program.empty() ? make_simulated_stores(++seed) : make_real_stores(tested_program);
}

template <class T>
void expect_error(Result<T> result, Code code, const std::string& says) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(says), std::string::npos) << result.error().message;
}

template <class T>
T must(Result<T> result) {
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(*result) : T{};
}

/// Its bytes, or the error's code and text.
std::string read(Store& store, const std::string& key, const s3::GetOptions& options = {}) {
  std::string bytes;
  auto object = store.get(key, options, [&](std::string_view piece) {
    bytes += piece;
    return true;
  });
  return object ? bytes : object.error().message;
}

std::vector<std::string> keys(const s3::Page& page) {
  std::vector<std::string> out;
  for (const s3::Listed& object : page.objects) out.push_back(object.key);
  return out;
}

using Keys = std::vector<std::string>;

class S3Contract : public ::testing::Test {
 protected:
  void run(const std::function<void(Store&)>& body) {
    stores_->make_bucket("bucket");
    stores_->run([&] { body(*stores_->as({}, "bucket")); });
  }
  std::unique_ptr<Store> as(const sim::StoreUser& user) { return stores_->as(user, "bucket"); }
  void TearDown() override {
    if (HasFailure()) stores_->print_logs();
  }
  /// A part of the minimal size, filled with that letter.
  static std::string part(char letter) { return std::string(Store::kPartBytesMin, letter); }

  const std::unique_ptr<Stores> stores_ = make_stores();
};

TEST_F(S3Contract, WhatWasWrittenIsRead) {
  run([&](Store& store) {
    const Tag tag = must(store.put("a/b.db", "hello", {.metadata = {{"uid", "u 1"}}}));
    EXPECT_EQ(tag.text, "\"5d41402abc4b2a76b9719d911017c592\"");
    const s3::Object wanted{.size = 5, .tag = tag, .metadata = {{"uid", "u 1"}}};
    EXPECT_EQ(must(store.head("a/b.db")), wanted);
    EXPECT_EQ(read(store, "a/b.db"), "hello");
    const Tag empty = must(store.put("empty", "", {}));
    EXPECT_EQ(must(store.head("empty")), (s3::Object{.size = 0, .tag = empty}));
    EXPECT_EQ(read(store, "empty"), "");
  });
}

TEST_F(S3Contract, WhatIsMissingIsNotFound) {
  run([&](Store& store) {
    expect_error(store.head("k"), Code::NotFound, "404");
    expect_error(store.get("k", {}, [](std::string_view) { return true; }), Code::NotFound,
                 "NoSuchKey");
    EXPECT_TRUE(store.remove("k")) << "none was there";
  });
}

TEST_F(S3Contract, AWriteReplacesEverything) {
  run([&](Store& store) {
    const Tag first = must(store.put("k", "first", {.metadata = {{"a", "1"}}}));
    const Tag second = must(store.put("k", "second!", {.metadata = {{"b", "2"}}}));
    EXPECT_NE(first, second);
    const s3::Object wanted{.size = 7, .tag = second, .metadata = {{"b", "2"}}};
    EXPECT_EQ(must(store.head("k")), wanted);
    EXPECT_EQ(read(store, "k"), "second!");
    const Tag third = must(store.put("k", "third", {}));
    EXPECT_EQ(must(store.head("k")), (s3::Object{.size = 5, .tag = third}));
  });
}

TEST_F(S3Contract, WhatWasRemovedIsGone) {
  run([&](Store& store) {
    (void)must(store.put("k", "v", {}));
    EXPECT_TRUE(store.remove("k"));
    expect_error(store.head("k"), Code::NotFound, "404");
    EXPECT_TRUE(must(store.list({})).objects.empty());
  });
}

TEST_F(S3Contract, ASnapshotIsDeletedByItsMarks) {
  run([&](Store& store) {
    const s3::PutOptions ours{.metadata = {{agent::kUidMark, "uid-1"}}};
    const s3::Upload upload = must(store.create_multipart("prod/a.db", ours.metadata));
    const Tag tag = must(store.upload_part(upload, 1, part('a')));
    (void)must(store.complete(upload, {{.number = 1, .tag = tag}}, true));
    (void)must(store.put("prod/a.db.json", "{}", ours));
    (void)must(store.put("prod/a.dbx", "other", {}));
    testing::MemoryLog log;
    const auto remove = [&](const std::string& uid) {
      agent::S3Stored stored(stores_->executor(), log, store,
                             {.bucket = "bucket", .key = "prod/a.db", .uid = uid});
      const AgentReport report = agent::delete_snapshot(stores_->executor(), log, stored);
      return report.reason.empty() ? report.message : report.reason;
    };
    EXPECT_EQ(remove("uid-2"), "DestinationExists");
    EXPECT_EQ(keys(must(store.list({}))), (Keys{"prod/a.db", "prod/a.db.json", "prod/a.dbx"}));
    EXPECT_EQ(remove("uid-1"), "removed prod/a.db.json, prod/a.db");
    EXPECT_EQ(keys(must(store.list({}))), Keys{"prod/a.dbx"});
    EXPECT_EQ(remove("uid-1"), "already gone");
  });
}

TEST_F(S3Contract, ARangeIsThatPart) {
  run([&](Store& store) {
    (void)must(store.put("k", "0123456789", {}));
    EXPECT_EQ(read(store, "k", {.range = {{.first = 2, .count = 3}}}), "234");
    EXPECT_EQ(read(store, "k", {.range = {{.first = 8, .count = 100}}}), "89");
    auto object = store.get("k", {.range = {{.first = 0, .count = 1}}},
                            [](std::string_view) { return true; });
    EXPECT_EQ(must(std::move(object)).size, 10U) << "of all of it";
    expect_error(store.get("k", {.range = {{.first = 10, .count = 1}}},
                           [](std::string_view) { return true; }),
                 Code::Invalid, "416 InvalidRange");
  });
}

TEST_F(S3Contract, ASinkThatHasEnoughEndsTheCall) {
  run([&](Store& store) {
    (void)must(store.put("k", part('a'), {}));
    std::size_t got = 0;
    auto object = store.get("k", {}, [&](std::string_view piece) {
      got += piece.size();
      return false;
    });
    EXPECT_EQ(must(std::move(object)).size, Store::kPartBytesMin);
    EXPECT_GT(got, 0U);
    EXPECT_LT(got, Store::kPartBytesMin);
  });
}

TEST_F(S3Contract, AReadCanInsistOnTheSameObject) {
  run([&](Store& store) {
    const Tag first = must(store.put("k", "first", {}));
    EXPECT_EQ(read(store, "k", {.only_if = first}), "first");
    (void)must(store.put("k", "second", {}));
    expect_error(store.get("k", {.only_if = first}, [](std::string_view) { return true; }),
                 Code::Conflict, "412");
  });
}

TEST_F(S3Contract, AWriteCanInsistThatNothingIsThere) {
  run([&](Store& store) {
    EXPECT_TRUE(store.put("k", "first", {.only_if_absent = true}));
    expect_error(store.put("k", "second", {.only_if_absent = true}), Code::AlreadyExists, "412");
    EXPECT_EQ(read(store, "k"), "first");
    EXPECT_TRUE(store.remove("k"));
    EXPECT_TRUE(store.put("k", "third", {.only_if_absent = true}));
  });
}

TEST_F(S3Contract, PartsBecomeOneObject) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {{"uid", "u"}}));
    EXPECT_EQ(upload.key, "k");
    const Tag two = must(store.upload_part(upload, 20, "end"));  // In any order, with gaps.
    const Tag one = must(store.upload_part(upload, 3, part('a')));
    const std::vector<s3::Part> parts = {{.number = 3, .tag = one}, {.number = 20, .tag = two}};
    const Tag tag = must(store.complete(upload, parts, false));
    EXPECT_TRUE(tag.text.ends_with("-2\"")) << tag.text << " is no MD5";
    const s3::Object wanted{
        .size = Store::kPartBytesMin + 3, .tag = tag, .metadata = {{"uid", "u"}}};
    EXPECT_EQ(must(store.head("k")), wanted);
    EXPECT_TRUE(read(store, "k") == part('a') + "end");
    EXPECT_EQ(read(store, "k", {.range = {{.first = Store::kPartBytesMin - 1, .count = 3}}}),
              "aen");
    EXPECT_TRUE(must(store.uploads("")).empty());
  });
}

TEST_F(S3Contract, UntilItIsCompleteAnUploadIsNoObject) {
  run([&](Store& store) {
    (void)must(store.put("k", "before", {}));
    const s3::Upload upload = must(store.create_multipart("k", {}));
    (void)must(store.upload_part(upload, 1, "x"));
    EXPECT_EQ(read(store, "k"), "before");
    EXPECT_EQ(keys(must(store.list({}))), Keys({"k"}));
    EXPECT_EQ(must(store.uploads("")), std::vector<s3::Upload>{upload});
    EXPECT_EQ(must(store.uploads("k")), std::vector<s3::Upload>{upload});
    EXPECT_TRUE(must(store.uploads("l")).empty());
  });
}

TEST_F(S3Contract, AnAbortedUploadLeavesNothing) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const Tag tag = must(store.upload_part(upload, 1, "x"));
    EXPECT_TRUE(store.abort(upload));
    EXPECT_TRUE(must(store.uploads("")).empty());
    expect_error(store.head("k"), Code::NotFound, "404");
    expect_error(store.abort(upload), Code::NotFound, "NoSuchUpload");
    expect_error(store.upload_part(upload, 2, "y"), Code::NotFound, "NoSuchUpload");
    expect_error(store.complete(upload, {{.number = 1, .tag = tag}}, false), Code::NotFound,
                 "NoSuchUpload");
  });
}

TEST_F(S3Contract, APartIsWhatWasSentLast) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const Tag first = must(store.upload_part(upload, 1, "first"));
    const Tag second = must(store.upload_part(upload, 1, "second"));
    expect_error(store.complete(upload, {{.number = 1, .tag = first}}, false), Code::Invalid,
                 "InvalidPart");
    EXPECT_EQ(must(store.uploads("")).size(), 1U) << "it can still be mended";
    (void)must(store.complete(upload, {{.number = 1, .tag = second}}, false));
    EXPECT_EQ(read(store, "k"), "second");
  });
}

TEST_F(S3Contract, PartsThatDoNotFitMakeNoObject) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const Tag small = must(store.upload_part(upload, 1, "small"));
    const Tag last = must(store.upload_part(upload, 2, part('b')));
    expect_error(store.complete(upload, {}, false), Code::Invalid, "400");
    expect_error(store.complete(upload, {{.number = 3, .tag = last}}, false), Code::Invalid,
                 "InvalidPart");
    expect_error(
        store.complete(upload, {{.number = 2, .tag = last}, {.number = 1, .tag = small}}, false),
        Code::Invalid, "InvalidPartOrder");
    expect_error(
        store.complete(upload, {{.number = 1, .tag = small}, {.number = 2, .tag = last}}, false),
        Code::Invalid, "EntityTooSmall");
    expect_error(store.head("k"), Code::NotFound, "404");
    EXPECT_TRUE(store.abort(upload));
  });
}

TEST_F(S3Contract, ACompletionCanInsistThatNothingIsThere) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const Tag tag = must(store.upload_part(upload, 1, "parts"));
    (void)must(store.put("k", "quicker", {}));
    expect_error(store.complete(upload, {{.number = 1, .tag = tag}}, true), Code::AlreadyExists,
                 "412");
    EXPECT_EQ(read(store, "k"), "quicker");
    EXPECT_TRUE(store.remove("k"));
    EXPECT_TRUE(store.complete(upload, {{.number = 1, .tag = tag}}, true));
    EXPECT_EQ(read(store, "k"), "parts");
  });
}

TEST_F(S3Contract, ASuccessfulCompletionIsNoProof) {
  run([&](Store& store) {
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const Tag tag = must(store.upload_part(upload, 1, "parts"));
    EXPECT_TRUE(store.abort(upload));
    const Tag others = must(store.put("k", "of somebody else", {}));
    const Tag told = must(store.complete(upload, {{.number = 1, .tag = tag}}, false));
    EXPECT_NE(told, others);
    EXPECT_EQ(must(store.head("k")).tag, others) << "what is there must be asked for";
  });
}

TEST_F(S3Contract, UploadsSideBySideDoNotMix) {
  run([&](Store& store) {
    const s3::Upload a = must(store.create_multipart("k", {}));
    const s3::Upload b = must(store.create_multipart("k", {}));
    EXPECT_NE(a.id, b.id);
    const Tag of_a = must(store.upload_part(a, 1, "a"));
    const Tag of_b = must(store.upload_part(b, 1, "b"));
    expect_error(store.complete(a, {{.number = 1, .tag = of_b}}, false), Code::Invalid,
                 "InvalidPart");
    (void)must(store.complete(b, {{.number = 1, .tag = of_b}}, false));
    (void)must(store.complete(a, {{.number = 1, .tag = of_a}}, false));
    EXPECT_EQ(read(store, "k"), "a") << "what was completed last";
  });
}

TEST_F(S3Contract, AListIsByPrefixAndInOrder) {
  run([&](Store& store) {
    for (const char* key : {"b/2", "b/10", "b/1", "a", "b-", "c/1", "B"})
      (void)must(store.put(key, key, {}));
    const s3::Page page = must(store.list({.prefix = "b/"}));
    EXPECT_EQ(keys(page), Keys({"b/1", "b/10", "b/2"}));
    EXPECT_EQ(page.token, "");
    EXPECT_EQ(page.objects[1].size, 4U);
    EXPECT_EQ(page.objects[1].tag, must(store.head("b/10")).tag);
    EXPECT_EQ(keys(must(store.list({}))), Keys({"B", "a", "b-", "b/1", "b/10", "b/2", "c/1"}));
    EXPECT_TRUE(must(store.list({.prefix = "d"})).objects.empty());
  });
}

TEST_F(S3Contract, AListComesInPages) {
  run([&](Store& store) {
    Keys wanted;
    for (int i = 10; i < 17; ++i) {
      wanted.push_back("p/" + std::to_string(i));
      (void)must(store.put(wanted.back(), "", {}));
    }
    (void)must(store.put("q", "", {}));
    for (const int count : {1, 3, 7, 8}) {
      Keys got;
      std::string token;
      std::size_t pages = 0;
      do {
        const s3::Page page = must(store.list({.prefix = "p/", .token = token, .count = count}));
        for (const std::string& key : keys(page)) got.push_back(key);
        token = page.token;
        EXPECT_LE(page.objects.size(), static_cast<std::size_t>(count));
      } while (!token.empty() && ++pages < 10);
      EXPECT_EQ(got, wanted) << count;
    }
  });
}

TEST_F(S3Contract, KeysMayHaveOddCharacters) {
  run([&](Store& store) {
    const Keys odd = {"%41", "a b+c&d=e?f#g", "quote\"'<>&amp;", "\xC3\xA9/~(x)*!,;:@$|^`{}"};
    for (const std::string& key : odd) {
      (void)must(store.put(key, key, {}));
      EXPECT_EQ(read(store, key), key);
    }
    EXPECT_EQ(keys(must(store.list({}))), odd);
    EXPECT_EQ(keys(must(store.list({.prefix = "a b+c&"}))), Keys({odd[1]}));
    for (const std::string& key : odd) EXPECT_TRUE(store.remove(key)) << key;
    EXPECT_TRUE(must(store.list({})).objects.empty());
  });
}

TEST_F(S3Contract, TheBucketMayBePartOfTheHost) {
  stores_->make_bucket("bucket");
  stores_->run([&] {
    stores_->path_style(false);
    const auto in_host = as({});
    stores_->path_style(true);
    const auto in_path = as({});
    (void)must(in_host->put("a b/k", "v", {}));
    EXPECT_EQ(read(*in_path, "a b/k"), "v");
    EXPECT_EQ(keys(must(in_host->list({}))), Keys({"a b/k"}));
  });
}

TEST_F(S3Contract, WhoIsNotKnownIsDenied) {
  run([&](Store&) {
    expect_error(as({.known_key = false})->put("k", "v", {}), Code::Denied, "InvalidAccessKeyId");
    expect_error(as({.right_secret = false})->put("k", "v", {}), Code::Denied,
                 "SignatureDoesNotMatch");
    expect_error(as({.known_key = false})->head("k"), Code::Denied, "check the credentials");
    expect_error(as({.right_secret = false})->list({}), Code::Denied, "SignatureDoesNotMatch");
  });
}

TEST_F(S3Contract, WhoMayNothingIsDenied) {
  run([&](Store& store) {
    (void)must(store.put("k", "v", {}));
    const s3::Upload upload = must(store.create_multipart("k", {}));
    const auto stranger =
        as({.may_read = false, .may_write = false, .may_delete = false, .may_list = false});
    const std::string says = "AccessDenied";
    expect_error(stranger->put("k", "w", {}), Code::Denied, says);
    expect_error(stranger->get("k", {}, [](std::string_view) { return true; }), Code::Denied, says);
    expect_error(stranger->create_multipart("l", {}), Code::Denied, says);
    expect_error(stranger->upload_part(upload, 1, "w"), Code::Denied, says);
    expect_error(stranger->abort(upload), Code::Denied, says);
    expect_error(stranger->list({}), Code::Denied, says);
    expect_error(stranger->uploads(""), Code::Denied, says);
    expect_error(stranger->remove("k"), Code::Denied, says);
    expect_error(stranger->head("k"), Code::Denied, "s3:ListBucket");
    EXPECT_EQ(read(store, "k"), "v");
    EXPECT_EQ(must(store.uploads("")), std::vector<s3::Upload>{upload});
  });
}

TEST_F(S3Contract, WhoseClockIsWrongIsDenied) {
  run([&](Store&) {
    using namespace std::chrono_literals;
    for (const auto ahead : {-16min, 16min})
      expect_error(as({.clock_ahead = ahead})->put("k", "v", {}), Code::Denied,
                   "RequestTimeTooSkewed");
    for (const auto ahead : {-14min, 14min})
      EXPECT_TRUE(as({.clock_ahead = ahead})->put("k", "v", {})) << ahead.count();
  });
}

TEST_F(S3Contract, AnotherRegionIsInvalid) {
  run([&](Store&) {
    expect_error(as({.region = "eu-west-3"})->put("k", "v", {}), Code::Invalid,
                 "set region to us-east-1");
  });
}

TEST_F(S3Contract, ABucketThatIsNotThereIsInvalid) {
  run([&](Store&) {
    const auto store = stores_->as({}, "other");
    const std::string says = "NoSuchBucket";
    expect_error(store->put("k", "v", {}), Code::Invalid, says);
    expect_error(store->get("k", {}, [](std::string_view) { return true; }), Code::Invalid, says);
    expect_error(store->list({}), Code::Invalid, says);
    expect_error(store->uploads(""), Code::Invalid, says);
    expect_error(store->create_multipart("k", {}), Code::Invalid, says);
    expect_error(store->remove("k"), Code::Invalid, says);
    expect_error(store->head("k"), Code::NotFound, "404");  // A HEAD answer has no body.
  });
}

}  // namespace
}  // namespace etcdop::contract

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--program=")) etcdop::contract::tested_program = word.substr(10);
  }
  return RUN_ALL_TESTS();
}
