// The way to members over the network.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "etcd/pool.h"
#include "sys/asio_loop.h"
#include "sys/tls.h"

namespace etcdop::etcd {

/// To `port` of the endpoint's address; over TLS if it says so. Invalid: what it says cannot be
/// used. The loop outlives the function.
Dial network_dial(AsioLoop&, std::string port = "2379");

/// The certificate that the endpoint's member shows on one of its ports. Plaintext is Invalid;
/// otherwise as a Dial. Suspends, for 2 s at most.
using Handshake = std::function<Result<CertificateFacts>(const Endpoint&, std::int32_t port)>;
Handshake network_handshake(AsioLoop&);

}  // namespace etcdop::etcd
