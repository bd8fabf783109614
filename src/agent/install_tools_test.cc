#include "agent/install_tools.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "sys/process.h"

namespace etcdop::agent {
namespace {

namespace fs = std::filesystem;

std::string text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return std::move(out).str();
}

TEST(InstallTools, CopiesAProgramForEverybody) {
  std::string folder = (fs::temp_directory_path() / "tools-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/.manager.tmp") << "half of it: of a run that was killed";
  std::ofstream(folder + "/manager") << "an older one";
  const mode_t before = umask(077);
  auto installed = install_tools(own_program(), folder);
  (void)umask(before);
  EXPECT_TRUE(installed) << installed.error().message;
  EXPECT_EQ(text(folder + "/manager"), text(own_program()));
  EXPECT_EQ(fs::status(folder + "/manager").permissions(), fs::perms(0755));
  EXPECT_FALSE(fs::exists(folder + "/.manager.tmp"));
  EXPECT_TRUE(install_tools(own_program(), folder + "/none").failed_with(Code::NotFound));
  EXPECT_TRUE(install_tools(folder + "/none", folder).failed_with(Code::NotFound));
  EXPECT_TRUE(install_tools("", folder).failed_with(Code::Invalid));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace etcdop::agent
