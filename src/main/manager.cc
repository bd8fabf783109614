// The operator's process: creates all objects and passes them down. Only this file knows the real
// world.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etcd/dial.h"
#include "etcd/pool.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/dialer.h"
#include "kube/exec_plugin.h"
#include "main/agent.h"
#include "main/cluster_domain.h"
#include "main/flags.h"
#include "main/restore_agent.h"
#include "main/verify_agent.h"
#include "operator/operator.h"
#include "runtime/access.h"
#include "runtime/metrics.h"
#include "runtime/probes.h"
#include "sys/asio_loop.h"
#include "sys/certificate_files.h"
#include "sys/command.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/self_signed.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

constexpr auto kStopLimit = 8s;  // The kubelet waits for ten seconds.
/// Much memory is free after the first lists; later, passes leave free memory, too.
constexpr Duration kGiveBackMin = 5s, kGiveBackMax = 1min;
constexpr int kExitFailed = 1, kExitUsage = 2;
constexpr std::size_t kScrapersMax = 16;  // Each may have a running review.
constexpr auto kScrapeLimit = 10s;        // Prometheus waits this long.
constexpr const char* kTlsName = "localhost";

kube::ConfigSources config_sources(const Flags& flags) {
  const auto value = [](const char* name) { return environment(name).value_or(""); };
  return {flags.kubeconfig,
          value("KUBECONFIG"),
          value("KUBERNETES_SERVICE_HOST"),
          value("KUBERNETES_SERVICE_PORT"),
          value("HOME"),
          {}};
}

std::string cluster_domain(const Flags& flags) {
  if (!flags.cluster_domain.empty()) return flags.cluster_domain;
  auto resolv_conf = read_file("/etc/resolv.conf");
  return cluster_domain_of(resolv_conf ? *resolv_conf : "");
}

struct Address {
  std::string host;
  std::uint16_t port;
};

/// ":8080", "127.0.0.1:8080" or "[::1]:8080"; flags.cc has checked the form.
Address address_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return {host, static_cast<std::uint16_t>(std::stoi(text.substr(colon + 1)))};
}

/// How a connection for metrics begins; empty: in plaintext. The clock and the log must outlive it.
Result<http::Server::Open> scrape_door(const Flags& flags, const WallClock& clock, Log& log) {
  if (!flags.metrics_secure) return http::Server::Open{};
  if (flags.metrics_cert_path.empty()) {
    const auto ours = std::make_shared<SelfSignedServer>(clock, kTlsName);
    return http::Server::Open(
        [ours](auto connection) { return ours->over(std::move(connection)); });
  }
  const std::string folder = flags.metrics_cert_path + "/";
  auto loaded = CertificateFiles::load({folder + "tls.crt", folder + "tls.key"}, read_file);
  if (!loaded) return loaded.error();
  const auto files = std::make_shared<CertificateFiles>(std::move(*loaded));
  return http::Server::Open([files, &log, told = std::string()](auto connection) mutable {
    const auto fresh = files->refresh();
    const std::string trouble = fresh ? "" : fresh.error().message;
    if (trouble != told && !fresh)
      log.error("metrics go on with their old certificate", {{"error", trouble}});
    told = trouble;
    return files->over(std::move(connection));
  });
}

/// All objects that live as long as the process, in the order of creation.
class Manager {
 public:
  Manager(AsioLoop& loop, Log& log, const Flags& flags, kube::Config config,
          http::HttpClient::Dial dial_api, kube::PluginCredentials* plugin,
          http::Server::Open open_scrape)
      : loop_(loop),
        log_(log),
        flags_(flags),
        config_(std::move(config)),
        plugin_(plugin),
        api_(loop, random_, config_, dial_api, read_file, api_options()),
        lease_api_(loop, random_, config_, std::move(dial_api), read_file, api_options()),
        etcd_(loop, etcd::network_dial(loop)),
        operator_(
            {loop, random_, clock_, log, api_, lease_api_, etcd_, etcd::network_handshake(loop),
             flags.flight_recorder_bind_address == "0" ? nullptr : &flight_, &metrics_,
             etcd::network_receives_snapshot(loop)},
            operator_options()),
        scrape_access_(api_, loop, log, {}),
        heartbeat_(loop),
        probes_(loop, {}),
        scrapes_(loop, {.connections = kScrapersMax,
                        .idle_limit = kScrapeLimit,
                        .open = std::move(open_scrape)}),
        flights_(loop, {}) {
    probes_.route("/healthz", [this](const auto&) { return runtime::liveness(heartbeat_); });
    probes_.route("/readyz",
                  [this](const auto&) { return runtime::readiness(operator_.unfilled()); });
    flights_.route("/debug/flight", [this](const auto&) {
      return http::Response{200, {{"content-type", "application/jsonl"}}, flight_.text()};
    });
    measure();
  }

  /// Runs until asked to end, or until it must end. Returns the exit code.
  int run() {
    log_.info("starting manager",
              {{"version", ETCDOP_VERSION}, {"config", config_.source}, {"server", config_.host}});
    if (!serve("probes", probes_, flags_.health_probe_bind_address) ||
        !serve("metrics", scrapes_, flags_.metrics_bind_address)) {
      end();
      return kExitFailed;
    }
    // A debugging aid must not stop the operator: another process may use the port.
    (void)serve("flight recorder", flights_, flags_.flight_recorder_bind_address);
    background([this] { heartbeat_.beat(); });
    background([this] {
      for (Duration rest = kGiveBackMin; loop_.sleep(rest) == Woken::Ready;
           rest = std::min(2 * rest, kGiveBackMax))
        give_back_heap();
    });
    background([this] {
      if (loop_.wait_for_termination() != Woken::Ready) return;
      log_.info("asked to end");
      operator_.stop();
      if (loop_.sleep(kStopLimit) != Woken::Ready) return;
      log_.error("some work did not stop in time");
      std::_Exit(kExitFailed);
    });
    const auto ended = operator_.run();
    if (operator_.stuck()) std::_Exit(kExitFailed);
    end();
    return ended ? 0 : kExitFailed;
  }

 private:
  kube::Client::Options api_options() {
    return {.version = ETCDOP_VERSION,
            .on_answer = runtime::count_requests(metrics_, config_.host),
            .plugin = plugin_};
  }
  Operator::Options operator_options() {
    return {.leader_elect = flags_.leader_elect,
            .lease_namespace = config_.ns,
            .identity = runtime::leader_identity(host_name(), random_),
            .watch_namespaces = flags_.watch_namespaces,
            .images = {flags_.etcd_image_repository, flags_.operator_image},
            .cluster_domain = cluster_domain(flags_),
            .pod_policy = flags_.pod_template_policy,
            .measured = [this](runtime::Controller::Options options) {
              return runtime::measured(metrics_, std::move(options));
            }};
  }

  void measure() {
    runtime::measure(metrics_, operator_.clusters());
    runtime::measure(metrics_, operator_.members());
    runtime::measure(metrics_, operator_.defrags());
    runtime::measure(metrics_, operator_.snapshots());
    runtime::measure(metrics_, operator_.schedules());
    runtime::measure(metrics_, operator_.restores());
    metrics_.on_scrape(
        [this,
         leads = &metrics_.gauge("leader_election_master_status",
                                 "Whether this process holds the Lease of that name: 1, else 0.",
                                 {{"name", runtime::kLeaderLease}}),
         lost = &metrics_.counter("etcd_operator_events_lost_total",
                                  "Events that were not written: refused, too many, or too late."),
         memory =
             &metrics_.gauge("process_resident_memory_bytes", "Resident memory size in bytes."),
         cpu = &metrics_.counter("process_cpu_seconds_total",
                                 "Total user and system CPU time spent in seconds.")] {
          const ProcessUsage usage = process_usage();
          leads->set(operator_.leading() ? 1 : 0);
          lost->set(static_cast<double>(operator_.events().lost()));
          memory->set(static_cast<double>(usage.resident_bytes));
          cpu->set(usage.cpu_seconds);
        });
    const http::Server::Handler all = [this](const auto&) {
      return http::Response{
          200, {{"content-type", std::string(runtime::kMetricsContentType)}}, metrics_.text()};
    };
    scrapes_.route("/metrics", flags_.metrics_secure ? scrape_access_.guard(all) : all);
  }

  /// Starts a fiber that is cancelled at the end.
  void background(std::function<void()> body) {
    background_.push_back(loop_.spawn(std::move(body)));
  }

  /// False, after logging why, if the address cannot be used.
  bool serve(const char* what, http::Server& server, const std::string& address) {
    if (address == "0") return true;
    const Address at = address_of(address);
    auto listener = loop_.listen(at.host, at.port);
    if (!listener) {
      log_.error("cannot serve",
                 {{"what", what}, {"address", address}, {"error", listener.error().message}});
      return false;
    }
    log_.info("serving", {{"what", what}, {"port", (*listener)->local_port()}});
    background([&server, listener = std::shared_ptr<Listener>(std::move(*listener))] {
      server.run([&] { return listener->accept(); });
    });
    return true;
  }

  void end() {
    Shield orderly(loop_, kStopLimit);
    etcd_.close();
    if (plugin_) plugin_->close();
    for (const auto& fiber : background_) fiber->cancel();
    for (const auto& fiber : background_) (void)fiber->join();
  }

  AsioLoop& loop_;
  Log& log_;
  const Flags& flags_;
  const kube::Config config_;
  kube::PluginCredentials* const plugin_;  // Null if the Config has no plugin.
  OsRandom random_;
  SystemWallClock clock_;
  runtime::Metrics metrics_;
  kube::Client api_, lease_api_;
  etcd::Pool etcd_;
  FlightRecorder flight_;
  Operator operator_;
  runtime::AccessReviews scrape_access_;
  runtime::Heartbeat heartbeat_;
  http::Server probes_, scrapes_, flights_;
  std::vector<std::shared_ptr<Fiber>> background_;
};

int run(const Flags& flags) {
  keep_heap_small();
  keep_memory_private();
  LogWriter log({.json = flags.log_as_json, .level = flags.log_level, .sink = {}});
  auto config = kube::load_config(config_sources(flags), read_file);
  if (!config) {
    log.error("cannot tell where the API server is", {{"error", config.error().message}});
    return kExitFailed;
  }
  if (flags.leader_elect && config->ns.empty()) {
    log.error(
        "--leader-elect needs a namespace for its Lease: run in a Pod, or name one in the "
        "kubeconfig's context");
    return kExitFailed;
  }
  AsioLoop loop;
  const SystemWallClock wall_clock;
  std::unique_ptr<kube::PluginCredentials> plugin;
  if (config->exec)
    plugin = std::make_unique<kube::PluginCredentials>(
        loop, wall_clock, *config->exec,
        [&loop](const Command& command) { return run_command(loop, command); });
  auto dial = kube::dialer(loop, *config, plugin.get());
  if (!dial) {
    log.error("cannot use the credentials",
              {{"config", config->source}, {"error", dial.error().message}});
    return kExitFailed;
  }
  auto open_scrape = scrape_door(flags, wall_clock, log);
  if (!open_scrape) {
    log.error("cannot serve metrics by TLS: see --metrics-cert-path",
              {{"error", open_scrape.error().message}});
    return kExitFailed;
  }
  int exit_code = kExitFailed;
  Manager manager(loop, log, flags, std::move(*config), std::move(*dial), plugin.get(),
                  std::move(*open_scrape));
  loop.spawn([&] { exit_code = manager.run(); });
  loop.run();
  log.info("ended", {{"exit_code", exit_code}});
  return exit_code;
}

}  // namespace
}  // namespace etcdop

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "snapshot-agent") return etcdop::run_snapshot_agent();
  if (!words.empty() && words[0] == "delete-agent") return etcdop::run_delete_agent();
  if (!words.empty() && words[0] == "restore-agent") return etcdop::run_restore_agent();
  if (!words.empty() && words[0] == "install-tools") return etcdop::run_install_tools();
  if (!words.empty() && words[0] == "verify-agent") return etcdop::run_verify_agent();
  auto flags = etcdop::parse_flags(std::move(words), etcdop::environment);
  if (!flags) {
    std::fprintf(stderr, "manager: %s\n", flags.error().message.c_str());
    return etcdop::kExitUsage;
  }
  if (flags->help) std::printf("%s", flags->help->c_str());
  if (flags->show_version) std::printf("etcd-operator %s\n", ETCDOP_VERSION);
  if (flags->help || flags->show_version) return 0;
  return etcdop::run(*flags);
}
