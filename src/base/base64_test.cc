#include "base/base64.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(Base64, ReadsTheExamplesOfTheRfc) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zm8="), "fo");
  EXPECT_EQ(from_base64("Zm9v"), "foo");
  EXPECT_EQ(from_base64("Zm9vYmFy"), "foobar");
  EXPECT_EQ(from_base64("Zm9v\r\n  YmFy\n"), "foobar");
  EXPECT_EQ(from_base64("+/8A"), std::string("\xFB\xFF\0", 3));
}

TEST(Base64, WritesThemToo) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64(std::string_view("\xFB\xFF\0", 3)), "+/8A");
}

TEST(Base64, RefusesWhatIsNot) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zm9v=", "Zg==Zg==", "Zh==",
                           "Zm9=", "Zm9v-_==", "Zm\t9", "{}"})
    EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etcdop
