#include "sim/etcd/ids.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace etcdop::sim {
namespace {

/// The first eight bytes, the most significant first.
std::uint64_t digest(const std::string& bytes) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> hash{};
  SHA1(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), hash.data());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) value = value << 8 | hash[i];
  return value;
}

std::string joined(std::vector<std::string> urls) {
  std::ranges::sort(urls);
  std::string text;
  for (const std::string& url : urls) text += url;
  return text;
}

}  // namespace

etcd::MemberId founding_id(std::vector<std::string> peer_urls, const std::string& token) {
  return {digest(joined(std::move(peer_urls)) + token)};
}

etcd::MemberId added_id(std::vector<std::string> peer_urls, WallTime now) {
  return {digest(joined(std::move(peer_urls)) + std::to_string(now.since_epoch.count()))};
}

etcd::ClusterId cluster_id(const std::set<etcd::MemberId>& founders) {
  std::string bytes;
  for (const etcd::MemberId id : founders)
    for (int shift = 56; shift >= 0; shift -= 8)
      bytes += static_cast<char>(id.value >> shift & 0xFF);
  return {digest(bytes)};
}

}  // namespace etcdop::sim
