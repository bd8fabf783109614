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

/// Replaces each byte that is not part of a well-formed sequence.
std::string as_utf8(std::string_view text);

}  // namespace etcdop
