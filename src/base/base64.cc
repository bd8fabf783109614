#include "base/base64.h"

#include <array>
#include <cstdint>

namespace etcdop {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 64;

/// The value of each character; kNone: not of the alphabet.
constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> out;
  out.fill(kNone);
  for (std::uint8_t i = 0; i < kAlphabet.size(); ++i)
    out[static_cast<unsigned char>(kAlphabet[i])] = i;
  return out;
}();

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int held = 0;  // Number of unused bits in `bits`.
  std::size_t characters = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    ++characters;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNone || padding > 0) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xFF);
    }
    bits &= (1U << held) - 1;
  }
  const bool whole = characters % 4 == 0 && padding <= 2 && bits == 0;
  // Two padding characters leave four bits unused, one leaves two.
  if (!whole || held != static_cast<int>(padding) * 2) return std::nullopt;
  return out;
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view three = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < three.size() ? static_cast<unsigned char>(three[j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      out += j <= three.size() ? kAlphabet[bits >> (18 - 6 * j) & 63] : '=';
  }
  return out;
}

}  // namespace etcdop
