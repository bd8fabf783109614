#include "agent/sealed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/base64.h"
#include "base/hex.h"
#include "sys/digest.h"

namespace etcdop::agent {
namespace {

constexpr std::size_t kHeaderBytes = 56, kStoredFrameBytes = kSealedFrameBytes + kAeadTagBytes;

SealingKey key_of(char c) { return *to_sealing_key(Secret(std::string(kAeadKeyBytes, c))); }

std::string plain_of(std::size_t bytes) {
  std::string out;
  for (std::size_t n = 0; n < bytes; ++n) out += static_cast<char>(n * 31 + n / 251);
  return out;
}

/// Seals `step` bytes at a time.
std::string sealed(const std::string& plain, std::size_t step = 1000, char salt = 's') {
  std::string out;
  Sealer sealer({key_of('k'), std::string(kSealSaltBytes, salt)}, [&](std::string_view bytes) {
    out += bytes;
    return Done{};
  });
  for (std::size_t at = 0; at < plain.size(); at += step)
    EXPECT_TRUE(sealer.add(std::string_view(plain).substr(at, step)));
  EXPECT_TRUE(sealer.end());
  return out;
}

struct Opened {
  Result<Done> ended = Done{};
  std::string plain, key_id;
};
Opened opened(const std::string& sealed, std::size_t step = 1000, char key = 'k') {
  Opened out;
  const SealingKey one = key_of(key), other = key_of('o');
  Opener opener({{one.id, one.key}, {other.id, other.key}}, [&](std::string_view bytes) {
    out.plain += bytes;
    return Done{};
  });
  for (std::size_t at = 0; out.ended && at < sealed.size(); at += step)
    out.ended = opener.add(std::string_view(sealed).substr(at, step));
  if (out.ended) out.ended = opener.end();
  out.key_id = opener.key_id();
  return out;
}

TEST(Sealed, OpensToWhatItWasWhereverFramesEnd) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, kSealedFrameBytes - 1, kSealedFrameBytes,
        kSealedFrameBytes + 1, 2 * kSealedFrameBytes, 3 * kSealedFrameBytes + 77}) {
    const std::string plain = plain_of(bytes);
    for (const std::size_t step : {std::size_t{777}, kSealedFrameBytes, std::size_t{1} << 20}) {
      const std::string stored = sealed(plain, step);
      const std::size_t frames =
          bytes == 0 ? 1 : (bytes + kSealedFrameBytes - 1) / kSealedFrameBytes;
      EXPECT_EQ(stored.size(), kHeaderBytes + bytes + frames * kAeadTagBytes);
      const Opened back = opened(stored, step);
      EXPECT_TRUE(back.ended) << bytes;
      EXPECT_EQ(back.plain, plain) << bytes;
      EXPECT_EQ(back.key_id, key_of('k').id);
    }
  }
}

/// Made with Python's hmac and the package cryptography, from the description in sealed.h alone.
TEST(Sealed, IsWhatAnotherProgramMakesOfItsDescription) {
  std::string key, salt;
  for (char n = 0; n < 32; ++n) {
    key += n;
    salt += static_cast<char>(100 + n);
  }
  const auto sealed_with_it = [&](const std::string& plain) {
    std::string out;
    Sealer sealer({*to_sealing_key(Secret(key)), salt}, [&](std::string_view bytes) {
      out += bytes;
      return Done{};
    });
    EXPECT_TRUE(sealer.add(plain));
    EXPECT_TRUE(sealer.end());
    return out;
  };
  EXPECT_EQ(hex_of_bytes(sealed_with_it("keys and values")),
            "455443444f502d5345414c45442d310a242850b4040edc21"
            "6465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f80818283"
            "9604421080f61a0e0cde435fae6d3b4f9da2230040be6dd2a012a63f645200");
  Digest sum(Digest::Kind::Sha256);
  sum.add(sealed_with_it(plain_of(kSealedFrameBytes + 77)));
  EXPECT_EQ(sum.hex(), "c86f4b2fe6d475bb6bec47a017decdaf7312094ed7478b3e67501dd08b48bb21");
}

TEST(Sealed, NothingOfWhatWasSealedCanBeSeen) {
  const std::string plain(1000, 'p');
  const std::string stored = sealed(plain);
  EXPECT_TRUE(is_sealed(stored));
  EXPECT_FALSE(is_sealed(plain));
  EXPECT_EQ(stored.find("pppp"), stored.npos);
  EXPECT_EQ(stored.find(std::string(4, 'k')), stored.npos) << "nor of the key";
  EXPECT_NE(stored.substr(kHeaderBytes), sealed(plain, 1000, 't').substr(kHeaderBytes))
      << "another salt is another key";
}

TEST(Sealed, EveryChangedBitIsNoticed) {
  const std::string stored = sealed(plain_of(300));
  for (std::size_t at = 0; at < stored.size(); ++at) {
    std::string changed = stored;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    const Opened back = opened(changed);
    ASSERT_FALSE(back.ended) << at;
    EXPECT_EQ(back.plain, "") << at;
  }
}

TEST(Sealed, WhatIsCutOffReorderedOrExchangedIsNoticed) {
  const std::string plain = plain_of(3 * kSealedFrameBytes), stored = sealed(plain);
  const auto frame = [&](std::size_t n) {
    return stored.substr(kHeaderBytes + n * kStoredFrameBytes, kStoredFrameBytes);
  };
  const std::string header = stored.substr(0, kHeaderBytes);
  const std::string foreign = sealed(plain, 1000, 't').substr(kHeaderBytes, kStoredFrameBytes);
  for (const std::string& wrong :
       {std::string(), header.substr(0, 10), header, header + frame(0),
        header + frame(0) + frame(1), stored.substr(0, stored.size() - 1), stored + "x",
        stored + frame(2), header + frame(1) + frame(0) + frame(2), header + frame(0) + frame(2),
        header + frame(0) + foreign + frame(2)})
    EXPECT_TRUE(opened(wrong).ended.failed_with(Code::Corrupt)) << wrong.size();
  EXPECT_TRUE(opened(header + frame(0) + frame(1) + frame(2)).ended) << "that is how it was";
}

TEST(Sealed, WithoutItsKeyItIsSaidWhichOneItTakes) {
  const Opened back = opened(sealed("secret"), 1000, 'x');
  ASSERT_TRUE(back.ended.failed_with(Code::Denied));
  EXPECT_NE(back.ended.error().message.find(key_of('k').id), std::string::npos);
  EXPECT_EQ(back.plain, "");
}

TEST(Sealed, WhatWasNeverSealedIsNotTakenForIt) {
  EXPECT_TRUE(opened(plain_of(500)).ended.failed_with(Code::Corrupt));
}

TEST(Sealed, AnErrorOfWhoTakesItIsItsError) {
  const auto full = [](std::string_view) -> Result<Done> {
    return Error{Code::Unavailable, "full"};
  };
  Sealer sealer({key_of('k'), std::string(kSealSaltBytes, 's')}, full);
  EXPECT_TRUE(sealer.add(plain_of(kSealedFrameBytes)));
  EXPECT_TRUE(sealer.add("x").failed_with(Code::Unavailable));
  const SealingKey key = key_of('k');
  Opener opener({{key.id, key.key}}, full);
  EXPECT_TRUE(opener.add(sealed("x")));
  EXPECT_TRUE(opener.end().failed_with(Code::Unavailable));
}

TEST(SealingKey, IsReadInThreeWays) {
  const std::string raw = plain_of(kAeadKeyBytes);
  auto key = to_sealing_key(Secret(raw));
  ASSERT_TRUE(key);
  EXPECT_EQ(key->id.size(), 16U);
  EXPECT_EQ(key->key.reveal(), raw);
  EXPECT_EQ(*to_sealing_key(Secret(hex_of_bytes(raw) + "\n")), *key);
  EXPECT_EQ(*to_sealing_key(Secret(to_base64(raw) + "\n")), *key);
  EXPECT_NE(key->id, key_of('k').id);
  for (const std::string& wrong : {std::string(), std::string("password"), raw + "x",
                                   hex_of_bytes(raw) + "00", to_base64(raw + "x")}) {
    const auto none = to_sealing_key(Secret(wrong));
    ASSERT_TRUE(none.failed_with(Code::Invalid));
    if (!wrong.empty()) EXPECT_EQ(none.error().message.find(wrong), std::string::npos);
  }
}

}  // namespace
}  // namespace etcdop::agent
