// The API server of a kubeconfig, and the client that the operator uses.
#include "kube/dialer.h"
#include "test/contract/kube_servers.h"

namespace etcdop::contract {
namespace {

kube::Config load(const std::string& kubeconfig) {
  auto config = kube::load_config({.kubeconfig_env = kubeconfig}, read_file);
  check(bool(config), config ? "" : config.error().message.c_str());
  return std::move(*config);
}

}  // namespace

std::string tested_kubeconfig;

std::unique_ptr<KubeServer> make_kube() {
  if (tested_kubeconfig.empty()) return make_simulated_kube();
  return std::make_unique<RealKube>(tested_kubeconfig);
}

RealKube::RealKube(std::string file) : kubeconfig(std::move(file)), config(load(kubeconfig)) {}

std::unique_ptr<kube::Client> RealKube::client(const kube::Config& as) {
  auto dial = kube::dialer(loop, as);
  check(bool(dial), dial ? "" : dial.error().message.c_str());
  return std::make_unique<kube::Client>(loop, random_, as, std::move(*dial), read_file,
                                        kube::Client::Options{.version = "contract"});
}

void RealKube::run(const std::function<void()>& body) {
  (void)loop.spawn([&] {
    api_ = client(config);
    body();
    api_.reset();
  });
  loop.run();
}

}  // namespace etcdop::contract
