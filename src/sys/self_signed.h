// TLS with a certificate that the process makes for itself, in memory: what is said on the line is
// hidden, and the caller proves who they are; who answers is not proven.
#pragma once
#include <memory>
#include <string>

#include "base/wall_time.h"
#include "sys/tls.h"
#include "sys/x509.h"

namespace etcdop {

/// A new key and its certificate, for the server `name` (a DNS name) from `from` until `until`.
/// Whoever wants to verify it trusts it itself.
Identity self_sign(const std::string& name, WallTime from, WallTime until);

/// A server's end of TLS whose certificate is self-signed, valid for a year, and made anew 30 days
/// before that ends. The key never leaves the process.
class SelfSignedServer {
 public:
  static constexpr std::chrono::days kValid{365}, kRenewBefore{30};

  /// The clock outlives this.
  SelfSignedServer(const WallClock& clock, std::string name);
  /// As TlsServer::over. Several handshakes may run side by side.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below);
  /// PEM, of the one that is shown now.
  const std::string& certificate();

 private:
  void renew_if_due();

  const WallClock& clock_;
  const std::string name_;
  WallTime from_, until_;
  std::string certificate_;
  std::shared_ptr<const TlsServer> server_;  // Shared with the handshakes that run.
};

}  // namespace etcdop
