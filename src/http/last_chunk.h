#pragma once
#include <cstddef>
namespace etcdop::http {
/// Bytes of "0\r\n\r\n": the minimum that remains of a chunked message when its next chunk is
/// incomplete. Beast's parser asserts that these bytes are present when it continues with a last
/// chunk (basic_parser.ipp of Boost 1.81). So we call it only once they have arrived: otherwise one
/// byte from any peer would end our process.
inline constexpr std::size_t kLastChunkBytes = 5;
}  // namespace etcdop::http
