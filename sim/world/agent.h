// One run of a simulated agent, of a snapshot, a verification or a restore: the one that main runs,
// on a process and doors of the simulation.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "sim/etcd/data_dir.h"
#include "sim/store/object_store.h"
#include "sim/world/doors.h"
#include "sim/world/volume_site.h"

namespace etcdop::sim {

// The object store of a world, and who may do everything there.
inline constexpr const char* kStoreEndpoint = "https://store.example:9000";
inline constexpr const char* kBucket = "backups";
inline constexpr const char* kStoreKeyId = "store-key-id";
inline constexpr const char* kStoreSecret = "store-secret-of-backups";

class Agent {
 public:
  struct Needs {
    Scheduler& world;
    const WallClock& clock;
    EtcdNet& net;
    Nodes& nodes;
    ObjectStore& store;
    const StoreUser& user;  ///< What the store makes of whoever has the right key.
    const Faults& faults;
    Trace& trace;
    Checker& checker;
    SiteTrouble& trouble;  ///< Of restores.
  };
  using Texts = std::map<std::string, std::string>;
  struct Start {
    std::string name;  ///< Of its Pod.
    std::string uid;
    Texts environment;
    Texts files;  ///< What it has mounted, by path.
    /// The volume of a restore; null, both: it takes a snapshot.
    std::shared_ptr<DataDir> dir = nullptr;
    std::shared_ptr<Scratch> scratch = nullptr;
  };
  /// `seed`: of its calls' travels and of its fibers' order.
  Agent(const Needs&, Start, std::uint64_t seed);
  /// Ends it as SIGKILL does: nothing of it gets out any more.
  ~Agent();
  Agent(const Agent&) = delete;

  const std::string& name() const { return passage_.who; }
  const std::string& uid() const { return start_.uid; }
  bool restores() const { return start_.scratch != nullptr; }
  ProcessExecutor& process() { return process_; }
  Passage& passage() { return passage_; }
  EtcdDoor& etcd() { return etcd_; }
  struct End {
    int code = 0;
    std::string words;  ///< Its termination message.
  };
  /// nullopt: it runs, or was killed.
  std::optional<End> ended() const { return main_->done() && !passage_.dead ? end_ : std::nullopt; }

 private:
  End take_snapshot();
  End restore();
  End verify();
  bool verifies() const { return variable("VERIFY_SCRATCH_DIR").has_value(); }
  std::optional<std::string> variable(const std::string& name) const;
  std::unique_ptr<s3::Store> store(const Needs&);

  const Start start_;
  const WallClock& clock_;
  SiteTrouble& trouble_;
  ProcessExecutor process_;
  TraceLog log_;
  Instant never_{};  // It does not speak to the API server.
  Passage passage_;
  EtcdDoor etcd_;
  StoreDoor store_;
  DataDir copy_dir_;  ///< Of a verification: where nothing is ever committed,
  Scratch copy_;      ///< and what it rebuilds.
  std::optional<End> end_;
  std::shared_ptr<Fiber> main_;
};

}  // namespace etcdop::sim
