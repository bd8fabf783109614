#include "s3/dialer.h"

#include <memory>
#include <utility>

#include "sys/tls.h"

namespace etcdop::s3 {

Result<http::HttpClient::Dial> dialer(AsioLoop& loop, const Place& place, const std::string& ca,
                                      Reach reach) {
  std::shared_ptr<const TlsClient> tls;
  if (place.tls) {
    auto loaded = TlsClient::load({.ca = ca, .certificate = {}, .key = {}, .alpn = {}});
    if (!loaded) return loaded.error();
    tls = std::make_shared<const TlsClient>(std::move(*loaded));
  }
  return http::HttpClient::Dial([&loop, tls, reach, host = place.host,
                                 port = place.port]() -> Result<std::unique_ptr<Stream>> {
    auto tcp = loop.connect(host, port, reach);
    if (!tcp || !tls) return tcp;
    return tls->over(std::move(*tcp), host);
  });
}

}  // namespace etcdop::s3
