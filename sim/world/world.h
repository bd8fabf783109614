// A whole world in virtual time: API server, nodes, etcds, operators, users, clients, and faults. A
// seed determines a world.
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
#include "sim/world/oracles.h"
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
    bool cert_manager = true;  ///< Its kind is served; no controller issues certificates.
    PodPolicy pod_policy = PodPolicy::Baseline;  ///< For new templates.
  };
  explicit World(Options);
  ~World();
  World(const World&) = delete;

  // --- time
  /// Returns early on a violation.
  void run_for(Duration);
  /// False if it does not become true within `limit`, or an invariant is violated.
  bool run_until(const std::function<bool()>& holds, Duration limit);
  Scheduler& time() { return time_; }

  // --- operators
  Life& start_operator();
  /// Called with each operator that starts from now on.
  void on_start(std::function<void(Life&)> started) { started_ = std::move(started); }
  /// Calls it after this duration, if the world still exists.
  void soon(Duration, std::function<void()>);
  /// Calls it as soon as `holds` is true.
  void once(std::function<bool()> holds, std::function<void()>);
  std::size_t operators() const { return lives_.size(); }
  Life& life(std::size_t i) { return *lives_.at(i); }
  /// As SIGKILL; may be called from within one of its own calls. Another operator starts after
  /// `again`; nullopt: none.
  void kill(Life&, std::optional<Duration> again);
  /// Writes of all operators so far, without those of the Lease.
  std::uint64_t writes() const;
  std::uint64_t etcd_calls() const;
  /// The observations and plans of the running operators, and of the last killed one, if the trace
  /// is kept: lines for `./dev replay`.
  std::string flight() const;

  // --- users
  /// Creates an EtcdCluster as `kubectl apply` does.
  void create_cluster(const api::ObjectKey&, int replicas, const std::string& version = "3.6.16",
                      int progress_deadline_s = 600, bool in_memory = false);
  /// A user's wishes.
  struct Wanted {
    int replicas = 3;
    std::string version = "3.6.16";
    int progress_deadline_s = 600;
    bool in_memory = false;
    /// The operator issues the certificates of that port.
    bool client_tls = false, peer_tls = false;
    std::string password = {};  ///< Root's, with authentication; empty: without.
    std::string restore = {};   ///< Key of the object to restore; empty: none.
    std::optional<std::int64_t> bump_revision = {};
    bool apart = false;  ///< No two members on one node: required anti-affinity.
  };
  void create_cluster(const api::ObjectKey&, const Wanted&);
  /// Creates or edits a Secret as a user; its contents must never appear elsewhere.
  void write_secret(const api::ObjectKey&, const std::map<std::string, std::string>& values);
  std::string secret_value(const api::ObjectKey&, const std::string& key) const;
  /// Writes the password to "prod/db-root", where create_cluster puts it.
  void write_password(const api::ObjectKey& cluster, const std::string& password);
  void serve_cert_manager();
  /// Moves the dates of all processes.
  void jump_date(std::chrono::seconds);
  void scale(const api::ObjectKey&, int replicas);
  void set_version(const api::ObjectKey&, const std::string& version);
  void delete_cluster(const api::ObjectKey&);
  /// The same, and what it owns goes before it. Suspends until all is gone.
  void delete_in_foreground(const api::ObjectKey&);
  /// Writes much and compacts it away: soon every member's file has free space.
  void fragment(const api::ObjectKey& cluster);
  /// Creates an EtcdDefrag `name` of every member of that cluster, whatever they would reclaim.
  void defragment(const api::ObjectKey& cluster, const std::string& name);
  /// Creates an EtcdSnapshot `name` of that cluster, in the world's object store.
  void snapshot(const api::ObjectKey& cluster, const std::string& name);
  /// Creates an EtcdSnapshotSchedule `name` of that cluster: one snapshot each minute, `keep_last`
  /// kept; `verify_every` 0: none is verified.
  void back_up(const api::ObjectKey& cluster, const std::string& name, int keep_last,
               int verify_every = 0);
  /// Creates an EtcdRestore `name`: restores that cluster in place from `key`, as far as `decision`
  /// says.
  void restore_in_place(const api::ObjectKey& cluster, const std::string& name,
                        const std::string& key, api::v1alpha2::RestoreDecision,
                        std::optional<std::int64_t> bump_revision = {});
  /// Edits the decision of an EtcdRestore.
  void decide(const api::ObjectKey& restore, api::v1alpha2::RestoreDecision);
  /// A user restores the original selector of both Services of a cluster.
  void let_clients_in(const api::ObjectKey& cluster);
  /// Changes a byte of the stored object; its metadata stays.
  void spoil_object(const std::string& key);
  /// The object's key.
  static std::string key_of_snapshot(const api::ObjectKey& cluster, const std::string& name) {
    return cluster.name + "/" + name + ".db";
  }
  /// Writes an object into the bucket, or removes it.
  void write_object(const std::string& key, const std::string& bytes);
  void remove_object(const std::string& key);
  /// As `kubectl delete`; the consequences are the user's.
  void delete_object(const api::Resource&, const api::ObjectKey&);
  /// As `kubectl drain` does for one Pod; an error: its budget does not allow it now.
  Result<Done> evict(const api::ObjectKey& pod);
  std::vector<api::ObjectKey> clusters() const;
  std::vector<api::ObjectKey> members_of(const api::ObjectKey& cluster) const;
  /// The ID of its etcd, from its status; 0: none yet.
  etcd::ClusterId etcd_of(const api::ObjectKey& cluster) const;
  /// Starts `count` clients that read and write until the world ends.
  void start_clients(int count);
  /// Reads every key of every cluster once more, then judges the whole history.
  void judge_history();

  // --- faults
  /// The seed's faults happen from now on.
  void start_faults();
  /// Ends all faults, and repairs what was broken.
  void heal();
  void quota_until(Instant when) { quota_until_ = when; }
  /// The volume of that member gets the data of an etcd that nobody here knows, once that etcd has
  /// run for some seconds, and if the member's data may go then.
  void give_foreign_data(const api::ObjectKey& member, std::function<bool()> may_go);
  /// The CRDs of an earlier release are installed, or today's.
  void install_old_crds(bool old);
  /// Every write of that kind waits so long for a webhook that lets it in.
  void slow_webhook(const api::Resource&, Duration takes, Instant until);
  void api_down_until(Instant when) { api_down_until_ = when; }

  // --- verdicts
  /// Why the world is not yet as all specs want it; empty: it is.
  std::string missing() const;
  /// All of it as text, without names, times and versions.
  std::string state() const;
  /// Converges within `limit` (I8), leaves nothing behind (I7), and then rests (I9). After an act
  /// of a user it does so again.
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
  void trace_conditions();
  void admit(const api::Resource&, json::object& object) const;
  bool converges(Instant from, Duration limit);
  bool stays_at_rest();
  Result<Done> let_in(const api::Resource&, const Json& object);
  Result<Done> judge_new(const api::Resource&, const Json& object);
  std::optional<Duration> webhook(const kube::Call&);
  bool lacks(const api::Resource&, const api::ObjectKey&) const;
  void odd_neighbours();
  void slow_etcds();
  std::shared_ptr<DataDir> strange_data();
  void start_stranger(const std::string& address, const std::string& host,
                      std::shared_ptr<DataDir>);
  void upgrades();
  void slow_webhooks();
  void rewrite_what_is_stored();
  std::string any_etcd();
  void apply_again(const api::ObjectKey& cluster, bool orphan);
  void edit_some_object();
  void edit_some_field();
  void edit_some_child();
  void put_fields_back();
  void give_up_volumes(const api::ObjectKey& cluster);
  void discard_members(const api::ObjectKey& cluster);
  void give_up(const api::ObjectKey& cluster);
  void discard_leftovers(const api::ObjectKey& cluster);
  /// That condition of an EtcdCluster; empty: there is none.
  api::Condition told(const api::ObjectKey& cluster, const char* type) const;
  bool finds_members(const api::ObjectKey& cluster) const;
  void give_owner(const api::ObjectKey& cluster);
  void remove_foreign_member(const api::ObjectKey& cluster);
  static bool is_of_job(const Json& object);
  static constexpr const char* kQuota = "exceeded quota: etcds, ";
  static constexpr const char* kOddNamespace = "odd";  // All of its clusters are broken for good.
  bool is_hopeless(const api::ObjectKey& cluster) const;
  void renew_pods(const api::ObjectKey& cluster);
  void give_children(const api::ObjectKey& cluster);
  void disown(const api::Resource&, const Json& uid);
  void set_owner(const api::Resource&, const api::ObjectKey&, const json::object& owner);
  void orphan_member(const api::ObjectKey&);
  using Dependents = std::vector<std::pair<api::Resource, ApiServer::Object>>;
  Dependents dependents_of(const Json& owner) const;
  void wait_for_dependents(const api::Resource&, const api::ObjectKey&, bool on);
  void create_again(const api::Resource& kind, const Json& before);
  void order_again();
  void give_volume(const api::v1alpha2::EtcdMember&);
  void end_pod_conflict(const api::v1alpha2::EtcdMember&);
  Result<Done> within_pods(const Json& pod) const;
  std::string unreported(const api::v1alpha2::EtcdCluster&) const;
  std::string insecure(const api::v1alpha2::EtcdCluster&) const;
  bool authority_went_with_its_owner(const api::v1alpha2::EtcdCluster&) const;
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
  Oracles oracles_;
  std::vector<std::unique_ptr<Life>> lives_;
  std::vector<std::pair<Life*, std::optional<Duration>>> doomed_;
  std::deque<std::string> dead_flights_;
  std::vector<std::shared_ptr<Fiber>> fibers_;
  std::vector<std::pair<std::string, std::string>> cuts_;  // All that ever existed.
  std::function<void(Life&)> started_;
  std::set<std::string> passwords_;                       // All that root ever had.
  mutable std::map<std::string, std::string> serials_;    // By certificate.
  std::map<api::ObjectKey, json::object> fields_before_;  // The specs before users edited fields.
  /// Secrets with a CA whose EtcdCluster a user has deleted, and that do not exist again.
  std::set<api::ObjectKey> deleted_authorities_;
  std::uint64_t values_ = 0, names_ = 0, ended_writes_ = 0, ended_calls_ = 0;
  Instant api_down_until_{}, quota_until_{}, webhook_until_{};
  std::string webhook_for_;              // The plural of the kind that it looks at.
  std::set<etcd::ClusterId> strangers_;  // Their data came to volumes of ours.
  bool old_crds_ = false;
  Instant slow_until_{};
  std::string slow_for_;  // As webhook_for_.
  Duration slow_takes_{};
  std::int32_t more_pods_ = 0;  // By which users raised the quota.
  std::string leader_;          // The operator that led last.
  std::string late_for_;  // The plural of the kind that a policy lets in no more; empty: none.
  Duration webhook_takes_{};
  api::ObjectKey hungry_{};  // The Pod that uses too much memory.
  std::chrono::seconds date_error_{0};
  bool ending_ = false, garbage_ = false;
};

}  // namespace etcdop::sim
