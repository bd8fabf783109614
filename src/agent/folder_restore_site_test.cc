#include "agent/folder_restore_site.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "agent/stored_databases.h"
#include "sys/asio_loop.h"
#include "test/support/memory_log.h"

namespace etcdop::agent {
namespace {

namespace fs = std::filesystem;
constexpr const char* kDatabases = AGENT_FOLDER "/databases.json";

/// With a stand-in for etcdutl; a test sets its end.
class FolderRestoreSiteTest : public ::testing::Test {
 protected:
  FolderRestoreSiteTest() {
    std::string name = (fs::temp_directory_path() / "site-XXXXXX").string();
    root_ = mkdtemp(name.data());
    data_ = root_ + "/data";
    fs::create_directory(data_);
  }
  ~FolderRestoreSiteTest() override { fs::remove_all(root_); }
  FolderRestoreSite site() {
    return {loop_, log_, {.data_dir = data_, .attempt = "1", .tools = {root_ + "/etcdutl"}}};
  }
  void tool(const std::string& end) const {
    std::ofstream(root_ + "/etcdutl") << "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + root_ +
                                             "/words\nmkdir -p " + data_ +
                                             "/.restore/member/snap\ncp \"$3\" " + data_ +
                                             "/.restore/member/snap/db\n" + end + "\n";
    fs::permissions(root_ + "/etcdutl", fs::perms(0755));
  }
  template <class Call>
  auto on_a_fiber(Call call) {
    std::optional<decltype(call())> out;
    (void)loop_.spawn([&] { out = call(); });
    loop_.run();
    return std::move(*out);
  }
  std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(data_)) out.insert(entry.path().filename());
    return out;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(root_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The same calls as restore().
  Result<Done> prepare(FolderRestoreSite& site, const std::string& bytes) {
    auto member = site.has_member();
    if (!member) return member.error();
    if (auto found = site.find_tool(); !found) return found;
    if (auto created = site.create(); !created) return created;
    if (auto written = site.write(bytes); !written) return written;
    return site.finish();
  }

  AsioLoop loop_;
  testing::MemoryLog log_;
  std::string root_, data_;
};

const Rebuild kRebuild{.member_name = "db-0",
                       .initial_cluster = "db-0=http://db-0:2380",
                       .initial_cluster_token = "token",
                       .peer_urls = "http://db-0:2380",
                       .bump_revision = 7};

TEST_F(FolderRestoreSiteTest, MakesAMember) {
  tool("echo done >&2");
  FolderRestoreSite site = this->site();
  EXPECT_FALSE(*site.has_member());
  EXPECT_GT(*site.free_bytes(), 0u);
  ASSERT_TRUE(prepare(site, stored_databases(kDatabases).front().snapshot));
  auto facts = site.inspect();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->revision, 4);
  auto rebuilt = on_a_fiber([&] { return site.rebuild(kRebuild); });
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  EXPECT_EQ(text("words"), "snapshot\nrestore\n" + data_ +
                               "/etcd-restore-1.db\n--data-dir=" + data_ +
                               "/.restore\n--name=db-0\n--initial-cluster=db-0=http://db-0:2380\n"
                               "--initial-cluster-token=token\n"
                               "--initial-advertise-peer-urls=http://db-0:2380\n"
                               "--bump-revision=7\n--mark-compacted\n");
  EXPECT_EQ(log_.count("last_words=done"), 1);
  EXPECT_TRUE(site.commit());
  EXPECT_TRUE(*site.has_member());
  EXPECT_TRUE(site.sweep());
  EXPECT_EQ(files(), (std::set<std::string>{"member"}));
  EXPECT_EQ(text("data/member/snap/db"), stored_databases(kDatabases).front().snapshot);
}

TEST_F(FolderRestoreSiteTest, ABumpOfNothingIsNone) {
  tool("");
  FolderRestoreSite site = this->site();
  ASSERT_TRUE(prepare(site, "x"));
  Rebuild how = kRebuild;
  how.bump_revision = 0;
  how.peer_urls = "";
  ASSERT_TRUE(on_a_fiber([&] { return site.rebuild(how); }));
  EXPECT_EQ(text("words").find("bump"), std::string::npos);
  EXPECT_EQ(text("words").find("compacted"), std::string::npos);
  EXPECT_EQ(text("words").find("peer"), std::string::npos);
}

TEST_F(FolderRestoreSiteTest, OneRestoresAtATime) {
  FolderRestoreSite other = site();
  {
    FolderRestoreSite first = site();
    ASSERT_TRUE(first.has_member());
    EXPECT_TRUE(other.has_member().failed_with(Code::Conflict));
  }
  EXPECT_TRUE(other.has_member()) << "the first has ended";
}

TEST_F(FolderRestoreSiteTest, AMemberThatCameMeanwhileStays) {
  tool("");
  FolderRestoreSite site = this->site();
  ASSERT_TRUE(prepare(site, "x"));
  ASSERT_TRUE(on_a_fiber([&] { return site.rebuild(kRebuild); }));
  fs::create_directory(data_ + "/member");
  EXPECT_TRUE(site.commit().failed_with(Code::AlreadyExists));
  EXPECT_TRUE(fs::is_empty(data_ + "/member"));
}

TEST_F(FolderRestoreSiteTest, SaysHowTheToolFailed) {
  const struct {
    const char* end;
    Code code;
    const char* words;
  } rows[] = {
      {"echo noise >&2; echo 'Error: a b' >&2; exit 3", Code::Lost, "ended with 3: Error: a b"},
      {"echo 'write: no space left on device' >&2; exit 1", Code::Unavailable, "no space"},
      {"kill -9 $$", Code::Lost, "killed by signal 9"},
  };
  for (const auto& row : rows) {
    tool(row.end);
    FolderRestoreSite site = this->site();
    ASSERT_TRUE(prepare(site, "x"));
    auto rebuilt = on_a_fiber([&] { return site.rebuild(kRebuild); });
    ASSERT_TRUE(rebuilt.failed_with(row.code)) << row.end;
    EXPECT_NE(rebuilt.error().message.find(row.words), std::string::npos)
        << rebuilt.error().message;
    EXPECT_TRUE(site.sweep());
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(FolderRestoreSiteTest, SweepsOnlyWhatIsTemporary) {
  FolderRestoreSite site = this->site();
  ASSERT_FALSE(*site.has_member());
  for (const char* name : {"etcd-restore-9.db", "etcd-restore-9", "lost+found", "restore"})
    std::ofstream(data_ + "/" + name) << "x";
  fs::create_directories(data_ + "/.restore/member/wal");
  EXPECT_TRUE(site.sweep());
  EXPECT_EQ(files(), (std::set<std::string>{"etcd-restore-9", "lost+found", "restore"}));
}

TEST_F(FolderRestoreSiteTest, ALinkIsAMemberToo) {
  fs::create_symlink("/none", data_ + "/member");
  EXPECT_TRUE(*site().has_member()) << "somebody has put it there";
  FolderRestoreSite nowhere(loop_, log_, {.data_dir = "/none", .attempt = "1", .tools = {}});
  EXPECT_TRUE(nowhere.has_member().failed_with(Code::NotFound));
}

TEST_F(FolderRestoreSiteTest, LooksForTheToolWhereItMayBe) {
  EXPECT_TRUE(site().find_tool().failed_with(Code::NotFound));
  EXPECT_EQ(tool_paths("etcdutl", "/a/etcdutl", "/b:c::/d"),
            (std::vector<std::string>{"/a/etcdutl", "/usr/local/bin/etcdutl", "/b/etcdutl",
                                      "/d/etcdutl"}))
      << "a path that begins where we are is none";
  EXPECT_EQ(tool_paths("etcdutl", "", ""), (std::vector<std::string>{"/usr/local/bin/etcdutl"}));
}

TEST_F(FolderRestoreSiteTest, WhatIsNoDatabaseIsSaid) {
  tool("");
  FolderRestoreSite site = this->site();
  ASSERT_TRUE(prepare(site, "short"));
  EXPECT_TRUE(site.inspect().failed_with(Code::Corrupt));
}

}  // namespace
}  // namespace etcdop::agent
