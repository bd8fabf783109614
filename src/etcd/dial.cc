#include "etcd/dial.h"

#include <utility>

namespace etcdop::etcd {

Dial network_dial(AsioLoop& loop, const TlsClient* tls, std::string port) {
  return
      [&loop, tls, port = std::move(port)](const Endpoint& to) -> Result<std::unique_ptr<Stream>> {
        if (to.tls && tls == nullptr)
          return Error{Code::Denied, to.server_name + " speaks TLS and no keys for it are loaded"};
        auto stream = loop.connect(to.address, port);
        if (!stream || !to.tls) return stream;
        return tls->over(std::move(*stream), to.server_name);
      };
}

}  // namespace etcdop::etcd
