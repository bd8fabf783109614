#include "sim/store/tags.h"

#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <string>

#include "base/check.h"
#include "base/hex.h"

namespace etcdop::sim {
namespace {

std::string md5_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), sum.data(), &size, EVP_md5(), nullptr) == 1,
        "MD5 is there");
  return hex_of_bytes({reinterpret_cast<const char*>(sum.data()), size});
}

/// The bytes of a tag of one part.
std::string to_bytes(const s3::Tag& tag) {
  std::string out;
  for (std::size_t i = 1; i + 2 < tag.text.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(&tag.text[i], &tag.text[i + 2], byte, 16);
    out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace

s3::Tag tag_of(std::string_view bytes) { return {"\"" + md5_hex(bytes) + "\""}; }

s3::Tag tag_of_parts(const std::vector<s3::Tag>& tags) {
  std::string sums;
  for (const s3::Tag& tag : tags) sums += to_bytes(tag);
  return {"\"" + md5_hex(sums) + "-" + std::to_string(tags.size()) + "\""};
}

}  // namespace etcdop::sim
