// Tests the lookup in the table of flags. The contract test checks the table's content against real
// etcds.
#include "etcd/flags.h"

#include <gtest/gtest.h>

#include "etcd/flag_table.h"

namespace etcdop::etcd {
namespace {

TEST(Flags, EachIsTakenFromItsFirstToItsLastMinor) {
  const auto minors = [](const char* name) {
    std::string out;
    for (const int minor : {4, 5, 6, 7, 8})
      if (takes_flag({3, minor, 0}, name)) out += std::to_string(minor);
    return out;
  };
  EXPECT_EQ(minors("max-request-bytes"), "567");
  EXPECT_EQ(minors("feature-gates"), "67");
  EXPECT_EQ(minors("experimental-corrupt-check-time"), "56");
  EXPECT_EQ(minors("proxy"), "5");
  EXPECT_EQ(minors("no-such-flag"), "");
  EXPECT_EQ(minors("zzz"), "") << "behind the last";
  EXPECT_EQ(minors(""), "");
  EXPECT_FALSE(takes_flag({4, 6, 0}, "max-request-bytes"));
}

TEST(Flags, TheTableIsSorted) {
  for (std::size_t i = 1; i < kKnownFlags.size(); ++i)
    EXPECT_LT(std::string_view(kKnownFlags[i - 1].name), kKnownFlags[i].name);
}

}  // namespace
}  // namespace etcdop::etcd
