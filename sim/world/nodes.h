// Nodes, their kubelets, the scheduler, volumes and DNS of a simulated world.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/core_types.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/scheduler.h"
#include "sim/world/faults.h"
#include "sim/world/mounts.h"
#include "sim/world/placement.h"
#include "sim/world/trace.h"

namespace etcdop::sim {

struct Scratch;

/// Whether a Service, and the DNS names of a headless one, lead to the Pod.
bool leads_to(const kube::Service&, const kube::Pod&);

/// Runs every etcd Pod in the API server: schedules it (its volume binds then, and is attached to
/// one node at a time), starts its etcd, probes it each 2 s, restarts it with back-off (10 s to 5
/// min, also after exit code 0), and ends it when it is deleted, unless its node is down. A Pod
/// starts once the Secrets that it mounts exist; a new version of a Secret arrives up to 90 s
/// later. Init containers run first, one after the other, each again with back-off until it
/// succeeds, and all of them again when the node comes back; those of a restore are modelled.
class Nodes {
 public:
  /// Runs the container `restore` of a Pod.
  class Restores {
   public:
    struct Wanted {
      api::ObjectKey pod;
      std::string uid;
      Json container;
      std::shared_ptr<DataDir> dir;
      std::shared_ptr<Scratch> scratch;
      /// Called between steps, unless kill() kills it.
      std::function<void(int exit_code, const std::string& words)> ended;
    };
    virtual ~Restores() = default;
    /// False: a Secret that it needs does not exist.
    virtual bool start(const Wanted&) = 0;
    /// As SIGKILL, if it runs.
    virtual void kill(const std::string& pod_uid) = 0;
  };
  Nodes(Scheduler&, const WallClock&, ApiServer&, EtcdNet&, const Faults&, Dice, Trace&, int count);
  ~Nodes();
  /// Call it before the first Pod that restores; `restores` outlives this.
  void restored_by(Restores& restores) { restores_ = &restores; }
  void stop();

  /// The kinds that it needs, with the fields that kubelet and volume controller add at creation.
  static std::vector<ApiKind> kinds();

  /// As a member's resolver answers: DNS follows Pods with a lag.
  std::optional<std::string> resolve(const std::string& host) const;

  // --- TLS
  /// The certificate that the process at that port shows, or an error, as in sys/tls.h. Null
  /// `with`: the caller speaks plaintext; an error says that the port does not.
  Result<CertificateFacts> shake_hands(const std::string& address, std::int32_t port,
                                       const std::string& server_name,
                                       const std::shared_ptr<const TlsClient::Options>& with);
  /// The TLS of that port of the process there; nullopt: plaintext, or no Pod runs there.
  std::optional<TlsPort> port_at(const std::string& address, std::int32_t port) const;
  /// Whether the process there speaks TLS to clients; and checks their certificates.
  bool has_tls(const std::string& address) const;
  bool knows_clients_by_certificate(const std::string& address) const;
  /// As EtcdNet::Options::admits.
  bool admits(const std::string& from, const std::string& to, bool https);

  // --- for runners of other Pods than etcd's
  bool is_down(const std::string& node) const;
  /// A node that takes Pods; nullopt: none does.
  std::optional<std::string> any_up(Dice&) const;
  /// Called when a node stops.
  void on_down(std::function<void(const std::string& node)> stops) { stops_ = std::move(stops); }

  // --- faults
  void node_down(std::size_t index, bool down);
  /// No new Pod is scheduled there.
  void cordon(std::size_t index, bool on) { nodes_.at(index).cordoned = on; }
  /// Whether Pods stay on the node of their volume. Otherwise the node is random.
  void local_volumes(bool on) { local_volumes_ = on; }
  /// Whether Pods get the labels of their node's topology, as since Kubernetes 1.35.
  void tell_zones(bool on) { tells_zones_ = on; }
  /// Three at most, in turn.
  const std::string& zone_of(std::size_t index) const { return nodes_.at(index).zone; }
  std::size_t count() const { return nodes_.size(); }
  /// Kills the process of a Pod; the kubelet starts it again.
  void kill_etcd(const api::ObjectKey& pod);
  /// The same, with the words of a kubelet whose container used too much memory.
  void kill_for_memory(const api::ObjectKey& pod);
  /// Whether that was the last end of the container of the Pod that has this name now.
  bool died_of_memory(const api::ObjectKey& pod) const;
  /// The Pod fails, and stays.
  void evict(const api::ObjectKey& pod);
  /// Until then, the kubelet of that node refuses every Pod that is bound to it: the Pod fails at
  /// once. Source: rejectPod() in pkg/kubelet/kubelet.go, lifecycle/predicate.go.
  void refuse_pods(std::size_t index, Instant until) { nodes_.at(index).refuses_until = until; }
  /// Until then nothing can be written to the Pod's volume: its etcd ends, and at each start again.
  /// Data in memory is left alone.
  void fill_disk(const api::ObjectKey& pod, Instant until);
  void empty_disks();
  static constexpr const char* kSidecar = "proxy";  ///< A container that admission adds.
  static constexpr Duration kKubeletLagMax = std::chrono::seconds(8);
  static constexpr const char* kRefusal = "OutOfpods";      ///< status.reason of these Pods.
  static constexpr const char* kOutOfMemory = "OOMKilled";  ///< The reason of a container's end.
  /// No registry has etcd of that version.
  void lack_image(const std::string& version) { lacking_.insert(version); }
  /// A user deletes the claim and its Pod; or the data becomes unreadable and its process ends.
  void lose_volume(const api::ObjectKey& claim);
  void corrupt_volume(const api::ObjectKey& claim);
  /// Somebody puts other data on the volume, and its process is killed.
  void replace_data(const api::ObjectKey& claim, const DataDir& by);
  /// A Pod's name resolves to another Pod's address, as DNS does while it remembers a reused
  /// address; empty: it is right again.
  void misdirect(const std::string& pod, const std::string& to) { misdirected_[pod] = to; }
  /// An address of a deleted Pod, for another tenant; nullopt: none.
  std::optional<std::string> freed_address();

  // --- ground truth
  /// The data of a claim, by its UID; null: none that can be read.
  std::shared_ptr<DataDir> data_of(const std::string& claim_uid) const;
  /// Leftovers of restores there; null: no data dir.
  std::shared_ptr<const Scratch> scratch_of(const std::string& claim_uid) const;
  /// How often a Pod's container `restore` was started.
  std::uint64_t restores_begun() const { return restores_begun_; }
  /// The data that a Pod has in memory; null: none, or its node is down.
  std::shared_ptr<DataDir> memory_of(const api::ObjectKey& pod) const;
  /// A member's data, on a volume or in memory, unless it is about to be lost.
  std::shared_ptr<DataDir> data_of_member(const api::ObjectKey& member) const;
  /// The Pods with data in memory on that node.
  std::vector<api::ObjectKey> in_memory_on(std::size_t node) const;
  std::string address_of(const api::ObjectKey& pod) const;

 private:
  struct Node : Place {
    bool down = false, cordoned = false;
    Instant refuses_until{};
  };
  struct Run;
  struct Volume {
    std::shared_ptr<DataDir> dir;
    std::shared_ptr<Scratch> scratch;
    std::string node;      // The node of a local volume.
    std::string attached;  // UID of the attached Pod.
    bool corrupt = false;
    Instant full_until{};
  };
  struct Name {
    std::string address;
    Instant since;
  };
  void changed(const api::Resource&, const ApiServer::Object& before,
               const ApiServer::Object& after);
  void run_pod(const std::shared_ptr<Run>&);
  bool schedule(Run&);
  bool schedule_in_memory(Run&);
  std::vector<Node*> fit(const Run&);
  void bind(Run&, const std::vector<Node*>& fitting);
  std::vector<std::string> command_of(const Run&) const;
  bool pull(Run&);
  void set_up(Run&);
  void initialise(Run&);
  void start_init(Run&);
  void init_ended(Run&, int code, const std::string& words);
  void stop_all(Run&);
  void give_address(Run&);
  void start(Run&);
  void watch_over(Run&);
  void restart(Run&);
  void check_liveness(Run&);
  void end_process(Run&);
  void end(Run&);
  void free_volume(Run&);
  void unprotect(const api::ObjectKey& claim);
  using Edit = std::function<void(json::object&)>;
  void set_status(Run&, const Edit& edit);
  void set_status_at_once(Run&, const Edit& edit);
  void publish(Run&);
  void write_status(Run&);
  bool refuse(Run&);
  bool is_full(const Run&) const;
  void die_of_full_disk(Run&);
  void kill_container(const api::ObjectKey& pod, const char* reason);
  void fail(Run&, const char* reason, const std::string& message);
  void set_ready(Run&, bool ready);
  std::string new_address();
  bool wait(Run&, Duration);
  Node* node(const std::string& name);
  Run* run_of(const api::ObjectKey& pod) const;
  Run* run_at(const std::string& address) const;
  SecretVersion version_of(const api::ObjectKey& secret, const ApiServer::Object& now);
  bool mount(Run&);

  Scheduler& world_;
  const WallClock& clock_;
  ApiServer& server_;
  EtcdNet& net_;
  const Faults& faults_;
  Dice dice_, lags_;  // The second one only for a kubelet that lags.
  Trace& trace_;
  std::vector<Node> nodes_;
  std::map<std::string, std::shared_ptr<Run>> runs_;  // By Pod UID.
  std::map<std::string, Volume> volumes_;             // By claim UID.
  std::map<std::string, std::deque<Name>> names_;     // By host.
  std::map<std::string, std::string> misdirected_;    // By Pod, to another.
  std::set<std::string> lacking_;                     // Versions without an image.
  std::map<api::ObjectKey, std::pair<ApiServer::Object, SecretVersion>> secrets_;
  Handshakes handshakes_;
  std::deque<std::string> freed_;
  std::uint64_t addresses_ = 0;
  std::function<void(const std::string& node)> stops_;
  Restores* restores_ = nullptr;
  std::uint64_t restores_begun_ = 0;
  bool local_volumes_ = false, tells_zones_ = false, stopping_ = false;
};

}  // namespace etcdop::sim
