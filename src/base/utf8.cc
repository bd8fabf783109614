#include "base/utf8.h"

#include <algorithm>

namespace etcdop {
namespace {

constexpr std::string_view kDots = "...";

}  // namespace

std::size_t utf8_sequence(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(at);
  const std::size_t size = lead < 0x80                   ? 1
                           : lead >= 0xF0 && lead < 0xF5 ? 4
                           : lead >= 0xE0 && lead < 0xF0 ? 3
                           : lead >= 0xC2 && lead < 0xE0 ? 2
                                                         : 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  if ((lead == 0xE0 && byte(at + 1) < 0xA0) || (lead == 0xED && byte(at + 1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(at + 1) < 0x90) || (lead == 0xF4 && byte(at + 1) > 0x8F)) return 0;
  return size;
}

bool is_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t n = utf8_sequence(text, at);
    if (n == 0) return false;
    at += n;
  }
  return true;
}

std::string as_utf8(std::string_view text) { return shortened(text, std::string::npos); }

std::string shortened(std::string_view text, std::size_t bytes_max) {
  std::string out;
  out.reserve(std::min(text.size(), bytes_max));
  std::size_t cut = 0;  // The last length with room for the dots.
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_sequence(text, i);
    const std::string_view character = n == 0 ? kNoUtf8 : text.substr(i, n);
    if (out.size() + kDots.size() <= bytes_max) cut = out.size();
    if (out.size() + character.size() > bytes_max) return out.substr(0, cut).append(kDots);
    out += character;
    i += n == 0 ? 1 : n;
  }
  return out;
}

}  // namespace etcdop
