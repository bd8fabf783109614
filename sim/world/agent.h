// One run of a simulated agent (snapshot, verification or restore): the agent that main runs, on a
// process and doors of the simulation.
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

// The object store of a world, and the credentials with all permissions.
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
    const StoreUser& user;  ///< The store user behind the right key.
    const Faults& faults;
    Trace& trace;
    Checker& checker;
    SiteTrouble& trouble;  ///< For restores.
  };
  using Texts = std::map<std::string, std::string>;
  struct Start {
    std::string name;  ///< Its Pod's name.
    std::string uid;
    Texts environment;
    Texts files;  ///< The mounted files, by path.
    /// The volume of a restore; both null: it takes a snapshot.
    std::shared_ptr<DataDir> dir = nullptr;
    std::shared_ptr<Scratch> scratch = nullptr;
  };
  /// `seed`: for travel times and the order of its fibers.
  Agent(const Needs&, Start, std::uint64_t seed);
  /// Ends it as SIGKILL does: nothing leaves it any more.
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
  Instant never_{};  // It does not call the API server.
  Passage passage_;
  EtcdDoor etcd_;
  StoreDoor store_;
  DataDir copy_dir_;  ///< For a verification: nothing is ever committed here,
  Scratch copy_;      ///< and this is what it rebuilds.
  std::optional<End> end_;
  std::shared_ptr<Fiber> main_;
};

}  // namespace etcdop::sim
