// Bytes as pairs of hex digits.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace etcdop {

/// In lower case.
std::string hex_of_bytes(std::string_view bytes);

/// nullopt unless `text` is only pairs of hex digits, in either case; "" is "".
std::optional<std::string> bytes_of_hex(std::string_view text);

}  // namespace etcdop
