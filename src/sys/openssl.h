// Shared by the files of this folder that use OpenSSL.
#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "base/check.h"
#include "base/result.h"
#include "base/secret.h"

namespace etcdop::openssl {

template <auto F>
struct Free {
  template <class T>
  void operator()(T* p) const {
    F(p);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free>>;
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

/// Limit of a chain or a trust store; Debian's store has about 140.
inline constexpr int kCertificatesMax = 4096;

/// The oldest reason on OpenSSL's queue; clears the queue. A stale entry would spoil the next
/// SSL_get_error of any fiber.
inline std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* text = ERR_reason_error_string(code);
  return text ? text : "error " + std::to_string(code);
}

inline Bio reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// Calls `use` with each certificate of `pem` and its position; `use` returns false to refuse it.
/// Invalid: says what is wrong, but not in which text.
template <class Use>
Result<Done> each_certificate(const std::string& pem, Use use) {
  const Bio bio = reader(pem);
  int count = 0;
  for (; count < kCertificatesMax; ++count) {
    ERR_clear_error();
    const Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) {
      const bool end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      const std::string why = reason();
      if (end) break;
      return Error{Code::Invalid, "certificate " + std::to_string(count + 1) + ": " + why};
    }
    if (!use(certificate.get(), count)) return Error{Code::Invalid, reason()};
  }
  if (count == 0) return Error{Code::Invalid, "no PEM certificate in it"};
  return Done{};
}

/// Null: not an unencrypted PEM key; reason() tells why.
inline Key read_key(const Secret& pem) {
  const auto no_password = [](char*, int, int, void*) { return -1; };  // Or it asks the terminal.
  return Key(PEM_read_bio_PrivateKey(reader(pem.reveal()).get(), nullptr, no_password, nullptr));
}

}  // namespace etcdop::openssl
