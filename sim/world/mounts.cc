#include "sim/world/mounts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/v1alpha2/names.h"
#include "base/base64.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

constexpr auto kJudgedAgain = 1min;  // Certificates become valid, and expire.
constexpr std::size_t kKnownMax = 4096;

std::string text_at(const Json& object, const char* key) {
  const Json* const value = object.is_object() ? object.as_object().if_contains(key) : nullptr;
  return value && value->is_string() ? std::string(value->as_string()) : "";
}

std::string value(const Json& secret, const char* key) {
  const Json* const data = secret.as_object().if_contains("data");
  return data ? from_base64(text_at(*data, key)).value_or("") : "";
}

/// The value of that flag in a command; empty: no value, or no such flag.
std::string argument(const Json& container, std::string_view flag) {
  for (const Json& word : container.at("command").as_array())
    if (const std::string_view text = word.as_string(); text.starts_with(flag))
      return std::string(text.substr(flag.size()));
  return "";
}

bool has(const Json& container, const char* word) {
  return std::ranges::any_of(container.at("command").as_array(),
                             [&](const Json& one) { return one == word; });
}

/// As TLS clients compare names: a wildcard stands for one label.
bool is_for(const CertificateFacts& leaf, const std::string& host) {
  const std::size_t dot = std::min(host.find('.'), host.size());
  return std::ranges::any_of(leaf.names, [&](const std::string& name) {
    return name == host || (name.starts_with("*.") && name.substr(1) == host.substr(dot));
  });
}

std::string first_of(const std::vector<std::string>& faults) {
  return faults.empty() ? "" : faults.front();
}

}  // namespace

SecretVersion files_of(const Json& secret) {
  return std::make_shared<const SecretFiles>(SecretFiles{
      value(secret, "tls.crt"), Secret(value(secret, "tls.key")), value(secret, "ca.crt")});
}

const Json& etcd_container_of(const json::object& pod_spec) {
  const json::array& all = pod_spec.at("containers").as_array();
  const auto etcd = std::ranges::find_if(all, [](const Json& one) {
    return text_at(one, "name") == etcdop::api::v1alpha2::kEtcdContainer;
  });
  return etcd == all.end() ? all.at(0) : *etcd;
}

Mounts::Mounts(const Json& pod) {
  const json::object& spec = pod.at("spec").as_object();
  const Json& container = etcd_container_of(spec);
  std::map<std::string, std::string> secrets;  // By volume.
  if (const Json* const volumes = spec.if_contains("volumes"))
    for (const Json& volume : volumes->as_array())
      if (const Json* const secret = volume.as_object().if_contains("secret")) {
        const std::string name = text_at(*secret, "secretName");
        secrets[text_at(volume, "name")] = name;
        names_.push_back(name);
      }
  const auto secret_at = [&](const std::string& file) -> std::string {
    const Json* const mounts = container.as_object().if_contains("volumeMounts");
    if (!mounts || file.empty()) return "";
    for (const Json& mount : mounts->as_array())
      if (file.starts_with(text_at(mount, "mountPath") + "/") &&
          secrets.contains(text_at(mount, "name")))
        return secrets.at(text_at(mount, "name"));
    return "";
  };
  client_ = {secret_at(argument(container, "--cert-file=")),
             has(container, "--client-cert-auth=true")};
  peer_ = {secret_at(argument(container, "--peer-cert-file=")),
           has(container, "--peer-client-cert-auth=true")};
}

void Mounts::bring(const std::string& secret, SecretVersion version, Instant when) {
  auto& all = brought_[secret];
  while (!all.empty() && all.back().when >= when) all.pop_back();  // A kubelet mounts the newest.
  all.push_back({when, std::move(version)});
}

SecretVersion Mounts::now_of(const std::string& secret, Instant now) const {
  const auto found = brought_.find(secret);
  if (found == brought_.end()) return nullptr;
  SecretVersion out;
  for (const Brought& one : found->second)
    if (one.when <= now) out = one.version;
  return out;
}

std::string Mounts::start(Instant now) {
  for (Port* const port : {&client_, &peer_}) {
    if (port->secret.empty()) continue;
    port->started = now_of(port->secret, now);
    if (!port->started) return "open tls.crt: no such file or directory";
    const std::string fault =
        first_of(faults_of({port->started->certificate, port->started->key}, "", {}, WallTime{}));
    if (fault.find("PEM") != std::string::npos || fault.find("another") != std::string::npos ||
        !read_certificate(port->started->certificate))
      return "tls: failed to find any PEM data in certificate input";
    if (port->asks_clients && !read_certificate(port->started->authority))
      return "could not parse the certificate authority";
  }
  return "";
}

std::optional<TlsPort> Mounts::port(const Port& port, Instant now) const {
  if (port.secret.empty()) return std::nullopt;
  return TlsPort{now_of(port.secret, now), port.started, port.asks_clients};
}

// --- verdicts ------------------------------------------------------------------------------------

Result<CertificateFacts> Handshakes::look(const TlsPort& port, const std::string& name,
                                          const Options& with) const {
  const WallTime now = clock_.wall_now();
  const auto denied = [&](const std::string& why) {
    return Error{Code::Denied, "TLS with " + name + ": " + why};
  };
  auto leaf = read_certificate(port.now->certificate);
  if (!leaf) return denied("tls: internal error");
  const auto server =
      faults_of({port.now->certificate, port.now->key}, with->ca, {.server = true}, now);
  if (!server.empty()) return denied(first_of(server));
  if (!is_for(*leaf, name)) return denied("the certificate is for another host");
  if (!port.asks_clients) return leaf;
  if (with->certificate.empty()) return denied("certificate required");
  const auto client =
      faults_of({with->certificate, with->key}, port.started->authority, {.client = true}, now);
  if (!client.empty()) return denied("bad certificate: " + first_of(client));
  return leaf;
}

Result<CertificateFacts> Handshakes::judge(const TlsPort& port, const std::string& name,
                                           const Options& with) {
  if (known_.size() > kKnownMax) known_.clear();
  const WallTime now = clock_.wall_now();
  const auto key = std::tuple<const void*, const void*, const void*, std::string>(
      port.now.get(), port.started.get(), with.get(), name);
  const auto found = known_.find(key);
  if (found != known_.end() && now >= found->second.at && now - found->second.at < kJudgedAgain)
    return found->second.what;
  Verdict verdict{look(port, name, with), now, port, with};
  return known_.insert_or_assign(key, std::move(verdict)).first->second.what;
}

bool Handshakes::agree(const TlsPort& from, const TlsPort& to, const std::string& name) {
  auto& with = peers_[{from.now, from.started}];
  if (!with) {
    TlsClient::Options options;
    options.ca = from.started->authority;
    options.certificate = from.now->certificate;
    options.key = from.now->key;
    with = std::make_shared<const TlsClient::Options>(std::move(options));
  }
  return bool(judge(to, name, with));
}

}  // namespace etcdop::sim
