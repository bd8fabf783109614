#include "sys/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <vector>

namespace etcdop {
namespace {

TEST(ProcessUsage, SeesMemoryThatIsTouchedAndTimeThatIsSpent) {
  const ProcessUsage before = process_usage();
  EXPECT_GT(before.resident_bytes, std::uint64_t{1} << 20);
  std::vector<char> block(std::size_t{32} << 20, 1);
  volatile unsigned sum = 0;
  while (process_usage().cpu_seconds <= before.cpu_seconds)
    for (const char c : block) sum = sum + static_cast<unsigned>(c);
  EXPECT_GE(process_usage().resident_bytes, before.resident_bytes + (std::uint64_t{30} << 20));
}

TEST(OwnProgram, IsTheFileThatRuns) {
  EXPECT_TRUE(own_program().ends_with("/sys_test")) << own_program();
}

TEST(ProcessMemory, T5_ComesIntoNoCoreFileAndIsNotLookedAt) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  ASSERT_EQ(prctl(PR_GET_DUMPABLE), 1);
  keep_memory_private();
  rlimit now{1, 1};
  EXPECT_EQ(getrlimit(RLIMIT_CORE, &now), 0);
  EXPECT_EQ(now.rlim_cur, 0U);
  EXPECT_EQ(now.rlim_max, 0U) << "nobody raises it again";
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0);
  EXPECT_GT(process_usage().resident_bytes, 0U) << "it may look at itself";
  (void)prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace
}  // namespace etcdop
