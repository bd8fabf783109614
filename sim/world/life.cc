#include "sim/world/life.h"

#include "operator/operator.h"
#include "runtime/leader.h"

namespace etcdop::sim {

namespace {

constexpr std::chrono::seconds kBegin{1767225600};  // 2026-01-01T00:00:00Z

std::vector<kube::Permission> granted() {
  auto out = operator_permissions();
  const auto lease = runtime::leader_permissions();
  out.insert(out.end(), lease.begin(), lease.end());
  return out;
}

}  // namespace

WallTime ProcessDate::wall_now() const {
  return {kBegin + error_ +
          std::chrono::floor<std::chrono::seconds>(clock_.now().time_since_epoch())};
}

Life::Life(Needs with, std::string name, std::uint64_t seed)
    : process_(with.world, seed),
      dice_(seed ^ 1),
      date_(with.world),
      log_(with.trace, name),
      passage_{name,       with.world,   process_,           seed, Dice(seed ^ 2), with.faults,
               with.trace, with.checker, with.api_down_until},
      api_(passage_, with.server, granted()),
      lease_api_(passage_, with.server, granted()),
      etcd_(passage_, with.net, with.nodes),
      operator_(std::make_unique<Operator>(
          Operator::Collaborators{
              process_, dice_, date_, log_, api_, lease_api_, etcd_,
              [this](const auto& to, std::int32_t port) { return etcd_.handshake(to, port); },
              with.record ? &flight_ : nullptr, nullptr,
              [this](const auto& to) { return etcd_.receives_snapshot(to); }},
          Operator::Options{.leader_elect = true,
                            .lease_namespace = "etcd-operator-system",
                            .identity = name,
                            .watch_namespaces = {},
                            .images = {"quay.io/coreos/etcd", "etcd-operator:1"},
                            .cluster_domain = "cluster.local",
                            .pod_policy = with.pod_policy,
                            .measured = {}})),
      main_(process_.spawn([this] { (void)operator_->run(); })) {}

Life::~Life() {
  passage_.dead = true;
  main_->cancel();
  operator_->stop();
  check(process_.drain(), "a killed operator's fibers all end");
}

bool Life::leading() const { return operator_->leading(); }

void Life::terminate() { operator_->stop(); }

}  // namespace etcdop::sim
