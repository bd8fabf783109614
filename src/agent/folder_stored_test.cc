#include "agent/folder_stored.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "agent/delete_snapshot.h"
#include "agent/folder_destination.h"
#include "agent/stored_data.h"
#include "sim/scheduler.h"
#include "test/support/memory_log.h"
#include "test/support/nobody.h"

namespace etcdop::agent {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class FolderStoredTest : public ::testing::Test {
 protected:
  FolderStoredTest() {
    std::string name = (fs::temp_directory_path() / "stored-XXXXXX").string();
    top_ = mkdtemp(name.data());
    fs::create_directories(folder());
    target_ = {.mount_path = top_ + "/mount", .sub_path = "prod/db"};
    put("nightly.dbx", "other");
  }
  ~FolderStoredTest() override { fs::remove_all(top_); }

  std::string folder() const { return top_ + "/mount/prod/db"; }
  void put(const std::string& name, const std::string& words) const {
    std::ofstream(folder() + "/" + name) << words;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(folder() + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  Names files() const {
    Names out;
    for (const auto& entry : fs::directory_iterator(folder()))
      out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }
  /// Stores as the agent of the EtcdSnapshot with this uid does.
  void store(const std::string& uid = "uid-1") const {
    for (const char* end : {"", ".uid", ".json"}) fs::remove_all(folder() + "/nightly.db" + end);
    FolderDestination to(
        {.target = target_, .file_name = "nightly.db", .storer = {.uid = uid, .attempt = "1"}});
    ASSERT_TRUE(store_data(to, uid));
    ASSERT_EQ(files(), all_);
  }
  FolderStored stored() const {
    return FolderStored({.target = target_, .file_name = "nightly.db", .uid = "uid-1"});
  }
  AgentReport remove() {
    FolderStored there = stored();
    AgentReport out;
    (void)world_.spawn([&] { out = delete_snapshot(world_, log_, there); });
    world_.run();
    return out;
  }

  static inline const Names left_ = {"nightly.dbx"};
  static inline const Names all_ = {"nightly.db", "nightly.db.json", "nightly.db.uid",
                                    "nightly.dbx"};
  std::string top_;
  FolderTarget target_;
  sim::Scheduler world_{1};
  testing::MemoryLog log_;
};

TEST_F(FolderStoredTest, TheManifestGoesThenTheDataThenWhoseItIs) {
  store();
  const AgentReport report = remove();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.uri, "file://" + folder() + "/nightly.db");
  EXPECT_EQ(report.message, "removed nightly.db.json, nightly.db, nightly.db.uid");
  EXPECT_EQ(files(), left_);
}

TEST_F(FolderStoredTest, WhereNothingIsItIsGoneAlready) {
  EXPECT_EQ(remove().message, "already gone");
  put("nightly.db.uid", "uid-2");
  EXPECT_EQ(remove().message, "already gone") << "and somebody else is about to store there";
  EXPECT_EQ(text("nightly.db.uid"), "uid-2");
  target_.sub_path = "prod/other/db";
  EXPECT_EQ(remove().message, "already gone");
  EXPECT_FALSE(fs::exists(top_ + "/mount/prod/other")) << "it makes no folders";
  target_.mount_path += "/none";
  EXPECT_EQ(remove().reason, "DestinationInvalid") << "no volume tells nothing";
}

TEST_F(FolderStoredTest, WhatIsNotOursStaysAndAllThatIsWithIt) {
  store("uid-2");
  const std::string of_another = text("nightly.db.json");
  const std::function<void()> cases[] = {
      [&] { put("nightly.db.uid", "uid-2"); },
      [&] { put("nightly.db.uid", "uid-11"); },
      [&] { put("nightly.db.uid", ""); },
      [&] { fs::remove(folder() + "/nightly.db.uid"); },
      [&] { put("nightly.db.json", of_another); },
      [&] { put("nightly.db", "what somebody has put in its place"); },
      [&] {
        fs::remove(folder() + "/nightly.db");
        put("nightly.db.uid", "uid-2");
      },
      [&] { store("uid-2"); },
  };
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    store();
    cases[i]();
    const Names before = files();
    const std::string manifest = text("nightly.db.json"), data = text("nightly.db");
    const AgentReport report = remove();
    EXPECT_EQ(report.reason, "DestinationExists") << i;
    EXPECT_NE(report.message.find("nightly.db"), std::string::npos) << i;
    EXPECT_EQ(files(), before) << i;
    EXPECT_EQ(text("nightly.db.json"), manifest) << i;
    EXPECT_EQ(text("nightly.db"), data) << i;
  }
}

TEST_F(FolderStoredTest, WhatACrashHasLeftIsOurs) {
  const std::string begun = ".etcd-snapshot-uid-1-2.db.tmp",
                    foreign = ".etcd-snapshot-uid-2-2.db.tmp";
  const std::function<void()> cases[] = {
      [&] { fs::remove(folder() + "/nightly.db.json"); },
      [&] { fs::remove(folder() + "/nightly.db"); },
      [&] { put("nightly.db.json", "{"); },
      [&] { put("nightly.db.uid", "uid-1\n"); },
      [&] {
        fs::remove(folder() + "/nightly.db");
        fs::remove(folder() + "/nightly.db.json");
      },
      [&] { put(begun, "half"); },
  };
  put(foreign, "half");
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    fs::remove(folder() + "/" + foreign);
    store();
    put(foreign, "half");
    cases[i]();
    const AgentReport report = remove();
    EXPECT_FALSE(report.failed()) << i << ": " << report.message;
    EXPECT_EQ(files(), (Names{foreign, "nightly.dbx"})) << i;
  }
}

TEST_F(FolderStoredTest, KilledAtAnyStepItLeavesNothingWholeAndTheNextRunEndsIt) {
  for (std::size_t steps = 0; steps <= 3; ++steps) {
    store();
    FolderStored killed = stored();
    auto names = killed.look();
    ASSERT_TRUE(names);
    ASSERT_EQ(names->size(), 3u);
    for (std::size_t i = 0; i < steps; ++i) ASSERT_TRUE(killed.remove((*names)[i]));
    EXPECT_EQ(fs::exists(folder() + "/nightly.db.json"), steps == 0);
    EXPECT_EQ(text("nightly.db.uid") == "uid-1", steps < 3) << "until the end it says whose it is";
    const AgentReport again = remove();
    EXPECT_FALSE(again.failed()) << steps << ": " << again.message;
    EXPECT_EQ(files(), left_) << steps;
  }
}

TEST_F(FolderStoredTest, WhatSomebodyPutsThereMeanwhileStays) {
  store();
  FolderStored there = stored();
  auto names = there.look();
  ASSERT_TRUE(names);
  ASSERT_TRUE(there.remove(names->front()));
  put("nightly.db", "foreign");
  put("nightly.db.uid", "uid-2");
  EXPECT_TRUE(there.remove("nightly.db").failed_with(Code::AlreadyExists));
  EXPECT_EQ(text("nightly.db"), "foreign");
  EXPECT_EQ(remove().reason, "DestinationExists");
}

TEST_F(FolderStoredTest, NoSymbolicLinkLeadsOut) {
  const std::string outside = top_ + "/outside";
  fs::rename(folder(), outside);
  fs::create_directory_symlink(outside, folder());
  EXPECT_EQ(remove().reason, "DestinationInvalid");
  fs::remove(folder());
  fs::rename(outside, folder());
  store();
  fs::rename(folder() + "/nightly.db", top_ + "/data");
  fs::create_symlink(top_ + "/data", folder() + "/nightly.db");
  EXPECT_EQ(remove().reason, "DestinationInvalid");
  EXPECT_EQ(files(), all_);
  EXPECT_TRUE(fs::exists(top_ + "/data"));
}

TEST_F(FolderStoredTest, WithoutTheRightToWriteNothingGoes) {
  store();
  fs::permissions(top_, fs::perms(0755));
  fs::permissions(folder(), fs::perms(0555));
  {
    const testing::Nobody nobody;
    EXPECT_EQ(remove().reason, "DestinationAccessDenied");
  }
  fs::permissions(folder(), fs::perms(0755));
  EXPECT_EQ(files(), all_);
}

}  // namespace
}  // namespace etcdop::agent
