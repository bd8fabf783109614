#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop {
namespace {

TEST(Utf8, WhatIsWellFormedStays) {
  for (const std::string text :
       {"", "plain\n", "\xC2\x80", "\xC3\xA9t\xC3\xA9", "\xE0\xA0\x80", "\xEF\xBF\xBF",
        "\xED\x9F\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(as_utf8(text), text);
  EXPECT_EQ(as_utf8(std::string(1, 0)), std::string(1, 0));
}

TEST(Utf8, EachByteThatIsNoneIsReplaced) {
  const std::string no(kNoUtf8);
  EXPECT_EQ(as_utf8("a\xFF"
                    "b"),
            "a" + no + "b");
  EXPECT_EQ(as_utf8("\xC3"), no) << "it ends in the middle";
  EXPECT_EQ(as_utf8("\xE2\x82!"), no + no + "!");
  EXPECT_EQ(as_utf8("\xC0\xAF"), no + no) << "longer than it has to be";
  EXPECT_EQ(as_utf8("\xE0\x9F\xBF"), no + no + no) << "likewise";
  EXPECT_EQ(as_utf8("\xF0\x8F\xBF\xBF"), no + no + no + no) << "likewise";
  EXPECT_EQ(as_utf8("\xED\xA0\x80"), no + no + no) << "half a pair of UTF-16";
  EXPECT_EQ(as_utf8("\xF4\x90\x80\x80"), no + no + no + no) << "more than Unicode has";
}

TEST(Utf8, AShortenedTextEndsWithAWholeCharacter) {
  EXPECT_EQ(shortened("four", 4), "four");
  EXPECT_EQ(shortened("longer", 4), "l...");
  EXPECT_EQ(shortened("\xC3\xA9t\xC3\xA9", 5), "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(shortened("\xC3\xA9t\xC3\xA9s", 5), "\xC3\xA9...");
  EXPECT_EQ(shortened("t\xC3\xA9\xC3\xA9s", 5), "t...") << "not half a letter";
  EXPECT_EQ(shortened("\xFF\xFF", 5), "...") << "a replacement has 3 bytes";
  EXPECT_EQ(shortened("long", 3), "...");
}

TEST(Utf8, OneByteMakesATextIllFormed) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("\xC3\xA9t\xC3\xA9"));
  EXPECT_FALSE(is_utf8("a\xFF"));
  EXPECT_FALSE(is_utf8("\xC3"));
}

}  // namespace
}  // namespace etcdop
