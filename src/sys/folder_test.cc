#include "sys/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

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

TEST_F(FolderTest, MakesFoldersInside) {
  auto inner = open().inside("inner");
  ASSERT_TRUE(inner) << inner.error().message;
  auto again = open().inside("inner");
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->create("file", 0644));
  EXPECT_TRUE(fs::exists(root_ + "/inner/file"));
  EXPECT_TRUE(inner->read("none").failed_with(Code::NotFound));
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

}  // namespace
}  // namespace etcdop
