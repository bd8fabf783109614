#include "sys/digest.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/hex.h"

namespace etcdop {

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(Kind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* const method = kind == Kind::Sha256 ? EVP_sha256() : EVP_md5();
  check(EVP_DigestInit_ex(context_.get(), method, nullptr) == 1, "OpenSSL has this sum");
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::bytes() {
  std::string sum(EVP_MAX_MD_SIZE, 0);
  unsigned size = 0;
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(sum.data()), &size);
  sum.resize(size);
  return sum;
}

std::string Digest::hex() { return hex_of_bytes(bytes()); }

}  // namespace etcdop
