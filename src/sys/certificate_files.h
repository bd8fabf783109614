// The server side of TLS, with a certificate in files that another process changes: a Secret's
// volume.
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

  /// Errors as for refresh().
  static Result<CertificateFiles> load(Paths paths, Read read);
  /// Loads the files if they have changed. Invalid, or an error of `read`: the files are unusable,
  /// and the last good certificate stays.
  Result<Done> refresh();
  /// As TlsServer::over, with the loaded certificate.
  Result<std::unique_ptr<Stream>> over(std::unique_ptr<Stream> below) const;

 private:
  CertificateFiles(Paths paths, Read read);

  Paths paths_;
  Read read_;
  std::string certificate_;
  Secret key_;
  std::shared_ptr<const TlsServer> server_;  // Shared with running handshakes.
};

}  // namespace etcdop
