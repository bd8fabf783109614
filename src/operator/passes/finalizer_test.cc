// Our finalizer is removed and no other, whatever the cache shows. The API server is a fake.
#include "operator/passes/finalizer.h"

#include <gtest/gtest.h>

#include "sim/scheduler.h"
#include "test/support/fake_api.h"

namespace etcdop {
namespace {

using api::v1alpha2::EtcdMember;
using api::v1alpha2::kMemberFinalizer;

const api::ObjectKey kKey{"prod", "db-a"};
const Json kSpec = {{"clusterName", "db"}, {"version", "3.6.16"},   {"storage", {{"size", "1Gi"}}},
                    {"bootstrap", false},  {"initialCluster", "x"}, {"clusterToken", "t"}};

class FinalizerTest : public ::testing::Test {
 protected:
  FinalizerTest() {
    api.serve({.resource = EtcdMember::resource, .status = true, .generation = true});
  }
  /// Puts it on the server and in the cache, being deleted.
  void put(const std::vector<std::string>& finalizers) {
    json::array words(finalizers.begin(), finalizers.end());
    api.put(EtcdMember::resource, {{"metadata",
                                    {{"name", kKey.name},
                                     {"namespace", kKey.ns},
                                     {"labels", {{api::v1alpha2::kClusterLabel, "db"}}},
                                     {"finalizers", std::move(words)}}},
                                   {"spec", kSpec}});
    api.remove(EtcdMember::resource, kKey);
    see();
  }
  /// Puts another one with that name.
  void put_again(const std::vector<std::string>& finalizers) {
    api.erase(EtcdMember::resource, kKey);
    put(finalizers);
  }
  /// The cache is up to date.
  void see() {
    EtcdMember member;
    ASSERT_TRUE(api::decode(*api.find(EtcdMember::resource, kKey), member, "it"));
    stores.members.saw(member);
    uid = member.metadata.uid;
  }
  Result<Done> release(const std::string& of, const std::string& version = "") {
    Result<Done> out = Error{Code::Unavailable, "not done"};
    world.spawn([&] { out = release_finalizer(api, stores, kKey, of, version); });
    world.run();
    return out;
  }
  std::vector<std::string> left() const {
    std::vector<std::string> out;
    if (const auto there = api.find(EtcdMember::resource, kKey))
      for (const Json& word : there->at("metadata").at("finalizers").as_array())
        out.emplace_back(word.as_string());
    return out;
  }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  Stores stores;
  std::string uid;
};

TEST_F(FinalizerTest, ThatWasTheLastOneTheMemberGoesAndIsForgotten) {
  put({kMemberFinalizer});
  EXPECT_TRUE(release(uid));
  EXPECT_FALSE(api.find(EtcdMember::resource, kKey));
  EXPECT_EQ(stores.members.get(kKey), nullptr);
}

TEST_F(FinalizerTest, OthersFinalizersStay) {
  put({"a/first", kMemberFinalizer, "z/last"});
  EXPECT_TRUE(release(uid));
  EXPECT_EQ(left(), (std::vector<std::string>{"a/first", "z/last"}));
  ASSERT_NE(stores.members.get(kKey), nullptr) << "it is there still";
  EXPECT_EQ(stores.members.get(kKey)->metadata.finalizers, left()) << "our own write is seen";
}

TEST_F(FinalizerTest, AMemberThatIsNotGoingIsNotForgotten) {
  api.put(EtcdMember::resource, {{"metadata",
                                  {{"name", kKey.name},
                                   {"namespace", kKey.ns},
                                   {"labels", {{api::v1alpha2::kClusterLabel, "db"}}},
                                   {"finalizers", json::array{kMemberFinalizer}}}},
                                 {"spec", kSpec}});
  see();
  EXPECT_TRUE(release(uid));
  EXPECT_NE(stores.members.get(kKey), nullptr);
}

TEST_F(FinalizerTest, WhoIsGoneOrAnotherOrReleasedIsNotAskedFor) {
  EXPECT_TRUE(release("u")) << "the cache has none";
  put({"a/first"});
  EXPECT_TRUE(release(uid)) << "released before";
  put_again({kMemberFinalizer});
  EXPECT_TRUE(release("another")) << "of that name";
  EXPECT_EQ(left(), (std::vector<std::string>{kMemberFinalizer}));
  EXPECT_EQ(api.requests().size(), 0U);
}

TEST_F(FinalizerTest, GoneBehindTheCachesBackIsSuccess) {
  put({kMemberFinalizer});
  api.erase(EtcdMember::resource, kKey);
  EXPECT_TRUE(release(uid));
  EXPECT_EQ(stores.members.get(kKey), nullptr);
}

TEST_F(FinalizerTest, K4_WithAVersionNothingMayHaveChanged) {
  put({kMemberFinalizer});
  const std::string version = stores.members.get(kKey)->metadata.resource_version;
  EXPECT_TRUE(release(uid, "1" + version).failed_with(Code::Conflict));
  EXPECT_EQ(left(), (std::vector<std::string>{kMemberFinalizer}));
  EXPECT_TRUE(release(uid, version));
  EXPECT_FALSE(api.find(EtcdMember::resource, kKey));
}

TEST_F(FinalizerTest, TheNextMemberOfThatNameIsLeftAlone) {
  put({kMemberFinalizer});
  const std::string before = uid;
  const auto cached = *stores.members.get(kKey);
  put_again({kMemberFinalizer});
  stores.members.saw_deleted(*stores.members.get(kKey));
  stores.members.saw(cached);
  EXPECT_TRUE(release(before).failed_with(Code::Conflict));
  EXPECT_EQ(left(), (std::vector<std::string>{kMemberFinalizer}));
}

TEST_F(FinalizerTest, WhatStandsInItsPlaceByNowIsLeftAlone) {
  put({kMemberFinalizer, "z/last"});
  api.change(EtcdMember::resource, kKey, [](json::object& member) {
    member["metadata"].as_object()["finalizers"] = json::array{"z/last", kMemberFinalizer};
  });
  const auto done = release(uid);
  ASSERT_TRUE(done.failed_with(Code::Conflict));
  EXPECT_TRUE(done.error().message.starts_with("release EtcdMember prod/db-a: "));
  EXPECT_EQ(left(), (std::vector<std::string>{"z/last", kMemberFinalizer}));
}

}  // namespace
}  // namespace etcdop
