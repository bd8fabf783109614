// Passes after the API server has changed and the cache has not. The API server is a fake.
#include <gtest/gtest.h>

#include <utility>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "operator/member/reconciler.h"
#include "runtime/conditions.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/secret_shelf.h"
#include "test/support/seeded_random.h"
#include "test/support/unscripted_etcd.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::member {
namespace {

using namespace std::chrono_literals;
using testing::FakeApi;
namespace v1 = api::v1alpha2;

const api::ObjectKey kKey{"prod", "db-a"}, kCluster{"prod", "db"}, kVolume{"prod", "data-db-a"};

class Preconditions : public ::testing::Test {
 protected:
  Preconditions() {
    server.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
    server.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
    server.serve({.resource = kube::Pod::resource, .status = true});
    server.serve({.resource = kube::PersistentVolumeClaim::resource});
    cluster_uid = put<v1::EtcdCluster>(
        {{"metadata", meta(kCluster.name, "", "")},
         {"spec", {{"replicas", 3}, {"version", "3.6.16"}, {"storage", {{"size", "1Gi"}}}}},
         {"status", {{"clusterID", "c1"}}}});
    server.change(v1::EtcdCluster::resource, kCluster,
                  [this](json::object& c) { c["status"].as_object()["clusterToken"] = token(); });
    json::object member = meta(kKey.name, "EtcdCluster", cluster_uid);
    member["finalizers"] = json::array{v1::kMemberFinalizer};
    uid = put<v1::EtcdMember>({{"metadata", std::move(member)},
                               {"spec",
                                {{"clusterName", "db"},
                                 {"version", "3.6.16"},
                                 {"storage", {{"size", "1Gi"}}},
                                 {"bootstrap", false},
                                 {"initialCluster", "x"},
                                 {"clusterToken", token()}}}});
    put<kube::PersistentVolumeClaim>(
        {{"metadata", meta(kVolume.name, "EtcdMember", uid)}, {"spec", json::object{}}});
    see();
  }

  /// As the EtcdCluster's own UID has it.
  std::string token() const { return "prod-db-" + cluster_uid; }
  static json::object meta(const std::string& name, const std::string& kind,
                           const std::string& owner) {
    json::object out{
        {"name", name}, {"namespace", kKey.ns}, {"labels", {{v1::kClusterLabel, "db"}}}};
    if (!owner.empty())
      out["ownerReferences"] = json::array{{{"apiVersion", "v"},
                                            {"kind", kind},
                                            {"name", kind == "EtcdMember" ? "db-a" : "db"},
                                            {"uid", owner},
                                            {"controller", true}}};
    return out;
  }
  template <class T>
  std::string put(Json manifest) {
    return std::string(
        server.put(T::resource, std::move(manifest)).at("metadata").at("uid").as_string());
  }
  template <class T>
  void see(kube::Store<T>& store, const api::ObjectKey& key) {
    if (const auto before = store.get(key)) store.saw_deleted(*before);
    const auto now = server.find(T::resource, key);
    if (!now) return;
    T object;
    ASSERT_TRUE(api::decode(*now, object, "it"));
    store.saw(object);
  }
  /// The cache is up to date.
  void see() {
    see(stores.clusters, kCluster);
    see(stores.members, kKey);
    see(stores.pods, kKey);
    see(stores.volumes, kVolume);
  }
  void put_pod(const std::string& owner, const char* list) {
    json::object labelled = meta(kKey.name, "EtcdMember", owner);
    labelled["labels"].as_object()[v1::kClusterUidLabel] = cluster_uid;
    put<kube::Pod>(
        {{"metadata", std::move(labelled)},
         {"spec",
          {{"containers",
            json::array{
                {{"name", "etcd"},
                 {"command", json::array{"etcd", std::string("--initial-cluster=") + list}}}}}}},
         {"status", {{"phase", "Running"}}}});
  }
  template <class T>
  void change(const api::ObjectKey& key, const std::function<void(json::object&)>& edit) {
    server.change(T::resource, key, edit);
  }
  /// Deletes it and creates another one with that name, unseen by the cache.
  template <class T>
  void put_another(const api::ObjectKey& key) {
    Json next = *server.find(T::resource, key);
    for (const char* field : {"uid", "resourceVersion", "creationTimestamp", "generation"})
      next.at("metadata").as_object().erase(field);
    server.erase(T::resource, key);
    put<T>(std::move(next));
  }
  template <class T>
  Json now(const api::ObjectKey& key) const {
    return server.find(T::resource, key).value_or(nullptr);
  }
  /// Refuses every request whose line begins like this.
  void refuse(const std::string& line, Code code) {
    server.before([line, code](const kube::Call& call) -> std::optional<Error> {
      if (!sim::line_of(call).starts_with(line)) return std::nullopt;
      return Error{code, "so it is"};
    });
  }
  /// How long to wait after the pass, or its error.
  Result<Duration> pass() {
    Result<Duration> out = Error{Code::Unavailable, "no pass"};
    world.spawn([&] {
      auto done = reconciler.reconcile(kKey);
      if (done) out = done->after.value_or(Duration::max());
      else out = done.error();
    });
    world.run();
    return out;
  }
  /// Passes until nothing changes any more, each with a fresh cache.
  void settle() {
    for (std::size_t before = 0; before != server.version(); see()) {
      before = server.version();
      ASSERT_TRUE(pass());
    }
  }

  sim::Scheduler world{1};
  FakeApi server{world};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  testing::EtcdOfOneAnswer etcd;
  Credentials credentials{world, server, clock, etcd};
  Reconciler reconciler{{{world, server, stores, clock, log}, etcd, credentials},
                        {"quay.io/coreos/etcd", "etcd-operator:1"}};
  std::string cluster_uid, uid;
};

TEST_F(Preconditions, AMemberIsLetGoWhenItsClusterIsGoneOrGoingOrAnother) {
  const std::function<void()> ends[] = {
      [&] { server.erase(v1::EtcdCluster::resource, kCluster); },
      [&] { put_another<v1::EtcdCluster>(kCluster); },
      [&] {
        change<v1::EtcdCluster>(kCluster, [](json::object& c) {
          c["metadata"].as_object()["finalizers"] = json::array{"somebody/else"};
        });
        server.remove(v1::EtcdCluster::resource, kCluster);
      },
  };
  const Json member = now<v1::EtcdMember>(kKey), cluster = now<v1::EtcdCluster>(kCluster);
  for (const auto& end : ends) {
    end();
    server.remove(v1::EtcdMember::resource, kKey);
    see();
    EXPECT_TRUE(pass());
    EXPECT_EQ(now<v1::EtcdMember>(kKey), nullptr) << &end - ends;
    server.erase(v1::EtcdCluster::resource, kCluster);
    server.erase(v1::EtcdMember::resource, kKey);
    Json next = member;
    next.at("metadata").as_object()["ownerReferences"] =
        meta("", "EtcdCluster", put<v1::EtcdCluster>(cluster)).at("ownerReferences");
    put<v1::EtcdMember>(std::move(next));
  }
}

/// Seed 10101: `--cascade=orphan`, while a voter waits for its replacement. Its etcd runs on
/// without an EtcdCluster, and would have lost its quorum with that voter.
TEST_F(Preconditions, K17_AMemberThatLeavesIsNotLetGoBesideOrphansOfItsEtcd) {
  const api::ObjectKey beside{kKey.ns, "db-b"};
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["status"] = json::object{{"memberID", "1"}, {"isVoter", true}};
  });
  Json other = now<v1::EtcdMember>(kKey);
  for (const char* field : {"uid", "resourceVersion", "ownerReferences"})
    other.at("metadata").as_object().erase(field);
  other.at("metadata").as_object()["name"] = beside.name;
  put<v1::EtcdMember>(std::move(other));
  server.remove(v1::EtcdMember::resource, kKey);
  const auto is_kept = [&] {
    see();
    see(stores.members, beside);
    settle();
    return now<v1::EtcdMember>(kKey) != nullptr;
  };
  change<v1::EtcdCluster>(kCluster, [](json::object& c) {
    c["metadata"].as_object()["finalizers"] = json::array{"orphan"};
  });
  server.remove(v1::EtcdCluster::resource, kCluster);
  EXPECT_TRUE(is_kept()) << "the garbage collector has just begun";
  change<v1::EtcdMember>(
      kKey, [](json::object& m) { m["metadata"].as_object().erase("ownerReferences"); });
  server.erase(v1::EtcdCluster::resource, kCluster);
  EXPECT_TRUE(is_kept());
  stores.members.saw_deleted(*stores.members.get(beside));
  (void)pass();
  EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr) << "the cache is wrong";
  server.erase(v1::EtcdMember::resource, beside);
  EXPECT_FALSE(is_kept()) << "it was the last one";
}

/// I5: its volume would go with it, without a word of etcd's.
TEST_F(Preconditions, K17_AMemberThatLostItsOwnerIsNotLetGoWhileItsClusterRuns) {
  change<v1::EtcdMember>(
      kKey, [](json::object& m) { m["metadata"].as_object().erase("ownerReferences"); });
  server.remove(v1::EtcdMember::resource, kKey);
  see();
  settle();
  EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr) << "its owner comes back, and asks etcd";
  change<v1::EtcdCluster>(
      kCluster, [](json::object& c) { c["status"].as_object()["clusterToken"] = "another"; });
  see();
  settle();
  EXPECT_EQ(now<v1::EtcdMember>(kKey), nullptr) << "it was left by an earlier one";
}

TEST_F(Preconditions, K17_APodWithoutItsOwnerGetsItBackIfItIsTheRecordedOne) {
  put_pod(uid, "x");
  see();
  settle();
  const auto disown = [&] {
    change<kube::Pod>(
        kKey, [](json::object& pod) { pod["metadata"].as_object().erase("ownerReferences"); });
  };
  const auto is_owned = [&] {
    return now<kube::Pod>(kKey).at("metadata").as_object().contains("ownerReferences");
  };
  disown();
  see();
  settle();
  EXPECT_TRUE(is_owned());
  disown();
  change<v1::EtcdMember>(kKey, [](json::object& m) { m["status"].as_object()["podUID"] = "p-9"; });
  see();
  settle();
  EXPECT_FALSE(is_owned()) << "a user made it";
}

TEST_F(Preconditions, K17_APodAvoidsThePodsOfItsClusterByTheUidOnceAllHaveIt) {
  const auto avoids = [&](const char* label) {
    server.erase(kube::Pod::resource, kKey);
    see();
    settle();
    return json::serialize(now<kube::Pod>(kKey).at("spec").at("affinity")).find(label) !=
           std::string::npos;
  };
  EXPECT_TRUE(avoids(v1::kClusterUidLabel));
  json::object member = meta("db-b", "EtcdCluster", cluster_uid);
  const std::string other = put<v1::EtcdMember>({{"metadata", std::move(member)},
                                                 {"spec",
                                                  {{"clusterName", "db"},
                                                   {"version", "3.6.16"},
                                                   {"storage", {{"size", "1Gi"}}},
                                                   {"initialCluster", "x"},
                                                   {"clusterToken", token()}}}});
  put<kube::Pod>({{"metadata", meta("db-b", "EtcdMember", other)}, {"spec", json::object{}}});
  see(stores.members, {kKey.ns, "db-b"});
  see(stores.pods, {kKey.ns, "db-b"});
  EXPECT_FALSE(avoids(v1::kClusterUidLabel)) << "one that the Go operator made";
  EXPECT_TRUE(avoids(v1::kClusterLabel));
  server.erase(v1::EtcdMember::resource, {kKey.ns, "db-b"});
  see(stores.members, {kKey.ns, "db-b"});
  EXPECT_TRUE(avoids(v1::kClusterUidLabel)) << "a Pod of no member is not avoided";
}

TEST_F(Preconditions, NoMemberIsLetGoBecauseTheCacheLacksItsCluster) {
  server.remove(v1::EtcdMember::resource, kKey);
  see();
  stores.clusters.saw_deleted(*stores.clusters.get(kCluster));
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr);
  refuse("get etcdclusters", Code::Unavailable);
  EXPECT_TRUE(pass().failed_with(Code::Unavailable));
  EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr);
}

TEST_F(Preconditions, AClusterIsFoundedOnceWhateverTheCacheShows) {
  change<v1::EtcdMember>(kKey, [](json::object& m) { m["spec"].as_object()["bootstrap"] = true; });
  const auto id = [&](const char* to) {
    change<v1::EtcdCluster>(kCluster,
                            [to](json::object& c) { c["status"].as_object()["clusterID"] = to; });
  };
  id("");
  see();
  id("c1");
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr) << "it has been founded";
  id("");
  see();
  put_another<v1::EtcdCluster>(kCluster);
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr) << "it is another cluster";
  refuse("get etcdclusters", Code::Unavailable);
  EXPECT_TRUE(pass().failed_with(Code::Unavailable));
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr) << "nobody knows";
}

TEST_F(Preconditions, ANewClusterIsFounded) {
  change<v1::EtcdMember>(kKey, [](json::object& m) { m["spec"].as_object()["bootstrap"] = true; });
  change<v1::EtcdCluster>(kCluster,
                          [](json::object& c) { c["status"].as_object()["clusterID"] = ""; });
  see();
  settle();
  const Json pod = now<kube::Pod>(kKey);
  ASSERT_NE(pod, nullptr);
  EXPECT_NE(json::serialize(pod).find("--initial-cluster-state=new"), std::string::npos);
}

/// The cached Secret is read again at its own pace.
TEST_F(Preconditions, ASnapshotIsRestoredOnceItsStoresSecretIsComplete) {
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    json::object& spec = m["spec"].as_object();
    spec["bootstrap"] = true;
    spec["restore"] = json::parse(R"({"source": {"s3": {
      "endpoint": "https://s3", "bucket": "b", "key": "db.db",
      "credentialsSecretRef": {"name": "keys"}
    }}})");
  });
  change<v1::EtcdCluster>(kCluster, [](json::object& c) {
    c["status"].as_object()["clusterID"] = "";
    c["spec"].as_object()["auth"] =
        json::object{{"enabled", true}, {"rootCredentialsSecretRef", {{"name", "root"}}}};
  });
  testing::SecretShelf shelf(server);
  see();
  const auto told = [&] {
    world.run_until(world.now() + 2min);
    settle();
    const auto* c =
        runtime::find_condition(stores.members.get(kKey)->status.conditions, v1::kReady);
    return c ? c->reason + ": " + c->message : "";
  };
  EXPECT_EQ(told(),
            "RestoreFailed: SourceCredentialsMissing: Secret keys does not exist; the operator "
            "creates no Pod until this is fixed");
  shelf.put("keys", {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", ""}});
  EXPECT_EQ(told(),
            "RestoreFailed: SourceCredentialsMissing: Secret keys has no AWS_SECRET_ACCESS_KEY; "
            "the operator creates no Pod until this is fixed");
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr);
  shelf.put("keys", {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "key"}});
  const std::string other = told();
  EXPECT_TRUE(other.starts_with("PodRejected: EtcdMember db-a has another spec.restore")) << other;
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr)
      << "one CustomResourceDefinition is older than the other";
  change<v1::EtcdCluster>(kCluster, [this](json::object& c) {
    const Json member = now<v1::EtcdMember>(kKey);
    c["spec"].as_object()["bootstrap"] = json::object{{"restore", member.at("spec").at("restore")}};
  });
  see();
  EXPECT_EQ(told(), "Restoring: restoring s3://b/db.db: see kubectl logs db-a -c restore");
  const std::string pod = json::serialize(now<kube::Pod>(kKey));
  EXPECT_NE(pod.find("--initial-cluster-state=new"), std::string::npos);
  EXPECT_NE(pod.find(R"("image":"etcd-operator:1")"), std::string::npos);
  EXPECT_NE(pod.find(R"({"name":"RESTORE_AUTH","value":"true"})"), std::string::npos)
      << "as the cluster has it";
}

TEST_F(Preconditions, ASnapshotOfAKeylessStoreWaitsForNoSecretButThatOfItsAuthorities) {
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    json::object& spec = m["spec"].as_object();
    spec["bootstrap"] = true;
    spec["restore"] = json::parse(R"({"source": {"s3": {
      "endpoint": "https://s3", "bucket": "b", "key": "db.db", "credentialsSecretRef": {},
      "caSecretRef": {"name": "store-ca"}
    }}})");
  });
  change<v1::EtcdCluster>(kCluster, [this](json::object& c) {
    c["status"].as_object()["clusterID"] = "";
    const Json member = now<v1::EtcdMember>(kKey);
    c["spec"].as_object()["bootstrap"] = json::object{{"restore", member.at("spec").at("restore")}};
  });
  testing::SecretShelf shelf(server);
  see();
  const auto told = [&] {
    world.run_until(world.now() + 2min);
    settle();
    return runtime::find_condition(stores.members.get(kKey)->status.conditions, v1::kReady)
        ->message;
  };
  EXPECT_EQ(told(),
            "SourceCredentialsMissing: Secret store-ca does not exist; the operator creates no Pod "
            "until this is fixed");
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr);
  shelf.put("store-ca", {{"ca.crt", "PEM"}});
  EXPECT_EQ(told(), "restoring s3://b/db.db: see kubectl logs db-a -c restore");
}

// --- a first member that cannot start (K4)

class UnbornTest : public Preconditions {
 protected:
  UnbornTest() {
    change<v1::EtcdMember>(kKey,
                           [](json::object& m) { m["spec"].as_object()["bootstrap"] = true; });
    change<v1::EtcdCluster>(kCluster,
                            [](json::object& c) { c["status"].as_object()["clusterID"] = ""; });
    change<kube::PersistentVolumeClaim>(kVolume, [](json::object& v) {
      v["spec"] = json::object{{"resources", {{"requests", {{"storage", "1Gi"}}}}}};
      v["status"] = json::object{{"phase", "Pending"}};
    });
    see();
    settle();
    EXPECT_NE(now<kube::Pod>(kKey), nullptr);
  }
  std::string recorded(const char* field) const {
    const Json member = now<v1::EtcdMember>(kKey);
    const auto& status = member.at("status").as_object();
    return status.contains(field) ? std::string(status.at(field).as_string()) : "";
  }
  void bind(const char* phase) {
    change<kube::PersistentVolumeClaim>(
        kVolume, [&](json::object& v) { v["status"] = json::object{{"phase", phase}}; });
  }
  void correct() {
    change<v1::EtcdMember>(kKey, [](json::object& m) {
      m["spec"].as_object()["nodeSelector"] = json::object{{"disk", "ssd"}};
    });
  }
};

TEST_F(UnbornTest, K4_AFirstMemberThatNeverRanIsLetGoWithAllThatItHas) {
  server.remove(v1::EtcdMember::resource, kKey);
  see();
  EXPECT_TRUE(pass());
  EXPECT_EQ(now<v1::EtcdMember>(kKey), nullptr);
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr);
  EXPECT_EQ(now<kube::PersistentVolumeClaim>(kVolume), nullptr);
}

TEST_F(UnbornTest, K4_AFirstMemberStaysIfItMayHaveRunWhateverTheCacheShows) {
  server.remove(v1::EtcdMember::resource, kKey);
  see();
  bind("Bound");
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_NE(now<kube::Pod>(kKey), nullptr);
  server.erase(kube::PersistentVolumeClaim::resource, kVolume);
  EXPECT_TRUE(pass().failed_with(Code::Conflict)) << "what was on it is unknown";
  change<v1::EtcdCluster>(kCluster,
                          [](json::object& c) { c["status"].as_object()["clusterID"] = "c1"; });
  EXPECT_TRUE(pass().failed_with(Code::Conflict)) << "it has founded the cluster";
  EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr);
  EXPECT_EQ(recorded("pvcName"), kVolume.name) << "the record stays, too";
}

/// The volume is bound, or a Pod recorded, between two requests of the pass.
TEST_F(UnbornTest, K4_WhatChangesWhileItIsLetGoKeepsIt) {
  server.remove(v1::EtcdMember::resource, kKey);
  see();
  for (const char* line : {"delete persistentvolumeclaims", "patch etcdmembers prod/db-a"}) {
    bool once = false;
    server.before([&](const kube::Call& call) -> std::optional<Error> {
      if (!sim::line_of(call).starts_with(line) || std::exchange(once, true)) return std::nullopt;
      if (call.verb == kube::Verb::Delete) bind("Bound");
      else
        change<v1::EtcdMember>(kKey,
                               [](json::object& m) { m["status"].as_object()["podUID"] = "p-9"; });
      return std::nullopt;
    });
    EXPECT_TRUE(pass().failed_with(Code::Conflict)) << line;
    EXPECT_TRUE(once) << line;
    EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr) << line;
    if (now<kube::PersistentVolumeClaim>(kVolume) != nullptr) bind("Pending");
    see();
  }
}

/// The pass ends after any of its writes.
TEST_F(UnbornTest, K4_WhoIsInterruptedWhileItLetsAFirstMemberGoBeginsAgain) {
  server.remove(v1::EtcdMember::resource, kKey);
  for (int writes = 0; writes < 4; ++writes) {
    see();
    int left = writes == 0 ? 0 : 1;
    server.before([&](const kube::Call& call) -> std::optional<Error> {
      const bool reads = call.verb == kube::Verb::Get || call.verb == kube::Verb::List;
      if (reads || left-- > 0) return std::nullopt;
      return Error{Code::Unavailable, "the API server is away"};
    });
    EXPECT_FALSE(pass());
    EXPECT_NE(now<v1::EtcdMember>(kKey), nullptr) << writes;
  }
  server.before([](const kube::Call&) -> std::optional<Error> { return std::nullopt; });
  world.run_until(world.now() + 2min);
  see();
  settle();
  EXPECT_EQ(now<v1::EtcdMember>(kKey), nullptr);
}

TEST_F(UnbornTest, K4_ACorrectedFirstMemberGetsAnotherPodOnItsVolume) {
  const Json before = now<kube::Pod>(kKey);
  correct();
  see();
  change<kube::Pod>(kKey, [](json::object& pod) {
    pod["spec"].as_object()["nodeName"] = "n";
    pod["status"] = json::parse(R"({"phase": "Running", "containerStatuses": [
        {"name": "etcd", "state": {"running": {}}}]})");
  });
  EXPECT_TRUE(pass().failed_with(Code::Conflict)) << "its etcd runs by now";
  change<kube::Pod>(kKey, [](json::object& pod) {
    pod["status"].as_object()["containerStatuses"] =
        json::parse(R"([{"name": "etcd", "state": {"waiting": {"reason": "ImagePullBackOff"}}}])");
  });
  const std::string volume = json::serialize(now<kube::PersistentVolumeClaim>(kVolume));
  see();
  settle();
  const Json after = now<kube::Pod>(kKey);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(after.at("metadata").at("uid"), before.at("metadata").at("uid"));
  EXPECT_EQ(after.at("spec").at("nodeSelector"), Json({{"disk", "ssd"}}));
  EXPECT_EQ(json::serialize(now<kube::PersistentVolumeClaim>(kVolume)), volume);
}

TEST_F(UnbornTest, K4_AVolumeThatNoStorageHasIsMadeAgainWithItsCorrectedSize) {
  const Json before = now<kube::PersistentVolumeClaim>(kVolume);
  change<v1::EtcdMember>(
      kKey, [](json::object& m) { m["spec"].as_object()["storage"].as_object()["size"] = "2Gi"; });
  see();
  settle();
  const Json after = now<kube::PersistentVolumeClaim>(kVolume);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(after.at("metadata").at("uid"), before.at("metadata").at("uid"));
  EXPECT_EQ(after.at("spec").at("resources").at("requests").at("storage"), "2Gi");
  EXPECT_NE(now<kube::Pod>(kKey), nullptr);
  EXPECT_EQ(recorded("pvcName"), kVolume.name);
}

TEST_F(UnbornTest, K4_AMemberInMemoryWhosePodNeverHadANodeIsMended) {
  server.erase(kube::Pod::resource, kKey);
  server.erase(kube::PersistentVolumeClaim::resource, kVolume);
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["spec"].as_object()["storage"].as_object()["medium"] = "Memory";
    m["status"] = json::object{};
  });
  see();
  settle();
  const Json before = now<kube::Pod>(kKey);
  ASSERT_NE(before, nullptr);
  EXPECT_EQ(recorded("podUID"), before.at("metadata").at("uid").as_string());
  correct();
  see();
  settle();
  const Json after = now<kube::Pod>(kKey);
  ASSERT_NE(after, nullptr);
  EXPECT_NE(after.at("metadata").at("uid"), before.at("metadata").at("uid"));
  EXPECT_EQ(recorded("podUID"), after.at("metadata").at("uid").as_string());
  change<kube::Pod>(kKey, [](json::object& pod) { pod["spec"].as_object()["nodeName"] = "n"; });
  correct();
  change<v1::EtcdMember>(
      kKey, [](json::object& m) { m["spec"].as_object()["priorityClassName"] = "high"; });
  see();
  settle();
  EXPECT_EQ(now<kube::Pod>(kKey).at("metadata").at("uid"), after.at("metadata").at("uid"))
      << "its etcd may run, and its data is in this Pod";
}

// --- a restore in place

/// A cluster that goes back in place, at this stage.
json::object record_at(const char* stage) {
  return {{"name", "back"},
          {"uid", "r-1"},
          {"stage", stage},
          {"from", {{"source", {{"pvc", {{"claimName", "backups"}, {"subPath", "db.db"}}}}}}},
          {"members", json::array{}}};
}

TEST_F(Preconditions, WhoSleepsWhileItsClusterGoesBackHasNoPod) {
  put_pod(uid, "x");
  change<v1::EtcdMember>(kKey, [](json::object& m) { m["spec"].as_object()["dormant"] = true; });
  see();
  settle();
  EXPECT_NE(now<kube::Pod>(kKey), nullptr) << "it is about to be woken";
  change<v1::EtcdCluster>(kCluster, [](json::object& c) {
    c["status"].as_object()["restore"] = record_at("Stopping");
  });
  see();
  settle();
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr);
}

TEST_F(Preconditions, AFounderRestoresOnlyWhileItsOwnClusterSaysSo) {
  const json::object record = record_at("Restoring");
  change<v1::EtcdMember>(kKey, [&](json::object& m) {
    json::object& spec = m["spec"].as_object();
    spec["bootstrap"] = true;
    spec["restore"] = record.at("from");
    spec["clusterToken"] = token() + "-new";
  });
  const auto say = [this](const char* stage, const std::string& token) {
    change<v1::EtcdCluster>(kCluster, [&](json::object& c) {
      json::object& status = c["status"].as_object();
      status["clusterID"] = "";
      status["clusterToken"] = token;
      status["restore"] = record_at(stage);
    });
  };
  say("Restoring", token() + "-new");
  see();
  // Unseen by the cache.
  for (const auto& [stage, token] :
       {std::pair{"RollingBack", "new"}, std::pair{"Restoring", "newer"}}) {
    say(stage, token);
    EXPECT_FALSE(pass());
    EXPECT_EQ(now<kube::Pod>(kKey), nullptr) << stage << " " << token;
  }
  say("Restoring", token() + "-new");
  EXPECT_TRUE(pass());
  const Json pod = now<kube::Pod>(kKey);
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod.at("spec").at("initContainers").at(1).at("name").as_string(),
            v1::kRestoreContainer);
}

/// S50: whatever two operators do at the same time, one Pod runs.
TEST_F(Preconditions, APodInMemoryIsAdmittedOnceItIsRecorded) {
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["spec"].as_object()["storage"] = json::object{{"medium", "Memory"}, {"size", "1Gi"}};
  });
  see();
  EXPECT_TRUE(pass());  // Created.
  see();
  const std::string made(now<kube::Pod>(kKey).at("metadata").at("uid").as_string());
  refuse("patch etcdmembers/status", Code::Conflict);
  EXPECT_FALSE(pass());
  EXPECT_EQ(server.requests("patch pods"), 0) << "it is not recorded";
  server.before(nullptr);
  settle();
  EXPECT_EQ(stores.members.get(kKey)->status.pod_uid, made);
  EXPECT_EQ(now<kube::Pod>(kKey).at("spec").at("schedulingGates"), json::array());
  EXPECT_EQ(server.requests("create persistentvolumeclaims"), 0);

  server.erase(kube::Pod::resource, kKey);
  see();
  settle();
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr) << "it is replaced, never refilled";
  EXPECT_EQ(server.requests("create pods"), 1);
}

TEST_F(Preconditions, APodOfSomebodyElseIsNotAdopted) {
  put_pod("somebody", "x");
  change<kube::Pod>(kKey, [](json::object& p) {
    p["metadata"].as_object()["labels"] = json::object{{"app", "theirs"}};
  });
  const Json theirs = now<kube::Pod>(kKey);
  EXPECT_TRUE(pass());
  EXPECT_TRUE(pass());
  EXPECT_EQ(now<kube::Pod>(kKey), theirs);
  const auto member = stores.members.get(kKey);
  EXPECT_EQ(runtime::find_condition(member->status.conditions, v1::kReady)->reason,
            v1::kPodConflict);
}

TEST_F(Preconditions, AVolumeThatWasMadeUnseenIsSeen) {
  server.erase(kube::PersistentVolumeClaim::resource, kVolume);
  see();
  put<kube::PersistentVolumeClaim>(
      {{"metadata", meta(kVolume.name, "EtcdMember", uid)}, {"spec", json::object{}}});
  EXPECT_TRUE(pass());
  EXPECT_NE(stores.volumes.get(kVolume), nullptr);
  EXPECT_EQ(server.requests("create persistentvolumeclaims"), 1);
}

TEST_F(Preconditions, AVolumeThatCannotBeMadeIsToldAndNoPodIsMade) {
  server.erase(kube::PersistentVolumeClaim::resource, kVolume);
  see();
  refuse("create persistentvolumeclaims", Code::Denied);
  EXPECT_EQ(*pass(), 200ms);
  EXPECT_TRUE(pass());
  const auto member = stores.members.get(kKey);
  EXPECT_EQ(runtime::find_condition(member->status.conditions, v1::kReady)->message,
            "create PersistentVolumeClaim data-db-a: so it is");
  EXPECT_EQ(now<kube::Pod>(kKey), nullptr);
  EXPECT_EQ(log.count("warn refused member=prod/db-a"), 1) << "once, not with each try";
  EXPECT_EQ(log.count("info planned member=prod/db-a step=create-volume"), 1);
}

TEST_F(Preconditions, AnEtcdThatWeCannotRunGetsNoPodAndThatIsTold) {
  change<v1::EtcdMember>(kKey,
                         [](json::object& m) { m["spec"].as_object()["version"] = "3.4.34"; });
  see();
  EXPECT_EQ(*pass(), 200ms);
  EXPECT_TRUE(pass());
  const auto member = stores.members.get(kKey);
  EXPECT_EQ(runtime::find_condition(member->status.conditions, v1::kReady)->reason,
            v1::kPodRejected);
  EXPECT_EQ(server.requests("create pods"), 0);
}

TEST_F(Preconditions, AVolumeIsNotToldLostWhileNobodyKnows) {
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["status"] = json::object{{"pvcName", "data-db-a"}, {"memberID", "1"}};
  });
  see();
  stores.volumes.saw_deleted(*stores.volumes.get(kVolume));
  refuse("get persistentvolumeclaims", Code::Unavailable);
  EXPECT_TRUE(pass().failed_with(Code::Unavailable));
  EXPECT_EQ(server.requests("patch"), 0);
}

TEST_F(Preconditions, TheNextPodOfThatNameIsNeitherDeletedNorLabelled) {
  put_pod(uid, "older");
  see();
  put_another<kube::Pod>(kKey);
  const Json next = now<kube::Pod>(kKey);
  EXPECT_TRUE(pass());
  EXPECT_EQ(server.requests("delete pods"), 1);
  EXPECT_EQ(now<kube::Pod>(kKey), next) << "it was a delete of the one before";

  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["status"] = json::object{{"isVoter", true}, {"memberID", "1"}};
  });
  see();
  put_another<kube::Pod>(kKey);
  const Json another = now<kube::Pod>(kKey);
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_EQ(server.requests("patch pods"), 1);
  EXPECT_EQ(now<kube::Pod>(kKey), another);
}

TEST_F(Preconditions, APodThatIsGoingIsKnownToBeGoing) {
  put_pod(uid, "older");
  change<kube::Pod>(kKey, [](json::object& p) {
    p["metadata"].as_object()["finalizers"] = json::array{"somebody/else"};
  });
  see();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pass());
  EXPECT_TRUE(stores.pods.get(kKey)->metadata.terminating()) << "the watch may be late";
  EXPECT_EQ(server.requests("delete pods"), 1);
}

TEST_F(Preconditions, NoPodGoesForAPauseThatIsOver) {
  const auto replicas = [](int n) {
    return [n](json::object& c) { c["spec"].as_object()["replicas"] = n; };
  };
  put_pod(uid, "x");
  change<v1::EtcdMember>(kKey, [](json::object& m) { m["spec"].as_object()["dormant"] = true; });
  change<v1::EtcdCluster>(kCluster, replicas(0));
  see();
  change<v1::EtcdCluster>(kCluster, replicas(3));
  (void)pass();
  EXPECT_EQ(server.requests("delete pods"), 0);
  change<v1::EtcdCluster>(kCluster, replicas(0));
  see();
  world.advance_to(world.now() + 61s);
  (void)pass();
  EXPECT_EQ(server.requests("delete pods"), 1);
}

TEST_F(Preconditions, APodThatIsGoneMeanwhileIsNoError) {
  put_pod(uid, "x");
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["status"] = json::object{{"isVoter", true}, {"memberID", "1"}};
  });
  see();
  server.erase(kube::Pod::resource, kKey);
  EXPECT_TRUE(pass());
  EXPECT_EQ(server.requests("patch pods"), 1);
}

TEST_F(Preconditions, WhatTheServerCannotDoNowIsAnErrorAndTheCacheStaysAsItWas) {
  put_pod(uid, "older");
  see();
  refuse("delete pods", Code::Unavailable);
  const auto failed = pass();
  EXPECT_TRUE(failed.failed_with(Code::Unavailable));
  EXPECT_EQ(failed.error().message, "delete Pod db-a: so it is");
  EXPECT_NE(stores.pods.get(kKey), nullptr);
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["status"] = json::object{{"isVoter", true}, {"memberID", "1"}};
  });
  see();
  refuse("patch pods", Code::Unavailable);
  EXPECT_EQ(pass().error().message, "label Pod db-a: so it is");
}

TEST_F(Preconditions, AFinalizerThatSomebodyAddedMeanwhileStays) {
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["metadata"].as_object()["finalizers"] = json::array{"a/first"};
  });
  see();
  change<v1::EtcdMember>(kKey, [](json::object& m) {
    m["metadata"].as_object()["finalizers"] = json::array{"a/first", "b/second"};
  });
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_EQ(stores.members.get(kKey)->metadata.finalizers.size(), 2U) << "the watch may be late";
  EXPECT_TRUE(pass());
  EXPECT_EQ(now<v1::EtcdMember>(kKey).at("metadata").at("finalizers"),
            (json::array{"a/first", "b/second", v1::kMemberFinalizer}));
}

TEST_F(Preconditions, TheStatusIsNotWrittenToTheNextMemberOfThatName) {
  put_pod(uid, "x");
  see();
  put_another<v1::EtcdMember>(kKey);
  const Json next = now<v1::EtcdMember>(kKey);
  EXPECT_TRUE(pass().failed_with(Code::Conflict));
  EXPECT_EQ(now<v1::EtcdMember>(kKey), next);
  EXPECT_NE(stores.members.get(kKey)->metadata.uid, uid) << "the watch may be late";
  see();
  server.erase(v1::EtcdMember::resource, kKey);
  EXPECT_TRUE(pass()) << "gone is no error";
}

TEST_F(Preconditions, AStatusThatIsRefusedIsTriedOnceAMinuteAndNothingIsDoneMeanwhile) {
  put_pod(uid, "older");
  see();
  refuse("patch etcdmembers/status", Code::Denied);
  EXPECT_TRUE(pass().failed_with(Code::Denied));
  EXPECT_EQ(*pass(), 2s);
  EXPECT_EQ(server.requests("patch etcdmembers/status"), 1);
  EXPECT_EQ(server.requests("delete"), 0);
}

/// A user took its owner away while its Pod runs.
TEST_F(Preconditions, I17_AVolumeThatLostItsOwnerGetsItBack) {
  put_pod(uid, "x");
  change<kube::Pod>(kKey, [](json::object& pod) { pod["spec"].as_object()["nodeName"] = "n"; });
  change<kube::PersistentVolumeClaim>(
      kVolume, [](json::object& claim) { claim["metadata"].as_object().erase("ownerReferences"); });
  change<v1::EtcdMember>(kKey, [](json::object& member) {
    Json& status = member["status"];
    if (!status.is_object()) status = json::object();
    status.as_object()["pvcName"] = kVolume.name;
  });
  see();
  change<kube::PersistentVolumeClaim>(kVolume, [](json::object& claim) {
    claim["metadata"].as_object()["labels"] = json::object();
  });
  EXPECT_FALSE(pass()) << "somebody edits it at the same time";
  EXPECT_FALSE(server.find(kube::PersistentVolumeClaim::resource, kVolume)
                   ->at("metadata")
                   .as_object()
                   .contains("ownerReferences"));
  see();
  settle();
  const auto volume = server.find(kube::PersistentVolumeClaim::resource, kVolume);
  EXPECT_EQ(volume->at("metadata").at("ownerReferences").at(0).at("uid"), uid.c_str());
}

TEST_F(Preconditions, AMemberThatIsGoneIsForgotten) {
  server.erase(v1::EtcdMember::resource, kKey);
  see();
  EXPECT_EQ(*pass(), Duration::max());
  EXPECT_EQ(server.requests().size(), 0U);
}

TEST_F(Preconditions, TheRecorderHearsThatAMemberIsGone) {
  FlightRecorder full({.total_bytes = 1});  // It keeps only that there was an object.
  Reconciler one{{{world, server, stores, clock, log, nullptr, &full}, etcd, credentials},
                 {"quay.io/coreos/etcd"}};
  const auto reconcile = [&] {
    world.spawn([&] { EXPECT_TRUE(one.reconcile(kKey)); });
    world.run();
  };
  reconcile();
  EXPECT_GT(full.bytes(), 0U);
  server.erase(v1::EtcdMember::resource, kKey);
  see();
  reconcile();
  EXPECT_EQ(full.bytes(), 0U);
}

TEST_F(Preconditions, WhatBecomesOfAMemberIsToldInEvents) {
  server.serve({.resource = kube::Event::resource});
  testing::SeededRandom random{1};
  runtime::EventRecorder events(server, world, clock, random, log, "op-1");
  Reconciler one{{{world, server, stores, clock, log, &events}, etcd, credentials},
                 {"quay.io/coreos/etcd"}};
  events.start();
  put_pod("somebody", "x");
  see();
  world.spawn([&] { EXPECT_TRUE(one.reconcile(kKey)); });
  world.run_until(world.now() + 1s);
  std::vector<std::string> told;
  for (const Json& event : server.all(kube::Event::resource))
    told.push_back(std::string(event.at("reason").as_string()) + " of " +
                   std::string(event.at("regarding").at("name").as_string()));
  EXPECT_EQ(told, std::vector<std::string>{"PodConflict of db-a"});
  world.spawn([&] { events.stop(); });
  world.run_until(world.now() + 1s);
}

}  // namespace
}  // namespace etcdop::member
