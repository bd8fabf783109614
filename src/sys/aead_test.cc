#include "sys/aead.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"

namespace etcdop {
namespace {

std::string bytes(const char* hex) {
  std::string out;
  for (const char* at = hex; *at; at += 2)
    out += static_cast<char>(std::stoi(std::string(at, 2), nullptr, 16));
  return out;
}

TEST(Aead, SealsAsTheVectorsOfItsAuthorsSay) {  // McGrew and Viega, test case 16.
  Aead aead(Secret(bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")));
  const std::string nonce = bytes("cafebabefacedbaddecaf888");
  const std::string also = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
  const std::string plain = bytes(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6"
      "b525b16aedf5aa0de657ba637b39");
  const std::string sealed = bytes(
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056"
      "828838c5f61e6393ba7a0abcc9f662"
      "76fc6ece0f4e1768cddf8853bb2d551b");
  std::string out = "before";
  aead.seal(nonce, also, plain, out);
  EXPECT_EQ(out, "before" + sealed);
  std::string back = "x";
  ASSERT_TRUE(aead.open(nonce, also, sealed, back));
  EXPECT_EQ(back, "x" + plain);
}

TEST(Aead, NoticesEveryChange) {
  Aead aead(Secret(std::string(kAeadKeyBytes, 'k')));
  const std::string nonce(kAeadNonceBytes, 'n');
  std::string sealed;
  aead.seal(nonce, "also", "plain", sealed);
  for (std::size_t at = 0; at < sealed.size(); ++at) {
    std::string changed = sealed, out;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_TRUE(aead.open(nonce, "also", changed, out).failed_with(Code::Corrupt)) << at;
    EXPECT_EQ(out, "");
  }
  std::string out;
  EXPECT_TRUE(aead.open(nonce, "other", sealed, out).failed_with(Code::Corrupt));
  EXPECT_TRUE(
      aead.open(std::string(kAeadNonceBytes, 'm'), "also", sealed, out).failed_with(Code::Corrupt));
  EXPECT_TRUE(aead.open(nonce, "also", sealed.substr(0, 15), out).failed_with(Code::Corrupt));
  EXPECT_TRUE(Aead(Secret(std::string(kAeadKeyBytes, 'x')))
                  .open(nonce, "also", sealed, out)
                  .failed_with(Code::Corrupt));
  EXPECT_EQ(out, "");
  ASSERT_TRUE(aead.open(nonce, "also", sealed, out));
  EXPECT_EQ(out, "plain");
}

TEST(Aead, SealsNothingAtAllToo) {
  Aead aead(Secret(std::string(kAeadKeyBytes, 'k')));
  const std::string nonce(kAeadNonceBytes, 'n');
  std::string sealed, out;
  aead.seal(nonce, "", "", sealed);
  EXPECT_EQ(sealed.size(), kAeadTagBytes);
  EXPECT_TRUE(aead.open(nonce, "", sealed, out));
  EXPECT_EQ(out, "");
}

TEST(DeriveKey, IsHmacSha256) {  // RFC 4231, test case 2.
  EXPECT_EQ(derive_key(Secret("Jefe"), "what do ya want for nothing?").reveal(),
            bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
}

}  // namespace
}  // namespace etcdop
