// A whole world in virtual time: API server, nodes, etcds, operators, people, clients, and what
// goes wrong there. A seed is a world.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/describe.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdrestore.h"
#include "sim/api/jobs.h"
#include "sim/history.h"
#include "sim/store/object_store.h"
#include "sim/world/agents.h"
#include "sim/world/checker.h"
#include "sim/world/clients.h"
#include "sim/world/life.h"
#include "sim/world/nodes.h"
#include "sim/world/restores.h"
#include "sim/world/snapshots.h"

namespace etcdop::sim {

class World {
 public:
  struct Options {
    std::uint64_t seed = 1;
    Faults faults;
    bool keep_trace = false;
    int nodes = 3;
    bool cert_manager = true;  ///< Its kind is served; it makes nothing.
  };
  explicit World(Options);
  ~World();
  World(const World&) = delete;

  // --- time
  /// Returns early on a violation.
  void run_for(Duration);
  /// False if it does not come true within `limit`, or something is violated.
  bool run_until(const std::function<bool()>& holds, Duration limit);
  Scheduler& time() { return time_; }

  // --- operators
  Life& start_operator();
  /// Called with each operator that starts from now on.
  void on_start(std::function<void(Life&)> started) { started_ = std::move(started); }
  /// Does that after so long, if the world still is.
  void soon(Duration, std::function<void()>);
  /// Does that as soon as it holds.
  void once(std::function<bool()> holds, std::function<void()>);
  std::size_t operators() const { return lives_.size(); }
  Life& life(std::size_t i) { return *lives_.at(i); }
  /// As SIGKILL; also asked for from within one of its own calls. Another one starts after `again`;
  /// nullopt: none.
  void kill(Life&, std::optional<Duration> again);
  /// Writes of all operators so far, but those of the Lease.
  std::uint64_t writes() const;
  std::uint64_t etcd_calls() const;
  /// What the operators that are there and the last that died saw and planned, if the trace is
  /// kept: lines for `./dev replay`.
  std::string flight() const;

  // --- people
  /// An EtcdCluster as `kubectl apply` makes it.
  void create_cluster(const api::ObjectKey&, int replicas, const std::string& version = "3.6.16",
                      int progress_deadline_s = 600, bool in_memory = false);
  /// What somebody asks for.
  struct Wanted {
    int replicas = 3;
    std::string version = "3.6.16";
    int progress_deadline_s = 600;
    bool in_memory = false;
    /// The operator makes the certificates of that port.
    bool client_tls = false, peer_tls = false;
    std::string password = {};  ///< Of root, with authentication; empty: without.
    std::string restore = {};   ///< Key of the object that it begins with; empty: with nothing.
    std::optional<std::int64_t> bump_revision = {};
  };
  void create_cluster(const api::ObjectKey&, const Wanted&);
  /// A Secret as a person has it, made or edited; what is in it must never be seen elsewhere.
  void write_secret(const api::ObjectKey&, const std::map<std::string, std::string>& values);
  std::string secret_value(const api::ObjectKey&, const std::string& key) const;
  /// "prod/db-root": where create_cluster puts the password; there is another one from now on.
  void write_password(const api::ObjectKey& cluster, const std::string& password);
  void serve_cert_manager();
  /// Everybody's date, by so much.
  void jump_date(std::chrono::seconds);
  void scale(const api::ObjectKey&, int replicas);
  void set_version(const api::ObjectKey&, const std::string& version);
  void delete_cluster(const api::ObjectKey&);
  /// Writes much and compacts it away: every member's file has free space a moment later.
  void fragment(const api::ObjectKey& cluster);
  /// An EtcdDefrag `name` of every member of that cluster, whatever they would give back.
  void defragment(const api::ObjectKey& cluster, const std::string& name);
  /// An EtcdSnapshot `name` of that cluster, to the world's object store.
  void snapshot(const api::ObjectKey& cluster, const std::string& name);
  /// An EtcdSnapshotSchedule `name` of that cluster: each minute one, of which so many are kept;
  /// `verify_every` 0: nothing is verified.
  void back_up(const api::ObjectKey& cluster, const std::string& name, int keep_last,
               int verify_every = 0);
  /// An EtcdRestore `name`: that cluster goes back to what is stored at `key`, so far.
  void restore_in_place(const api::ObjectKey& cluster, const std::string& name,
                        const std::string& key, api::v1alpha2::RestoreDecision,
                        std::optional<std::int64_t> bump_revision = {});
  /// Its user lets an EtcdRestore go so far, from now on.
  void decide(const api::ObjectKey& restore, api::v1alpha2::RestoreDecision);
  /// Somebody gives both Services of a cluster the selector back that they are made with.
  void let_clients_in(const api::ObjectKey& cluster);
  /// A byte of what is stored there is another one from now on; whose it is it still says.
  void spoil_object(const std::string& key);
  /// Where that is stored.
  static std::string key_of_snapshot(const api::ObjectKey& cluster, const std::string& name) {
    return cluster.name + "/" + name + ".db";
  }
  /// Writes an object into the bucket, or removes it.
  void write_object(const std::string& key, const std::string& bytes);
  void remove_object(const std::string& key);
  /// As `kubectl delete` does; whatever follows is the person's doing.
  void delete_object(const api::Resource&, const api::ObjectKey&);
  /// As `kubectl drain` asks for one Pod; an error: its budget does not allow it now.
  Result<Done> evict(const api::ObjectKey& pod);
  std::vector<api::ObjectKey> clusters() const;
  std::vector<api::ObjectKey> members_of(const api::ObjectKey& cluster) const;
  /// Of its etcd, as its status says; 0: it has none yet.
  etcd::ClusterId etcd_of(const api::ObjectKey& cluster) const;
  /// `count` clients that read and write until the world ends.
  void start_clients(int count);
  /// Every key of every cluster is read once more; then the whole history is judged.
  void judge_history();

  // --- faults
  /// From now on what the seed has switched on happens.
  void start_faults();
  /// Nothing goes wrong any more, and what was broken is mended.
  void heal();
  void quota_until(Instant when) { quota_until_ = when; }
  void api_down_until(Instant when) { api_down_until_ = when; }

  // --- verdicts
  /// Why the world is not yet as everybody's specs want it; empty: it is.
  std::string missing() const;
  /// All of it in words, without names, times and versions.
  std::string state() const;
  /// Converges within `limit` (I8), leaves nothing behind (I7), and then rests (I9).
  void must_converge(Duration limit);

  ApiServer& server() { return server_; }
  EtcdNet& net() { return net_; }
  Nodes& nodes() { return nodes_; }
  ObjectStore& store() { return store_; }
  Agents& agents() { return agents_; }
  Checker& checker() { return checker_; }
  Clients& clients() { return clients_; }
  Trace& trace() { return trace_; }
  Dice& dice() { return dice_; }
  Faults& faults() { return faults_; }
  const History& history() const { return history_; }

 private:
  void spawn(std::function<void()> body);
  bool step(Instant end);
  void reap();
  void sample();
  void keep_flight(const Life&);
  void serve_kinds();
  void controllers();
  void every(Fault, Duration low, Duration high, std::function<void()> act);
  void network_faults();
  void operator_faults();
  void node_faults();
  void people();
  void snapshot_faults();
  void delete_some_snapshot();
  void restore_some_snapshot();
  void go_back_to_some_snapshot();
  std::string password_in(const std::string& key);
  bool goes_back(const api::ObjectKey& cluster) const;
  void decide_by_hand(std::map<std::string, Instant>& since);
  api::ObjectKey store_credentials(const std::string& ns);
  void spoil_object();
  void spoil_certificate(const api::ObjectKey& cluster);
  void mend_by_hand();
  bool fails_to_restore(const api::ObjectKey& cluster) const;
  void take_back_version(const api::ObjectKey& cluster);
  void client(int number);
  std::string missing(const api::ObjectKey& cluster) const;
  std::string undecided() const;
  std::string unreported(const api::v1alpha2::EtcdCluster&) const;
  std::string insecure(const api::v1alpha2::EtcdCluster&) const;
  std::string serial_of(const std::string& certificate) const;
  Life* any_life();
  std::optional<api::ObjectKey> any_cluster();
  std::optional<api::ObjectKey> any_of(const api::Resource&);
  bool may_end(const api::ObjectKey& pod) const;
  bool can_lose_data(const api::ObjectKey& cluster, const api::ObjectKey& member,
                     bool unseen = false) const;
  bool keeps_quorum(etcd::ClusterId, const api::ObjectKey& without, bool unseen) const;
  template <class T>
  std::shared_ptr<const T> read(const api::ObjectKey& key) const {
    return server_.read<T>(key);
  }

  Options options_;
  Dice dice_;
  Scheduler time_;
  ProcessDate date_;
  Faults faults_;
  Trace trace_;
  ApiServer server_;
  EtcdNet net_;
  History history_;
  Checker checker_;
  Nodes nodes_;
  Clients clients_;
  ObjectStore store_;
  JobController jobs_;
  Agents agents_;
  SnapshotChecker snapshots_;
  RestoreChecker restores_;
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<std::pair<Life*, std::optional<Duration>>> doomed_;
  std::deque<std::string> dead_flights_;
  std::vector<std::shared_ptr<Fiber>> fibers_;
  std::vector<std::pair<std::string, std::string>> cuts_;  // Every one there ever was.
  std::function<void(Life&)> started_;
  std::set<std::string> passwords_;                     // That root ever had.
  mutable std::map<std::string, std::string> serials_;  // By certificate.
  std::uint64_t values_ = 0, names_ = 0, ended_writes_ = 0, ended_calls_ = 0;
  Instant api_down_until_{}, quota_until_{};
  std::chrono::seconds date_error_{0};
  bool ending_ = false, garbage_ = false;
};

}  // namespace etcdop::sim
