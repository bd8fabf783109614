// TLS over any Stream. OpenSSL stays inside tls.cc; no sockets here, so it runs in the simulation
// as well.
#pragma once
#include <memory>
#include <string>

#include "sys/stream.h"

namespace etcdop {

/// Keys and trust of one client, loaded once and used for many connections.
class TlsClient {
 public:
  struct Options {
    std::string ca_file;              ///< PEM; trusts nothing else.
    std::string cert_file, key_file;  ///< PEM; both empty: no client certificate.
    std::string alpn;                 ///< "h2", or empty for none.
  };
  static Result<TlsClient> load(const Options&);
  TlsClient(TlsClient&&) noexcept;
  ~TlsClient();
  /// Handshakes; `server_name` is what the certificate must be for. Denied: the other end is not
  /// who it should be.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below,
                                       const std::string& server_name) const;

 private:
  struct Impl;
  explicit TlsClient(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace etcdop
