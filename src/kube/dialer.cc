#include "kube/dialer.h"

#include <memory>
#include <utility>

#include "sys/tls.h"

namespace etcdop::kube {
namespace {

using Tls = std::shared_ptr<const TlsClient>;

/// Our TLS identity: the Config's certificate, or the plugin's current one.
class Identity {
 public:
  static Result<std::shared_ptr<Identity>> load(const Config& config, PluginCredentials* plugin) {
    auto out = std::make_shared<Identity>();
    out->options_ = {
        .ca = config.ca, .certificate = config.certificate, .key = config.key, .alpn = {}};
    out->plugin_ = plugin;
    if (config.exec) out->field_ = config.exec->field;
    auto loaded = TlsClient::load(out->options_);
    if (!loaded) return Error(loaded.error()).during(config.source);
    out->tls_ = std::make_shared<const TlsClient>(std::move(*loaded));
    return out;
  }
  Result<Tls> now() {
    if (!plugin_) return tls_;
    auto credential = plugin_->get();
    if (!credential) return credential.error();
    const auto& [token, certificate, key, expires] = **credential;
    if (certificate == options_.certificate && key == options_.key) return tls_;
    TlsClient::Options options = options_;
    options.certificate = certificate;
    options.key = key;
    auto loaded = TlsClient::load(options);
    if (!loaded)
      return Error{Code::Unavailable,
                   field_ + ": the plugin's client certificate: " + loaded.error().message};
    options_ = std::move(options);
    tls_ = std::make_shared<const TlsClient>(std::move(*loaded));
    return tls_;
  }

 private:
  TlsClient::Options options_;
  PluginCredentials* plugin_ = nullptr;
  std::string field_;
  Tls tls_;
};

}  // namespace

Result<http::HttpClient::Dial> dialer(AsioLoop& loop, const Config& config,
                                      PluginCredentials* plugin) {
  check(config.exec.has_value() == (plugin != nullptr), "a Config's plugin is given");
  std::shared_ptr<Identity> identity;
  if (config.tls) {
    auto loaded = Identity::load(config, plugin);
    if (!loaded) return loaded.error();
    identity = *loaded;
  }
  const std::string name = config.tls_server_name.empty() ? config.host : config.tls_server_name;
  return http::HttpClient::Dial([&loop, identity, name, host = config.host,
                                 port = config.port]() -> Result<std::unique_ptr<Stream>> {
    if (!identity) return loop.connect(host, port);
    auto tls = identity->now();
    if (!tls) return tls.error();
    auto tcp = loop.connect(host, port);
    if (!tcp) return tcp;
    return (*tls)->over(std::move(*tcp), name);
  });
}

}  // namespace etcdop::kube
