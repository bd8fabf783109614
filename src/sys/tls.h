// TLS over any Stream, both ends. OpenSSL stays inside tls.cc. Uses no sockets, so it also runs in
// the simulation.
#pragma once
#include <cstddef>
#include <list>
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
    std::string ca;           ///< The only trusted CAs; empty: the system's store (kSystemTrust).
    std::string certificate;  ///< Leaf first, then intermediates; empty: no client certificate.
    Secret key;        ///< Key of `certificate`, not encrypted; empty exactly if `certificate` is.
    std::string alpn;  ///< "h2": the server must agree; empty: not negotiated.
  };
  /// Invalid: the error begins with the name of the bad option.
  static Result<TlsClient> load(const Options&);
  TlsClient(TlsClient&&) noexcept;
  ~TlsClient();
  /// Handshakes, which suspends. The certificate must be for `server_name` (DNS name or IP).
  /// Denied: the other end has the wrong identity, or refuses us. With TLS 1.3 a server refuses our
  /// certificate only after the handshake: the first read then says Denied. Unavailable: the
  /// connection ended first.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below,
                                       const std::string& server_name) const;
  /// Handshakes in the same way, then closes: returns the certificate that the other end has shown.
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

/// Clients by their options' content: many clusters may trust the same CAs, and to load a large
/// bundle takes a third of a second. Keeps those that were used last.
class TlsClients {
 public:
  /// As TlsClient::load.
  Result<std::shared_ptr<const TlsClient>> of(const TlsClient::Options&);
  /// How many clients it has loaded.
  std::size_t loaded() const { return loaded_; }

 private:
  struct Kept {
    std::string content;    // Its digest.
    std::size_t bytes = 0;  // Size of its options; the client needs some times as much.
    std::shared_ptr<const TlsClient> client;
  };
  void keep(Kept);

  std::list<Kept> kept_;  // Last used first.
  std::size_t bytes_ = 0, loaded_ = 0;
};

/// The server side: for metrics, and for the servers of tests.
class TlsServer {
 public:
  /// All PEM text.
  struct Options {
    std::string certificate;  ///< Leaf first, then intermediates.
    Secret key;               ///< Key of `certificate`, not encrypted.
    std::string client_ca;    ///< Clients must show a certificate signed by it; empty: no client
                              ///< certificate is requested.
    std::string alpn;         ///< The only protocol offered, like "h2"; empty: none.
  };
  /// Invalid: the error begins with the name of the bad option.
  static Result<TlsServer> load(const Options&);
  TlsServer(TlsServer&&) noexcept;
  ~TlsServer();
  /// Handshakes, which suspends. Denied: the client's certificate is missing or not signed by
  /// `client_ca`, or the client refuses us. Unavailable: the connection ended first.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below) const;

 private:
  struct Context;
  explicit TlsServer(std::unique_ptr<Context>);
  std::unique_ptr<Context> context_;
};

/// Used when TlsClient::Options::ca is empty: Debian's bundle, which the image also contains.
inline constexpr const char* kSystemTrust = "/etc/ssl/certs/ca-certificates.crt";

}  // namespace etcdop
