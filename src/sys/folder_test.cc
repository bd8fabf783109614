#include "sys/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {
std::vector<std::string>* synced = nullptr;  // Paths, while a test records them.
}

/// Instead of the C library's.
extern "C" int fsync(int file) {
  if (synced)
    synced->push_back(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file)));
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace etcdop {
namespace {

namespace fs = std::filesystem;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() {
    std::string name = (fs::temp_directory_path() / "folder-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~FolderTest() override { fs::remove_all(root_); }
  Folder open() const {
    auto folder = Folder::open(root_);
    EXPECT_TRUE(folder) << folder.error().message;
    return std::move(*folder);
  }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
  }
  std::string text(const std::string& name) const {
    std::ifstream in(root_ + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string root_;
};

TEST_F(FolderTest, WritesAFileWholeAndRenamesIt) {
  const Folder folder = open();
  auto file = folder.create("a.tmp", 0600);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->write("one "));
  EXPECT_TRUE(file->write("two"));
  EXPECT_TRUE(file->finish());
  EXPECT_TRUE(folder.rename("a.tmp", "a", Folder::Replace::No));
  EXPECT_TRUE(folder.sync());
  EXPECT_EQ(text("a"), "one two");
  auto size = folder.size_of("a");
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, std::optional<std::uint64_t>(7));
  auto read = folder.read("a");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "one two");
  auto names = folder.names();
  ASSERT_TRUE(names);
  EXPECT_EQ(*names, std::vector<std::string>{"a"});
  struct stat facts{};
  ASSERT_EQ(stat((root_ + "/a").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_TRUE(folder.remove("a"));
  EXPECT_TRUE(folder.remove("a")) << "again";
  size = folder.size_of("a");
  ASSERT_TRUE(size);
  EXPECT_FALSE(*size);
}

TEST_F(FolderTest, ReplacesOnlyIfTold) {
  put("new", "new");
  put("old", "old");
  const Folder folder = open();
  EXPECT_TRUE(folder.rename("new", "old", Folder::Replace::No).failed_with(Code::AlreadyExists));
  EXPECT_EQ(text("old"), "old");
  EXPECT_TRUE(folder.rename("new", "old", Folder::Replace::Yes));
  EXPECT_EQ(text("old"), "new");
  EXPECT_TRUE(folder.create("old", 0600).failed_with(Code::AlreadyExists));
}

TEST_F(FolderTest, WhatIsLookedIntoIsNotMade) {
  EXPECT_TRUE(open().existing("inner").failed_with(Code::NotFound));
  EXPECT_FALSE(fs::exists(root_ + "/inner"));
  fs::create_directory(root_ + "/inner");
  put("inner/file", "text");
  auto inner = open().existing("inner");
  ASSERT_TRUE(inner) << inner.error().message;
  auto text = inner->read("file");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "text");
  put("plain", "");
  EXPECT_TRUE(open().existing("plain").failed_with(Code::Invalid));
  fs::create_directory_symlink(root_ + "/inner", root_ + "/link");
  EXPECT_TRUE(open().existing("link").failed_with(Code::Invalid));
}

TEST_F(FolderTest, MakesFoldersInside) {
  auto inner = open().inside("inner");
  ASSERT_TRUE(inner) << inner.error().message;
  auto again = open().inside("inner");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->create("file", 0644));
  EXPECT_TRUE(fs::exists(root_ + "/inner/file"));
  EXPECT_TRUE(inner->read("none").failed_with(Code::NotFound));
}

TEST_F(FolderTest, N11_ANewFolderSurvivesAPowerCut) {
  std::vector<std::string> paths;
  synced = &paths;
  EXPECT_TRUE(open().inside("inner"));
  EXPECT_EQ(paths, std::vector<std::string>{root_}) << "its entry is in the parent";
  EXPECT_TRUE(open().inside("inner"));
  EXPECT_EQ(paths.size(), 1U) << "it was there";
  synced = nullptr;
}

TEST_F(FolderTest, FollowsNoSymbolicLink) {
  const std::string elsewhere = root_ + "/elsewhere";
  fs::create_directory(elsewhere);
  put("elsewhere/file", "secret");
  fs::create_directory(root_ + "/root");
  fs::create_directory_symlink(elsewhere, root_ + "/root/folder");
  fs::create_symlink(elsewhere + "/file", root_ + "/root/file");
  fs::create_symlink(elsewhere + "/new", root_ + "/root/dangling");
  auto root = Folder::open(root_ + "/root");
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->inside("folder").failed_with(Code::Invalid));
  EXPECT_TRUE(root->read("file").failed_with(Code::Invalid));
  EXPECT_TRUE(root->size_of("file").failed_with(Code::Invalid));
  EXPECT_TRUE(root->create("dangling", 0600).failed_with(Code::AlreadyExists));
  EXPECT_FALSE(fs::exists(elsewhere + "/new"));
}

TEST_F(FolderTest, SaysWhatIsWrong) {
  EXPECT_TRUE(Folder::open(root_ + "/none").failed_with(Code::NotFound));
  put("file", std::string(65 << 10, 'x'));
  fs::create_directory(root_ + "/folder");
  EXPECT_TRUE(Folder::open(root_ + "/file").failed_with(Code::Invalid));
  const Folder folder = open();
  EXPECT_TRUE(folder.inside("file").failed_with(Code::Invalid));
  EXPECT_TRUE(folder.size_of("folder").failed_with(Code::Invalid));
  EXPECT_TRUE(folder.read("folder").failed_with(Code::Invalid));
  EXPECT_TRUE(folder.read("file").failed_with(Code::Invalid)) << "too large";
  EXPECT_TRUE(folder.create("no/such", 0600).failed_with(Code::NotFound));
}

TEST(NewFile, SaysThatNoSpaceIsLeft) {
  NewFile full(Descriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full");
  EXPECT_TRUE(full.write("x").failed_with(Code::Unavailable));
}

TEST_F(FolderTest, ReadsAFileFromAnywhere) {
  const Folder folder = open();
  put("a", "0123456789");
  auto file = folder.open_file("a");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->size(), 10u);
  EXPECT_EQ(*file->read_at(0, 4), "0123");
  EXPECT_EQ(*file->read_at(8, 4), "89") << "where it ends";
  EXPECT_EQ(*file->read_at(10, 4), "");
  EXPECT_TRUE(folder.open_file("b").failed_with(Code::NotFound));
  fs::create_symlink("a", root_ + "/link");
  EXPECT_TRUE(folder.open_file("link").failed_with(Code::Invalid));
  fs::create_directory(root_ + "/inner");
  EXPECT_TRUE(folder.open_file("inner").failed_with(Code::Invalid));
}

TEST_F(FolderTest, AFolderThatIsMissingIsNotMadeToLookIntoIt) {
  const Folder folder = open();
  EXPECT_TRUE(folder.existing("a").failed_with(Code::NotFound));
  EXPECT_FALSE(*folder.has("a"));
  EXPECT_TRUE(folder.inside("a"));
  EXPECT_TRUE(folder.existing("a"));
  EXPECT_TRUE(*folder.has("a"));
  fs::create_symlink("a", root_ + "/link");
  EXPECT_TRUE(folder.existing("link").failed_with(Code::Invalid));
  EXPECT_TRUE(*folder.has("link"));
}

TEST_F(FolderTest, RemovesATreeAndNothingThatLinksInItLeadTo) {
  const Folder folder = open();
  fs::create_directories(root_ + "/tree/a/b");
  fs::create_directory(root_ + "/other");
  put("tree/a/b/file", "text");
  put("other/file", "text");
  fs::create_symlink("../../other", root_ + "/tree/a/link");
  EXPECT_TRUE(folder.remove_tree("tree"));
  EXPECT_FALSE(fs::exists(root_ + "/tree"));
  EXPECT_EQ(text("other/file"), "text");
  EXPECT_TRUE(folder.remove_tree("tree")) << "there is none";
  put("file", "text");
  EXPECT_TRUE(folder.remove_tree("file"));
  EXPECT_FALSE(fs::exists(root_ + "/file"));
}

TEST_F(FolderTest, ATreeHasABottom) {
  const Folder folder = open();
  std::string path = root_ + "/tree";
  for (int i = 0; i < Folder::kDepthMax + 1; ++i) path += "/a";
  fs::create_directories(path);
  EXPECT_TRUE(folder.remove_tree("tree").failed_with(Code::Invalid));
  EXPECT_TRUE(folder.existing("tree")->sync_tree().failed_with(Code::Invalid));
}

TEST_F(FolderTest, MovesAFolderToWhereNothingIs) {
  const Folder folder = open();
  fs::create_directories(root_ + "/from/member/wal");
  auto from = folder.existing("from");
  ASSERT_TRUE(from);
  EXPECT_TRUE(from->sync_tree());
  EXPECT_TRUE(from->move("member", folder, "member"));
  EXPECT_TRUE(fs::exists(root_ + "/member/wal"));
  EXPECT_TRUE(fs::is_empty(root_ + "/from"));
  fs::create_directory(root_ + "/from/member");
  EXPECT_TRUE(from->move("member", folder, "member").failed_with(Code::AlreadyExists))
      << "not even an empty one";
  EXPECT_TRUE(from->move("none", folder, "new").failed_with(Code::NotFound));
}

TEST_F(FolderTest, KnowsWhatItsFileSystemHasLeft) {
  auto free = open().free_bytes();
  ASSERT_TRUE(free) << free.error().message;
  const fs::space_info space = fs::space(root_);
  EXPECT_GT(*free, 0u);
  EXPECT_LE(*free, space.capacity);
}

}  // namespace
}  // namespace etcdop
