#include "etcd/member.h"

#include <gtest/gtest.h>

namespace etcdop::etcd {
namespace {

TEST(MemberId, IsWrittenAsSixteenDigits) {
  EXPECT_EQ(to_hex(MemberId{0}), "0000000000000000");
  EXPECT_EQ(to_hex(ClusterId{0xCAFE}), "000000000000cafe");
  EXPECT_EQ(to_hex(~std::uint64_t{0}), "ffffffffffffffff");
}

TEST(MemberId, IsReadInBothCasesAndShort) {
  EXPECT_EQ(from_hex("8e9e05c52164694d"), 0x8e9e05c52164694dU);
  EXPECT_EQ(from_hex("8E9E05C52164694D"), 0x8e9e05c52164694dU);
  EXPECT_EQ(from_hex("f"), 15U) << "etcdctl prints no leading zeros";
}

TEST(MemberId, IsNotReadFromAnythingElse) {
  for (const char* text : {"", "0x1", "-1", "+1", " 1", "1 ", "g", "00000000000000001"})
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
}

}  // namespace
}  // namespace etcdop::etcd
