// Feeds lists of large objects through the client's parser into the operator's stores, and prints
// a Markdown table of the process's memory: one case, in a process of its own.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "kube/object_text.h"
#include "kube/reflector.h"
#include "operator/passes/stores.h"
#include "sim/scheduler.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

/// In megabytes of 10^6 bytes.
double of_status(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::atof(line.c_str() + field.size() + 1) * 1024 / 1e6;
  return 0;
}

/// A template of that many bytes, different for each cluster.
std::string template_of(int cluster, std::size_t bytes) {
  std::string out = R"({"spec":{"containers":[{"name":"log","env":[)";
  for (int i = 0; out.size() + 110 < bytes; ++i) {
    const std::string name = std::to_string(cluster) + "_" + std::to_string(i);
    out += (i > 0 ? "," : "") + std::string(R"({"name":"V)") + name + R"(","value":")" + name +
           std::string(60, 'x') + "\"}";
  }
  return out + "]}]}}";
}

struct Case {
  int clusters, members;  ///< EtcdMembers of each cluster.
  std::size_t bytes;      ///< Length of each spec.
  bool adopted;           ///< The spec is in status.observed, too.
};

std::string spec_of(const Case& of, int cluster) {
  return R"("version":"3.6.16","storage":{"size":"1Gi"},"replicas":)" +
         std::to_string(of.adopted ? 3 : 0) + R"(,"podTemplate":)" + template_of(cluster, of.bytes);
}

std::string metadata_of(const std::string& name, const std::string& cluster) {
  return R"({"namespace":"ns","resourceVersion":"1","uid":")" + name + R"(","name":")" + name +
         R"(","labels":{")" + v1::kClusterLabel + "\":\"" + cluster + "\"}}";
}

std::string object_of(const Case& of, const std::string& plural, int index) {
  const int cluster = plural == "etcdmembers" ? index / of.members : index;
  const std::string of_cluster = "c-" + std::to_string(cluster);
  const std::string spec = spec_of(of, cluster);
  if (plural == "etcdclusters")
    return R"({"metadata":)" + metadata_of(of_cluster, of_cluster) + R"(,"spec":{)" + spec +
           R"(},"status":{)" + (of.adopted ? R"("observed":{)" + spec + "}" : "") + "}}";
  return R"({"metadata":)" + metadata_of("m-" + std::to_string(index), of_cluster) +
         R"(,"spec":{"clusterName":")" + of_cluster +
         R"(","initialCluster":"","clusterToken":"t",)" + spec + "}}";
}

class Feed final : public kube::Api {
 public:
  Feed(Executor& executor, Case of) : executor_(executor), of_(of) {}
  Result<Json> call(const kube::Call&) override { return Error{Code::Invalid, "not called"}; }
  Result<Json> list(const kube::Call& call, const std::function<void(const Json&)>& item) override {
    kube::ListText text(item);
    const std::string plural = call.resource.plural;
    const int count = of_.clusters * (plural == "etcdmembers" ? of_.members : 1);
    bool goes_on = text.take(R"({"metadata":{"resourceVersion":"1"},"items":[)");
    for (int i = 0; i < count && goes_on; ++i)
      goes_on = text.take((i > 0 ? "," : "") + object_of(of_, plural, i));
    (void)text.take("]}");
    return text.result();
  }
  Result<Done> watch(const kube::Call&, const std::function<bool(kube::WatchEvent)>&) override {
    (void)executor_.sleep(std::chrono::hours(1));
    return Error{Code::Cancelled, "the end"};
  }

 private:
  Executor& executor_;
  Case of_;
};

int run(const Case& of) {
  sim::Scheduler world(1);
  testing::SeededRandom random{1};
  testing::MemoryLog log;
  Feed api(world, of);
  Stores stores;
  kube::Reflector<v1::EtcdCluster> clusters(world, random, log, api, stores.clusters, {});
  kube::Reflector<v1::EtcdMember> members(world, random, log, api, stores.members, {});
  const double before = of_status("VmRSS:");
  clusters.start();
  members.start();
  world.run_until(Instant(1min));
  std::printf("| %d EtcdClusters of %zu bytes, %d EtcdMembers each%s | %zu | %.1f | %.1f |\n",
              of.clusters, of.bytes, of.members, of.adopted ? "" : ", not adopted",
              stores.clusters.size() + stores.members.size(), of_status("VmRSS:") - before,
              of_status("VmHWM:") - before);
  world.spawn([&] {
    clusters.stop();
    members.stop();
  });
  world.run();
  return stores.clusters.synced() && log.lines().size() < 10 ? 0 : 1;
}

}  // namespace
}  // namespace etcdop

/// CLUSTERS MEMBERS BYTES ADOPTED
int main(int count, char** words) {
  if (count != 5) return 2;
  return etcdop::run({std::atoi(words[1]), std::atoi(words[2]),
                      static_cast<std::size_t>(std::atoll(words[3])), std::atoi(words[4]) != 0});
}
