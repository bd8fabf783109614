// The operator takes over clusters as the Go operator leaves them (test/takeover/fixtures). It
// restarts nothing, and changes no spec unless a line here says so. Then it manages them, and
// leaves them so that the Go operator could go on.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "kube/certificate.h"
#include "kube/secret_object.h"
#include "operator/credentials/passwords.h"
#include "operator/passes/owner.h"
#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

constexpr const char* kFixtures = "test/takeover/fixtures/";  // From the root of the source tree.
constexpr const char* kPassword = "pass-word-of-root";

const std::vector<api::Resource>& all_kinds() {
  static const std::vector<api::Resource> all{v1::EtcdCluster::resource,
                                              kube::Service::resource,
                                              kube::PodDisruptionBudget::resource,
                                              v1::EtcdMember::resource,
                                              kube::PersistentVolumeClaim::resource,
                                              kube::SecretObject::resource,
                                              kube::Certificate::resource,
                                              kube::Pod::resource};
  return all;
}

const api::Resource& kind_of(const Json& object) {
  return *std::ranges::find_if(all_kinds(),
                               [&](const auto& r) { return object.at("kind") == r.kind; });
}

std::string text(const Json& value) { return std::string(value.as_string()); }

Json read_file(const std::string& path) {
  std::ifstream file(path);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  boost::system::error_code failed;
  Json out = json::parse(all, failed);
  check(!failed, ("the fixture " + path + " is JSON").c_str());
  return out;
}

/// A member that etcd lists, from etcd.json.
struct Listed {
  std::string name, id, peer_url;
  bool learner = false, started = false;
};

class TakeOver : public Scenario {
 protected:
  TakeOver() {
    world.server().on_change([this](const api::Resource& r, const ApiServer::Object& before,
                                    const ApiServer::Object& after) {
      if (watching_) note(r, before, after);
    });
  }

  // --- setup

  /// Creates the fixture's objects, and an etcd that matches them. UIDs and etcd's IDs are replaced
  /// by those of this world everywhere. `last`: runs before the operator starts.
  void load(const std::string& name, const std::function<void()>& last = [] {}) {
    const Json objects = read_file(kFixtures + name + "/objects.json");
    const Json etcd = read_file(kFixtures + name + "/etcd.json");
    for (const Json& object : objects.at("items").as_array())
      if (!(kind_of(object) == kube::Pod::resource)) put(object);
    for (const Json& entry : etcd.at("members").as_array())
      ASSERT_NO_FATAL_FAILURE(form(objects, etcd, entry));
    for (const Listed& member : formed_)
      if (member.started && !pod_in(objects, member.name)) {
        (void)world.server().remove(kube::Pod::resource, {kKey.ns, member.name});
        ASSERT_TRUE(
            world.run_until([&] { return !read<kube::Pod>({kKey.ns, member.name}); }, 1min));
      }
    for (const Json& object : objects.at("items").as_array()) settle(object);
    if (const Json* calls = etcd.as_object().if_contains("auth"))
      for (const Json& call : calls->as_array()) carry_out(text(call));
    last();
    world.run_for(10s);
    for (const auto& r : all_kinds())
      for (const auto& object : world.server().look_all(r)) uids_.insert(uid_of(*object));
    for (const auto& pod : world.server().look_all(kube::Pod::resource))
      first_pods_.insert(name_of(*pod));
    watching_ = true;
    world.start_clients(4);
    (void)world.start_operator();
  }
  /// A call with which the Go operator turns authentication on.
  void carry_out(const std::string& call) {
    by_hand([&] {
      const auto etcd = at(process_of(formed_[0].name).address);
      if (call == "UserAdd") EXPECT_TRUE(etcd->user_add("root", Secret(kPassword)));
      else if (call == "UserGrantRole") EXPECT_TRUE(etcd->user_grant_role("root", "root"));
      else if (call == "AuthEnable") EXPECT_TRUE(etcd->auth_enable());
      else ADD_FAILURE() << call;
    });
  }
  void kill_operator() {
    world.kill(world.life(0), std::nullopt);
    world.run_for(1s);
  }
  /// As the Go operator's CRDs store it: without the status fields that only this operator knows.
  void prune() {
    (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& cluster) {
      for (const char* ours : {"pendingMembers", "lastSequence", "updatedMembers"})
        cluster["status"].as_object().erase(ours);
    });
  }

  /// Grows, is stored by the Go operator's CRDs for a moment, and shrinks again.
  void manage_and_hand_back() {
    const auto id = etcd_id();
    EXPECT_EQ(missed_by_the_go_operator(), "");
    const int size = read<v1::EtcdCluster>(kKey)->spec.replicas;
    world.scale(kKey, size + 2);
    world.must_converge(5min);
    EXPECT_EQ(missed_by_the_go_operator(), "");
    EXPECT_TRUE(all_kept()) << "growing restarts nobody";
    kill_operator();
    prune();
    (void)changes();
    (void)world.start_operator();
    world.run_for(10min);
    EXPECT_EQ(changes(), std::set<std::string>{});
    world.scale(kKey, size);
    world.must_converge(5min);
    EXPECT_EQ(missed_by_the_go_operator(), "");
    EXPECT_EQ(etcd_id(), id);
    EXPECT_EQ(world.net().births().size(), 1U);
  }

  /// As the Go operator makes its Pod again: without --max-learners.
  void restart_without_flag(const std::string& name) {
    const api::ObjectKey key{kKey.ns, name};
    json::object pod = world.server().look(kube::Pod::resource, key)->as_object();
    json::object meta{{"name", name}, {"namespace", kKey.ns}};
    meta["labels"] = pod["metadata"].at("labels");
    pod["metadata"] = std::move(meta);
    pod.erase("status");
    pod["spec"].as_object().erase("nodeName");
    auto& command = pod["spec"].at("containers").as_array().at(0).at("command").as_array();
    const auto flag = std::ranges::find(command, Json("--max-learners=8"));
    if (flag != command.end()) command.erase(flag);
    (void)world.server().remove(kube::Pod::resource, key, /*at_once=*/true);
    ASSERT_TRUE(world.run_until([&] { return process_of(name).name.empty(); }, 1min)) << name;
    (void)world.server().put(kube::Pod::resource, pod);
    ASSERT_TRUE(world.run_until([&] { return process_of(name).serves; }, 2min)) << name;
  }
  /// As the Go operator adds a member.
  void grow_without_flag(const std::string& name, const std::string& version,
                         const std::string& token) {
    (void)world.server().put(kube::PersistentVolumeClaim::resource,
                             {{"metadata", {{"name", "data-" + name}, {"namespace", kKey.ns}}},
                              {"spec", {{"accessModes", json::array{"ReadWriteOnce"}}}}});
    ASSERT_FALSE(formed_.empty());
    const std::string url = formed_[0].peer_url;
    formed_.clear();
    for (const auto& member : members())
      formed_.push_back({member.name, to_hex(member.id), member.peer_url, false, true});
    const std::string own = "http://" + name + url.substr(url.find('.'));
    form({{"items", json::array{}}},
         {{"version", version}, {"token", token}, {"clusterID", to_hex(etcd_id())}},
         {{"name", name},
          {"id", "not known yet"},
          {"peerURL", own},
          {"learner", false},
          {"started", true}});
  }

  // --- queries

  /// Changes since the operator started: "pods prod/db-x: made", "...: spec.initialCluster".
  /// Ignores status, resourceVersion, generation, and the kubelet's writes.
  std::set<std::string> changes() { return std::exchange(changes_, {}); }
  /// These changes, and the labels and selectors by which the Services tell members' Pods apart
  /// (K12, K17): each Pod of a fixture lacks the UID. A write of a selector also has the other
  /// fields of ours, without the defaults that an API server fills in again.
  std::set<std::string> with_selectors(std::set<std::string> changes) {
    changes.insert({"services db: spec.selector", "services db: spec.ports",
                    "services db-client: spec.selector", "services db-client: spec.ports",
                    "services db-client: spec.publishNotReadyAddresses"});
    for (const std::string& name : first_pods_)
      changes.insert("pods " + name + ": metadata.labels");
    return changes;
  }
  /// Whether every object from the beginning still exists.
  bool all_kept() {
    std::set<std::string> now;
    for (const auto& r : all_kinds())
      for (const auto& object : world.server().look_all(r)) now.insert(uid_of(*object));
    return std::ranges::includes(now, uids_);
  }
  /// Lists the data that the Go operator would miss if it came back now; empty: none. Everything
  /// that it needs is in fields that it knows.
  std::string missed_by_the_go_operator() {
    const auto cluster = read<v1::EtcdCluster>(kKey);
    const auto& status = cluster->status;
    if (!status.observed || status.observed->replicas != cluster->spec.replicas ||
        status.observed->version != cluster->spec.version ||
        !(status.observed->storage == cluster->spec.storage))
      return "status.observed is not the spec";
    if (status.cluster_id != to_hex(etcd_id()) || status.cluster_token.empty())
      return "status.clusterID or clusterToken";
    if (wants_auth(*cluster) && !status.auth_enabled) return "status.authEnabled";
    for (const api::ObjectKey& key : world.members_of(kKey)) {
      const auto member = read<v1::EtcdMember>(key);
      if (const std::string what = missed(*cluster, *member); !what.empty())
        return key.name + ": " + what;
    }
    return "";
  }

 private:
  static std::string uid_of(const Json& object) { return text(object.at("metadata").at("uid")); }
  std::string missed(const v1::EtcdCluster& cluster, const v1::EtcdMember& member) {
    const std::string& name = member.metadata.name;
    if (!member.metadata.controller() || member.metadata.controller()->uid != cluster.metadata.uid)
      return "its owner";
    if (std::ranges::count(member.metadata.finalizers, v1::kMemberFinalizer) != 1)
      return "the finalizer";
    const auto component = member.metadata.labels.find(v1::kAppComponentLabel);
    if (component == member.metadata.labels.end() || component->second != name)
      return "the label component";
    if (member.spec.initial_cluster.empty()) return "spec.initialCluster";
    if (member.spec.cluster_token != cluster.status.cluster_token) return "spec.clusterToken";
    if (!(member.spec.tls == tls_)) return "spec.tls";
    const auto all = members();
    const auto listed = std::ranges::find(all, name, &EtcdNet::Member::name);
    if (listed == all.end()) return "etcd";
    if (member.status.member_id != to_hex(listed->id)) return "status.memberID";
    if (member.status.is_voter == listed->learner) return "status.isVoter";
    const bool on_disk = member.spec.storage.medium == v1::Medium::Disk;
    const auto claim = read<kube::PersistentVolumeClaim>({kKey.ns, "data-" + name});
    if (on_disk && (!claim || !is_ours(claim->metadata, member.metadata.uid))) return "the volume";
    const auto pod = read<kube::Pod>(member.metadata.key());
    if (member.spec.dormant) return pod ? "a Pod although it is dormant" : "";
    if (!pod || !is_ours(pod->metadata, member.metadata.uid)) return "the Pod";
    if (member.status.pod_uid != pod->metadata.uid) return "status.podUID";
    if (pod->metadata.labels.contains(v1::kRoleLabel) == listed->learner) return "the role";
    return "";
  }

  /// Translates IDs to those of this world.
  Json here(const Json& object) {
    std::string words = json::serialize(object);
    for (const auto& [there, ours] : renamed_)
      for (std::size_t at = words.find(there); at != std::string::npos;
           at = words.find(there, at + ours.size()))
        words.replace(at, there.size(), ours);
    return json::parse(words);
  }
  Json put(Json object) {
    const Json* uid = object.at("metadata").as_object().if_contains("uid");
    const std::string there = uid ? text(*uid) : "";
    object = here(object);
    if (kind_of(object) == v1::EtcdCluster::resource)
      object.at("status").as_object().erase("clusterID");  // Until etcd has reported it.
    Json made = world.server().put(kind_of(object), object);
    if (!there.empty()) renamed_[there] = uid_of(made);
    if (kind_of(object) == kube::SecretObject::resource) fill(object);
    if (kind_of(object) == v1::EtcdMember::resource)
      tls_ = read<v1::EtcdMember>({kKey.ns, name_of(object)})->spec.tls;
    return made;
  }
  /// Fills in what no fixture stores: keys and passwords.
  void fill(const Json& secret) {
    if (secret.at("type") == "kubernetes.io/tls")
      write_certificate(name_of(secret), authority_,
                        {"*.db.prod.svc", "*.db.prod.svc.cluster.local", "db-client.prod.svc"});
    else world.write_password(kKey, kPassword);
  }
  static const Json* pod_in(const Json& objects, const std::string& name) {
    for (const Json& object : objects.at("items").as_array())
      if (object.at("kind") == "Pod" && name_of(object) == name) return &object;
    return nullptr;
  }
  /// Joins one member to etcd, as it did when the Go operator created it. The first one founds the
  /// cluster.
  void form(const Json& objects, const Json& etcd, const Json& entry) {
    const Listed member{text(entry.at("name")), text(entry.at("id")), text(entry.at("peerURL")),
                        entry.at("learner").as_bool(), entry.at("started").as_bool()};
    const std::string first = formed_.empty() ? "" : process_of(formed_[0].name).address;
    if (!first.empty())
      by_hand([&] {
        while (!at(first)->add_learner(member.peer_url)) (void)world.time().sleep(1s);
      });
    formed_.push_back(member);
    if (!member.started) return;
    std::string list;
    for (const Listed& one : formed_)
      list += (list.empty() ? "" : ",") + one.name + "=" + one.peer_url;
    const std::string version = text(etcd.at("version"));
    Json boot =
        pod_in(objects, member.name) ? *pod_in(objects, member.name) : any_pod(member, version);
    json::array command{
        "etcd",
        "--name=" + member.name,
        "--listen-peer-urls=http://0.0.0.0:2380",
        "--initial-advertise-peer-urls=" + member.peer_url,
        "--initial-cluster=" + list,
        "--initial-cluster-token=" + text(etcd.at("token")),
        "--initial-cluster-state=" + std::string(first.empty() ? "new" : "existing")};
    json::object& container = boot.at("spec").at("containers").as_array().at(0).as_object();
    for (const std::string& flag : tls_flags(container)) command.emplace_back(flag);
    container["command"] = std::move(command);
    (void)put(boot);
    ASSERT_TRUE(world.run_until([&] { return process_of(member.name).serves; }, 2min));
    const auto process = process_of(member.name);
    if (!first.empty() && !member.learner)
      by_hand([&] {
        while (!at(first)->promote(process.member)) (void)world.time().sleep(1s);
      });
    renamed_[text(etcd.at("clusterID"))] = to_hex(process.cluster);
    renamed_[member.id] = to_hex(process.member);
  }
  static std::vector<std::string> tls_flags(const json::object& container) {
    std::vector<std::string> out;
    if (const Json* command = container.if_contains("command"))
      for (const Json& word : command->as_array())
        if (const std::string flag = text(word); flag.find("cert") != std::string::npos ||
                                                 flag.find("key-file") != std::string::npos ||
                                                 flag.find("ca-file") != std::string::npos)
          out.push_back(flag);
    return out;
  }
  /// For a dormant member, which has no Pod: it only fills the volume.
  static Json any_pod(const Listed& member, const std::string& version) {
    const std::string host = member.peer_url.substr(member.peer_url.find('.') + 1);
    return json::object{
        {"kind", "Pod"},
        {"metadata", {{"name", member.name}, {"namespace", kKey.ns}}},
        {"spec",
         {{"hostname", member.name},
          {"subdomain", host.substr(0, host.find('.'))},
          {"containers", json::array{{{"name", "etcd"}, {"image", "etcd:v" + version}}}},
          {"volumes",
           json::array{{{"name", "data"},
                        {"persistentVolumeClaim", {{"claimName", "data-" + member.name}}}}}}}}};
  }
  /// Sets what was known only after etcd ran.
  void settle(const Json& fixture) {
    const Json object = here(fixture);
    const api::ObjectKey key{kKey.ns, name_of(object)};
    (void)world.server().change(kind_of(object), key, [&](json::object& now) {
      if (const Json* status = object.as_object().if_contains("status")) now["status"] = *status;
      if (kind_of(object) == kube::Pod::resource)
        now["spec"].at("containers") = object.at("spec").at("containers");
    });
  }

  /// K12, K17: no change of a label or a selector drops a Pod from a Service. A learner may leave
  /// the client Service.
  void keep_endpoints(const api::Resource& r, const ApiServer::Object& after) {
    if (!after || !(r == kube::Pod::resource || r == kube::Service::resource)) return;
    for (const char* name : {"db", "db-client"}) {
      const auto service = read<kube::Service>({kKey.ns, name});
      std::set<std::string> now;
      for (const auto& object : world.server().look_all(kube::Pod::resource))
        if (service && selects(*service, *object)) now.insert(name_of(*object));
      for (const std::string& pod : std::exchange(endpoints_[name], now)) {
        const auto there = read<kube::Pod>({kKey.ns, pod});
        const bool votes = there && there->metadata.labels.contains(v1::kRoleLabel);
        if (service && there && !now.contains(pod) && (votes || name == std::string("db")))
          ADD_FAILURE() << "Service " << name << " dropped " << pod;
      }
    }
  }
  static bool selects(const kube::Service& service, const Json& pod) {
    const json::object* const labels = pod.at("metadata").as_object().contains("labels")
                                           ? &pod.at("metadata").at("labels").as_object()
                                           : nullptr;
    return std::ranges::all_of(service.spec.selector, [&](const auto& wanted) {
      const Json* const label = labels ? labels->if_contains(wanted.first) : nullptr;
      return label && label->as_string() == wanted.second;
    });
  }
  void note(const api::Resource& r, const ApiServer::Object& before,
            const ApiServer::Object& after) {
    keep_endpoints(r, after);
    if (std::ranges::count(all_kinds(), r) == 0) return;
    const std::string what = std::string(r.plural) + " " + name_of(after ? *after : *before);
    if (!before || !after) {
      changes_.insert(what + (after ? ": made" : ": gone"));
      return;
    }
    for (const char* part : {"metadata", "spec", "data"}) {
      if (!before->as_object().contains(part) || !after->as_object().contains(part)) continue;
      const json::object& was = before->at(part).as_object();
      const json::object& is = after->at(part).as_object();
      for (const auto* fields : {&was, &is})
        for (const auto& [field, value] : *fields) {
          const bool free = field == "resourceVersion" || field == "generation" ||
                            field == "managedFields" || field == "nodeName";
          const Json* then = was.if_contains(field);
          const Json* now = is.if_contains(field);
          if (!free && !(then && now && *then == *now))
            changes_.insert(what + ": " + part + "." + std::string(field));
        }
    }
  }

  std::map<std::string, std::string> renamed_;
  std::vector<Listed> formed_;
  std::set<std::string> changes_, uids_, first_pods_;
  std::optional<v1::MemberTls> tls_;  // The same in every member.
  bool watching_ = false;
  std::map<std::string, std::set<std::string>> endpoints_;  // By Service: names of Pods.
  const Identity authority_ = new_authority();
};

const std::string kBudgetPolicy = "poddisruptionbudgets db: spec.unhealthyPodEvictionPolicy";
using Changes = std::set<std::string>;

TEST_F(TakeOver, APlainClusterIsTakenOverAndManaged) {
  load("plain");
  world.run_for(10min);
  EXPECT_EQ(changes(), with_selectors({kBudgetPolicy}));
  EXPECT_EQ(world.missing(), "");
  manage_and_hand_back();
}

TEST_F(TakeOver, K15_HandedBackItStartsAndGrowsWithoutTheFlag) {
  load("plain");
  world.must_converge(5min);
  const auto cluster = read<v1::EtcdCluster>(kKey);
  EXPECT_EQ(cluster->status.max_learners, v1::kManyLearners) << "who grew it is not known";
  world.scale(kKey, cluster->spec.replicas + 2);
  world.must_converge(5min);
  const auto grown = members();
  kill_operator();
  for (const auto& member : grown) ASSERT_NO_FATAL_FAILURE(restart_without_flag(member.name));
  ASSERT_NO_FATAL_FAILURE(
      grow_without_flag("db-ours", cluster->spec.version, cluster->status.cluster_token));
  EXPECT_EQ(voters(), grown.size() + 1);
  for (const auto& pod : world.server().look_all(kube::Pod::resource))
    EXPECT_EQ(json::serialize(pod->at("spec")).find("max-learners"), std::string::npos);
}

TEST_F(TakeOver, APausedClusterSleepsOnAndWakesAsTheSameCluster) {
  load("paused");
  const auto id = etcd_id();
  const auto dormant_member = members().at(0);
  world.run_for(10min);
  EXPECT_EQ(changes(), with_selectors({})) << "there is no Pod, and the next one has the labels";
  EXPECT_EQ(says(v1::kAvailable), "False/Paused");
  EXPECT_EQ(missed_by_the_go_operator(), "");
  world.scale(kKey, 3);
  world.must_converge(5min);
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(std::ranges::count(members(), dormant_member.id, &EtcdNet::Member::id), 1);
  EXPECT_EQ(missed_by_the_go_operator(), "");
  EXPECT_EQ(world.net().births().size(), 1U);
}

/// The Go operator labels voters only once all members are ready: until then a voter has no label.
const Changes kGrown{"etcdmembers db-vw9pc: spec.initialCluster",
                     "etcdmembers db-vw9pc: metadata.labels",
                     "persistentvolumeclaims data-db-vw9pc: made",
                     "pods db-vw9pc: made",
                     "pods db-vw9pc: metadata.labels",
                     "pods db-m4hzt: metadata.labels",
                     "poddisruptionbudgets db: made"};

TEST_F(TakeOver, AMemberThatEtcdDoesNotKnowYetIsAdded) {
  load("half-grown");
  world.must_converge(5min);
  EXPECT_EQ(changes(), with_selectors(kGrown));
  EXPECT_TRUE(all_kept());
  EXPECT_EQ(missed_by_the_go_operator(), "");
}

TEST_F(TakeOver, AMemberThatWasAddedAndNotToldTheListIsStarted) {
  load("half-grown-added");
  ASSERT_EQ(learners(), 1U);
  world.must_converge(5min);
  EXPECT_EQ(changes(), with_selectors(kGrown));
  EXPECT_TRUE(all_kept());
  EXPECT_EQ(missed_by_the_go_operator(), "");
}

TEST_F(TakeOver, ALearnerIsPromoted) {
  load("half-grown-learner");
  ASSERT_EQ(learners(), 1U);
  world.must_converge(5min);
  EXPECT_EQ(changes(),
            with_selectors({"pods db-vw9pc: metadata.labels", "poddisruptionbudgets db: made"}));
  EXPECT_TRUE(all_kept());
  EXPECT_EQ(missed_by_the_go_operator(), "");
}

/// Its Pods hold its data: whatever this release supports for such a cluster, the Pods stay.
TEST_F(TakeOver, AMemoryClusterKeepsItsPods) {
  load("memory");
  world.run_for(10min);
  EXPECT_EQ(changes(), with_selectors({kBudgetPolicy}));
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  EXPECT_EQ(missed_by_the_go_operator(), "");
}

/// Adopted by etcd-migrate: no operator founded it, and its members use another Service.
TEST_F(TakeOver, AnAdoptedClusterIsManagedAndItsMembersStayWhereTheyLive) {
  load("adopted");
  const auto id = etcd_id();
  world.run_for(10min);
  EXPECT_EQ(changes(),
            with_selectors({"services db-client: made", "poddisruptionbudgets db: made"}));
  EXPECT_EQ(world.missing(), "");
  EXPECT_EQ(missed_by_the_go_operator(), "");
  world.delete_object(kube::Pod::resource, {kKey.ns, "db-1"});
  world.must_converge(5min);
  const auto pod = read<kube::Pod>({kKey.ns, "db-1"});
  const auto& command = pod->spec.containers.at(0).command;
  EXPECT_EQ(std::ranges::count(command, "--data-dir=/var/lib/etcd/default.etcd"), 1);
  EXPECT_EQ(std::ranges::count(
                command, "--initial-advertise-peer-urls=http://db-1.db-headless.prod.svc:2380"),
            1);
  EXPECT_EQ(std::ranges::count(command, "--initial-cluster-state=existing"), 1);
  for (const int size : {5, 3, 0, 1}) {
    world.scale(kKey, size);
    world.must_converge(5min);
    EXPECT_EQ(missed_by_the_go_operator(), "") << size;
  }
  EXPECT_EQ(etcd_id(), id);
  EXPECT_EQ(world.net().births().size(), 1U);
}

const std::string kOwnPasswords = "secrets db-operator-auth: made";

TEST_F(TakeOver, AClusterWithSecretsOfItsOwnAndAPasswordIsTakenOverAndManaged) {
  load("secure-secrets");
  world.run_for(10min);
  EXPECT_EQ(changes(), with_selectors({kBudgetPolicy, kOwnPasswords}));
  EXPECT_EQ(world.missing(), "");
  EXPECT_EQ(tried("AuthEnable"), 0U);
  manage_and_hand_back();
}

/// The Go operator's Certificates have no labels, and its peer Certificate lacks a name that ours
/// has. Without a new request, cert-manager issues no new certificate.
TEST_F(TakeOver, AClusterOfCertManagersIsTakenOverAndManaged) {
  load("secure-cert-manager");
  world.run_for(10min);
  EXPECT_EQ(changes(),
            with_selectors({kBudgetPolicy, kOwnPasswords, "certificates db-server: metadata.labels",
                            "certificates db-operator-client: metadata.labels",
                            "certificates db-peer: metadata.labels"}));
  EXPECT_EQ(world.missing(), "");
  manage_and_hand_back();
}

/// The Go operator did not check the owner of a Certificate.
TEST_F(TakeOver, ACertificateOfSomebodyElseIsLeftToThem) {
  const api::ObjectKey peer{kKey.ns, "db-peer"};
  load("secure-cert-manager", [&] {
    (void)world.server().change(kube::Certificate::resource, peer, [](json::object& certificate) {
      certificate["metadata"].as_object().erase("ownerReferences");
    });
  });
  world.run_for(10min);
  for (const std::string& change : changes())
    EXPECT_FALSE(change.starts_with("certificates db-peer")) << change;
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  EXPECT_EQ(says(v1::kDegraded), "True/ObjectRejected");
  EXPECT_EQ(says(v1::kTlsReady), "True/CertificatesInUse");
  world.scale(kKey, 5);
  EXPECT_TRUE(world.run_until([&] { return voters() == 5; }, 5min));
  EXPECT_TRUE(all_kept());
}

/// A user edited a Certificate that its operator never looks at again.
TEST_F(TakeOver, NamesThatSomebodyGaveACertificateStay) {
  const api::ObjectKey server{kKey.ns, "db-server"};
  load("secure-cert-manager", [&] {
    (void)world.server().change(kube::Certificate::resource, server, [](json::object& certificate) {
      certificate["spec"].at("dnsNames").as_array().emplace_back("etcd.example.org");
    });
  });
  world.run_for(10min);
  EXPECT_FALSE(changes().contains("certificates db-server: spec.dnsNames"));
}

/// The Secret has our name by chance.
TEST_F(TakeOver, ASecretOfSomebodyElseIsLeftToThem) {
  load("secure-secrets", [&] {
    world.write_secret({kKey.ns, "db-operator-auth"}, {{kPasswordKey, "not for etcd"}});
  });
  world.run_for(10min);
  EXPECT_EQ(changes(), with_selectors({kBudgetPolicy}));
  EXPECT_EQ(says(v1::kAvailable), "True/QuorumHealthy");
  EXPECT_EQ(says(v1::kDegraded), "True/ObjectRejected");
  world.scale(kKey, 5);
  EXPECT_TRUE(world.run_until([&] { return voters() == 5; }, 5min));
  EXPECT_TRUE(all_kept());
}

/// The Go operator stopped on its way to authentication, after these calls.
class HalfwayToAuthentication : public TakeOver,
                                public ::testing::WithParamInterface<std::vector<const char*>> {};

TEST_P(HalfwayToAuthentication, TheRestIsDone) {
  load("auth-half", [&] {
    for (const char* call : GetParam()) carry_out(call);
  });
  EXPECT_FALSE(read<v1::EtcdCluster>(kKey)->status.auth_enabled);
  world.must_converge(5min);
  EXPECT_EQ(changes(), with_selectors({kOwnPasswords, "poddisruptionbudgets db: made"}));
  EXPECT_EQ(tried("AuthEnable"), GetParam().size() < 2 ? 1U : 0U);
  manage_and_hand_back();
}

INSTANTIATE_TEST_SUITE_P(
    TakeOver, HalfwayToAuthentication,
    ::testing::Values(std::vector<const char*>{}, std::vector<const char*>{"UserGrantRole"},
                      std::vector<const char*>{"UserGrantRole", "AuthEnable"}));

/// Every fixture has a test.
TEST_F(TakeOver, EveryFixtureHasATest) {
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures))
    there.insert(entry.path().filename());
  EXPECT_EQ(there, (std::set<std::string>{"adopted", "auth-half", "half-grown", "half-grown-added",
                                          "half-grown-learner", "memory", "paused", "plain",
                                          "secure-cert-manager", "secure-secrets"}));
}

}  // namespace
}  // namespace etcdop::sim
