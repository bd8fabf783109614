// How connections to the API server are made, outside simulations.
#pragma once
#include "http/http_client.h"
#include "kube/config.h"
#include "sys/asio_loop.h"

namespace etcdop::kube {

/// TCP, then TLS with the Config's identity, unless it is plain. The loop must outlive the result,
/// the Config need not. Invalid: the message says which of the Config's keys or certificates is
/// bad.
Result<http::HttpClient::Dial> dialer(AsioLoop&, const Config&);

}  // namespace etcdop::kube
