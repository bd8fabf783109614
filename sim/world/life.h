// One run of a simulated operator: the Operator that main runs, on a process and doors of the
// simulation.
#pragma once
#include <memory>
#include <string>

#include "operator/passes/flight_recorder.h"
#include "operator/pods/pod_policy.h"
#include "sim/world/doors.h"

namespace etcdop {
class Operator;  // Its header costs every scenario seconds to compile.
}

namespace etcdop::sim {

/// A date that follows the world's, with an error.
class ProcessDate final : public WallClock {
 public:
  explicit ProcessDate(const Clock& clock) : clock_(clock) {}
  WallTime wall_now() const override;
  void jump(std::chrono::seconds by) { error_ += by; }
  std::chrono::seconds error() const { return error_; }

 private:
  const Clock& clock_;
  std::chrono::seconds error_{0};
};

class Life {
 public:
  struct Needs {
    Scheduler& world;
    ApiServer& server;
    EtcdNet& net;
    Nodes& nodes;
    const Faults& faults;
    Trace& trace;
    Checker& checker;
    const Instant& api_down_until;
    bool record = false;  ///< Whether it has a flight recorder.
    PodPolicy pod_policy = PodPolicy::Baseline;
  };
  Life(Needs, std::string name, std::uint64_t seed);
  /// Ends it as SIGKILL does: nothing leaves it any more.
  ~Life();
  Life(const Life&) = delete;

  const std::string& name() const { return passage_.who; }
  ProcessExecutor& process() { return process_; }
  Passage& passage() { return passage_; }
  ApiDoor& api() { return api_; }
  EtcdDoor& etcd() { return etcd_; }
  ProcessDate& date() { return date_; }
  const FlightRecorder& flight() const { return flight_; }
  Operator& program() { return *operator_; }
  /// It has ended by itself, as after the loss of the Lease.
  bool ended() const { return main_->done(); }
  bool leading() const;
  /// As SIGTERM: an orderly end.
  void terminate();

 private:
  ProcessExecutor process_;
  Dice dice_;
  ProcessDate date_;
  TraceLog log_;
  Passage passage_;
  ApiDoor api_, lease_api_;
  EtcdDoor etcd_;
  FlightRecorder flight_;
  std::unique_ptr<Operator> operator_;
  std::shared_ptr<Fiber> main_;
};

}  // namespace etcdop::sim
