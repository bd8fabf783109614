#include "etcd/dial.h"

#include <memory>
#include <utility>

namespace etcdop::etcd {

using namespace std::chrono_literals;

namespace {

constexpr Duration kHandshakeLimit = 2s;

using Tls = std::shared_ptr<const TlsClient>;

Result<Tls> tls_of(TlsClients& known, const Endpoint& to, const char* alpn) {
  TlsClient::Options options = *to.tls;
  options.alpn = alpn;
  auto tls = known.of(options);
  if (!tls) return Error(tls.error()).during("TLS with " + to.server_name);
  return tls;
}

}  // namespace

Dial network_dial(AsioLoop& loop, std::string port) {
  return [&loop, port = std::move(port), known = std::make_shared<TlsClients>()](
             const Endpoint& to) -> Result<std::unique_ptr<Stream>> {
    if (!to.tls) return loop.connect(to.address, port);
    auto tls = tls_of(*known, to, "h2");
    if (!tls) return tls.error();
    auto stream = loop.connect(to.address, port);
    if (!stream) return stream;
    return (*tls)->over(std::move(*stream), to.server_name);
  };
}

Handshake network_handshake(AsioLoop& loop) {
  return [&loop, known = std::make_shared<TlsClients>()](
             const Endpoint& to, std::int32_t port) -> Result<CertificateFacts> {
    if (!to.tls) return Error{Code::Invalid, to.server_name + " does not speak TLS"};
    const Within limit(loop, kHandshakeLimit);
    auto tls = tls_of(*known, to, "");
    if (!tls) return tls.error();
    auto stream = loop.connect(to.address, std::to_string(port));
    if (!stream) return stream.error();
    return (*tls)->look(std::move(*stream), to.server_name);
  };
}

}  // namespace etcdop::etcd
