// TLS with a certificate that the process makes for itself, in memory. It encrypts the connection
// so that the caller can authenticate; it does not prove the server's identity.
#pragma once
#include <memory>
#include <string>

#include "base/wall_time.h"
#include "sys/tls.h"
#include "sys/x509.h"

namespace etcdop {

/// A new key and its certificate, for the server `name` (a DNS name) from `from` until `until`. A
/// client that wants to verify it must trust this certificate itself.
Identity self_sign(const std::string& name, WallTime from, WallTime until);

/// The server side of TLS with a self-signed certificate. It is valid for a year and replaced 30
/// days before that ends. The key never leaves the process.
class SelfSignedServer {
 public:
  static constexpr std::chrono::days kValid{365}, kRenewBefore{30};

  /// The clock outlives this.
  SelfSignedServer(const WallClock& clock, std::string name);
  /// As TlsServer::over. Several handshakes may run at the same time.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below);
  /// PEM of the current certificate.
  const std::string& certificate();

 private:
  void renew_if_due();

  const WallClock& clock_;
  const std::string name_;
  WallTime from_, until_;
  std::string certificate_;
  std::shared_ptr<const TlsServer> server_;  // Shared with running handshakes.
};

}  // namespace etcdop
