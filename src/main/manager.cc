// The operator's process: builds everything there is and passes it down. Only this file knows the
// real world.
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
#include "kube/reflector.h"
#include "main/flags.h"
#include "operator/cluster/reconciler.h"
#include "operator/cluster/wire.h"
#include "operator/member/reconciler.h"
#include "operator/member/wire.h"
#include "operator/shared/stores.h"
#include "runtime/controller.h"
#include "runtime/leader.h"
#include "runtime/metrics.h"
#include "sys/asio_loop.h"
#include "sys/log_writer.h"
#include "sys/process.h"
#include "sys/system.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

constexpr auto kStopLimit = 8s;  // The kubelet waits for ten.
constexpr int kExitFailed = 1, kExitUsage = 2;

kube::ConfigSources config_sources(const Flags& flags) {
  const auto value = [](const char* name) { return environment(name).value_or(""); };
  return {flags.kubeconfig,
          value("KUBECONFIG"),
          value("KUBERNETES_SERVICE_HOST"),
          value("KUBERNETES_SERVICE_PORT"),
          value("HOME"),
          {}};
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

/// Everything that lives as long as the process does, in the order in which it is built.
class Manager {
 public:
  Manager(AsioLoop& loop, Log& log, const Flags& flags, kube::Config config,
          http::HttpClient::Dial dial_api)
      : loop_(loop),
        log_(log),
        flags_(flags),
        config_(std::move(config)),
        api_(loop, random_, config_, dial_api, read_file, api_options()),
        lease_api_(loop, random_, config_, std::move(dial_api), read_file, api_options()),
        etcd_(loop, etcd::network_dial(loop, nullptr)),
        election_(lease_api_, loop, clock_, random_, log,
                  {.ns = config_.ns, .identity = runtime::leader_identity(host_name(), random_)}),
        clusters_({loop, api_, stores_, etcd_, clock_, log}),
        members_({loop, api_, stores_, clock_, log}, {flags.etcd_image_repository}),
        cluster_controller_(loop, random_, log, controller("etcdcluster"),
                            [this](const auto& key) { return clusters_.reconcile(key); }),
        member_controller_(loop, random_, log, controller("etcdmember"),
                           [this](const auto& key) { return members_.reconcile(key); }),
        probes_(loop, {}),
        scrapes_(loop, {}) {
    cluster::connect(stores_, cluster_controller_.queue());
    member::connect(stores_, member_controller_.queue());
    probes_.route("/healthz", [](const auto&) { return http::Response{200, {}, "ok\n"}; });
    probes_.route("/readyz", [this](const auto&) {
      return synced() ? http::Response{200, {}, "ok\n"}
                      : http::Response{503, {}, "the caches are not filled yet\n"};
    });
    measure();
  }

  /// Until it is asked to end, or has to. The exit code.
  int run() {
    log_.info("starting manager",
              {{"version", ETCDOP_VERSION}, {"config", config_.source}, {"server", config_.host}});
    if (!serve("probes", probes_, flags_.health_probe_bind_address) ||
        !serve("metrics", scrapes_, flags_.metrics_bind_address)) {
      end();
      return kExitFailed;
    }
    background([this] {
      if (loop_.wait_for_termination() != Woken::Ready) return;
      log_.info("asked to end");
      stop_working();
      if (loop_.sleep(kStopLimit) != Woken::Ready) return;
      log_.error("some work did not stop in time");
      std::_Exit(kExitFailed);
    });
    watch();
    working_ = loop_.spawn([this] { work(); });
    (void)working_->join();
    end();
    return exit_code_;
  }

 private:
  kube::Client::Options api_options() {
    return {.version = ETCDOP_VERSION,
            .on_answer = runtime::count_requests(metrics_, config_.host)};
  }
  runtime::Controller::Options controller(const char* name) {
    runtime::Controller::Options out;
    out.name = name;
    return runtime::measured(metrics_, std::move(out));
  }

  void measure() {
    runtime::measure(metrics_, cluster_controller_);
    runtime::measure(metrics_, member_controller_);
    metrics_.on_scrape(
        [this,
         leads = &metrics_.gauge("leader_election_master_status",
                                 "Whether this process holds the Lease of that name: 1, else 0.",
                                 {{"name", runtime::kLeaderLease}}),
         memory =
             &metrics_.gauge("process_resident_memory_bytes", "Resident memory size in bytes."),
         cpu = &metrics_.counter("process_cpu_seconds_total",
                                 "Total user and system CPU time spent in seconds.")] {
          const ProcessUsage usage = process_usage();
          leads->set(election_.leading() ? 1 : 0);
          memory->set(static_cast<double>(usage.resident_bytes));
          cpu->set(usage.cpu_seconds);
        });
    scrapes_.route("/metrics", [this](const auto&) {
      return http::Response{
          200, {{"content-type", std::string(runtime::kMetricsContentType)}}, metrics_.text()};
    });
  }

  bool synced() const {
    return stores_.clusters.synced() && stores_.members.synced() && stores_.pods.synced() &&
           stores_.volumes.synced() && stores_.services.synced();
  }

  /// A fiber that is cancelled at the end.
  void background(std::function<void()> body) {
    background_.push_back(loop_.spawn(std::move(body)));
  }

  /// False, after saying why, if the address cannot be had.
  bool serve(const char* what, http::Server& server, const std::string& address) {
    if (address == "0") return true;
    const Address at = address_of(address);
    auto listener = loop_.listen(at.host, at.port);
    if (!listener) {
      log_.error("cannot serve",
                 {{"what", what}, {"address", address}, {"error", listener.error().message}});
      return false;
    }
    background([&server, listener = std::shared_ptr<Listener>(std::move(*listener))] {
      server.run([&] { return listener->accept(); });
    });
    return true;
  }

  template <class T>
  void watch(kube::Store<T>& store, const std::string& selector) {
    std::vector<std::string> namespaces = flags_.watch_namespaces;
    if (namespaces.empty()) namespaces.emplace_back();
    for (const std::string& ns : namespaces) {
      auto reflector = std::make_shared<kube::Reflector<T>>(
          loop_, random_, log_, api_, store, typename kube::Reflector<T>::Options{ns, selector});
      reflector->start();
      stop_watching_.push_back([reflector] { reflector->stop(); });
    }
  }

  void watch() {
    watch(stores_.clusters, "");
    watch(stores_.members, "");
    watch(stores_.pods, api::v1alpha2::kClusterLabel);
    watch(stores_.volumes, api::v1alpha2::kClusterLabel);
    watch(stores_.services, api::v1alpha2::kClusterLabel);
  }

  /// Controllers run while we lead, on caches that are full.
  void work() {
    std::shared_ptr<Fiber> leading;
    if (flags_.leader_elect) {
      if (!election_.acquire()) return;
      leading = loop_.spawn([this] {
        const Error why = election_.lead();
        if (why.code == Code::Cancelled) return;
        log_.error("no longer the leader", {{"error", why.message}});
        exit_code_ = kExitFailed;  // Somebody else may lead now: nothing more is written.
        stop_working();
      });
    }
    while (!synced())
      if (loop_.sleep(50ms) != Woken::Ready) break;
    if (synced()) {
      log_.info("caches are full",
                {{"clusters", stores_.clusters.size()}, {"members", stores_.members.size()}});
      cluster_controller_.start();
      member_controller_.start();
      Wait forever(loop_);
      (void)forever.until();
      Shield orderly(loop_, kStopLimit);
      if (auto stopped = cluster_controller_.stop(); !stopped) std::_Exit(kExitFailed);
      if (auto stopped = member_controller_.stop(); !stopped) std::_Exit(kExitFailed);
    }
    Shield orderly(loop_, kStopLimit);
    if (leading) {
      leading->cancel();
      (void)leading->join();
      election_.release();
    }
  }

  void stop_working() {
    if (working_) working_->cancel();
  }

  void end() {
    Shield orderly(loop_, kStopLimit);
    for (const auto& stop : stop_watching_) stop();
    etcd_.close();
    for (const auto& fiber : background_) fiber->cancel();
    for (const auto& fiber : background_) (void)fiber->join();
  }

  AsioLoop& loop_;
  Log& log_;
  const Flags& flags_;
  const kube::Config config_;
  OsRandom random_;
  SystemWallClock clock_;
  runtime::Metrics metrics_;
  kube::Client api_;
  kube::Client lease_api_;  // However many other calls hang, the Lease is renewed.
  Stores stores_;
  etcd::Pool etcd_;
  runtime::LeaderElection election_;
  cluster::Reconciler clusters_;
  member::Reconciler members_;
  runtime::Controller cluster_controller_, member_controller_;
  http::Server probes_, scrapes_;
  std::vector<std::shared_ptr<Fiber>> background_;
  std::vector<std::function<void()>> stop_watching_;
  std::shared_ptr<Fiber> working_;
  int exit_code_ = 0;
};

int run(const Flags& flags) {
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
  auto dial = kube::dialer(loop, *config);
  if (!dial) {
    log.error("cannot use the credentials",
              {{"config", config->source}, {"error", dial.error().message}});
    return kExitFailed;
  }
  int exit_code = kExitFailed;
  Manager manager(loop, log, flags, std::move(*config), std::move(*dial));
  loop.spawn([&] { exit_code = manager.run(); });
  loop.run();
  log.info("ended", {{"exit_code", exit_code}});
  return exit_code;
}

}  // namespace
}  // namespace etcdop

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (const char* later : {"snapshot-agent", "restore-agent", "install-tools"})
    if (!words.empty() && words[0] == later) {
      std::fprintf(stderr, "%s failed: this release does not implement it\n", later);
      return etcdop::kExitFailed;
    }
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
