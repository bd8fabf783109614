#include "sys/digest.h"

#include <gtest/gtest.h>

#include "base/hex.h"

namespace etcdop {
namespace {

TEST(Digest, IsThatOfAllPieces) {
  Digest sha256(Digest::Kind::Sha256), md5(Digest::Kind::Md5);
  for (const char* piece : {"a", "", "bc"}) {
    sha256.add(piece);
    md5.add(piece);
    if (*piece == 'a')
      EXPECT_EQ(hex_of_bytes(md5.bytes_so_far()), "0cc175b9c0f1b6a831c399e269772661");
  }
  EXPECT_EQ(sha256.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(md5.hex(), "900150983cd24fb0d6963f7d28e17f72");
}

}  // namespace
}  // namespace etcdop
