// The simulated etcd in place of a real one.
#include <cstdio>
#include <map>

#include "sim/etcd/clients.h"
#include "sim/etcd/net.h"
#include "sim/scheduler.h"
#include "test/contract/etcds.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;

struct Place {
  std::shared_ptr<sim::DataDir> dir = sim::empty_data_dir();
  std::optional<int> ended;
  std::string log;
};

class SimulatedEtcds final : public Etcds {
 public:
  SimulatedEtcds(std::string version, std::uint64_t seed)
      : version_(std::move(version)), world_(seed), dice_(seed) {}
  ~SimulatedEtcds() override {
    net_.stop();
    world_.run();
  }
  Executor& executor() override { return world_; }
  void run(const std::function<void()>& body, Duration max) override {
    bool done = false;
    (void)world_.spawn([&] {
      {
        const Within limit(world_, max);
        body();
      }
      net_.stop();
      done = true;
    });
    world_.run();
    check(done, "a contract test comes to its end");
    const std::string wrong = net_.self_check();
    check(wrong.empty(), wrong.c_str());
  }
  Node plan() override {
    const std::size_t node = places_.size();
    places_.emplace(node, Place{});
    return {.name = name(node),
            .peer_url = "http://" + name(node) + ":2380",
            .client_url = "http://" + name(node) + ":2379"};
  }
  void start(std::size_t node, const std::string& initial_cluster, const std::string& state,
             const std::vector<std::string>& flags) override {
    std::vector<std::string> command = {
        "etcd",
        "--name=" + name(node),
        "--data-dir=/var/lib/etcd",
        "--listen-client-urls=http://0.0.0.0:2379",
        "--advertise-client-urls=http://" + name(node) + ":2379",
        "--listen-peer-urls=http://0.0.0.0:2380",
        "--initial-advertise-peer-urls=http://" + name(node) + ":2380",
        "--listen-metrics-urls=http://0.0.0.0:2381",
        "--initial-cluster=" + initial_cluster,
        "--initial-cluster-state=" + state,
        std::string("--initial-cluster-token=") + kToken};
    command.insert(command.end(), flags.begin(), flags.end());
    Place& place = places_[node];
    place.ended.reset();
    net_.start({.address = address(node),
                .version = version_,
                .command = std::move(command),
                .dir = place.dir,
                .exited = [&place](int code, const std::string& words) {
                  place.ended = code;
                  place.log += words + "\n";
                }});
  }
  void kill(std::size_t node) override { net_.kill(address(node)); }
  void terminate(std::size_t node) override {
    net_.terminate(address(node));
    places_[node].ended = 128 + 15;
  }
  void wipe(std::size_t node) override { sim::wipe(*places_[node].dir); }
  void corrupt(std::size_t node, const std::string&) override { sim::corrupt(*places_[node].dir); }
  std::optional<int> ended(std::size_t node) override { return places_[node].ended; }
  std::string log(std::size_t node) override { return places_[node].log; }
  void only_listen(std::size_t node) override {
    net_.slow_starts(1h);
    start(node, "", "existing", {});
    (void)world_.sleep(1s);
    net_.slow_starts(0s);
  }
  std::string listens_elsewhere(std::size_t) override {
    return "--listen-peer-urls=http://0.0.0.0:2390";
  }
  int probe(std::size_t node, const std::string& path) override {
    if (!net_.runs(address(node))) return 0;
    const bool good = path == "/livez"    ? net_.alive(address(node))
                      : path == "/readyz" ? net_.ready(address(node))
                                          : net_.healthy(address(node));
    return good ? 200 : 503;
  }
  etcd::Clients& clients() override { return clients_; }
  etcd::Endpoint endpoint(std::size_t node) override {
    return {.address = address(node),
            .server_name = name(node),
            .cluster = std::nullopt,
            .member = std::nullopt};
  }
  Result<std::string> ask(std::size_t node, const etcd::Question& question,
                          http::GrpcStatus& status) override {
    return net_.unary(world_, address(node), question, status);
  }
  std::int64_t unix_seconds() override { return wall_.wall_now().since_epoch.count(); }
  void print_logs() override {
    for (const std::string& line : trace_) std::puts(line.c_str());
  }

 private:
  static std::string name(std::size_t node) { return "m" + std::to_string(node); }
  static std::string address(std::size_t node) { return "10.0.0." + std::to_string(node + 1); }
  std::optional<std::string> resolve(const std::string& host) const {
    for (const auto& [node, place] : places_)
      if (host == name(node)) return address(node);
    return std::nullopt;
  }

  const std::string version_;
  sim::Scheduler world_;
  sim::Dice dice_;
  etcdop::testing::VirtualWallClock wall_{world_};
  std::map<std::size_t, Place> places_;
  std::vector<std::string> trace_;
  sim::EtcdNet net_{
      world_,
      wall_,
      dice_.split(),
      {.resolve = [this](const std::string& host) { return resolve(host); },
       .tell =
           [this](const std::string& who, const std::string& what) {
             const auto now = world_.now().time_since_epoch();
             trace_.push_back(std::to_string(std::chrono::duration<double>(now).count()) + " " +
                              who + " " + what);
           }}};
  sim::EtcdClients clients_{world_, net_};
};

}  // namespace

std::unique_ptr<Etcds> make_simulated_etcds(const std::string& version, std::uint64_t seed) {
  return std::make_unique<SimulatedEtcds>(version, seed);
}

}  // namespace etcdop::contract
