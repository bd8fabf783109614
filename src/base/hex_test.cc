#include "base/hex.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop {
namespace {

TEST(Hex, BytesGoThereAndBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(hex_of_bytes(all).substr(0, 8), "00010203");
  EXPECT_EQ(hex_of_bytes(all).substr(504), "fcfdfeff");
  EXPECT_EQ(bytes_of_hex(hex_of_bytes(all)), all);
  EXPECT_EQ(bytes_of_hex("AbCd"), "\xab\xcd");
  EXPECT_EQ(bytes_of_hex(""), "");
}

TEST(Hex, NothingElseIsRead) {
  for (const char* text : {"a", "0g", "g0", " 0", "0x00", "00 "})
    EXPECT_EQ(bytes_of_hex(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etcdop
