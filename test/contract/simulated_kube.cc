// The simulated API server in place of a real one, with its controllers.
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "kube/core_types.h"
#include "sim/scheduler.h"
#include "test/contract/kube_servers.h"
#include "test/support/fake_api.h"
#include "test/support/seeded_random.h"

namespace etcdop::contract {
namespace {

using namespace std::chrono_literals;
using api::Resource;

Result<Done> good_data(const Json& config_map) {
  const Json* const data = config_map.as_object().if_contains("data");
  if (!data) return Done{};
  const std::string what = "ConfigMap \"" +
                           std::string(config_map.at("metadata").at("name").as_string()) +
                           "\" is invalid: data";
  if (!data->is_object()) return Error{Code::Invalid, what + ": cannot unmarshal"};
  for (const auto& [key, value] : data->get_object()) {
    if (!value.is_string()) return Error{Code::Invalid, what + ": cannot unmarshal"};
    if (key.find(' ') != key.npos)
      return Error{Code::Invalid, what + "[" + std::string(key) + "]: Invalid value"};
  }
  return Done{};
}

void drop_empty_data(json::object& config_map) {
  const Json* const data = config_map.if_contains("data");
  if (data && (data->is_null() || (data->is_object() && data->get_object().empty())))
    config_map.erase("data");
}

void has_spec(json::object& lease) {
  if (Json& spec = lease["spec"]; spec.is_null()) spec = json::object();
}

void allow_nothing(json::object& budget) {
  if (!budget.contains("status"))
    budget["status"] = {{"currentHealthy", 0},
                        {"desiredHealthy", 0},
                        {"disruptionsAllowed", 0},
                        {"expectedPods", 0}};
}

void begin_pending(json::object& pod) {
  if (!pod.contains("status")) pod["status"] = json::object{{"phase", "Pending"}};
}

class SimulatedKube final : public KubeServer {
 public:
  SimulatedKube() {
    server_.serve({.resource = {"", "v1", "namespaces", "Namespace"}, .namespaced = false});
    server_.serve({.resource = {"", "v1", "configmaps", "ConfigMap"},
                   .validate = [](const Json& next, const Json&) { return good_data(next); },
                   .fill_in = drop_empty_data});
    server_.serve({.resource = kube::Service::resource, .status = true, .answers_last = true});
    server_.serve({.resource = kube::Pod::resource,
                   .status = true,
                   .graceful = true,
                   .fill_in = begin_pending});
    server_.serve({.resource = {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"},
                   .status = true,
                   .generation = true,
                   .fill_in = allow_nothing});
    server_.serve({.resource = kube::Lease::resource, .fill_in = has_spec});
    server_.serve(sim::custom_kind<api::v1alpha2::EtcdCluster>());
    server_.serve(sim::custom_kind<api::v1alpha2::EtcdMember>());
  }
  Executor& executor() override { return world_; }
  Random& random() override { return random_; }
  void run(const std::function<void()>& body) override {
    bool done = false;
    (void)world_.spawn([&] {
      const Within limit(world_, 10min);
      body();
      done = true;
    });
    (void)world_.spawn([&] {
      while (!done && world_.sleep(100ms) == Woken::Ready) run_controllers();
    });
    world_.run();
    check(done, "a contract test comes to its end");
  }
  kube::Api& api() override { return server_; }

 private:
  void run_controllers() {
    server_.run_controllers();
    const Resource config_maps{"", "v1", "configmaps", "ConfigMap"};
    for (const Json& ns : server_.all({"", "v1", "namespaces", "Namespace"})) {
      const json::object& metadata = ns.at("metadata").as_object();
      const std::string name(metadata.at("name").as_string());
      if (metadata.contains("deletionTimestamp") ||
          server_.look(config_maps, {name, "kube-root-ca.crt"}))
        continue;
      (void)server_.put(config_maps,
                        {{"metadata", {{"namespace", name}, {"name", "kube-root-ca.crt"}}}});
    }
  }

  sim::Scheduler world_{1};
  testing::SeededRandom random_{1};
  testing::FakeApi server_{world_};
};

}  // namespace

std::unique_ptr<KubeServer> make_simulated_kube() { return std::make_unique<SimulatedKube>(); }

}  // namespace etcdop::contract
