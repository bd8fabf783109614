// Bytes as pairs of hex digits.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace etcdop {

/// In lower case.
std::string hex_of_bytes(std::string_view bytes);

/// nullopt: not pairs of hex digits, of either case, alone; "" is "".
std::optional<std::string> bytes_of_hex(std::string_view text);

}  // namespace etcdop
