// Encryption that detects every change: AES-256-GCM. OpenSSL stays inside aead.cc.
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

/// HMAC-SHA-256 of the message: 32 bytes. With a random key and a message that is never used twice,
/// the result is a key for one purpose (NIST SP 800-108).
Secret derive_key(const Secret& key, std::string_view message);

class Aead {
 public:
  /// `key` has kAeadKeyBytes bytes.
  explicit Aead(const Secret& key);
  /// Appends ciphertext and tag to `out`. A nonce has kAeadNonceBytes bytes; use it only once with
  /// a key.
  void seal(std::string_view nonce, std::string_view also, std::string_view plain,
            std::string& out);
  /// Appends the plaintext to `out`, or nothing. Corrupt: `sealed` was not made by seal() with this
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
