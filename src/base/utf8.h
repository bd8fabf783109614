// Text that may come from anywhere, made fit for JSON.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace etcdop {

/// Stands for a byte that is no UTF-8: U+FFFD.
inline constexpr std::string_view kNoUtf8 = "\xEF\xBF\xBD";

/// How long a well-formed UTF-8 sequence is at `at`; 0 if there is none.
std::size_t utf8_sequence(std::string_view text, std::size_t at);

/// With each byte that is in no such sequence replaced.
std::string as_utf8(std::string_view text);

}  // namespace etcdop
