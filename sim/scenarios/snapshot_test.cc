// Scenarios of snapshots: their Jobs, the agents in them, the store.
#include "api/v1alpha2/etcdsnapshot.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

const api::ObjectKey kNightly{"prod", "nightly"};

class ScenarioOfSnapshots : public Scenario {
 protected:
  void snapshot() { world.snapshot(kKey, kNightly.name); }
  /// "Complete True/SnapshotStored"
  std::string snapshot_says() {
    const auto snapshot = read<v1::EtcdSnapshot>(kNightly);
    if (!snapshot) return "";
    const auto* c = runtime::find_condition(snapshot->status.conditions, v1::kReady);
    return snapshot->status.phase + (c ? " " + c->status + "/" + c->reason : "");
  }
  void until_snapshot_says(const std::string& words, Duration limit = 10min) {
    ASSERT_TRUE(world.run_until([&] { return snapshot_says() == words; }, limit))
        << snapshot_says();
  }
};

TEST_F(ScenarioOfSnapshots, OneIsStoredAndToldOf) {
  settled_cluster(3);
  world.run_for(30s);
  snapshot();
  until_snapshot_says("Complete True/SnapshotStored", 1min);
  world.must_converge(2min);
}

}  // namespace
}  // namespace etcdop::sim
