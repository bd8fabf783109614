// Go's durations, in seconds. The expected values are those of time.ParseDuration of Go 1.26,
// except for "0", signs and ".5h".
#include "base/duration.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(Duration, IsReadAsGoReadsIt) {
  const struct {
    const char* text;
    double seconds;
  } rows[] = {{"1h30m", 5400}, {"1.5h", 5400},     {"90s", 90},
              {"500ms", 0.5},  {"0s", 0},          {"720h", 2592000},
              {"1m1m", 120},   {"1h0.5s", 3600.5}, {"1.h", 3600},
              {"2us", 2e-6},   {"2\u00B5s", 2e-6}, {"2\u03BCs", 2e-6},
              {"3ns", 3e-9},   {"1s1h", 3601},     {"1h1m1s1ms", 3661.001}};
  for (const auto& row : rows) {
    const auto read = to_seconds(row.text);
    ASSERT_TRUE(read) << row.text;
    EXPECT_DOUBLE_EQ(*read, row.seconds) << row.text;
  }
}

TEST(Duration, WhatIsNone) {
  for (const char* text : {"", "1", "h", "1d", "1h30", "1 h", "h1", "-1h", "+1h", "1e3s", "0x1s",
                           "inf", "nan", "1hs", "1..5h", ".", ".5h"})
    EXPECT_FALSE(to_seconds(text)) << text;
}

}  // namespace
}  // namespace etcdop
