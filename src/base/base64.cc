#include "base/base64.h"

#include <cstdint>

namespace etcdop {

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;  // How many bits wait in `bits`.
  std::size_t characters = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    ++characters;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos || padding > 0) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xFF);
    }
    bits &= (1U << held) - 1;
  }
  const bool whole = characters % 4 == 0 && padding <= 2 && bits == 0;
  // Two characters of padding leave four bits unused, one leaves two.
  if (!whole || held != static_cast<int>(padding) * 2) return std::nullopt;
  return out;
}

}  // namespace etcdop
