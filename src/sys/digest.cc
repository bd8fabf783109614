#include "sys/digest.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace etcdop {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(Kind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* const method = kind == Kind::Sha256 ? EVP_sha256() : EVP_md5();
  check(EVP_DigestInit_ex(context_.get(), method, nullptr) == 1, "OpenSSL has this sum");
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), sum.data(), &size);
  std::string out;
  for (unsigned i = 0; i < size; ++i) {
    out += "0123456789abcdef"[sum.at(i) >> 4];
    out += "0123456789abcdef"[sum.at(i) & 15];
  }
  return out;
}

}  // namespace etcdop
