#include "agent/folder_destination.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "test/support/nobody.h"

namespace {
/// Actions of others while a FolderDestination waits for the disk: one for each fsync(); an empty
/// one does nothing.
std::vector<std::function<void()>>& while_it_waits() {
  static std::vector<std::function<void()>> out;
  return out;
}

/// Runs before each change of a name and each fsync().
std::function<void()>& before_each_step() {
  static std::function<void()> out;
  return out;
}

void step() {
  const auto before = std::exchange(before_each_step(), nullptr);
  if (!before) return;
  before();
  before_each_step() = before;
}
}  // namespace

/// Replaces the C library's functions.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  step();
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
extern "C" int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return renameat2(from_folder, from, to_folder, to, 0);
}
extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
  step();
  return static_cast<int>(syscall(SYS_unlinkat, folder, name, flags));
}
extern "C" int fsync(int file) {
  step();
  auto& others = while_it_waits();
  if (others.empty()) return static_cast<int>(syscall(SYS_fsync, file));
  const std::function<void()> next = std::move(others.front());
  others.erase(others.begin());
  const auto later = std::exchange(others, {});  // Their own calls are ordinary.
  if (next) next();
  others = later;
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace etcdop::agent {
namespace {

namespace fs = std::filesystem;
using testing::Nobody;

class FolderDestinationTest : public ::testing::Test {
 protected:
  FolderDestinationTest() {
    std::string name = (fs::temp_directory_path() / "destination-XXXXXX").string();
    top_ = mkdtemp(name.data());
    mount_ = top_ + "/mount";
    fs::create_directory(mount_);
    target_ = {.mount_path = mount_, .sub_path = ""};
  }
  ~FolderDestinationTest() override { fs::remove_all(top_); }

  FolderDestination destination(const std::string& uid = "uid-1") {
    return FolderDestination({.target = target_,
                              .file_name = "nightly.db",
                              .storer = {.uid = uid, .attempt = std::to_string(++attempts_)}});
  }
  static Manifest manifest_of(const FolderDestination& to, const std::string& data) {
    AgentReport report;
    report.uri = to.uri();
    report.size_bytes = static_cast<std::int64_t>(data.size());
    report.checksum = "sha256:" + std::string(64, '0');
    report.cluster_id = report.member_id = "00000000000000c1";
    return {.snapshot_name = "nightly",
            .snapshot_uid = "uid-1",
            .taken_at = {},
            .attempt = {},
            .report = report};
  }
  /// One run of an agent. After a failure it has cleaned up.
  Result<AgentReport> store(const std::string& data, const std::string& uid = "uid-1") {
    FolderDestination to = destination(uid);
    auto report = store_to(to, data);
    if (!report) to.abandon();
    return report;
  }
  static Result<AgentReport> store_to(FolderDestination& to, const std::string& data) {
    auto known = to.look();
    if (!known) return known.error();
    if (*known) return **known;
    if (auto begun = to.begin(0); !begun) return begun.error();
    for (const char c : data)
      if (auto written = to.write({&c, 1}); !written) return written.error();
    const Manifest manifest = manifest_of(to, data);
    if (auto finished = to.finish(manifest); !finished) return finished.error();
    return manifest.report;
  }
  static Reason reason(const Result<AgentReport>& result) {
    EXPECT_FALSE(result);
    return reason_of(Side::Folder, result.error());
  }
  std::string text(const std::string& name) const {
    std::ifstream in(mount_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void put(const std::string& name, const std::string& words) const {
    std::ofstream(mount_ + "/" + name) << words;
  }
  std::vector<std::string> files(const std::string& folder = "") const {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(mount_ + "/" + folder))
      out.push_back(entry.path().filename());
    std::ranges::sort(out);
    return out;
  }
  const std::vector<std::string> whole_ = {"nightly.db", "nightly.db.json", "nightly.db.uid"};
  std::string top_, mount_;
  FolderTarget target_;
  int attempts_ = 0;
};

TEST_F(FolderDestinationTest, StoresAFileWithItsUidAndItsManifest) {
  auto report = store("data");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->uri, "file://" + mount_ + "/nightly.db");
  EXPECT_EQ(files(), whole_);
  EXPECT_EQ(text("nightly.db"), "data");
  EXPECT_EQ(text("nightly.db.uid"), "uid-1");
  auto manifest = to_manifest(text("nightly.db.json"));
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->report, *report);
  EXPECT_EQ(manifest->attempt, "1");
  struct stat facts{};
  ASSERT_EQ(stat((mount_ + "/nightly.db.uid").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0644u);
}

TEST_F(FolderDestinationTest, MakesTheFoldersOfASubPath) {
  target_.sub_path = "prod/db";
  auto report = store("data");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->uri, "file://" + mount_ + "/prod/db/nightly.db");
  EXPECT_EQ(files("prod/db"), whole_);
}

TEST_F(FolderDestinationTest, LeavesAloneWhatIsNotOurs) {
  put("nightly.db", "foreign");
  EXPECT_EQ(reason(store("data")), Reason::DestinationExists);
  EXPECT_EQ(files(), std::vector<std::string>{"nightly.db"});
  EXPECT_EQ(text("nightly.db"), "foreign");

  put("nightly.db.uid", "uid-2");
  EXPECT_EQ(reason(store("data")), Reason::DestinationExists) << "of another EtcdSnapshot";
  EXPECT_EQ(text("nightly.db"), "foreign");

  fs::remove(mount_ + "/nightly.db");
  put("nightly.db.json", "foreign");
  EXPECT_EQ(reason(store("data")), Reason::DestinationExists);
}

TEST_F(FolderDestinationTest, LeavesAloneWhatComesMeanwhile) {
  FolderDestination to = destination();
  ASSERT_TRUE(to.look());
  ASSERT_TRUE(to.begin(0));
  ASSERT_TRUE(to.write("data"));
  put("nightly.db", "foreign");
  auto finished = to.finish(manifest_of(to, "data"));
  EXPECT_TRUE(finished.failed_with(Code::AlreadyExists));
  to.abandon();
  EXPECT_EQ(files(), std::vector<std::string>{"nightly.db"});
  EXPECT_EQ(text("nightly.db"), "foreign");
}

TEST_F(FolderDestinationTest, LeavesAloneAWholeSnapshotThatComesMeanwhile) {
  FolderDestination to = destination();
  ASSERT_TRUE(to.look());
  ASSERT_TRUE(to.begin(0));
  ASSERT_TRUE(to.write("data"));
  FolderDestination other = destination("uid-2");
  ASSERT_TRUE(store_to(other, "other data"));
  const std::string manifest = text("nightly.db.json");
  EXPECT_TRUE(to.finish(manifest_of(to, "data")).failed_with(Code::AlreadyExists));
  to.abandon();
  EXPECT_EQ(files(), whole_);
  EXPECT_EQ(text("nightly.db"), "other data");
  EXPECT_EQ(text("nightly.db.uid"), "uid-2");
  EXPECT_EQ(text("nightly.db.json"), manifest);
}

TEST_F(FolderDestinationTest, LeavesAloneWhatAnotherRunOfItsUidHasStoredMeanwhile) {
  const auto expect_left = [&] {
    FolderDestination to = destination(), other = destination();
    ASSERT_TRUE(to.look());
    ASSERT_TRUE(to.begin(0));
    ASSERT_TRUE(to.write("data"));
    ASSERT_TRUE(store_to(other, "other data"));
    const std::string manifest = text("nightly.db.json");
    EXPECT_TRUE(to.finish(manifest_of(to, "data")).failed_with(Code::Conflict));
    to.abandon();
    EXPECT_EQ(files(), whole_);
    EXPECT_EQ(text("nightly.db"), "other data");
    EXPECT_EQ(text("nightly.db.json"), manifest);
  };
  expect_left();
  fs::remove(mount_ + "/nightly.db.json");
  expect_left();
}

TEST_F(FolderDestinationTest, LeavesAloneDataOfAnotherRunThatHasNoManifestYet) {
  FolderDestination to = destination();
  ASSERT_TRUE(to.look());
  ASSERT_TRUE(to.begin(0));
  ASSERT_TRUE(to.write("data"));
  put("nightly.db.uid", "uid-1");
  put("nightly.db", "other data");
  EXPECT_TRUE(to.finish(manifest_of(to, "data")).failed_with(Code::Conflict));
  EXPECT_EQ(text("nightly.db"), "other data");
}

/// It waits for the disk three times: for the data, the mark, and the name.
TEST_F(FolderDestinationTest, OfTwoThatFinishAtOnceOneHasAllOfIt) {
  const auto other_stores = [&] { ASSERT_TRUE(store("other data", "uid-2")); };
  for (const std::vector<std::function<void()>>& waits :
       {std::vector<std::function<void()>>{other_stores},
        {nullptr, other_stores},
        {nullptr, nullptr, other_stores}}) {
    while_it_waits() = waits;
    EXPECT_FALSE(store("data")) << waits.size();
    EXPECT_EQ(files(), whole_) << waits.size();
    EXPECT_EQ(text("nightly.db"), "other data") << waits.size();
    EXPECT_EQ(text("nightly.db.uid"), "uid-2") << waits.size();
    for (const std::string& name : whole_) fs::remove(mount_ + "/" + name);
  }
}

TEST_F(FolderDestinationTest, ANameThatSomebodyElseIsTakingIsLeftToThem) {
  while_it_waits() = {nullptr, nullptr, [&] { put("nightly.db.uid", "uid-2"); }};
  auto stored = store("data");
  EXPECT_TRUE(stored.failed_with(Code::Conflict)) << "they may have been killed: again may help";
  EXPECT_EQ(files(), std::vector<std::string>{"nightly.db.uid"});
}

TEST_F(FolderDestinationTest, AFileThatComesAfterItsMarkIsNotMarked) {
  while_it_waits() = {nullptr, nullptr, [&] { put("nightly.db", "foreign"); }};
  EXPECT_EQ(reason(store("data")), Reason::DestinationExists);
  EXPECT_EQ(files(), std::vector<std::string>{"nightly.db"});
  EXPECT_EQ(text("nightly.db"), "foreign");
}

TEST_F(FolderDestinationTest, WhatAnotherRunStoresAfterThisOneMarkedItKeepsItsMark) {
  while_it_waits() = {nullptr, nullptr, [&] {
                        ASSERT_TRUE(store("other data"));
                        // As if both had swept before the other began.
                        put(".etcd-snapshot-uid-1-1.db.tmp", "data");
                      }};
  auto late = store("data");
  EXPECT_TRUE(late.failed_with(Code::Conflict)) << "it is there: again finds it";
  EXPECT_EQ(files(), whole_);
  EXPECT_EQ(text("nightly.db"), "other data");
  EXPECT_EQ(text("nightly.db.uid"), "uid-1");
}

TEST_F(FolderDestinationTest, AManifestThatAnotherRunSweepsAwayIsNoFaultOfTheVolume) {
  const std::string manifest = ".etcd-snapshot-uid-1-1.db.tmp.json";
  while_it_waits() = {nullptr, nullptr, nullptr, nullptr,
                      [&] { ASSERT_TRUE(fs::remove(mount_ + "/" + manifest)); }};
  EXPECT_TRUE(store("data").failed_with(Code::Conflict));
  EXPECT_FALSE(fs::exists(mount_ + "/nightly.db.json"));
}

TEST_F(FolderDestinationTest, AMarkWithoutAFileIsNobodys) {
  put("nightly.db.uid", "uid-2");
  ASSERT_TRUE(store("data"));
  EXPECT_EQ(text("nightly.db.uid"), "uid-1");
}

TEST_F(FolderDestinationTest, WhatAnEarlierRunHasStoredIsTheResult) {
  auto first = store("data");
  ASSERT_TRUE(first);
  auto again = store("other data");
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *first);
  EXPECT_EQ(text("nightly.db"), "data");
}

TEST_F(FolderDestinationTest, WhatAnEarlierRunHasNotFinishedIsWrittenAnew) {
  const auto spoiled = [&](const std::function<void()>& spoil) {
    ASSERT_TRUE(store("old data"));
    spoil();
    auto report = store("data");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_EQ(text("nightly.db"), "data");
    EXPECT_EQ(files(), whole_);
    for (const std::string& name : whole_) fs::remove(mount_ + "/" + name);
  };
  spoiled([&] { fs::remove(mount_ + "/nightly.db.json"); });
  spoiled([&] { fs::remove(mount_ + "/nightly.db"); });
  spoiled([&] { put("nightly.db", "half"); });
  spoiled([&] { put("nightly.db.json", "{"); });
  spoiled([&] {
    fs::remove(mount_ + "/nightly.db");
    fs::remove(mount_ + "/nightly.db.json");
  });
}

TEST_F(FolderDestinationTest, RemovesWhatRunsBeforeItHaveLeft) {
  put(".etcd-snapshot-uid-1-7.db.tmp", "of a run that was killed");
  put(".etcd-snapshot-uid-2-7.db.tmp", "of another EtcdSnapshot");
  ASSERT_TRUE(store("data"));
  EXPECT_EQ(files(), (std::vector<std::string>{".etcd-snapshot-uid-2-7.db.tmp", "nightly.db",
                                               "nightly.db.json", "nightly.db.uid"}));
}

TEST_F(FolderDestinationTest, KilledAtAnyStepItLeavesNothingWrongAndTheNextRunEndsIt) {
  for (const bool unfinished : {false, true}) {
    if (unfinished) { ASSERT_TRUE(store("1234")); }
    if (unfinished) put("nightly.db", "of another size than its manifest says");
    std::vector<std::string> killed;  // The files at that point.
    before_each_step() = [&] {
      killed.push_back(top_ + "/killed-" + std::to_string(killed.size()));
      fs::copy(mount_, killed.back());
    };
    ASSERT_TRUE(store("data"));
    before_each_step() = nullptr;
    const std::string attempt = std::to_string(attempts_);
    EXPECT_GE(killed.size(), 8u);
    int whole = 0;
    for (const std::string& left : killed) {
      fs::remove_all(mount_);
      fs::rename(left, mount_);
      auto manifest = to_manifest(text("nightly.db.json"));
      const bool finished = manifest && manifest->attempt == attempt;
      whole += finished;
      auto next = store("of the next run");
      ASSERT_TRUE(next) << left << ": " << next.error().message;
      EXPECT_EQ(text("nightly.db"), finished ? "data" : "of the next run") << left;
      EXPECT_EQ(files(), whole_) << left;
    }
    EXPECT_EQ(whole, 1) << "but for the last wait for the disk";
    for (const std::string& name : whole_) fs::remove(mount_ + "/" + name);
  }
}

TEST_F(FolderDestinationTest, ARunThatIsOverIsNotTakenForWhole) {
  FolderDestination first = destination(), second = destination();
  for (FolderDestination* const one : {&first, &second}) {
    ASSERT_TRUE(one->look());
    ASSERT_TRUE(one->begin(0));
    ASSERT_TRUE(one->write("da"));
  }
  auto late = first.finish(manifest_of(first, "da"));
  EXPECT_TRUE(late.failed_with(Code::Conflict)) << "the second one has swept it away";
  first.abandon();
  ASSERT_TRUE(second.write("ta"));
  EXPECT_TRUE(second.finish(manifest_of(second, "data")));
  EXPECT_EQ(text("nightly.db"), "data");
  EXPECT_EQ(files(), whole_);
}

TEST_F(FolderDestinationTest, LeavesNothingOfAnAttempt) {
  FolderDestination to = destination();
  ASSERT_TRUE(to.look());
  ASSERT_TRUE(to.begin(0));
  ASSERT_TRUE(to.write("da"));
  EXPECT_EQ(files().size(), 1u);
  to.abandon();
  EXPECT_EQ(files(), std::vector<std::string>{});
}

TEST_F(FolderDestinationTest, T4_IsNotLedOutOfItsVolume) {
  const std::string outside = top_ + "/outside";
  fs::create_directory(outside);
  fs::create_directory_symlink(outside, mount_ + "/link");
  target_.sub_path = "link";
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
  target_.sub_path = "link/below";
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
  target_.sub_path = "";
  fs::create_symlink(outside + "/nightly.db", mount_ + "/nightly.db");
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
  fs::remove(mount_ + "/nightly.db");
  std::ofstream(outside + "/uid") << "uid-1";
  fs::create_symlink(outside + "/uid", mount_ + "/nightly.db.uid");
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
  fs::remove(outside + "/uid");
  EXPECT_TRUE(fs::is_empty(outside));
}

TEST_F(FolderDestinationTest, SaysWhatIsWrong) {
  target_.mount_path = mount_ + "/none";
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
  target_ = {.mount_path = mount_, .sub_path = "file"};
  put("file", "");
  EXPECT_EQ(reason(store("data")), Reason::DestinationInvalid);
}

TEST_F(FolderDestinationTest, SaysThatItMayNotWrite) {
  constexpr auto kReadable = fs::perms(0555);
  for (const std::string& folder : {top_, mount_}) fs::permissions(folder, kReadable);
  {
    const Nobody nobody;
    ASSERT_NE(geteuid(), 0u);
    EXPECT_EQ(reason(store("data")), Reason::DestinationAccessDenied);
  }
  EXPECT_EQ(files(), std::vector<std::string>{});
  for (const std::string& folder : {top_, mount_}) fs::permissions(folder, fs::perms::owner_all);
}

}  // namespace
}  // namespace etcdop::agent
