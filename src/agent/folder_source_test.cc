#include "agent/folder_source.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace etcdop::agent {
namespace {

namespace fs = std::filesystem;

class FolderSourceTest : public ::testing::Test {
 protected:
  FolderSourceTest() {
    std::string name = (fs::temp_directory_path() / "source-XXXXXX").string();
    mount_ = mkdtemp(name.data());
    fs::create_directories(mount_ + "/prod/db");
  }
  ~FolderSourceTest() override { fs::remove_all(mount_); }
  FolderSource at(const std::string& path) const {
    return FolderSource({.mount_path = mount_, .sub_path = path});
  }
  void put(const std::string& path, const std::string& text) const {
    std::ofstream(mount_ + "/" + path) << text;
  }
  std::string mount_;
};

TEST_F(FolderSourceTest, ReadsAFileAndWhatLiesBesideIt) {
  const std::string bytes(FolderSource::kPieceBytes * 2 + 7, 'x');
  put("prod/db/a.db", bytes);
  FolderSource source = at("prod/db/a.db");
  EXPECT_EQ(source.uri(), "file://" + mount_ + "/prod/db/a.db");
  auto facts = source.look();
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->size_bytes, bytes.size());
  EXPECT_EQ(facts->uid, "");
  EXPECT_FALSE(facts->manifest);
  std::string read;
  EXPECT_TRUE(source.read([&](std::string_view piece) -> Result<Done> {
    EXPECT_LE(piece.size(), FolderSource::kPieceBytes);
    read += piece;
    return Done{};
  }));
  EXPECT_EQ(read, bytes);

  put("prod/db/a.db.uid", "uid-1\n");
  put("prod/db/a.db.json", "{}");
  facts = source.look();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->uid, "uid-1");
  EXPECT_EQ(facts->manifest, "{}");
}

TEST_F(FolderSourceTest, EndsWhereItsReaderDoes) {
  put("a.db", std::string(FolderSource::kPieceBytes * 2, 'x'));
  FolderSource source = at("a.db");
  ASSERT_TRUE(source.look());
  int pieces = 0;
  auto read = source.read([&](std::string_view) -> Result<Done> {
    ++pieces;
    return Error{Code::Unavailable, "full"};
  });
  EXPECT_TRUE(read.failed_with(Code::Unavailable));
  EXPECT_EQ(pieces, 1);
}

TEST_F(FolderSourceTest, NoticesThatItBecameShorter) {
  put("a.db", std::string(FolderSource::kPieceBytes * 2, 'x'));
  FolderSource source = at("a.db");
  ASSERT_TRUE(source.look());
  fs::resize_file(mount_ + "/a.db", 100);
  auto read = source.read([](std::string_view) -> Result<Done> { return Done{}; });
  EXPECT_TRUE(read.failed_with(Code::Conflict));
}

TEST_F(FolderSourceTest, IsNotLedOutOfItsVolume) {
  put("prod/a.db", "text");
  fs::create_directory_symlink(mount_ + "/prod", mount_ + "/link");
  fs::create_symlink("a.db", mount_ + "/prod/link.db");
  EXPECT_TRUE(at("link/a.db").look().failed_with(Code::Invalid));
  EXPECT_TRUE(at("prod/link.db").look().failed_with(Code::Invalid));
  EXPECT_TRUE(at("prod/db").look().failed_with(Code::Invalid)) << "a folder";
  EXPECT_TRUE(at("prod/none.db").look().failed_with(Code::NotFound));
  EXPECT_TRUE(at("none/a.db").look().failed_with(Code::NotFound));
  EXPECT_FALSE(fs::exists(mount_ + "/none"));
  FolderSource unmounted({.mount_path = mount_ + "/none", .sub_path = "a.db"});
  EXPECT_TRUE(unmounted.look().failed_with(Code::NotFound));
}

}  // namespace
}  // namespace etcdop::agent
