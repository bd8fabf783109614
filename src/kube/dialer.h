// Makes connections to the API server, outside simulations.
#pragma once
#include "http/http_client.h"
#include "kube/config.h"
#include "kube/exec_plugin.h"
#include "sys/asio_loop.h"

namespace etcdop::kube {

/// TCP, then TLS with the Config's identity, unless it is plain. With an exec plugin (given exactly
/// if the Config has `exec`), each new connection uses the plugin's certificate of that time. The
/// loop and the plugin must outlive the result; the Config need not. Invalid: the message says
/// which of the Config's keys or certificates is bad.
Result<http::HttpClient::Dial> dialer(AsioLoop&, const Config&, PluginCredentials* = nullptr);

}  // namespace etcdop::kube
