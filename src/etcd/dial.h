// The way to members over the network.
#pragma once
#include <string>

#include "etcd/pool.h"
#include "sys/asio_loop.h"
#include "sys/tls.h"

namespace etcdop::etcd {

/// To `port` of the endpoint's address; over TLS if it says so. `tls` may be null: such endpoints
/// are then Denied. Both outlive the function.
Dial network_dial(AsioLoop&, const TlsClient* tls, std::string port = "2379");

}  // namespace etcdop::etcd
