// A server's end of TLS whose certificate is in files that others change: a Secret's volume.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "sys/tls.h"

namespace etcdop {

class CertificateFiles {
 public:
  using Read = std::function<Result<std::string>(const std::string& path)>;

  struct Paths {
    std::string certificate, key;  ///< PEM: leaf first, then intermediates; and its key.
  };

  /// As refresh().
  static Result<CertificateFiles> load(Paths paths, Read read);
  /// Takes what the files have now, if they have changed. Invalid, or as `read`: they are of no
  /// use, and what was taken before stays.
  Result<Done> refresh();
  /// As TlsServer::over, with what was taken.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below) const;

 private:
  CertificateFiles(Paths paths, Read read);

  Paths paths_;
  Read read_;
  std::string certificate_;
  Secret key_;
  std::shared_ptr<const TlsServer> server_;  // Shared with the handshakes that run.
};

}  // namespace etcdop
