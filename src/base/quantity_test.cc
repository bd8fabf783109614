#include "base/quantity.h"

#include <gtest/gtest.h>

#include <limits>

namespace etcdop {
namespace {

TEST(Quantity, BytesAreReadInEveryNotationThatTheApiServerTakes) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::pair<const char*, std::int64_t> rows[] = {{"0", 0},
                                                       {"1234", 1234},
                                                       {"+5", 5},
                                                       {"-5", -5},
                                                       {"1k", 1000},
                                                       {"1Ki", 1024},
                                                       {"200Mi", 200 << 20},
                                                       {"1.5Gi", 3LL << 29},
                                                       {".5M", 500'000},
                                                       {"2.G", 2'000'000'000},
                                                       {"1e3", 1000},
                                                       {"1E+3", 1000},
                                                       {"15e-1", 2},
                                                       {"1E", 1'000'000'000'000'000'000},
                                                       {"1Ei", 1LL << 60},
                                                       {"100m", 1},
                                                       {"1500m", 2},
                                                       {"1n", 1},
                                                       {"8Ei", kMost},
                                                       {"1e99", kMost},
                                                       {"-1e99", -kMost},
                                                       {"9223372036854775807", kMost}};
  for (const auto& [text, bytes] : rows) EXPECT_EQ(bytes_of(text), bytes) << text;
}

TEST(Quantity, WhatIsNoneIsRefused) {
  for (const char* text : {"", "-", ".", "Mi", "1K", "1ki", "1mi", "1 Gi", "1GB", "1e", "1ex",
                           "1e1x", "1.2.3", "++1", "1-", "inf", "nan", "0x10", "1Gi "})
    EXPECT_EQ(bytes_of(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etcdop
