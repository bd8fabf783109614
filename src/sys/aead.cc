#include "sys/aead.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"

namespace etcdop {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text, std::size_t from) {
  return reinterpret_cast<unsigned char*>(text.data() + from);
}
int size_of(std::string_view text) { return static_cast<int>(text.size()); }

}  // namespace

Secret derive_key(const Secret& key, std::string_view message) {
  std::string out(kAeadKeyBytes, 0);
  unsigned size = 0;
  const std::string& bytes = key.reveal();
  HMAC(EVP_sha256(), bytes.data(), size_of(bytes), bytes_of(message), message.size(),
       bytes_of(out, 0), &size);
  check(size == out.size(), "OpenSSL has HMAC-SHA-256");
  return Secret(std::move(out));
}

void Aead::Free::operator()(evp_cipher_ctx_st* context) const { EVP_CIPHER_CTX_free(context); }

Aead::Aead(const Secret& key) : context_(EVP_CIPHER_CTX_new()), key_(key) {
  check(key.reveal().size() == kAeadKeyBytes, "a key of AES-256 has 32 bytes");
}

void Aead::seal(std::string_view nonce, std::string_view also, std::string_view plain,
                std::string& out) {
  check(nonce.size() == kAeadNonceBytes, "a nonce of GCM has 12 bytes");
  auto* const context = context_.get();
  const std::size_t at = out.size();
  out.resize(at + plain.size() + kAeadTagBytes);
  int done = 0, last = 0;
  const bool sealed =
      EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nullptr, bytes_of(key_.reveal()),
                         bytes_of(nonce)) == 1 &&
      EVP_EncryptUpdate(context, nullptr, &done, bytes_of(also), size_of(also)) == 1 &&
      EVP_EncryptUpdate(context, bytes_of(out, at), &done, bytes_of(plain), size_of(plain)) == 1 &&
      EVP_EncryptFinal_ex(context, bytes_of(out, at + plain.size()), &last) == 1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, kAeadTagBytes,
                          bytes_of(out, at + plain.size())) == 1;
  check(sealed && last == 0, "OpenSSL has AES-256-GCM");
}

Result<Done> Aead::open(std::string_view nonce, std::string_view also, std::string_view sealed,
                        std::string& out) {
  check(nonce.size() == kAeadNonceBytes, "a nonce of GCM has 12 bytes");
  const Error changed{Code::Corrupt, "it is not what was sealed with this key"};
  if (sealed.size() < kAeadTagBytes) return changed;
  const std::string_view body = sealed.substr(0, sealed.size() - kAeadTagBytes);
  std::string tag(sealed.substr(body.size()));
  auto* const context = context_.get();
  const std::size_t at = out.size();
  out.resize(sealed.size() + at);  // OpenSSL's maximum; the tag's bytes are cut off later.
  int done = 0, last = 0;
  const bool opened =
      EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nullptr, bytes_of(key_.reveal()),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context, nullptr, &done, bytes_of(also), size_of(also)) == 1 &&
      EVP_DecryptUpdate(context, bytes_of(out, at), &done, bytes_of(body), size_of(body)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, kAeadTagBytes, bytes_of(tag, 0)) == 1 &&
      EVP_DecryptFinal_ex(context, bytes_of(out, at + body.size()), &last) == 1;
  out.resize(opened ? at + body.size() : at);
  ERR_clear_error();
  if (!opened) return changed;
  return Done{};
}

}  // namespace etcdop
