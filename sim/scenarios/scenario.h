// A world in which only the named faults of a scenario happen. Numbers and claims come from the
// list of faults in the operator's design.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/names.h"
#include "kube/core_types.h"
#include "kube/request.h"
#include "kube/secret_object.h"
#include "operator/credentials/tls.h"
#include "runtime/conditions.h"
#include "sim/world/etcdctl.h"
#include "sim/world/world.h"
#include "sys/x509.h"

namespace etcdop::sim {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

inline const api::ObjectKey kKey{"prod", "db"};
inline const api::ObjectKey kLease{"etcd-operator-system", "aa20b3a9.etcd-operator.cozystack.io"};

/// Every test ends with the verdict of all checkers and of the clients' history.
class Scenario : public ::testing::Test {
 protected:
  explicit Scenario(
      World::Options options = {.seed = 7, .faults = {}, .keep_trace = true, .nodes = 3})
      : world(options) {
    world.on_start([this](Life& life) { attach(life); });
    world.server().on_change([this](const api::Resource& r, const ApiServer::Object& before,
                                    const ApiServer::Object& after) {
      made_[r.plural] += !before;
      gone_[r.plural] += !after;
    });
  }
  void TearDown() override {
    world.judge_history();
    if (const auto& fell = world.checker().violation())
      ADD_FAILURE() << fell->invariant << ": " << fell->what << ", at " << seconds_text(fell->when)
                    << " s";
    if (HasFailure()) print_trace();
  }

  // --- setup

  /// Converged, at rest, with running clients.
  void settled_cluster(int size, int progress_deadline_s = 600) {
    (void)world.start_operator();
    world.create_cluster(kKey, size, "3.6.16", progress_deadline_s);
    rest();
    world.start_clients(4);
  }
  /// Until everything is as wanted, and 10 s more.
  void rest() {
    ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
    world.run_for(10s);
  }

  /// Three members with a small quota.
  void small_cluster() {
    (void)world.start_operator();
    (void)world.server().put(
        v1::EtcdCluster::resource,
        {{"metadata", {{"name", kKey.name}, {"namespace", kKey.ns}}},
         {"spec",
          {{"replicas", 3}, {"version", "3.6.16"}, {"options", {{"quotaBackendBytes", 3000}}}}}});
    rest();
  }
  /// Clients write until the database is full.
  void fill() {
    world.start_clients(4);
    std::vector<etcd::Alarm> raised;
    for (int i = 0; i < 60 && raised.empty(); ++i) {
      world.run_for(10s);
      by_hand([&] {
        if (auto all = at(leader().address)->alarms()) raised = *all;
      });
    }
    ASSERT_FALSE(raised.empty()) << "the database has become full";
    EXPECT_EQ(raised.front().kind, etcd::AlarmKind::NoSpace);
  }

  // --- certificates

  WallTime today() {
    const ProcessDate now(world.time());
    return now.wall_now();
  }
  Identity new_authority() {
    world.checker().guard("PRIVATE KEY");
    const auto from = today();
    return *issue({.common_name = "ours",
                   .authority = true,
                   .from = from,
                   .until = from + std::chrono::hours(24 * 3650)});
  }
  /// As cert-manager or a user writes it.
  void write_certificate(const std::string& secret, const Identity& authority,
                         const std::vector<std::string>& names) {
    const auto from = today();
    auto made = issue({.common_name = secret,
                       .names = names,
                       .server = true,
                       .client = true,
                       .from = from,
                       .until = from + std::chrono::hours(24 * 365)},
                      &authority);
    world.write_secret({kKey.ns, secret}, {{kCertificateKey, made->certificate},
                                           {kPrivateKeyKey, made->key.reveal()},
                                           {kAuthorityKey, authority.certificate}});
  }

  // --- faults

  /// The next writes with this name prefix are carried out, and their answers are lost.
  void lose_answer(const std::string& write, int times = 1) { lose_[write] += times; }
  /// Calls `act` once, before a write with this name prefix is sent; on the operator's own fiber.
  void before(const std::string& write, std::function<void(Life&)> act) {
    before_[write] = std::move(act);
  }
  /// Replaces an answer of the API server; nullopt: the server is asked.
  std::function<std::optional<Result<Json>>(Life&, const kube::Call&)> instead;
  /// All watches of an operator are silent for this long.
  void silence(Life& life, Duration d) {
    for (const std::string& kind : life.api().watched())
      life.api().line(kind).silent_until(world.time().now() + d);
  }
  /// etcdctl for a user at a member; nothing checks its calls.
  std::shared_ptr<etcd::Client> at(const std::string& address) {
    return etcdctl(world.time(), world.net(), address);
  }
  /// A user acts on a fiber of the world; returns when that is done.
  void by_hand(const std::function<void()>& act) {
    const auto done = std::make_shared<bool>(false);  // A violation ends the wait, not the act.
    world.soon(0s, [act, done] {
      act();
      *done = true;
    });
    ASSERT_TRUE(world.run_until([&] { return *done; }, 5min));
  }

  // --- queries

  std::vector<EtcdNet::Member> members() { return world.net().membership(etcd_id()); }
  etcd::ClusterId etcd_id() const { return world.etcd_of(kKey); }
  std::size_t voters() {
    const auto all = members();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [](const auto& m) { return !m.learner; }));
  }
  std::size_t learners() { return members().size() - voters(); }
  EtcdNet::Truth process_of(const std::string& member) {
    for (auto& p : world.net().processes())
      if (p.name == member) return p;
    return {};
  }
  EtcdNet::Truth leader() {
    for (auto& p : world.net().processes())
      if (p.leads && p.cluster == etcd_id()) return p;
    return {};
  }
  /// A voter that does not lead.
  std::string follower() {
    for (const auto& m : members())
      if (m.id != leader().member && !m.learner) return m.name;
    return "";
  }
  /// The Pod's node; 99: none, or no such Pod.
  std::size_t node_of(const std::string& pod) {
    const auto object = read<kube::Pod>({"prod", pod});
    const std::string name = object ? object->spec.node_name : "";
    return name.empty() ? 99 : static_cast<std::size_t>(std::stoi(name.substr(5)));
  }
  std::vector<std::string> pods_on(std::size_t node) {
    std::vector<std::string> out;
    for (const auto& key : world.members_of(kKey))
      if (node_of(key.name) == node) out.push_back(key.name);
    return out;
  }
  /// Deletes its Pod until no other Pod is on its node; returns the node. Needs volumes that move.
  std::size_t alone_on_a_node(const std::string& member) {
    for (int i = 0; i < 20 && pods_on(node_of(member)).size() > 1; ++i) {
      world.delete_object(kube::Pod::resource, {"prod", member});
      world.must_converge(2min);
    }
    EXPECT_EQ(pods_on(node_of(member)).size(), 1U);
    return node_of(member);
  }
  template <class T>
  std::shared_ptr<const T> read(const api::ObjectKey& key) {
    return world.server().read<T>(key);
  }
  /// "False/QuorumLost"; empty: no such condition.
  std::string says(const char* type, const api::ObjectKey& key = kKey) {
    const auto cluster = read<v1::EtcdCluster>(key);
    const auto* c = cluster ? runtime::find_condition(cluster->status.conditions, type) : nullptr;
    return c ? c->status + "/" + c->reason : "";
  }
  /// The message of a condition of the cluster; empty: no such condition.
  std::string message(const char* type) {
    const auto cluster = read<v1::EtcdCluster>(kKey);
    const auto* c = cluster ? runtime::find_condition(cluster->status.conditions, type) : nullptr;
    return c ? c->message : "";
  }
  std::string member_says(const api::ObjectKey& key) {
    const auto member = read<v1::EtcdMember>(key);
    const auto* c =
        member ? runtime::find_condition(member->status.conditions, v1::kReady) : nullptr;
    return c ? c->status + "/" + c->reason : "";
  }
  std::size_t count(const api::Resource& r) { return world.server().look_all(r).size(); }
  /// The kinds that stay when the EtcdCluster is deleted with `--cascade=orphan`.
  static const std::vector<api::Resource>& orphans() {
    static const std::vector<api::Resource> all{v1::EtcdMember::resource, kube::Service::resource,
                                                kube::PodDisruptionBudget::resource,
                                                kube::SecretObject::resource};
    return all;
  }
  static std::string name_of(const Json& object) {
    return std::string(object.at("metadata").at("name").as_string());
  }
  /// Deletes kKey so. The garbage collector takes the owners away.
  void orphan() {
    for (const auto& kind : orphans())
      for (const auto& object : world.server().look_all(kind))
        (void)world.server().change(kind, {"prod", name_of(*object)}, [](json::object& child) {
          child["metadata"].as_object().erase("ownerReferences");
        });
    (void)world.server().erase(v1::EtcdCluster::resource, kKey);
  }
  std::string uid_of(const api::Resource& r, const api::ObjectKey& key) {
    const auto object = world.server().look(r, key);
    return object ? std::string(object->at("metadata").at("uid").as_string()) : "";
  }
  /// Objects created since the world began, by any actor.
  std::size_t made(const api::Resource& r) { return made_[r.plural]; }
  std::size_t gone(const api::Resource& r) { return gone_[r.plural]; }

  /// Writes that operators began, successful or not, with this name prefix.
  std::size_t tried(const std::string& write) const {
    std::size_t out = 0;
    for (const auto& [what, when] : tried_)
      if (what.starts_with(write)) out += when.size();
    return out;
  }
  /// The most writes of one kind to one object in any minute since then (I9).
  std::size_t busiest_minute(Instant since = {}) const {
    std::size_t most = 0;
    for (const auto& [what, when] : tried_)
      for (std::size_t first = 0, i = 0; i < when.size(); ++i) {
        while (when[first] < since || when[i] - when[first] >= 1min) {
          if (first == i) break;
          ++first;
        }
        if (when[i] >= since) most = std::max(most, i - first + 1);
      }
    return most;
  }
  /// Number of trace lines with this text.
  std::size_t told(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        world.trace().lines(),
        [&](const Trace::Line& line) { return line.what.find(text) != std::string::npos; }));
  }

 private:
  // Declared before the world, which writes to them until it has ended.
  std::map<std::string, int> lose_;
  std::map<std::string, std::function<void(Life&)>> before_;
  std::map<std::string, std::vector<Instant>> tried_;
  std::map<std::string, std::size_t> made_, gone_;

 protected:
  World world;

 private:
  void attach(Life& life) {
    life.passage().before_write = [this, &life](const std::string& what) {
      tried_[what].push_back(world.time().now());
      for (auto& [write, act] : before_)
        if (act && what.starts_with(write)) std::exchange(act, nullptr)(life);
      return true;
    };
    life.passage().after_write = [this](const std::string& what) {
      for (auto& [write, times] : lose_)
        if (times > 0 && what.starts_with(write)) {
          --times;
          return false;
        }
      return true;
    };
    life.passage().instead = [this, &life](const kube::Call& call) {
      auto answer = instead ? instead(life, call) : std::nullopt;
      const bool write = !kube::reads(call.verb) && call.verb != kube::Verb::Watch;
      if (answer && write) tried_[line_of(call)].push_back(world.time().now());
      return answer;
    };
  }
  void print_trace() {
    const auto& lines = world.trace().lines();
    for (std::size_t i = lines.size() > 400 ? lines.size() - 400 : 0; i < lines.size(); ++i)
      std::printf("%s %-12s %s\n", seconds_text(lines[i].when).c_str(), lines[i].who.c_str(),
                  lines[i].what.c_str());
  }
};

}  // namespace etcdop::sim
