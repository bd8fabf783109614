#include "sys/certificate_files.h"

#include <utility>

namespace etcdop {

CertificateFiles::CertificateFiles(Paths paths, Read read)
    : paths_(std::move(paths)), read_(std::move(read)) {}

Result<CertificateFiles> CertificateFiles::load(Paths paths, Read read) {
  CertificateFiles out(std::move(paths), std::move(read));
  if (auto taken = out.refresh(); !taken) return taken.error();
  return out;
}

Result<Done> CertificateFiles::refresh() {
  auto certificate = read_(paths_.certificate);
  if (!certificate) return certificate.error();
  auto text = read_(paths_.key);
  if (!text) return text.error();
  Secret key(std::move(*text));
  if (*certificate == certificate_ && key == key_) return Done{};
  auto server = TlsServer::load({*certificate, key, {}, {}});
  if (!server)
    return Error(server.error()).during("use " + paths_.certificate + " and " + paths_.key);
  certificate_ = std::move(*certificate);
  key_ = std::move(key);
  server_ = std::make_shared<const TlsServer>(std::move(*server));
  return Done{};
}

Result<std::unique_ptr<Stream>> CertificateFiles::over(std::unique_ptr<Stream> below) const {
  const auto server = server_;
  return server->over(std::move(below));
}

}  // namespace etcdop
