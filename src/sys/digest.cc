#include "sys/digest.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/hex.h"

namespace etcdop {
namespace {

std::string final_of(evp_md_ctx_st* context) {
  std::string sum(EVP_MAX_MD_SIZE, 0);
  unsigned size = 0;
  EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(sum.data()), &size);
  sum.resize(size);
  return sum;
}

}  // namespace

void Digest::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Digest::Digest(Kind kind) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* const method = kind == Kind::Sha256 ? EVP_sha256() : EVP_md5();
  check(EVP_DigestInit_ex(context_.get(), method, nullptr) == 1, "OpenSSL has this sum");
}

void Digest::add(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Digest::bytes() { return final_of(context_.get()); }

std::string Digest::bytes_so_far() const {
  const std::unique_ptr<evp_md_ctx_st, Free> copy(EVP_MD_CTX_new());
  check(EVP_MD_CTX_copy_ex(copy.get(), context_.get()) == 1, "OpenSSL copies this sum");
  return final_of(copy.get());
}

std::string Digest::hex() { return hex_of_bytes(bytes()); }

}  // namespace etcdop
