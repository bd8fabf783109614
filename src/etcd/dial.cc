#include "etcd/dial.h"

#include <memory>
#include <ranges>
#include <utility>

#include "base/permit.h"
#include "http/http_client.h"

namespace etcdop::etcd {

using namespace std::chrono_literals;

namespace {

constexpr Duration kHandshakeLimit = 2s;
constexpr Duration kMetricsLimit = 2s;
constexpr std::size_t kMetricsMax = 1 << 20;  // Bytes; etcd's page has some 200 kB.
constexpr std::size_t kMetricsAtOnce = 4;

using Tls = std::shared_ptr<const TlsClient>;

Result<Tls> tls_of(TlsClients& known, const Endpoint& to, const char* alpn) {
  TlsClient::Options options = *to.tls;
  options.alpn = alpn;
  auto tls = known.of(options);
  if (!tls) return Error(tls.error()).during("TLS with " + to.server_name);
  return tls;
}

/// False: too many others wait.
bool waits_in(Semaphore& line, AsioLoop& loop) {
  const Within limit(loop, kMetricsLimit);
  return line.acquire() == Woken::Ready;
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

Result<bool> says_that_it_receives(std::string_view metrics_page) {
  constexpr std::string_view kName = "etcd_network_snapshot_receive_inflights_total";
  if (metrics_page.find("etcd_server_") == metrics_page.npos)
    return Error{Code::Corrupt, "no metrics of an etcd"};
  for (const auto line : std::views::split(metrics_page, '\n')) {
    const std::string_view text(line.begin(), line.end());
    if (!text.starts_with(kName)) continue;  // "name{From=\"8e9e05c52164694d\"} 1"
    const auto value = text.substr(text.rfind(' ') + 1);
    if (!value.empty() && value != "0" && !value.starts_with('-')) return true;
  }
  return false;
}

ReceivesSnapshot network_receives_snapshot(AsioLoop& loop, std::string port) {
  return [&loop, port = std::move(port), line = std::make_shared<Semaphore>(loop, kMetricsAtOnce)](
             const Endpoint& to) -> Result<bool> {
    if (!waits_in(*line, loop)) return Error{Code::Expired, "too many others are asked"};
    const Permit permit{*line};
    const Within limit(loop, kMetricsLimit);
    http::HttpClient client(loop, [&] { return loop.connect(to.address, port); },
                            {.host = to.address, .body_limit = kMetricsMax});
    auto page = client.get("/metrics");
    if (!page) return page.error();
    if (page->status != 200) return Error{Code::Corrupt, "no page of metrics"};
    return says_that_it_receives(page->body);
  };
}

}  // namespace etcdop::etcd
