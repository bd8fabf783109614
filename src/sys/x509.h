// Certificates: read, check and issue them. OpenSSL stays inside x509.cc.
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/wall_time.h"

namespace etcdop {

/// Maximum clock difference between machines of a cluster. A machine whose clock is behind refuses
/// a certificate that begins now.
inline constexpr std::chrono::hours kClocksDiffer{1};

/// A certificate and its key, both PEM.
struct Identity {
  std::string certificate;  ///< Leaf first, then intermediates.
  Secret key;               ///< Key of the leaf, not encrypted.
};

/// Contents of a certificate.
struct CertificateFacts {
  std::string common_name;
  std::string serial;  ///< Hex digits.
  WallTime from, until;
  std::vector<std::string> names;  ///< Alternative names: DNS names and IP addresses.
  bool operator==(const CertificateFacts&) const = default;
};

/// Facts of the first certificate in `pem`. Invalid: no certificate in it.
Result<CertificateFacts> read_certificate(const std::string& pem);

/// Hex digits that are equal for the same certificates in any order; empty if `pem` has none.
std::string fingerprint_of(const std::string& pem);

/// The required uses of a certificate.
struct Purpose {
  bool server = false, client = false;
};

/// The result of judging a certificate and the CA certificates beside it.
struct Judgement {
  /// As etcd sees it: by Go's rules, and keys or signatures that are known to be weak. Names are
  /// not checked. Each text begins with the key of the Secret (tls.crt, tls.key, ca.crt) and
  /// reveals nothing of the private key.
  std::vector<std::string> faults;
  std::optional<CertificateFacts> leaf;
  std::string authority;        ///< fingerprint_of() the CA certificates.
  std::size_t authorities = 0;  ///< Their number.
  WallTime until;               ///< The faults are the same before this time.
};

/// `ca`: one of these certificates must have signed it; empty: any signer. Takes up to half a
/// second for a Secret's largest bundle.
Judgement judge(const Identity&, const std::string& ca, const Purpose&, WallTime now);

/// The faults alone; empty: none.
std::vector<std::string> faults_of(const Identity&, const std::string& ca, const Purpose&,
                                   WallTime now);

/// A certificate to issue.
struct CertificateRequest {
  std::string common_name;              ///< Cut after 64 bytes.
  std::vector<std::string> names = {};  ///< DNS names and IP addresses.
  bool authority = false;  ///< It may sign others; such a certificate has no other use.
  bool server = false, client = false;
  WallTime from, until;
};

/// Issues a certificate with a new P-256 key and a random serial number. `by` signs it; null:
/// self-signed. Invalid: `by` is not a certificate with its key.
Result<Identity> issue(const CertificateRequest&, const Identity* by = nullptr);

}  // namespace etcdop
