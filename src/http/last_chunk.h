#pragma once
#include <cstddef>
namespace etcdop::http {
/// Bytes of "0\r\n\r\n", the least that a message in chunks has yet to say when its next chunk is
/// not whole. Beast's parser asserts them when it goes on with a last chunk (basic_parser.ipp of
/// Boost 1.81), so it is not asked before they are there: one byte of anybody would end us.
inline constexpr std::size_t kLastChunkBytes = 5;
}  // namespace etcdop::http
