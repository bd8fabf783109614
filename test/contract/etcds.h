// A few etcds under test: real processes or simulated ones. The contract tests cannot tell which.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fiber.h"
#include "etcd/client.h"
#include "etcd/grpc_client.h"
#include "etcd/version_facts.h"
#include "http/grpc_channel.h"

namespace etcdop::contract {

/// A place for one member: a name, URLs, a data dir. No process runs there until start().
struct Node {
  std::string name, peer_url, client_url;
};

class Etcds {
 public:
  static constexpr const char* kToken = "contract";
  virtual ~Etcds() = default;
  virtual Executor& executor() = 0;
  /// Runs the body on a fiber to its end; after `limit` its waits are cut short.
  virtual void run(const std::function<void()>& body, Duration limit) = 0;
  /// Adds a place; places are numbered from 0.
  virtual Node plan() = 0;
  /// With the node's own name, URLs and data dir; `flags` come last and so override.
  virtual void start(std::size_t node, const std::string& initial_cluster, const std::string& state,
                     const std::vector<std::string>& flags) = 0;
  /// SIGKILL; the process has ended when it returns.
  virtual void kill(std::size_t node) = 0;
  /// SIGTERM; ended() says when the process has ended.
  virtual void terminate(std::size_t node) = 0;
  /// Empties the data dir. No process may run there.
  virtual void wipe(std::size_t node) = 0;
  /// Damages its raft log where `value` was written. No process may run there.
  virtual void corrupt(std::size_t node, const std::string& value) = 0;
  /// The exit status of a process that ended without kill().
  virtual std::optional<int> ended(std::size_t node) = 0;
  /// All its output.
  virtual std::string log(std::size_t node) = 0;
  /// From now on the node's peer port accepts connections and never answers.
  virtual void only_listen(std::size_t node) = 0;
  /// A flag for start(): it listens for peers on a port that no peer knows.
  virtual std::string listens_elsewhere(std::size_t node) = 0;
  /// HTTP status of a GET on the metrics URL: /livez, /readyz, /health. 0: no answer.
  virtual int probe(std::size_t node, const std::string& path) = 0;
  virtual etcd::Clients& clients() = 0;
  virtual etcd::Endpoint endpoint(std::size_t node) = 0;
  /// A call that our client does not make. As http::GrpcChannel::unary.
  virtual Result<std::string> ask(std::size_t node, const etcd::Question&, http::GrpcStatus&) = 0;
  /// The date that the members see, exact to a second.
  virtual std::int64_t unix_seconds() = 0;
  /// Output for people, after a failure.
  virtual void print_logs() = 0;
};

/// The subject of this run of the program.
struct Tested {
  std::string version_text;  ///< "3.6.16".
  etcd::VersionFacts facts;  ///< From the table.
  std::string programs;      ///< The folder with etcd and etcdctl; empty: the simulated ones.
  std::unique_ptr<Etcds> make() const;
};
extern Tested tested;

std::unique_ptr<Etcds> make_real_etcds(const std::string& programs);
std::unique_ptr<Etcds> make_simulated_etcds(const std::string& version, std::uint64_t seed);

}  // namespace etcdop::contract
