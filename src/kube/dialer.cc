#include "kube/dialer.h"

#include <memory>
#include <utility>

#include "sys/tls.h"

namespace etcdop::kube {

Result<http::HttpClient::Dial> dialer(AsioLoop& loop, const Config& config) {
  std::shared_ptr<const TlsClient> tls;
  if (config.tls) {
    auto loaded = TlsClient::load(
        {.ca = config.ca, .certificate = config.certificate, .key = config.key, .alpn = {}});
    if (!loaded) return Error(loaded.error()).during(config.source);
    tls = std::make_shared<const TlsClient>(std::move(*loaded));
  }
  return http::HttpClient::Dial(
      [&loop, tls, host = config.host, port = config.port]() -> Result<std::unique_ptr<Stream>> {
        auto tcp = loop.connect(host, port);
        if (!tcp || !tls) return tcp;
        return tls->over(std::move(*tcp), host);
      });
}

}  // namespace etcdop::kube
