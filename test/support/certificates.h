// Certificates for tests, made in memory: a CA and its leaves.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sys/x509.h"

namespace etcdop::testing {

/// The contents of a certificate. Dates are fixed, so that no test depends on the clock.
struct Leaf {
  std::string common_name = "leaf";
  std::vector<std::string> names = {};  ///< Subject alternative names: DNS names and IP addresses.
  bool server = true, client = true;    ///< Extended key usages.
  std::string not_before = "2020-01-01T00:00:00Z", not_after = "2100-01-01T00:00:00Z";
};

/// A certificate authority with a fresh key.
class Authority {
 public:
  /// Self-signed.
  explicit Authority(const std::string& common_name = "test authority")
      : Authority(sign({.common_name = common_name}, nullptr, true)) {}
  /// PEM.
  const std::string& certificate() const { return identity_.certificate; }
  Identity issue(const Leaf& leaf) const { return sign(leaf, &identity_, false); }
  /// A CA signed by this one.
  Authority intermediate(const std::string& common_name) const {
    return Authority(sign({.common_name = common_name}, &identity_, true));
  }

 private:
  explicit Authority(Identity identity) : identity_(std::move(identity)) {}
  static Identity sign(const Leaf& leaf, const Identity* by, bool authority) {
    return *etcdop::issue(
        {leaf.common_name, leaf.names, authority, leaf.server && !authority,
         leaf.client && !authority, *from_rfc3339(leaf.not_before), *from_rfc3339(leaf.not_after)},
        by);
  }
  Identity identity_;
};

}  // namespace etcdop::testing
