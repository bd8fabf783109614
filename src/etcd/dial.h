// Connects to members over the network.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "etcd/pool.h"
#include "sys/asio_loop.h"
#include "sys/tls.h"

namespace etcdop::etcd {

/// Dials `port` of the endpoint's address, over TLS if the endpoint has TLS options. Invalid: those
/// options are unusable. The loop must outlive the function.
Dial network_dial(AsioLoop&, std::string port = "2379");

/// The certificate that the endpoint's member shows on one of its ports. Invalid for a plaintext
/// endpoint; other errors as for a Dial. Suspends, for 2 s at most.
using Handshake = std::function<Result<CertificateFacts>(const Endpoint&, std::int32_t port)>;
Handshake network_handshake(AsioLoop&);

/// Whether the endpoint's member is receiving a snapshot of the whole database, by its metric
/// etcd_network_snapshot_receive_inflights_total (plaintext). Errors: as for a Dial, or Corrupt if
/// the answer is no page of metrics. All members together may send no more than four pages of 1 MiB
/// at once: Expired if four others were asked for 2 s. Suspends, for 4 s at most.
using ReceivesSnapshot = std::function<Result<bool>(const Endpoint&)>;
ReceivesSnapshot network_receives_snapshot(AsioLoop&, std::string port = "2381");

/// The answer of such a page. Corrupt: it is none.
Result<bool> says_that_it_receives(std::string_view metrics_page);

}  // namespace etcdop::etcd
