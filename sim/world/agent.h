// One run of a simulated snapshot agent: the one that main runs, on a process and doors of the
// simulation.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "sim/store/object_store.h"
#include "sim/world/doors.h"

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
  };
  using Texts = std::map<std::string, std::string>;
  struct Start {
    std::string name;  ///< Of its Pod.
    std::string uid;
    Texts environment;
    Texts files;  ///< What it has mounted, by path.
  };
  /// `seed`: of its calls' travels and of its fibers' order.
  Agent(const Needs&, Start, std::uint64_t seed);
  /// Ends it as SIGKILL does: nothing of it gets out any more.
  ~Agent();
  Agent(const Agent&) = delete;

  const std::string& name() const { return passage_.who; }
  const std::string& uid() const { return start_.uid; }
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
  void work();
  std::unique_ptr<s3::Store> store(const Needs&);

  const Start start_;
  const WallClock& clock_;
  ProcessExecutor process_;
  TraceLog log_;
  Instant never_{};  // It does not speak to the API server.
  Passage passage_;
  EtcdDoor etcd_;
  StoreDoor store_;
  std::optional<End> end_;
  std::shared_ptr<Fiber> main_;
};

}  // namespace etcdop::sim
