// An etcd process on a data directory that a FolderRestoreSite has rebuilt, and its files beside
// it.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/scratch_etcd.h"
#include "base/fiber.h"
#include "base/log.h"
#include "base/wall_time.h"
#include "etcd/client.h"
#include "sys/asio_loop.h"
#include "sys/command.h"
#include "sys/tls.h"
#include "sys/x509.h"

namespace etcdop::agent {

/// Listens on this machine only, and accepts only clients with a certificate that this process has
/// issued for itself, in the name of root: authentication may be on in the snapshot, and its
/// passwords are unknown. It ends by SIGKILL: its data is thrown away.
class ProcessEtcd final : public ScratchEtcd {
 public:
  struct Options {
    std::string data_dir;               ///< The FolderRestoreSite's directory.
    std::vector<std::string> programs;  ///< Possible paths of etcd, the best first.
  };
  /// All must outlive this.
  ProcessEtcd(AsioLoop&, const WallClock&, Log&, Options);
  ~ProcessEtcd() override;
  Result<Done> start() override;
  Result<etcd::KeyHash> hash_kv(std::int64_t revision) override;
  Result<std::int64_t> count(std::int64_t revision) override;
  Result<std::string> digest(std::int64_t revision) override;
  void stop() override;

  /// Time to read a large database and build its index.
  static constexpr Duration kStartLimit = std::chrono::minutes(10);

 private:
  struct Ports {
    std::uint16_t client = 0, peer = 0;
  };
  /// How the process ended; shared with the fiber that waits for it.
  struct Run {
    std::shared_ptr<Fiber> fiber;
    std::optional<Result<CommandOutput>> ended;
  };
  Result<std::string> find_program() const;
  Result<Done> make_certificates();
  Result<Ports> free_ports();
  std::vector<std::string> arguments(const Ports&) const;
  void launch(const std::string& program, const Ports&);
  Result<Done> wait_for_answer(const Ports&);

  AsioLoop& loop_;
  const WallClock& clock_;
  Log& log_;
  const Options options_;
  std::shared_ptr<const TlsClient::Options> tls_;
  std::shared_ptr<Run> run_;
  std::unique_ptr<etcd::Clients> clients_;
  std::shared_ptr<etcd::Client> client_;
};

}  // namespace etcdop::agent
