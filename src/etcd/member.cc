#include "etcd/member.h"

#include <charconv>

namespace etcdop::etcd {

std::string to_hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t at = text.size(); value != 0; value >>= 4) text[--at] = kDigits[value & 0xF];
  return text;
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (text.size() > 16 || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace etcdop::etcd
