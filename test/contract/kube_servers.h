// The API server under test: a real one or the simulated one. The contract tests cannot tell which.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/config.h"
#include "sys/asio_loop.h"
#include "sys/system.h"

namespace etcdop::contract {

class KubeServer {
 public:
  virtual ~KubeServer() = default;
  virtual Executor& executor() = 0;
  virtual Random& random() = 0;
  /// Runs the body on a fiber to its end.
  virtual void run(const std::function<void()>& body) = 0;
  /// A client with all permissions. Not before run().
  virtual kube::Api& api() = 0;
};

/// The server of a kubeconfig.
class RealKube final : public KubeServer {
 public:
  explicit RealKube(std::string kubeconfig);
  Executor& executor() override { return loop; }
  Random& random() override { return random_; }
  void run(const std::function<void()>& body) override;
  kube::Api& api() override { return *api_; }

  /// A client with other credentials or TLS.
  std::unique_ptr<kube::Client> client(const kube::Config& as);

  const std::string kubeconfig;
  AsioLoop loop;
  const kube::Config config;

 private:
  OsRandom random_;
  std::unique_ptr<kube::Client> api_;
};

std::unique_ptr<KubeServer> make_simulated_kube();

/// The server under test: that of a kubeconfig, or ("") the simulated one.
extern std::string tested_kubeconfig;
std::unique_ptr<KubeServer> make_kube();

class QuietLog final : public Log {
  void write(Level, std::string_view, std::initializer_list<LogField>) override {}
};

}  // namespace etcdop::contract
