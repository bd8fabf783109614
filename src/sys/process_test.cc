#include "sys/process.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace etcdop
