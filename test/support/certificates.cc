#include "test/support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <utility>

#include "base/check.h"

namespace etcdop::testing {
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

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, Free<BIO_free>> bio(BIO_new(BIO_s_mem()));
  check(write(bio.get()) == 1, "OpenSSL writes PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

void extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  check(extension != nullptr, "a well-formed extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate blank(const std::string& common_name, EVP_PKEY* key, long serial) {
  Certificate made(X509_new());
  X509* c = made.get();
  X509_set_version(c, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(c), serial);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_pubkey(c, key);
  return made;
}

void valid(X509* certificate, const std::string& from, const std::string& to) {
  check(ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), from.c_str()) == 1 &&
            ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), to.c_str()) == 1,
        "dates like 20200101000000Z");
}

void become_authority(X509* certificate, X509* issuer) {
  valid(certificate, "20200101000000Z", "21000101000000Z");
  extend(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE");
  extend(certificate, issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(certificate, issuer, NID_subject_key_identifier, "hash");
}

bool is_address(const std::string& name) {
  ASN1_OCTET_STRING* parsed = a2i_IPADDRESS(name.c_str());
  ASN1_OCTET_STRING_free(parsed);
  return parsed != nullptr;
}

}  // namespace

struct Authority::Signer {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
  long serial = 1;

  void sign(X509* subject) {
    X509_set_issuer_name(subject, X509_get_subject_name(certificate.get()));
    check(X509_sign(subject, key.get(), EVP_sha256()) > 0, "OpenSSL signs");
  }
};

Authority::Authority(const std::string& common_name) : signer_(std::make_unique<Signer>()) {
  signer_->certificate = blank(common_name, signer_->key.get(), 1);
  become_authority(signer_->certificate.get(), signer_->certificate.get());
  signer_->sign(signer_->certificate.get());
  certificate_ = pem_of(signer_->certificate.get());
}

Authority::Authority(std::unique_ptr<Signer> signer)
    : signer_(std::move(signer)), certificate_(pem_of(signer_->certificate.get())) {}
Authority::Authority(Authority&&) noexcept = default;
Authority::~Authority() = default;

Authority Authority::intermediate(const std::string& common_name) {
  auto next = std::make_unique<Signer>();
  next->certificate = blank(common_name, next->key.get(), ++signer_->serial);
  become_authority(next->certificate.get(), signer_->certificate.get());
  signer_->sign(next->certificate.get());
  return Authority(std::move(next));
}

Identity Authority::issue(const Leaf& leaf) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made = blank(leaf.common_name, key.get(), ++signer_->serial);
  X509* const issuer = signer_->certificate.get();
  valid(made.get(), leaf.not_before, leaf.not_after);
  extend(made.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(made.get(), issuer, NID_key_usage, "critical,digitalSignature");
  std::string uses = leaf.server ? "serverAuth" : "";
  if (leaf.client) uses += uses.empty() ? "clientAuth" : ",clientAuth";
  if (!uses.empty()) extend(made.get(), issuer, NID_ext_key_usage, uses);
  std::string names;
  for (const auto& name : leaf.names)
    names += (names.empty() ? "" : ",") + std::string(is_address(name) ? "IP:" : "DNS:") + name;
  if (!names.empty()) extend(made.get(), issuer, NID_subject_alt_name, names);
  signer_->sign(made.get());
  return {pem_of(made.get()), Secret(pem([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }))};
}

}  // namespace etcdop::testing
