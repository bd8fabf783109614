// Makes text from any source fit for JSON.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace etcdop {

/// Stands for a byte that is not UTF-8: U+FFFD.
inline constexpr std::string_view kNoUtf8 = "\xEF\xBF\xBD";

/// Length of the well-formed UTF-8 sequence at `at`; 0 without one.
std::size_t utf8_sequence(std::string_view text, std::size_t at);

/// True if all of it is well-formed.
bool is_utf8(std::string_view text);

/// Replaces each byte that is not part of a well-formed sequence.
std::string as_utf8(std::string_view text);

/// as_utf8(text), or as many of its first characters as fit into `bytes_max` bytes with "..." at
/// the end. `bytes_max` is at least 3.
std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace etcdop
