// Encryption that notices every change: AES-256-GCM. OpenSSL stays inside aead.cc.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

struct evp_cipher_ctx_st;

namespace etcdop {

inline constexpr std::size_t kAeadKeyBytes = 32;
inline constexpr std::size_t kAeadNonceBytes = 12;
inline constexpr std::size_t kAeadTagBytes = 16;

/// HMAC-SHA-256 of the message: 32 bytes. With a random key and a message that nobody uses twice,
/// a key for one purpose (NIST SP 800-108).
Secret derive_key(const Secret& key, std::string_view message);

class Aead {
 public:
  /// Of kAeadKeyBytes bytes.
  explicit Aead(const Secret& key);
  /// Adds ciphertext and tag to `out`. A nonce, of kAeadNonceBytes, may be used once with a key.
  void seal(std::string_view nonce, std::string_view also, std::string_view plain,
            std::string& out);
  /// Adds the plaintext to `out`, or nothing. Corrupt: `sealed` is not what seal() made with this
  /// key, nonce and `also`.
  Result<Done> open(std::string_view nonce, std::string_view also, std::string_view sealed,
                    std::string& out);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st*) const;
  };
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  Secret key_;
};

}  // namespace etcdop
