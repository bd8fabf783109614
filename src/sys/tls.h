// TLS over any Stream, both ends. OpenSSL stays inside tls.cc; no sockets here, so it runs in the
// simulation as well.
#pragma once
#include <memory>
#include <string>

#include "base/secret.h"
#include "sys/stream.h"
#include "sys/x509.h"

namespace etcdop {

/// Keys and trust of one client, loaded once and used for many connections. The other end is always
/// verified; there is no way to skip that.
class TlsClient {
 public:
  /// All PEM text.
  struct Options {
    std::string ca;           ///< Trusts nothing else; empty: the system's store (kSystemTrust).
    std::string certificate;  ///< Leaf first, then intermediates; empty: no client certificate.
    Secret key;               ///< Of `certificate`, not encrypted; empty exactly if that is.
    std::string alpn;         ///< "h2": the server must agree; empty: not asked.
  };
  /// Invalid: the error begins with the option that is at fault.
  static Result<TlsClient> load(const Options&);
  TlsClient(TlsClient&&) noexcept;
  ~TlsClient();
  /// Handshakes, which suspends; `server_name` (DNS name or IP) is what the certificate must be
  /// for. Denied: the other end is not who it should be, or does not want us. With TLS 1.3 a server
  /// refuses our certificate only after the handshake: the first read then says Denied.
  /// Unavailable: the connection ended first.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below,
                                       const std::string& server_name) const;
  /// Handshakes likewise, and hangs up: the certificate that the other end has shown.
  Result<CertificateFacts> look(std::unique_ptr<Stream> below,
                                const std::string& server_name) const;

 private:
  class Session;
  Result<std::unique_ptr<Session>> handshake(std::unique_ptr<Stream> below,
                                             const std::string& server_name) const;
  struct Context;
  explicit TlsClient(std::unique_ptr<Context>);
  std::unique_ptr<Context> context_;
};

/// The other end: what metrics are served with, and the servers of tests.
class TlsServer {
 public:
  /// All PEM text.
  struct Options {
    std::string certificate;  ///< Leaf first, then intermediates.
    Secret key;               ///< Of `certificate`, not encrypted.
    std::string client_ca;    ///< Clients must show a certificate by it; empty: they are not asked.
    std::string alpn;         ///< The one protocol offered, like "h2"; empty: none.
  };
  /// Invalid: the error begins with the option that is at fault.
  static Result<TlsServer> load(const Options&);
  TlsServer(TlsServer&&) noexcept;
  ~TlsServer();
  /// Handshakes, which suspends. Denied: the client's certificate is absent or not by `client_ca`,
  /// or it does not want us. Unavailable: the connection ended first.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below) const;

 private:
  struct Context;
  explicit TlsServer(std::unique_ptr<Context>);
  std::unique_ptr<Context> context_;
};

/// What an empty TlsClient::Options::ca means: Debian's bundle, which the image carries too.
inline constexpr const char* kSystemTrust = "/etc/ssl/certs/ca-certificates.crt";

}  // namespace etcdop
