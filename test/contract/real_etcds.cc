// Processes of real etcds on 127.0.0.1 at free ports, which end with the test.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "etcd/pool.h"
#include "sys/asio_loop.h"
#include "test/contract/etcds.h"
#include "test/contract/process.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;

bool can_bind(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  close(fd);
  return bound;
}

/// Ports outside the kernel's ephemeral range: an outgoing connection could take one of those
/// before the member has started.
class Ports {
 public:
  std::string draw() {
    while (!can_bind(next_)) next_ = next_ < kLast ? next_ + 1 : kFirst;
    return std::to_string(next_++);
  }

 private:
  static constexpr int kFirst = 10'000, kLast = 30'000;
  int next_ = kFirst + getpid() * 97 % (kLast - kFirst);
};

/// A port where the kernel accepts connections and no process ever answers.
class Listening {
 public:
  explicit Listening(const std::string& port)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    check(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "a free port");
    check(listen(fd_, 16) == 0, "listens");
  }
  ~Listening() { close(fd_); }
  Listening(const Listening&) = delete;

 private:
  int fd_;
};

struct Place {
  std::string name, client_port, peer_port, metrics_port, elsewhere_port;
  std::unique_ptr<Process> process = nullptr;
  std::unique_ptr<Listening> listening = nullptr;
  std::string peer_url() const { return "http://127.0.0.1:" + peer_port; }
  std::string client_url() const { return "http://127.0.0.1:" + client_port; }
};

class RealEtcds final : public Etcds {
 public:
  explicit RealEtcds(std::string programs) : programs_(std::move(programs)) {}
  ~RealEtcds() override {
    places_.clear();
    std::filesystem::remove_all(folder_);
  }
  Executor& executor() override { return loop_; }
  void run(const std::function<void()>& body, Duration max) override {
    (void)loop_.spawn([&] {
      const Within limit(loop_, max);
      body();
      pool_.close();
    });
    loop_.run();
  }
  Node plan() override {
    places_.push_back({.name = "m" + std::to_string(places_.size()),
                       .client_port = ports_.draw(),
                       .peer_port = ports_.draw(),
                       .metrics_port = ports_.draw(),
                       .elsewhere_port = ports_.draw()});
    const Place& place = places_.back();
    return {.name = place.name, .peer_url = place.peer_url(), .client_url = place.client_url()};
  }
  void start(std::size_t node, const std::string& initial_cluster, const std::string& state,
             const std::vector<std::string>& flags) override {
    Place& place = places_[node];
    std::vector<std::string> command = {
        programs_ + "/etcd",
        "--name=" + place.name,
        "--data-dir=" + data_of(node),
        "--listen-client-urls=" + place.client_url(),
        "--advertise-client-urls=" + place.client_url(),
        "--listen-peer-urls=" + place.peer_url(),
        "--initial-advertise-peer-urls=" + place.peer_url(),
        "--listen-metrics-urls=http://127.0.0.1:" + place.metrics_port,
        "--initial-cluster=" + initial_cluster,
        "--initial-cluster-state=" + state,
        std::string("--initial-cluster-token=") + kToken,
        "--unsafe-no-fsync",
        "--logger=zap",
        "--log-level=warn"};
    command.insert(command.end(), flags.begin(), flags.end());
    place.process = std::make_unique<Process>(command, log_of(node));
  }
  void kill(std::size_t node) override { places_[node].process->kill(); }
  void terminate(std::size_t node) override { places_[node].process->terminate(); }
  void wipe(std::size_t node) override { std::filesystem::remove_all(data_of(node)); }
  void corrupt(std::size_t node, const std::string& value) override {
    for (const auto& file : std::filesystem::directory_iterator(data_of(node) + "/member/wal")) {
      std::string bytes = read_file(file.path());
      const std::size_t at = bytes.find(value);
      if (at == std::string::npos) continue;
      bytes[at] = static_cast<char>(~bytes[at]);
      std::ofstream(file.path(), std::ios::binary) << bytes;
    }
  }
  std::optional<int> ended(std::size_t node) override { return places_[node].process->ended(); }
  std::string log(std::size_t node) override { return read_file(log_of(node)); }
  void only_listen(std::size_t node) override {
    places_[node].listening = std::make_unique<Listening>(places_[node].peer_port);
  }
  std::string listens_elsewhere(std::size_t node) override {
    return "--listen-peer-urls=http://127.0.0.1:" + places_[node].elsewhere_port;
  }
  int probe(std::size_t node, const std::string& path) override {
    const Within limit(loop_, 9s);
    auto stream = loop_.connect("127.0.0.1", places_[node].metrics_port);
    if (!stream) return 0;
    if (!(*stream)->write("GET " + path + " HTTP/1.0\r\nHost: etcd\r\n\r\n")) return 0;
    std::array<char, 512> answer{};
    auto n = (*stream)->read(answer);
    if (!n || *n < 12) return 0;
    return std::atoi(&answer[9]);
  }
  etcd::Clients& clients() override { return pool_; }
  etcd::Endpoint endpoint(std::size_t node) override {
    return {.address = "127.0.0.1",
            .server_name = places_[node].name,
            .cluster = std::nullopt,
            .member = std::nullopt};
  }
  Result<std::string> ask(std::size_t node, const etcd::Question& question,
                          http::GrpcStatus& status) override {
    auto stream = loop_.connect("127.0.0.1", places_[node].client_port);
    if (!stream) return stream.error();
    http::GrpcChannel channel(loop_, std::move(*stream), "etcd");
    http::GrpcOptions options;
    if (!question.token.empty()) options.fields.emplace_back("token", question.token.reveal());
    options.message_max = question.answer_max;
    return channel.unary(question.path, question.message, &status, options);
  }
  std::int64_t unix_seconds() override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  void print_logs() override {
    for (std::size_t i = 0; i < places_.size(); ++i)
      std::printf("--- %s\n%s\n", places_[i].name.c_str(), read_file(log_of(i)).c_str());
  }

 private:
  std::string data_of(std::size_t node) const { return folder_ + "/" + places_[node].name; }
  std::string log_of(std::size_t node) const { return data_of(node) + ".log"; }

  const std::string programs_;
  const std::string folder_ = new_folder();
  AsioLoop loop_;
  Ports ports_;
  std::vector<Place> places_;
  etcd::Pool pool_{
      loop_, [this](const etcd::Endpoint& to) {
        for (const Place& place : places_)
          if (place.name == to.server_name) return loop_.connect("127.0.0.1", place.client_port);
        return Result<std::unique_ptr<Stream>>(Error{Code::Unavailable, "no such node"});
      }};
};

}  // namespace

std::unique_ptr<Etcds> make_real_etcds(const std::string& programs) {
  return std::make_unique<RealEtcds>(programs);
}

}  // namespace etcdop::contract
