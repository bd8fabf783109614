#include "sys/self_signed.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace etcdop {
namespace {

template <auto F>
struct Free {
  template <class T>
  void operator()(T* p) const {
    F(p);
  }
};
using Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;

constexpr std::chrono::hours kClocksDiffer{1};

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, Free<BIO_free>> bio(BIO_new(BIO_s_mem()));
  check(bio && write(bio.get()) == 1, "OpenSSL writes PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  check(extension && X509_add_ext(certificate, extension.get(), -1) == 1,
        "a well-formed extension");
}

/// Clients that keep exceptions keep them by issuer and serial number: each has one of its own.
void number(X509* certificate) {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  check(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "OpenSSL is seeded");
  std::uint64_t serial = 0;
  std::memcpy(&serial, bytes.data(), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1);
}

}  // namespace

SelfSigned self_sign(const std::string& name, WallTime from, WallTime until) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  check(key && made, "OpenSSL has memory");
  X509* const c = made.get();
  X509_set_version(c, X509_VERSION_3);
  number(c);
  X509_NAME* const subject = X509_get_subject_name(c);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(c, subject);
  check(ASN1_TIME_set(X509_getm_notBefore(c), from.since_epoch.count()) != nullptr &&
            ASN1_TIME_set(X509_getm_notAfter(c), until.since_epoch.count()) != nullptr,
        "dates that a certificate can have");
  X509_set_pubkey(c, key.get());
  extend(c, NID_basic_constraints, "critical,CA:FALSE");
  extend(c, NID_key_usage, "critical,digitalSignature");
  extend(c, NID_ext_key_usage, "serverAuth");
  extend(c, NID_subject_alt_name, "DNS:" + name);
  check(X509_sign(c, key.get(), EVP_sha256()) > 0, "OpenSSL signs");
  return {pem([&](BIO* bio) { return PEM_write_bio_X509(bio, c); }), Secret(pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }))};
}

SelfSignedServer::SelfSignedServer(const WallClock& clock, std::string name)
    : clock_(clock), name_(std::move(name)) {}

Result<std::unique_ptr<Stream>> SelfSignedServer::over(std::unique_ptr<Stream> below) {
  renew_if_due();
  const auto server = server_;
  return server->over(std::move(below));
}

const std::string& SelfSignedServer::certificate() {
  renew_if_due();
  return certificate_;
}

void SelfSignedServer::renew_if_due() {
  const WallTime now = clock_.wall_now();
  // A date before its beginning: the clock was set back.
  if (server_ && from_ <= now && now < until_ + -kRenewBefore) return;
  from_ = now + -kClocksDiffer;
  until_ = now + kValid;
  const SelfSigned made = self_sign(name_, from_, until_);
  auto server = TlsServer::load({made.certificate, made.key, {}, {}});
  check(bool(server), "OpenSSL reads what it has written");
  certificate_ = made.certificate;
  server_ = std::make_shared<const TlsServer>(std::move(*server));
}

}  // namespace etcdop
