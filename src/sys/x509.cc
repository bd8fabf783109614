#include "sys/x509.h"

#include <arpa/inet.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>

#include "base/hex.h"
#include "base/utf8.h"
#include "sys/openssl.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using openssl::Certificate;
using openssl::Free;
using openssl::Key;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;

constexpr int kRsaBitsMin = 2048;
constexpr std::size_t kFingerprintBytes = 16;  // Enough to distinguish certificates.
constexpr std::size_t kCommonNameMax = 64;     // RFC 5280, ub-common-name.

WallTime date(const ASN1_TIME* t) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(t, &parts) != 1) return {};
  return {std::chrono::seconds(timegm(&parts))};
}

std::string text(const ASN1_STRING* s) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(s)),
          static_cast<std::size_t>(ASN1_STRING_length(s))};
}

std::string common_name(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  return at < 0 ? "" : as_utf8(text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
}

std::string serial(const X509* c) { return hex_of_bytes(text(X509_get0_serialNumber(c))); }

std::string digest(const X509* c) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  check(X509_digest(c, EVP_sha256(), bytes.data(), &size) == 1, "OpenSSL has SHA-256");
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

/// "10.0.0.1", "fd00::1"; empty if the bytes are not an address.
std::string address(const ASN1_OCTET_STRING* bytes) {
  const std::string raw = text(bytes);
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (raw.size() == 4) inet_ntop(AF_INET, raw.data(), out.data(), out.size());
  if (raw.size() == 16) inet_ntop(AF_INET6, raw.data(), out.data(), out.size());
  return out.data();
}

std::vector<std::string> names(const X509* c) {
  const Names all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(c, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> out;
  for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* one = sk_GENERAL_NAME_value(all.get(), i);
    if (one->type == GEN_DNS) out.push_back(as_utf8(text(one->d.dNSName)));
    if (one->type == GEN_IPADD) out.push_back(address(one->d.iPAddress));
  }
  return out;
}

CertificateFacts facts(const X509* c) {
  return {common_name(X509_get_subject_name(c)), serial(c), date(X509_get0_notBefore(c)),
          date(X509_get0_notAfter(c)), names(c)};
}

using Chain = std::vector<Certificate>;

Result<Chain> read_chain(const char* file, const std::string& pem) {
  Chain out;
  auto read = openssl::each_certificate(pem, [&](X509* c, int) {
    X509_up_ref(c);
    out.emplace_back(c);
    return true;
  });
  if (!read) return Error{Code::Invalid, std::string(file) + ": " + read.error().message};
  return out;
}

/// Why a key of this kind is too weak, or is refused by Go's TLS; empty: it is fine.
std::string weakness(EVP_PKEY* key) {
  if (!key) return "has a key of an unknown type";
  const int bits = EVP_PKEY_get_bits(key);
  switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      if (bits >= kRsaBitsMin) return "";
      return "has an RSA key of " + std::to_string(bits) + " bits; it needs " +
             std::to_string(kRsaBitsMin);
    case EVP_PKEY_EC: {
      std::array<char, 40> curve{};
      EVP_PKEY_get_group_name(key, curve.data(), curve.size(), nullptr);
      const std::string name = curve.data();
      if (name == "prime256v1" || name == "secp384r1" || name == "secp521r1") return "";
      return "has a key on the curve " + name + "; etcd takes P-256, P-384 and P-521";
    }
    case EVP_PKEY_ED25519: return "";
    default: return "has a key that is none of RSA, ECDSA and Ed25519";
  }
}

/// Go accepts no signature over MD5 or SHA-1.
std::string weak_signature(const X509* c) {
  const int digest = [&] {
    int nid = NID_undef;
    X509_get_signature_info(const_cast<X509*>(c), &nid, nullptr, nullptr, nullptr);
    return nid;
  }();
  if (digest != NID_md5 && digest != NID_sha1) return "";
  return std::string("is signed over ") + OBJ_nid2sn(digest) + ", which can be forged";
}

std::string out_of_date(const X509* c, WallTime now) {
  const WallTime from = date(X509_get0_notBefore(c)), until = date(X509_get0_notAfter(c));
  if (now < from) return "is not valid before " + to_rfc3339(from);
  if (until < now) return "expired on " + to_rfc3339(until);
  return "";
}

/// A certificate without this extension is good for every use.
bool may_be(const X509* c, std::uint32_t usage) {
  X509* const certificate = const_cast<X509*>(c);  // OpenSSL caches what it has parsed.
  if ((X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE) == 0) return true;
  return (X509_get_extended_key_usage(certificate) & (usage | XKU_ANYEKU)) != 0;
}

/// Why verification of a chain failed, in words that begin with the file.
std::string told_of(X509_STORE_CTX* context, const Chain& trusted) {
  const int error = X509_STORE_CTX_get_error(context);
  const bool expired = error == X509_V_ERR_CERT_HAS_EXPIRED;
  if (!expired && error != X509_V_ERR_CERT_NOT_YET_VALID)
    return std::string("ca.crt has not signed tls.crt: ") + X509_verify_cert_error_string(error);
  const X509* const at_fault = X509_STORE_CTX_get_current_cert(context);
  const bool is_trusted = std::ranges::any_of(
      trusted, [&](const Certificate& c) { return X509_cmp(c.get(), at_fault) == 0; });
  return (is_trusted ? "ca.crt " : "tls.crt has an intermediate that ") +
         (expired ? "expired on " + to_rfc3339(date(X509_get0_notAfter(at_fault)))
                  : "is not valid before " + to_rfc3339(date(X509_get0_notBefore(at_fault))));
}

/// Why a client that trusts `trusted` rejects the chain, in words that begin with the file. The
/// leaf's own dates are ignored.
std::string not_signed(const Chain& chain, const Chain& trusted, WallTime now) {
  const X509* const leaf = chain.front().get();
  const WallTime last = date(X509_get0_notAfter(leaf)) + -1s;  // To OpenSSL, the end is past.
  const WallTime at = std::max(date(X509_get0_notBefore(leaf)), std::min(now, last));
  const std::unique_ptr<X509_STORE, Free<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Free<X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
  const auto between = [](STACK_OF(X509) * s) { sk_X509_free(s); };
  const std::unique_ptr<STACK_OF(X509), decltype(between)> others(sk_X509_new_null(), between);
  check(store && context && others, "OpenSSL has memory");
  // As in Go, a trusted certificate need not be self-signed.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  for (const Certificate& c : trusted) X509_STORE_add_cert(store.get(), c.get());
  for (const Certificate& c : chain)
    if (c != chain.front()) sk_X509_push(others.get(), c.get());
  check(X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), others.get()) == 1,
        "OpenSSL has memory");
  X509_STORE_CTX_set_time(context.get(), 0, at.since_epoch.count());
  if (X509_verify_cert(context.get()) == 1) return "";
  ERR_clear_error();
  return told_of(context.get(), trusted);
}

std::string fingerprint(const Chain& chain) {
  std::set<std::string> digests;
  for (const Certificate& c : chain) digests.insert(digest(c.get()));
  std::string all;
  for (const std::string& one : digests) all += one;
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  check(EVP_Digest(all.data(), all.size(), bytes.data(), &size, EVP_sha256(), nullptr) == 1,
        "OpenSSL has SHA-256");
  return hex_of_bytes({reinterpret_cast<const char*>(bytes.data()), kFingerprintBytes});
}

/// The next time at which one of these certificates begins or ends.
WallTime next_date(const Chain* chain, const Chain* trusted, WallTime now) {
  WallTime next{std::chrono::seconds::max()};
  for (const Chain* certificates : {chain, trusted}) {
    if (!certificates) continue;
    for (const Certificate& c : *certificates) {
      const WallTime until = date(X509_get0_notAfter(c.get()));
      // The last second is valid for us, and past for OpenSSL.
      for (const WallTime at : {date(X509_get0_notBefore(c.get())), until, until + 1s})
        if (now < at) next = std::min(next, at);
    }
  }
  return next;
}

}  // namespace

Result<CertificateFacts> read_certificate(const std::string& pem) {
  auto chain = read_chain("certificate", pem);
  if (!chain) return chain.error();
  return facts(chain->front().get());
}

std::string fingerprint_of(const std::string& pem) {
  auto chain = read_chain("certificate", pem);
  return chain ? fingerprint(*chain) : "";
}

Judgement judge(const Identity& identity, const std::string& ca, const Purpose& purpose,
                WallTime now) {
  Judgement out;
  const auto fault = [&](const char* file, const std::string& why) {
    if (!why.empty()) out.faults.push_back(std::string(file) + " " + why);
  };
  auto chain = read_chain("tls.crt", identity.certificate);
  if (!chain) out.faults.push_back(chain.error().message);
  const Key key = openssl::read_key(identity.key);
  if (!key) out.faults.emplace_back("tls.key: no unencrypted PEM key in it");
  ERR_clear_error();
  auto trusted = ca.empty() ? Result<Chain>(Chain{}) : read_chain("ca.crt", ca);
  if (!trusted) out.faults.push_back(trusted.error().message);
  else if (!trusted->empty()) out.authority = fingerprint(*trusted);
  out.authorities = trusted ? trusted->size() : 0;
  out.until = next_date(chain ? &*chain : nullptr, trusted ? &*trusted : nullptr, now);
  if (!chain) return out;
  X509* const leaf = chain->front().get();
  out.leaf = facts(leaf);
  if (key && X509_check_private_key(leaf, key.get()) != 1)
    fault("tls.key", "is the key of another certificate than tls.crt");
  ERR_clear_error();
  fault("tls.crt", out_of_date(leaf, now));
  fault("tls.crt", weakness(X509_get0_pubkey(leaf)));
  fault("tls.crt", weak_signature(leaf));
  if (purpose.server && !may_be(leaf, XKU_SSL_SERVER))
    fault("tls.crt", "lacks the extended key usage \"server auth\"");
  if (purpose.client && !may_be(leaf, XKU_SSL_CLIENT))
    fault("tls.crt", "lacks the extended key usage \"client auth\"");
  if (ca.empty() || !trusted) return out;
  if (std::string why = not_signed(*chain, *trusted, now); !why.empty())
    out.faults.push_back(std::move(why));
  return out;
}

std::vector<std::string> faults_of(const Identity& identity, const std::string& ca,
                                   const Purpose& purpose, WallTime now) {
  return judge(identity, ca, purpose, now).faults;
}

namespace {

template <class Write>
std::string pem(Write write) {
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  check(bio && write(bio.get()) == 1, "OpenSSL writes PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

/// `value` is ours, never outside data: OpenSSL parses it as a line of its configuration.
void extend(X509* c, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, c, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  check(extension && X509_add_ext(c, extension.get(), -1) == 1, "a well-formed extension");
}

/// Clients that store exceptions store them by issuer and serial number, so each certificate gets
/// its own number.
void number(X509* c) {
  std::array<unsigned char, sizeof(std::uint64_t)> bytes{};
  check(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "OpenSSL is seeded");
  std::uint64_t serial = 0;
  std::memcpy(&serial, bytes.data(), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(c), serial >> 1 | 1);
}

void name_all(X509* c, const std::vector<std::string>& names) {
  const Names all(sk_GENERAL_NAME_new_null());
  for (const std::string& name : names) {
    GENERAL_NAME* const one = GENERAL_NAME_new();
    if (ASN1_OCTET_STRING* ip = a2i_IPADDRESS(name.c_str())) {
      GENERAL_NAME_set0_value(one, GEN_IPADD, ip);
    } else {
      ASN1_IA5STRING* dns = ASN1_IA5STRING_new();
      ASN1_STRING_set(dns, name.data(), static_cast<int>(name.size()));
      GENERAL_NAME_set0_value(one, GEN_DNS, dns);
    }
    sk_GENERAL_NAME_push(all.get(), one);
  }
  ERR_clear_error();  // A name that is not an address has left an error.
  check(X509_add1_ext_i2d(c, NID_subject_alt_name, all.get(), 0, 0) == 1, "OpenSSL has memory");
}

/// A user's authority may lack the identifier. OpenSSL's configuration ("keyid") reads it from the
/// extension, which may be broken.
void refer_to(X509* issuer, X509* c) {
  const ASN1_OCTET_STRING* const its = X509_get0_subject_key_id(issuer);
  if (!its) return;
  const std::unique_ptr<AUTHORITY_KEYID, Free<AUTHORITY_KEYID_free>> id(AUTHORITY_KEYID_new());
  check(id && (id->keyid = ASN1_OCTET_STRING_dup(its)) &&
            X509_add1_ext_i2d(c, NID_authority_key_identifier, id.get(), 0, 0) == 1,
        "OpenSSL has memory");
}

const char* usages(const CertificateRequest& wanted) {
  if (wanted.server && wanted.client) return "serverAuth,clientAuth";
  return wanted.server ? "serverAuth" : "clientAuth";
}

/// Go needs the key identifiers to tell two authorities of the same name apart.
void describe(X509* c, X509* issuer, const CertificateRequest& wanted) {
  extend(c, issuer, NID_basic_constraints,
         wanted.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(c, issuer, NID_key_usage,
         wanted.authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature");
  extend(c, issuer, NID_subject_key_identifier, "hash");
  if (issuer != c) refer_to(issuer, c);
  if (wanted.server || wanted.client) extend(c, issuer, NID_ext_key_usage, usages(wanted));
  if (!wanted.names.empty()) name_all(c, wanted.names);
}

}  // namespace

Result<Identity> issue(const CertificateRequest& wanted, const Identity* by) {
  auto chain = by ? read_chain("certificate", by->certificate) : Result<Chain>(Chain{});
  if (!chain) return chain.error();
  const Key signer = by ? openssl::read_key(by->key) : nullptr;
  if (by && (!signer || X509_check_private_key(chain->front().get(), signer.get()) != 1)) {
    ERR_clear_error();
    return Error{Code::Invalid, "key: not that of the certificate, or not an unencrypted PEM key"};
  }
  const Key key(EVP_EC_gen("P-256"));
  const Certificate made(X509_new());
  check(key && made, "OpenSSL has memory");
  X509* const c = made.get();
  X509* const issuer = by ? chain->front().get() : c;
  X509_set_version(c, X509_VERSION_3);
  number(c);
  const std::string name = wanted.common_name.substr(0, kCommonNameMax);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(c), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()),
                             static_cast<int>(name.size()), -1, 0);
  X509_set_issuer_name(c, X509_get_subject_name(issuer));
  check(ASN1_TIME_set(X509_getm_notBefore(c), wanted.from.since_epoch.count()) != nullptr &&
            ASN1_TIME_set(X509_getm_notAfter(c), wanted.until.since_epoch.count()) != nullptr,
        "dates that a certificate can have");
  X509_set_pubkey(c, key.get());
  describe(c, issuer, wanted);
  EVP_PKEY* const with = by ? signer.get() : key.get();
  const int kind = EVP_PKEY_get_base_id(with);
  const bool hashes_itself = kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448;
  if (X509_sign(c, with, hashes_itself ? nullptr : EVP_sha256()) <= 0) {
    ERR_clear_error();
    return Error{Code::Invalid, "key: of a kind that cannot sign certificates"};
  }
  return Identity{
      pem([&](BIO* bio) { return PEM_write_bio_X509(bio, c); }), Secret(pem([&](BIO* bio) {
        return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      }))};
}

}  // namespace etcdop
