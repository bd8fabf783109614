// The writes and requests of the steps of TLS and authentication, one at a time. etcd is scripted;
// the API server is a fake.
#include "operator/cluster/act.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/v1alpha2/names.h"
#include "base/base64.h"
#include "operator/cluster/remains.h"
#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/secret_shelf.h"
#include "test/support/unscripted_etcd.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// One member, which may have a user root and may refuse.
struct Etcd final : etcd::Clients {
  struct Member final : testing::UnscriptedEtcd {
    explicit Member(Etcd& all) : all_(all) {}
    Result<Done> told(const std::string& what) {
      all_.asked += what + "; ";
      if (what.starts_with(all_.refuses)) return Error{Code::TimedOut, "no answer"};
      return Done{};
    }
    Result<Done> user_add(const std::string& name, const Secret& password) override {
      auto done = told("add " + name + " " + password.reveal());
      if (done && all_.has_root) return Error{Code::AlreadyExists, "etcdserver: user name exists"};
      return done;
    }
    Result<Done> user_change_password(const std::string& name, const Secret& password) override {
      return told("change " + name + " " + password.reveal());
    }
    Result<Done> user_grant_role(const std::string& user, const std::string& role) override {
      return told("grant " + user + " " + role);
    }
    Result<Done> auth_enable() override { return told("enable"); }

   private:
    Etcd& all_;
  };
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint&) override {
    return std::make_shared<Member>(*this);
  }
  std::string asked, refuses = "nothing";
  bool has_root = false;
};

class ActTest : public ::testing::Test {
 protected:
  ActTest() {
    seen.cluster.metadata.name = "db";
    seen.cluster.metadata.ns = "prod";
    seen.cluster.metadata.uid = "u-1";
    seen.cluster.spec.auth = v1::AuthSpec{true, v1::LocalObjectReference{"root"}};
    auto& client = seen.cluster.spec.tls.emplace().client.emplace();
    client.operator_managed.emplace().certificate_duration_seconds = 3000;
    Seat& seat = seen.seats.emplace_back();
    seat.name = "db-a";
    seat.object.emplace().voter = true;
    seat.listed = MemberListed{{1}, false, true};
    seat.answer.emplace().leader = {1};
    shelf.put("root", {{"password", "A"}});
  }
  Result<Done> done(Step step) {
    Plan plan;
    plan.status = seen.cluster.status;
    plan.step = std::move(step);
    Result<Done> out = Done{};
    Endpoints endpoints;
    endpoints["db-a"].address = "10.0.0.1";
    world.spawn([&] {
      const Within pass(world, pass_ends_after);
      Proof joiner;
      out = act({{world, api, stores, clock, log}, etcd, {}, credentials}, seen, plan, endpoints,
                joiner);
    });
    world.run();
    return out;
  }
  /// A user has written our Secret, and we have seen it.
  void keep(const testing::SecretShelf::Texts& texts) {
    shelf.put("db-operator-auth", texts, "u-1");
    credentials.secrets.expire({"prod", "db-operator-auth"});
  }
  /// The number of writes; all are of Secrets.
  std::ptrdiff_t writes() const {
    return api.requests("create") + api.requests("patch") + api.requests("update");
  }
  Json secret(const std::string& name) const {
    auto found = api.find(kube::SecretObject::resource, {"prod", name});
    return found ? *found : Json(nullptr);
  }
  std::string text(const std::string& name, const char* key) const {
    const Json object = secret(name);
    const auto* value = object.is_null() ? nullptr : object.at("data").as_object().if_contains(key);
    return value ? from_base64(value->as_string()).value_or("not base64") : "";
  }
  /// The faults of a leaf for a client that trusts the authority.
  std::vector<std::string> faults(const std::string& name, const Purpose& purpose) {
    return faults_of({text(name, "tls.crt"), Secret(text(name, "tls.key"))},
                     text("db-client-ca", "tls.crt"), purpose, clock.wall_now());
  }

  sim::Scheduler world{1};
  Duration pass_ends_after = 60s;
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  testing::MemoryLog log;
  testing::VirtualWallClock clock{world};
  Stores stores;
  Etcd etcd;
  Credentials credentials{world, api, clock, etcd};
  Observation seen;
};

TEST_F(ActTest, AnAuthorityIsMadeAndThenWhatItSigns) {
  ASSERT_TRUE(done(IssueCertificate{"db-client-ca", {}}));
  const Json authority = secret("db-client-ca");
  EXPECT_EQ(authority.at("type"), "kubernetes.io/tls");
  EXPECT_EQ(authority.at("metadata").at("ownerReferences").at(0).at("uid"), "u-1");
  EXPECT_EQ(text("db-client-ca", "ca.crt"), text("db-client-ca", "tls.crt"));

  ASSERT_TRUE(done(IssueCertificate{"db-server-tls", {"db-a.db.prod.svc"}}));
  EXPECT_EQ(text("db-server-tls", "ca.crt"), text("db-client-ca", "tls.crt"));
  EXPECT_TRUE(faults("db-server-tls", {.server = true, .client = true}).empty());
  auto facts = read_certificate(text("db-server-tls", "tls.crt"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->common_name, "db-server");
  EXPECT_EQ(facts->names, std::vector<std::string>{"db-a.db.prod.svc"});
  EXPECT_EQ(facts->until - facts->from, 3300s) << "a tenth of its life for clocks that differ";
  EXPECT_EQ(log.count("info certificate issued cluster=prod/db secret=db-"), 2);
}

TEST_F(ActTest, AClientsCertificateServesNobody) {
  ASSERT_TRUE(done(IssueCertificate{"db-client-ca", {}}));
  ASSERT_TRUE(done(IssueCertificate{"db-operator-client-tls", {}}));
  EXPECT_TRUE(faults("db-operator-client-tls", {.client = true}).empty());
  EXPECT_FALSE(faults("db-operator-client-tls", {.server = true}).empty());
}

TEST_F(ActTest, ALongLifeAllowsClocksAnHour) {
  seen.cluster.spec.tls->client->operator_managed->certificate_duration_seconds = 360'000;
  ASSERT_TRUE(done(IssueCertificate{"db-client-ca", {}}));
  ASSERT_TRUE(done(IssueCertificate{"db-client-tls", {}}));
  auto facts = read_certificate(text("db-client-tls", "tls.crt"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->until - facts->from, 360'000s + 1h);
}

TEST_F(ActTest, ARenewedOneTrustsWhomTheAuthoritysSecretTrusts) {
  ASSERT_TRUE(done(IssueCertificate{"db-client-ca", {}}));
  ASSERT_TRUE(done(IssueCertificate{"db-client-tls", {}}));
  const std::string before = text("db-client-tls", "tls.crt");
  const std::string both = text("db-client-ca", "tls.crt") + text("db-client-ca", "tls.crt");
  shelf.put("db-client-ca", {{"tls.crt", text("db-client-ca", "tls.crt")},
                             {"tls.key", text("db-client-ca", "tls.key")},
                             {"ca.crt", both}});
  credentials.secrets.expire({"prod", "db-client-ca"});
  ASSERT_TRUE(done(IssueCertificate{"db-client-tls", {}}));
  EXPECT_NE(text("db-client-tls", "tls.crt"), before);
  EXPECT_EQ(text("db-client-tls", "ca.crt"), both);
}

/// Two operators may act for a moment: the other one's members already trust the first authority.
TEST_F(ActTest, AnAuthorityNeverTakesThePlaceOfAnother) {
  ASSERT_TRUE(done(IssueCertificate{"db-client-ca", {}}));
  const std::string first = text("db-client-ca", "tls.crt");
  EXPECT_TRUE(done(IssueCertificate{"db-client-ca", {}}).failed_with(Code::AlreadyExists));
  EXPECT_EQ(text("db-client-ca", "tls.crt"), first);
}

TEST_F(ActTest, WhoSignsUnderAnAuthorityOfOnesOwnIsShownWithIt) {
  const auto from = clock.wall_now() + -1h, until = clock.wall_now() + 9000h;
  const Identity root =
      *issue({.common_name = "r", .authority = true, .from = from, .until = until});
  const Identity middle =
      *issue({.common_name = "m", .authority = true, .from = from, .until = until}, &root);
  shelf.put("db-client-ca", middle, root.certificate, "u-1");
  ASSERT_TRUE(done(IssueCertificate{"db-server-tls", {"x"}}));
  const Identity made{text("db-server-tls", "tls.crt"), Secret(text("db-server-tls", "tls.key"))};
  EXPECT_EQ(text("db-server-tls", "ca.crt"), root.certificate);
  EXPECT_TRUE(faults_of(made, root.certificate, {true, true}, clock.wall_now()).empty());
}

TEST_F(ActTest, WhatNobodyWouldBelieveIsNotWritten) {
  const auto from = clock.wall_now() + -1h, until = clock.wall_now() + 9000h;
  const Identity none = *issue({.common_name = "leaf", .from = from, .until = until});
  shelf.put("db-client-ca", none, none.certificate, "u-1");
  const auto result = done(IssueCertificate{"db-server-tls", {"x"}});
  ASSERT_TRUE(result.failed_with(Code::Conflict));
  EXPECT_EQ(result.error().message.substr(0, 32), "Secret db-client-ca cannot sign:");
  EXPECT_EQ(text("db-server-tls", "tls.crt"), "");
}

TEST_F(ActTest, WithoutItsAuthorityNothingIsSigned) {
  const auto result = done(IssueCertificate{"db-server-tls", {"x"}});
  EXPECT_TRUE(result.failed_with(Code::NotFound));
  EXPECT_EQ(writes(), 0);
}

TEST_F(ActTest, ASecretThatTheSpecDoesNotHaveIsNotMade) {
  EXPECT_TRUE(done(IssueCertificate{"db-peer-ca", {}}).failed_with(Code::Conflict));
  EXPECT_EQ(writes(), 0);
}

TEST_F(ActTest, SomebodyElsesSecretIsLeftAlone) {
  shelf.put("db-operator-auth", {{"password", "theirs"}});
  const auto result = done(RecordPassword{});
  ASSERT_TRUE(result.failed_with(Code::AlreadyExists));
  EXPECT_EQ(result.error().message,
            "Secret db-operator-auth has no owner: make EtcdCluster db its owner, or rename one of "
            "them");
  EXPECT_EQ(writes(), 0);
}

TEST_F(ActTest, K17_ASecretThatHasLostItsOwnerGetsItBack) {
  api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
  v1::EtcdClusterSpec spec;
  spec.version = "3.6.16";
  seen.cluster = api.put<v1::EtcdCluster>(
      {{"metadata", {{"name", "db"}, {"namespace", "prod"}}}, {"spec", api::encode(spec)}});
  const std::string uid = seen.cluster.metadata.uid;
  const auto owner_of = [&](const char* name) {
    const Json object = *api.find(kube::SecretObject::resource, {"prod", name});
    const auto& meta = object.at("metadata").as_object();
    if (!meta.contains("ownerReferences")) return std::string();
    return std::string(meta.at("ownerReferences").as_array().at(0).at("uid").as_string());
  };
  for (const char* name : {"db-client-ca", "db-peer-ca"}) {
    shelf.put(name, testing::SecretShelf::Texts{{"tls.crt", "c"}}, uid);
    shelf.disown(name, name == std::string("db-client-ca") ? uid : "u-0");
    ASSERT_TRUE(done(OwnSecret{name}));
  }
  EXPECT_EQ(owner_of("db-client-ca"), uid);
  EXPECT_EQ(owner_of("db-peer-ca"), "") << "it was made for an earlier EtcdCluster";
  const auto before = writes();
  ASSERT_TRUE(done(OwnSecret{"db-client-ca"}));
  ASSERT_TRUE(done(OwnSecret{"db-server-tls"})) << "it does not exist";
  EXPECT_EQ(writes(), before) << "what is done stays done";
}

TEST_F(ActTest, WhatSomebodyWroteMeanwhileIsReadAgainFirst) {
  ASSERT_TRUE(done(RecordPassword{}));
  shelf.put("db-operator-auth", {{"password", "A"}, {"next", "theirs"}}, "u-1");
  shelf.put("root", {{"password", "B"}});
  credentials.secrets.expire({"prod", "root"});
  const auto result = done(RecordPassword{});
  ASSERT_TRUE(result.failed_with(Code::Conflict)) << "it was read before that";
  EXPECT_EQ(result.error().message.substr(0, 30), "write Secret db-operator-auth:");
  EXPECT_EQ(text("db-operator-auth", "next"), "theirs");
  const auto reads = shelf.reads("db-operator-auth");
  (void)done(RecordPassword{});
  EXPECT_EQ(shelf.reads("db-operator-auth"), reads + 1);
}

TEST_F(ActTest, APasswordIsRecordedBeforeEtcdHasIt) {
  EXPECT_TRUE(done(EnableAuth{}).failed_with(Code::Conflict));
  EXPECT_EQ(etcd.asked, "");
  ASSERT_TRUE(done(RecordPassword{}));
  EXPECT_EQ(secret("db-operator-auth").at("type"), "Opaque");
  EXPECT_EQ(secret("db-operator-auth").at("data"),
            Json(json::object{{"password", to_base64("A")}}));
  ASSERT_TRUE(done(EnableAuth{}));
  EXPECT_EQ(etcd.asked, "add root A; grant root root; enable; ");
  EXPECT_EQ(log.count("info etcd authentication enabled cluster=prod/db"), 1);
}

TEST_F(ActTest, ARootThatIsThereGetsTheRecordedPassword) {
  etcd.has_root = true;
  ASSERT_TRUE(done(RecordPassword{}));
  ASSERT_TRUE(done(EnableAuth{}));
  EXPECT_EQ(etcd.asked, "add root A; change root A; grant root root; enable; ");
}

TEST_F(ActTest, WhatFailsIsNotGoneOnWith) {
  ASSERT_TRUE(done(RecordPassword{}));
  const std::pair<const char*, const char*> rows[] = {
      {"add", "add root A; "},
      {"grant", "add root A; grant root root; "},
      {"enable", "add root A; grant root root; enable; "}};
  for (const auto& [refuses, asked] : rows) {
    etcd.refuses = refuses;
    etcd.asked.clear();
    EXPECT_TRUE(done(EnableAuth{}).failed_with(Code::TimedOut)) << refuses;
    EXPECT_EQ(etcd.asked, asked);
  }
  etcd.has_root = true;
  etcd.refuses = "change";
  etcd.asked.clear();
  EXPECT_TRUE(done(EnableAuth{}).failed_with(Code::TimedOut));
  EXPECT_EQ(etcd.asked, "add root A; change root A; ");
  EXPECT_EQ(log.count("authentication enabled"), 0);
}

TEST_F(ActTest, APasswordIsChangedToTheRecordedOne) {
  EXPECT_TRUE(done(ChangePassword{}).failed_with(Code::Conflict));
  keep({{"password", "A"}});
  EXPECT_TRUE(done(ChangePassword{}).failed_with(Code::Conflict)) << "there is no next one";
  EXPECT_EQ(etcd.asked, "");
  keep({{"password", "A"}, {"next", "B"}});
  ASSERT_TRUE(done(ChangePassword{}));
  EXPECT_EQ(etcd.asked, "change root B; ");
  EXPECT_EQ(log.count("info etcd root password changed cluster=prod/db"), 1);
}

/// The cache may be stale, and a second etcd cannot be undone.
TEST_F(ActTest, K14_VolumesAreAskedForRightBeforeTheFirstMemberIsMade) {
  api.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
  api.serve({.resource = kube::Pod::resource, .status = true});
  api.serve({.resource = kube::PersistentVolumeClaim::resource});
  const auto put_volume = [&](const char* name, const char* cluster, bool terminating) {
    json::object meta{
        {"name", name}, {"namespace", "prod"}, {"labels", {{v1::kClusterLabel, cluster}}}};
    if (terminating) meta["finalizers"] = json::array{"kubernetes.io/pvc-protection"};
    api.put(kube::PersistentVolumeClaim::resource, {{"metadata", std::move(meta)}});
    if (terminating) api.remove(kube::PersistentVolumeClaim::resource, {"prod", name});
  };
  put_volume("data-other-a", "other", false);
  put_volume("data-db-old", "db", true);
  const CreateMember first{"db-x", "http://db-x.db.prod.svc:2380", true};
  seen.cluster.status.observed.emplace().version = "3.6.16";
  put_volume("data-db-a", "db", false);
  const auto refused = done(first);
  EXPECT_TRUE(refused.failed_with(Code::Conflict));
  EXPECT_NE(refused.error().message.find("data-db-a"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("data-db-old"), std::string::npos) << "it is going";
  EXPECT_EQ(api.requests("create etcdmembers"), 0);
  seen.cluster.metadata.annotations[v1::kFoundBesideVolumesAnnotation] =
      founding_consent(seen.cluster);
  EXPECT_TRUE(done(first)) << "its user agrees";
  EXPECT_EQ(api.requests("create etcdmembers"), 1);
  seen.cluster.metadata.annotations.clear();
  EXPECT_TRUE(done(CreateMember{"db-y", "http://db-y.db.prod.svc:2380", false}))
      << "later members join what is there";
}

/// The cache may be stale: an orphan's etcd may run, behind the Services of that name.
TEST_F(ActTest, K17_MembersAndPodsAreAskedForRightBeforeTheFirstMemberIsMade) {
  api.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
  api.serve({.resource = kube::PersistentVolumeClaim::resource});
  api.serve({.resource = kube::Pod::resource, .status = true});
  const auto labelled = [](const char* name, const char* kind, const char* owner) {
    json::object meta{
        {"name", name}, {"namespace", "prod"}, {"labels", {{v1::kClusterLabel, "db"}}}};
    if (kind)
      meta["ownerReferences"] = json::array{json::object{{"apiVersion", "v1"},
                                                         {"kind", kind},
                                                         {"name", "n"},
                                                         {"uid", owner},
                                                         {"controller", true}}};
    return meta;
  };
  const CreateMember first{"db-x", "http://db-x.db.prod.svc:2380", true};
  seen.cluster.status.observed.emplace().version = "3.6.16";
  const auto refusal = [&] {
    const auto result = done(first);
    EXPECT_TRUE(result.failed_with(Code::Conflict));
    return result ? "" : result.error().message;
  };
  const Json spec{{"clusterName", "db"},
                  {"version", "3.6.16"},
                  {"storage", {{"size", "1Gi"}}},
                  {"initialCluster", "list"},
                  {"clusterToken", "t"}};
  api.put(v1::EtcdMember::resource,
          {{"metadata", labelled("db-old", "EtcdCluster", "u-0")}, {"spec", spec}});
  EXPECT_NE(refusal().find("EtcdMember db-old"), std::string::npos);
  EXPECT_NE(stores.members.get({"prod", "db-old"}), nullptr) << "the next pass reports it";
  api.erase(v1::EtcdMember::resource, {"prod", "db-old"});
  for (const char* label : {"", "edited"}) {
    json::object meta{{"name", "db-hid"}, {"namespace", "prod"}};
    if (*label) meta["labels"] = json::object{{v1::kClusterLabel, label}};
    api.put(v1::EtcdMember::resource, {{"metadata", std::move(meta)}, {"spec", spec}});
    EXPECT_NE(refusal().find("EtcdMember db-hid"), std::string::npos) << "seed 595: " << label;
    EXPECT_NE(stores.members.get({"prod", "db-hid"}), nullptr);
    api.erase(v1::EtcdMember::resource, {"prod", "db-hid"});
  }
  Json other = spec;
  other.at("clusterName") = "db-2";
  api.put(v1::EtcdMember::resource,
          {{"metadata", {{"name", "db-2-a"}, {"namespace", "prod"}}}, {"spec", other}});
  const auto put_pod = [&](const char* name, const char* kind, const char* phase) {
    api.put(kube::Pod::resource, {{"metadata", labelled(name, kind, "o-1")},
                                  {"spec", json::object{}},
                                  {"status", {{"phase", phase}}}});
  };
  put_pod("db-lost", "EtcdMember", "Running");
  EXPECT_NE(refusal().find("Pod db-lost"), std::string::npos);
  api.erase(kube::Pod::resource, {"prod", "db-lost"});
  put_pod("db-pod", nullptr, "Running");
  EXPECT_NE(refusal().find("Pod db-pod"), std::string::npos);
  EXPECT_EQ(api.requests("create etcdmembers"), 0);
  api.erase(kube::Pod::resource, {"prod", "db-pod"});
  put_pod("db-ended", nullptr, "Succeeded");
  put_pod("db-job", "Job", "Running");  // The Go operator labels those of snapshots.
  EXPECT_TRUE(done(first));
  EXPECT_EQ(api.requests("patch etcdmembers prod/db-2-a"), 0) << "another cluster's";
}

/// Its Pod and the member itself are asked for: the cache may be stale.
TEST_F(ActTest, K4_AFirstMemberIsCorrectedOnlyWhileItsEtcdDoesNotRun) {
  api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
  api.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
  api.serve({.resource = kube::Pod::resource, .status = true});
  seen.cluster.spec = {};
  seen.cluster.spec.version = "3.6.16";
  seen.cluster = api.put<v1::EtcdCluster>({{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                           {"spec", api::encode(seen.cluster).at("spec")}});
  seen.cluster.status.observed.emplace().version = "3.6.16";
  const auto put = [&](const char* version) {
    const Json made =
        api.put(v1::EtcdMember::resource, {{"metadata", {{"name", "db-a"}, {"namespace", "prod"}}},
                                           {"spec",
                                            {{"clusterName", "db"},
                                             {"version", version},
                                             {"nodeSelector", {{"disk", "sdd"}}},
                                             {"storage", {{"size", "1Gi"}}},
                                             {"bootstrap", true},
                                             {"initialCluster", "db-a=http://a"},
                                             {"clusterToken", "t"}}}});
    return std::string(made.at("metadata").at("uid").as_string());
  };
  const auto spec = [&] {
    return api.find(v1::EtcdMember::resource, {"prod", "db-a"})->at("spec").as_object();
  };
  const std::string uid = put("3.7.99");
  json::array owners{json::object{{"apiVersion", "v"},
                                  {"kind", "EtcdMember"},
                                  {"name", "db-a"},
                                  {"uid", uid},
                                  {"controller", true}}};
  const auto state = [&](const char* name) {
    api.change(kube::Pod::resource, {"prod", "db-a"}, [&](json::object& pod) {
      pod["status"] = json::object{
          {"phase", "Running"},
          {"containerStatuses",
           json::array{{{"name", "etcd"}, {"state", {{name, json::object{{"exitCode", 1}}}}}}}}};
    });
  };
  api.put(kube::Pod::resource,
          {{"metadata", {{"name", "db-a"}, {"namespace", "prod"}, {"ownerReferences", owners}}},
           {"spec", {{"nodeName", "n"}}}});
  state("running");
  const CorrectFounder step{{"db-a", uid}};
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(spec().at("version"), "3.7.99");
  state("waiting");
  EXPECT_TRUE(done(CorrectFounder{{"db-a", "m-0"}}).failed_with(Code::Conflict)) << "another one";
  api.change(v1::EtcdMember::resource, {"prod", "db-a"},
             [](json::object& member) { member["status"] = json::object{{"memberID", "1"}}; });
  EXPECT_TRUE(done(step).failed_with(Code::Conflict)) << "it has answered";
  api.change(v1::EtcdMember::resource, {"prod", "db-a"},
             [](json::object& member) { member["status"] = json::object{}; });
  EXPECT_TRUE(done(step));
  EXPECT_EQ(spec().at("version"), "3.6.16");
  EXPECT_FALSE(spec().contains("nodeSelector")) << "what the spec no longer has goes";
  EXPECT_EQ(spec().at("initialCluster"), "db-a=http://a") << "what makes it the founder stays";
  EXPECT_EQ(spec().at("bootstrap"), true);
  EXPECT_TRUE(done(KeepVersion{"db-a", "m-0", "3.5.35"}).failed_with(Code::Conflict));
  EXPECT_TRUE(done(KeepVersion{"db-a", uid, "3.5.35"}));
  EXPECT_EQ(spec().at("version"), "3.5.35");
}

class AdoptTest : public ActTest {
 protected:
  AdoptTest() {
    api.serve({.resource = v1::EtcdCluster::resource, .status = true, .generation = true});
    api.serve({.resource = v1::EtcdMember::resource, .status = true, .generation = true});
    api.serve({.resource = kube::Service::resource});
    api.serve({.resource = kube::PodDisruptionBudget::resource});
    seen.cluster.spec = {};
    seen.cluster.spec.version = "3.6.16";
    seen.cluster = api.put<v1::EtcdCluster>({{"metadata", {{"name", "db"}, {"namespace", "prod"}}},
                                             {"spec", api::encode(seen.cluster).at("spec")}});
    for (const char* name : {"db", "db-client"})
      api.put(kube::Service::resource, {{"metadata", meta(name)},
                                        {"spec",
                                         {{"selector",
                                           {{v1::kClusterLabel, "db"},
                                            {v1::kClusterUidLabel, "u-0"},
                                            {v1::kRoleLabel, v1::kVoter}}}}}});
    api.put(kube::PodDisruptionBudget::resource,
            {{"metadata", meta("db")}, {"spec", {{"minAvailable", 2}}}});
    for (const char* name : {"db-a", "db-b"}) {
      const Json made = api.put(v1::EtcdMember::resource, {{"metadata", meta(name)},
                                                           {"spec",
                                                            {{"clusterName", "db"},
                                                             {"version", "3.6.16"},
                                                             {"storage", {{"size", "1Gi"}}},
                                                             {"initialCluster", "list"},
                                                             {"clusterToken", "t"}}}});
      step.members.push_back({name, std::string(made.at("metadata").at("uid").as_string())});
    }
    api.before([this](const kube::Call& call) -> std::optional<Error> {
      if (call.verb == kube::Verb::Patch) order += call.name + " ";
      return std::nullopt;
    });
  }
  static json::object meta(const char* name) {
    return {{"name", name}, {"namespace", "prod"}, {"labels", {{v1::kClusterLabel, "db"}}}};
  }
  std::string owner(const api::Resource& kind, const char* name) const {
    const Json object = *api.find(kind, {"prod", name});
    const auto& metadata = object.at("metadata").as_object();
    if (!metadata.contains("ownerReferences")) return "";
    return std::string(metadata.at("ownerReferences").as_array().back().at("uid").as_string());
  }
  void set_uid(const std::string& uid) {
    api.change(v1::EtcdCluster::resource, {"prod", "db"},
               [&](json::object& cluster) { cluster["metadata"].as_object()["uid"] = uid; });
  }
  void disown(const char* name) {
    api.change(v1::EtcdMember::resource, {"prod", name}, [](json::object& member) {
      member["metadata"].as_object().erase("ownerReferences");
    });
  }
  void own_without_controller(const char* name, const std::string& uid) {
    api.change(v1::EtcdMember::resource, {"prod", name}, [&](json::object& member) {
      member["metadata"].as_object()["ownerReferences"] = json::array{
          json::object{{"apiVersion", "v"}, {"kind", "EtcdCluster"}, {"name", "db"}, {"uid", uid}}};
    });
  }
  /// The first write of this EtcdMember takes so long and is answered so; meanwhile the EtcdCluster
  /// is deleted and created again.
  void goes_with_the_write_of(const char* name, std::optional<Code> answer, Duration takes = {}) {
    api.after([=, this, first = true](const kube::Call& call) mutable -> std::optional<Error> {
      if (call.verb != kube::Verb::Patch || call.name != name || !std::exchange(first, false))
        return std::nullopt;
      set_uid(seen.cluster.metadata.uid + "-next");
      (void)world.sleep(takes);
      return answer ? std::optional(Error{*answer, "no answer"}) : std::nullopt;
    });
  }
  AdoptMembers step;
  std::string order;
};

TEST_F(AdoptTest, K17_TheKeyLeavesTheSelectorsBeforeTheMembersAreAdopted) {
  const std::string uid = seen.cluster.metadata.uid;
  ASSERT_TRUE(done(step));
  EXPECT_EQ(order, "db db-client db db-a db-b ") << "then their Pods are labelled anew";
  for (const char* name : {"db", "db-client"}) {
    EXPECT_EQ(owner(kube::Service::resource, name), uid);
    EXPECT_EQ(api.find(kube::Service::resource, {"prod", name})->at("spec").at("selector"),
              Json({{v1::kClusterLabel, "db"}, {v1::kRoleLabel, v1::kVoter}}));
  }
  EXPECT_EQ(owner(kube::PodDisruptionBudget::resource, "db"), uid);
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), uid);
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-b"), uid);
  order.clear();
  ASSERT_TRUE(done(step));
  EXPECT_EQ(order, "") << "what is done stays done";
}

/// Seed 29844: Kubernetes deletes what an owner has that is gone. The password of root went so.
TEST_F(AdoptTest, K17_NothingGetsAnOwnerThatIsGone) {
  api.before([this](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch) return std::nullopt;
    order += call.name + " ";
    if (order == "db db-client ") set_uid("u-2");
    return std::nullopt;
  });
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(order, "db db-client db-client ");
  EXPECT_EQ(owner(kube::Service::resource, "db-client"), "") << "the write was under way";
  order.clear();
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(order, "");
  EXPECT_EQ(owner(kube::PodDisruptionBudget::resource, "db"), "");
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "");
}

TEST_F(AdoptTest, K17_NothingIsWrittenForAnOwnerThatIsGone) {
  api.before([this](const kube::Call& call) -> std::optional<Error> {
    if (call.verb == kube::Verb::Get && call.name == "db-a") set_uid("u-2");
    if (call.verb == kube::Verb::Patch) order += call.name + " ";
    return std::nullopt;
  });
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(order, "db db-client db ");
}

/// `kubectl delete --cascade=orphan` ends during a write, of which the answer may be lost.
TEST_F(AdoptTest, K17_AnOwnerThatGoesDuringTheWriteIsTakenBack) {
  const std::optional<Code> answers[] = {std::nullopt, Code::Lost, Code::TimedOut, Code::Cancelled};
  for (const auto& answer : answers) {
    disown("db-a");
    goes_with_the_write_of("db-a", answer);
    EXPECT_TRUE(done(step).failed_with(Code::Conflict));
    EXPECT_TRUE(order.ends_with("db-a db-a ")) << order;
    EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "") << "Kubernetes would delete it";
    seen.cluster = *api.find<v1::EtcdCluster>({"prod", "db"});  // Created again, it adopts it.
  }
}

/// A webhook takes 30 s, and then the pass has no time left.
TEST_F(AdoptTest, K17_AnOwnerThatGoesDuringASlowWriteIsTakenBack) {
  goes_with_the_write_of("db-a", std::nullopt, 30s);
  pass_ends_after = 30s;
  api.latency(10ms);
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "");
}

/// The answer is lost, and a user gives it to another EtcdCluster at once.
TEST_F(AdoptTest, K17_AnOwnerThatAUserGaveMeanwhileStays) {
  api.after([this, first = true](const kube::Call& call) mutable -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch || call.name != "db-a" || !std::exchange(first, false))
      return std::nullopt;
    own_without_controller("db-a", "u-9");
    set_uid("u-9");
    return Error{Code::Lost, "no answer"};
  });
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "u-9");
}

/// Nothing was written. A user may have given it to another EtcdCluster.
TEST_F(AdoptTest, K17_WhereTheWriteWasRefusedNoOwnerIsTakenBack) {
  api.before([this](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Patch) return std::nullopt;
    order += call.name + " ";
    if (call.name != "db-a") return std::nullopt;
    set_uid("u-9");
    return Error{Code::Conflict, "the object has been modified"};
  });
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_TRUE(order.ends_with("db db-a ")) << order;
}

/// The EtcdCluster was an owner that is no controller: it is gone, too.
TEST_F(AdoptTest, K17_NoReferenceToAnOwnerThatWentIsWrittenAgain) {
  own_without_controller("db-a", seen.cluster.metadata.uid);
  goes_with_the_write_of("db-a", std::nullopt);
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "");
}

TEST_F(AdoptTest, K17_OnlyTheEtcdMemberThatWasSeenGetsTheLabel) {
  api.change(v1::EtcdMember::resource, {"prod", "db-a"},
             [](json::object& member) { member["metadata"].as_object().erase("labels"); });
  const auto labelled = [&] {
    const auto member = api.find(v1::EtcdMember::resource, {"prod", "db-a"});
    return member->at("metadata").as_object().contains("labels");
  };
  LabelMembers label;
  label.members.push_back({"db-a", "m-0"});
  EXPECT_TRUE(done(label).failed_with(Code::Conflict));
  EXPECT_FALSE(labelled());
  label.members = {step.members[0]};
  EXPECT_TRUE(done(label));
  EXPECT_TRUE(labelled());
  EXPECT_FALSE(stores.members.get({"prod", "db-a"})->metadata.controller()) << "it is no adoption";
}

/// A user patched the owner by hand. Without `controller` the cluster does not own it.
TEST_F(AdoptTest, K17_AnOwnerThatIsNoControllerBecomesOne) {
  own_without_controller("db-a", seen.cluster.metadata.uid);
  ASSERT_TRUE(done(step));
  const Json member = *api.find(v1::EtcdMember::resource, {"prod", "db-a"});
  const json::array& owners = member.at("metadata").at("ownerReferences").as_array();
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(owners[0].at("controller"), true);
}

/// Seed 402249: the Secret that the API server did not show was passed over, and belonged to the
/// earlier EtcdCluster ever after.
TEST_F(AdoptTest, K17_NoMemberIsAdoptedBeforeEachSecretHasBeenSeen) {
  api.put(kube::SecretObject::resource,
          {{"metadata", meta("db-operator-auth")}, {"data", json::object{}}});
  world.spawn([&] { EXPECT_TRUE(credentials.secrets.get({"prod", "db-operator-auth"})); });
  world.run();
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.verb != kube::Verb::Get || !(call.resource == kube::SecretObject::resource))
      return std::nullopt;
    return Error{Code::Unavailable, "try again"};
  });
  seen.seats.emplace_back().object.emplace().orphan = true;
  EXPECT_TRUE(done(step).failed_with(Code::Unavailable));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "");
  api.before(nullptr);
  ASSERT_TRUE(done(step));
  EXPECT_EQ(owner(kube::SecretObject::resource, "db-operator-auth"), seen.cluster.metadata.uid);
}

/// In a cluster that has an etcd, the name of a leftover proves nothing.
TEST_F(AdoptTest, K17_NoLeftoverSecretIsAdoptedByARunningCluster) {
  api.put(kube::SecretObject::resource,
          {{"metadata", meta("db-operator-auth")}, {"data", json::object{}}});
  ASSERT_TRUE(done(AdoptMembers{}));
  EXPECT_EQ(owner(kube::SecretObject::resource, "db-operator-auth"), "");
}

TEST_F(AdoptTest, K17_AnObjectOfAnotherOwnerIsLeftAlone) {
  const json::array other{json::object{
      {"apiVersion", "v1"}, {"kind", "K"}, {"name", "n"}, {"uid", "o-1"}, {"controller", true}}};
  for (const auto& [kind, name] :
       {std::pair{kube::Service::resource, "db"}, std::pair{v1::EtcdMember::resource, "db-a"}})
    api.change(kind, {"prod", name}, [&](json::object& object) {
      object["metadata"].as_object()["ownerReferences"] = other;
    });
  const auto result = done(step);
  ASSERT_TRUE(result.failed_with(Code::Conflict));
  EXPECT_EQ(result.error().message, "EtcdMember db-a belongs to another owner");
  EXPECT_EQ(owner(kube::Service::resource, "db"), "o-1");
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "o-1");
}

/// A user has edited EtcdMembers of a running cluster.
TEST_F(AdoptTest, K17_InARunningClusterTheTokenSaysWhoseAMemberIs) {
  for (const char* name : {"db-a", "db-b"})
    api.change(v1::EtcdMember::resource, {"prod", name}, [](json::object& object) {
      object["metadata"].as_object()["labels"] = json::object{{"mine", "1"}};
    });
  seen.cluster.status.cluster_id = "c1";
  seen.cluster.status.cluster_token = "another";
  EXPECT_TRUE(done(step).failed_with(Code::Conflict));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), "");
  seen.cluster.status.cluster_token = "t";
  ASSERT_TRUE(done(step));
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), seen.cluster.metadata.uid);
  const Json labels =
      api.find(v1::EtcdMember::resource, {"prod", "db-a"})->at("metadata").at("labels");
  EXPECT_EQ(labels.at(v1::kClusterLabel), "db");
  EXPECT_EQ(labels.at(v1::kAppComponentLabel), "db-a");
  EXPECT_EQ(labels.at("mine"), "1");
  order.clear();
  ASSERT_TRUE(done(step));
  EXPECT_EQ(order, "");
}

/// An owner that is no controller stays.
TEST_F(AdoptTest, K17_OtherOwnersStayBesideTheNewOne) {
  api.change(v1::EtcdMember::resource, {"prod", "db-a"}, [&](json::object& object) {
    object["metadata"].as_object()["ownerReferences"] = json::array{
        json::object{{"apiVersion", "v1"}, {"kind", "K"}, {"name", "n"}, {"uid", "o-1"}}};
  });
  ASSERT_TRUE(done(step));
  EXPECT_EQ(api.find(v1::EtcdMember::resource, {"prod", "db-a"})
                ->at("metadata")
                .at("ownerReferences")
                .as_array()
                .size(),
            2U);
  EXPECT_EQ(owner(v1::EtcdMember::resource, "db-a"), seen.cluster.metadata.uid);
}

}  // namespace
}  // namespace etcdop::cluster
