// Certificates: what one says, what is wrong with one, and making one. OpenSSL stays inside
// x509.cc.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/wall_time.h"

namespace etcdop {

/// By how much the clocks of a cluster's machines are apart, at most: who is behind refuses a
/// certificate that begins now.
inline constexpr std::chrono::hours kClocksDiffer{1};

/// A certificate and its key. PEM, both.
struct Identity {
  std::string certificate;  ///< Leaf first, then intermediates.
  Secret key;               ///< Of the leaf, not encrypted.
};

/// What a certificate says.
struct CertificateFacts {
  std::string common_name;
  std::string serial;  ///< Hex digits.
  WallTime from, until;
  std::vector<std::string> names;  ///< Alternative names: DNS names and IP addresses.
  bool operator==(const CertificateFacts&) const = default;
};

/// Of the first certificate in `pem`. Invalid: there is none.
Result<CertificateFacts> read_certificate(const std::string& pem);

/// Hex digits that are equal for the same certificates, in whatever order; empty if `pem` has none.
std::string fingerprint_of(const std::string& pem);

/// What a certificate is to be good for.
struct Purpose {
  bool server = false, client = false;
};

/// What is wrong with a certificate, as its user etcd sees it: Go's rules, and no keys or
/// signatures that are known to be weak. Its names are not looked at. In words that begin with the
/// key of the Secret (tls.crt, tls.key, ca.crt), which tell nothing of the key; empty: nothing.
/// `ca`: one of these certificates must have signed it; empty: whoever did.
std::vector<std::string> faults_of(const Identity&, const std::string& ca, const Purpose&,
                                   WallTime now);

/// A certificate to be made.
struct CertificateRequest {
  std::string common_name;              ///< Cut after 64 bytes.
  std::vector<std::string> names = {};  ///< DNS names and IP addresses.
  bool authority = false;               ///< It may sign others. Those have no other use.
  bool server = false, client = false;
  WallTime from, until;
};

/// With a new P-256 key and a random serial number. `by` signs it; null: itself. Invalid: `by` is
/// not a certificate with its key.
Result<Identity> issue(const CertificateRequest&, const Identity* by = nullptr);

}  // namespace etcdop
