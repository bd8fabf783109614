#include "base/wall_time.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

using namespace std::chrono_literals;

TEST(WallTime, MicroTimeHasItsDigits) {
  EXPECT_EQ(to_rfc3339_micro(WallTime{std::chrono::seconds(1795233378)}),
            "2026-11-21T03:56:18.000000Z");
}

TEST(WallTime, IsWrittenAndReadAsRfc3339) {
  const WallTime when{1795233378s};
  EXPECT_EQ(to_rfc3339(when), "2026-11-21T03:56:18Z");
  EXPECT_EQ(from_rfc3339("2026-11-21T03:56:18Z"), when);
  EXPECT_EQ(from_rfc3339("2026-11-21T03:56:18.999999Z"), when);
  EXPECT_EQ(from_rfc3339("2026-11-21T05:26:18+01:30"), when);
}

TEST(WallTime, RefusesWhatIsNotADate) {
  for (const char* text :
       {"", "2026-11-21", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T03:56:18",
        "2026-11-21T25:00:00Z", "2026-11-21T03:56:18Zx", "-026-11-21T03:56:18Z"})
    EXPECT_EQ(from_rfc3339(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etcdop
