// Certificates for tests, made in memory: an authority and what it signs.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"

namespace etcdop::testing {

/// PEM, both.
struct Identity {
  std::string certificate;
  Secret key;
};

/// What to sign. Dates are YYYYMMDDHHMMSSZ, fixed, so that no test looks at the clock.
struct Leaf {
  std::string common_name = "leaf";
  std::vector<std::string> names = {};  ///< Subject alternative names: DNS names and IP addresses.
  bool server = true, client = true;    ///< Extended key usages.
  std::string not_before = "20200101000000Z", not_after = "21000101000000Z";
};

/// A certificate authority with a fresh P-256 key.
class Authority {
 public:
  /// Self-signed.
  explicit Authority(const std::string& common_name = "test authority");
  ~Authority();
  Authority(Authority&&) noexcept;
  /// PEM.
  const std::string& certificate() const { return certificate_; }
  Identity issue(const Leaf&);
  /// An authority signed by this one.
  Authority intermediate(const std::string& common_name);

 private:
  struct Signer;
  explicit Authority(std::unique_ptr<Signer>);
  std::unique_ptr<Signer> signer_;
  std::string certificate_;
};

}  // namespace etcdop::testing
