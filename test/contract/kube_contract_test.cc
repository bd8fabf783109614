// Tests the behaviour of Kubernetes that our client relies on. The same tests run against a real
// kube-apiserver and against the simulated one, to prove that it behaves alike. Each test has its
// own namespace. kube_contract_test [--kubeconfig=FILE] [gtest flags]: tests that server, which
// must have our CRDs; without it, the simulated one. Facts and numbers: docs/dev/architecture.md,
// headers of src/kube.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "kube/core_types.h"
#include "kube/reflector.h"
#include "kube/typed.h"
#include "test/contract/kube_fixture.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;
using api::v1alpha2::EtcdCluster;

using Names = std::vector<std::string>;

TEST_F(KubeContract, AnObjectIsMadeOnce) {
  run([&](Api& api) {
    const ConfigMap a = made(api, "a");
    EXPECT_EQ(a.metadata.uid.size(), 36U);
    EXPECT_FALSE(a.metadata.resource_version.empty());
    EXPECT_EQ(a.metadata.creation_timestamp.size(), sizeof "2026-11-21T03:56:18Z" - 1);
    expect_error(create<ConfigMap>(api, ns, config_map("a")), Code::AlreadyExists,
                 "configmaps \"a\" already exists");
    auto again = get<ConfigMap>(api, key("a"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->metadata, a.metadata);
    expect_error(get<ConfigMap>(api, key("b")), Code::NotFound, "configmaps \"b\" not found");
  });
}

TEST_F(KubeContract, AGeneratedNameHasFiveCharactersWithoutVowels) {
  run([&](Api& api) {
    auto object =
        create<ConfigMap>(api, ns, {{"metadata", {{"generateName", "a-"}}}, {"data", {}}});
    ASSERT_TRUE(object);
    const std::string tail = object->metadata.name.substr(2);
    EXPECT_EQ(tail.size(), 5U);
    EXPECT_EQ(tail.find_first_not_of("bcdfghjklmnpqrstvwxz2456789"), std::string::npos) << tail;
  });
}

TEST_F(KubeContract, AVersionMayNotBeSetOnWhatIsMade) {
  run([&](Api& api) {
    Json object = config_map("a");
    object.as_object()["metadata"].as_object()["resourceVersion"] = "1";
    expect_error(create<ConfigMap>(api, ns, object), Code::Lost,
                 "resourceVersion should not be set on objects to be created");
  });
}

TEST_F(KubeContract, ListsComeInPagesOfOneState) {
  run([&](Api& api) {
    constexpr int kObjects = 1100;
    std::vector<std::shared_ptr<Fiber>> makers;
    for (int maker = 0; maker < 16; ++maker)
      makers.push_back(loop().spawn([&, maker] {
        for (int i = maker; i < kObjects; i += 16) (void)made(api, "m" + std::to_string(i));
      }));
    for (const auto& maker : makers) (void)maker->join();
    auto all = list<ConfigMap>(api, ns, "app=etcd");
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->size(), std::size_t(kObjects));

    Call first = call(Verb::List, ConfigMap::resource);
    first.query = {{"limit", "500"}, {"labelSelector", "app=etcd"}};
    auto page = api.call(first);
    ASSERT_TRUE(page);
    const std::string version(page->at("metadata").at("resourceVersion").as_string());
    (void)made(api, "zzz");  // Created after the first page: not in this list.
    std::size_t items = page->at("items").as_array().size();
    EXPECT_EQ(items, 500U);
    for (int pages = 0; pages < 2; ++pages) {
      first.query["continue"] = std::string(page->at("metadata").at("continue").as_string());
      page = api.call(first);
      ASSERT_TRUE(page) << page.error().message;
      EXPECT_EQ(page->at("metadata").at("resourceVersion"), Json(version));
      items += page->at("items").as_array().size();
    }
    EXPECT_EQ(items, std::size_t(kObjects));
    EXPECT_FALSE(page->at("metadata").as_object().contains("continue"));
  });
}

TEST_F(KubeContract, AMergePatchMayCarryItsPreconditions) {
  run([&](Api& api) {
    const ConfigMap a = made(api, "a");
    auto changed = set(api, "a", "2", {{"resourceVersion", a.metadata.resource_version}});
    ASSERT_TRUE(changed) << changed.error().message;
    EXPECT_NE(changed->metadata.resource_version, a.metadata.resource_version);
    EXPECT_EQ(changed->data["v"], "2");
    expect_error(set(api, "a", "3", {{"resourceVersion", a.metadata.resource_version}}),
                 Code::Conflict,
                 "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
                 "please apply your changes to the latest version and try again");
    expect_error(set(api, "a", "3", {{"uid", "0b6f3f6e-2c5c-4c7e-9d5a-0d6d3e1e7a11"}}),
                 Code::Conflict, "");
    EXPECT_TRUE(set(api, "a", "3", {{"uid", a.metadata.uid}}));
    expect_error(set(api, "b", "3"), Code::NotFound, "configmaps \"b\" not found");
  });
}

TEST_F(KubeContract, AMergePatchOfACustomResourceWithAnotherUidIsAConflict) {
  run([&](Api& api) {
    ASSERT_TRUE(create<EtcdCluster>(api, ns, cluster("c", 1)));
    expect_error(
        merge_patch<EtcdCluster>(api, key("c"), "",
                                 {{"metadata", {{"uid", "0b6f3f6e-2c5c-4c7e-9d5a-0d6d3e1e7a11"}}}}),
        Code::Conflict, "");
  });
}

TEST_F(KubeContract, AStatusIsWrittenUnderAVersionButToWhateverUid) {
  run([&](Api& api) {
    auto c = create<EtcdCluster>(api, ns, cluster("c", 1));
    ASSERT_TRUE(c) << c.error().message;
    const auto report = [&](const char* field, const std::string& is) {
      return merge_patch<EtcdCluster>(
          api, key("c"), "status",
          {{"metadata", {{field, is}}}, {"status", {{"clusterID", "0123456789abcdef"}}}});
    };
    auto written = report("uid", "0b6f3f6e-2c5c-4c7e-9d5a-0d6d3e1e7a11");
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->metadata.uid, c->metadata.uid);
    EXPECT_NE(written->metadata.resource_version, c->metadata.resource_version);
    expect_error(report("resourceVersion", c->metadata.resource_version), Code::Conflict,
                 "the object has been modified");
  });
}

TEST_F(KubeContract, AWriteThatChangesNothingHasNoVersionAndNoEvent) {
  run([&](Api& api) {
    const ConfigMap a = made(api, "a");
    const std::string from = version_now(api);
    auto same = set(api, "a", "1");
    ASSERT_TRUE(same);
    EXPECT_EQ(same->metadata.resource_version, a.metadata.resource_version);
    ASSERT_TRUE(set(api, "a", "2"));
    Names seen;
    EXPECT_TRUE(watch(api, from, 1, seen));
    EXPECT_EQ(seen, (Names{"~a"}));
  });
}

TEST_F(KubeContract, AJsonPatchThatDoesNotFitIsAConflict) {
  run([&](Api& api) {
    (void)made(api, "a");
    const auto patch = [&](const char* operations) {
      return json_patch<ConfigMap>(api, key("a"), json::parse(operations));
    };
    EXPECT_TRUE(patch(R"([{"op":"test","path":"/data/v","value":"1"},
                          {"op":"replace","path":"/data/v","value":"2"}])"));
    expect_error(patch(R"([{"op":"test","path":"/data/v","value":"1"},
                           {"op":"replace","path":"/data/v","value":"3"}])"),
                 Code::Conflict, "");
    expect_error(patch(R"([{"op":"remove","path":"/data/w"}])"), Code::Conflict, "");
    expect_error(patch(R"([{"op":"replace","path":"/data/v","value":3}])"), Code::Invalid, "");
    expect_error(patch(R"([{"op":"add","path":"/data/a b","value":"3"}])"), Code::Invalid,
                 "data[a b]");
    EXPECT_EQ(get<ConfigMap>(api, key("a"))->data["v"], "2");
  });
}

/// As kubectl does it. The operator itself never applies.
template <class T>
Result<T> apply(Api& api, const ObjectKey& key, Json body) {
  body.as_object()["apiVersion"] = api::api_version(T::resource);
  body.as_object()["kind"] = T::resource.kind;
  body.as_object()["metadata"].emplace_object()["name"] = key.name;
  return decoded<T>(api.call(
      {Verb::Patch, T::resource, key.ns, key.name, {}, PatchType::Apply, {}, std::move(body)}));
}

TEST_F(KubeContract, ApplyingOwnsFieldsAndLeavesThoseOfOthers) {
  run([&](Api& api) {
    const auto apply_data = [&](Json data) {
      return apply<ConfigMap>(api, key("a"), {{"data", std::move(data)}});
    };
    auto first = apply_data({{"ours", "1"}, {"gone", "1"}});
    ASSERT_TRUE(first) << first.error().message;
    auto unchanged = apply_data({{"ours", "1"}, {"gone", "1"}});
    ASSERT_TRUE(unchanged);
    EXPECT_EQ(unchanged->metadata.resource_version, first->metadata.resource_version);
    ASSERT_TRUE(merge_patch<ConfigMap>(api, key("a"), "", {{"data", {{"theirs", "1"}}}}));
    auto less = apply_data({{"ours", "2"}});
    ASSERT_TRUE(less) << less.error().message;
    EXPECT_EQ(less->data, (std::map<std::string, std::string>{{"ours", "2"}, {"theirs", "1"}}));
  });
}

TEST_F(KubeContract, ApplyingTakesFieldsFromOthersOnlyByForce) {
  run([&](Api& api) {
    ASSERT_TRUE(apply<ConfigMap>(api, key("a"), {{"data", {{"ours", "1"}, {"gone", "1"}}}}));
    Call other = call(Verb::Patch, ConfigMap::resource);
    other.name = "a";
    other.query["fieldManager"] = "somebody";
    other.body = {{"data", {{"theirs", "1"}, {"ours", "taken"}}}};
    ASSERT_TRUE(api.call(other));
    auto forced = apply<ConfigMap>(api, key("a"), {{"data", {{"ours", "2"}}}});
    ASSERT_TRUE(forced) << forced.error().message;
    EXPECT_EQ(forced->data, (std::map<std::string, std::string>{{"ours", "2"}, {"theirs", "1"}}));

    Call unforced = other;
    unforced.patch = PatchType::Apply;
    unforced.query["force"] = "false";
    unforced.body = {{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", {{"name", "a"}}},
                     {"data", {{"ours", "3"}}}};
    expect_error(api.call(unforced), Code::Conflict, "Apply failed with 1 conflict");
  });
}

TEST_F(KubeContract, ADeleteMeansOneObjectOnly) {
  run([&](Api& api) {
    const ConfigMap a = made(api, "a");
    Call wrong = call(Verb::Delete, ConfigMap::resource);
    wrong.name = "a";
    wrong.body = {{"preconditions", {{"uid", "other"}}}};
    expect_error(api.call(wrong), Code::Conflict,
                 "the UID in the precondition (other) does not match the UID in record");
    EXPECT_TRUE(get<ConfigMap>(api, key("a")));
    auto other = remove<ConfigMap>(api, key("a"), "other");
    ASSERT_TRUE(other);
    EXPECT_FALSE(*other);
    auto gone = remove<ConfigMap>(api, key("a"), a.metadata.uid);
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_TRUE(get<ConfigMap>(api, key("a")).failed_with(Code::NotFound));
    EXPECT_TRUE(remove<ConfigMap>(api, key("a"), a.metadata.uid)) << "it is gone already";
  });
}

TEST_F(KubeContract, AFinalizerKeepsAnObjectUntilItIsTakenAway) {
  run([&](Api& api) {
    Json manifest = cluster("c", 1);
    manifest.as_object()["metadata"].as_object()["finalizers"] = json::array{"example.io/wait"};
    auto kept = create<EtcdCluster>(api, ns, manifest);
    ASSERT_TRUE(kept) << kept.error().message;
    EXPECT_EQ(kept->metadata.generation, 1);
    auto going = remove<EtcdCluster>(api, key("c"), kept->metadata.uid);
    ASSERT_TRUE(going);
    ASSERT_TRUE(*going) << "the object is answered while a finalizer keeps it";
    EXPECT_TRUE((*going)->metadata.terminating());
    EXPECT_EQ((*going)->metadata.generation, 2);
    expect_error(create<EtcdCluster>(api, ns, cluster("c", 1)), Code::AlreadyExists,
                 "object is being deleted: ");
    auto last =
        merge_patch<EtcdCluster>(api, key("c"), "", {{"metadata", {{"finalizers", nullptr}}}});
    ASSERT_TRUE(last) << last.error().message;
    EXPECT_TRUE(get<EtcdCluster>(api, key("c")).failed_with(Code::NotFound));
  });
}

TEST_F(KubeContract, StatusAndSpecAreWrittenApart) {
  run([&](Api& api) {
    auto c = create<EtcdCluster>(api, ns, cluster("c", 1));
    ASSERT_TRUE(c) << c.error().message;
    const Json both{{"spec", {{"replicas", 5}}}, {"status", {{"clusterID", "0123456789abcdef"}}}};
    auto status = merge_patch<EtcdCluster>(api, key("c"), "status", both);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->spec.replicas, 1);
    EXPECT_EQ(status->metadata.generation, 1);
    EXPECT_NE(status->metadata.resource_version, c->metadata.resource_version);
    Json cleared{{"spec", {{"replicas", 3}}}, {"status", nullptr}};
    auto spec = merge_patch<EtcdCluster>(api, key("c"), "", cleared);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->spec.replicas, 3);
    EXPECT_EQ(spec->metadata.generation, 2);
    EXPECT_EQ(api::encode(*spec).at("status"), api::encode(*status).at("status"));
  });
}

TEST_F(KubeContract, AStatusWithOneTooLongMessageIsRefused) {
  run([&](Api& api) {
    ASSERT_TRUE(create<EtcdCluster>(api, ns, cluster("c", 1)));
    const auto report = [&](const std::string& message) {
      return merge_patch<EtcdCluster>(api, key("c"), "status",
                                      {{"status",
                                        {{"conditions",
                                          {{{"type", "Available"},
                                            {"status", "True"},
                                            {"reason", "QuorumHealthy"},
                                            {"message", message},
                                            {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}}}}});
    };
    constexpr std::size_t kMost = 32768;
    std::string letters;
    for (std::size_t i = 0; i < kMost; ++i) letters += "\xC3\xA9";
    EXPECT_TRUE(report(letters)) << "it counts characters";
    expect_error(report(letters + "!"), Code::Invalid, "status.conditions[0].message: Too long");
  });
}

TEST_F(KubeContract, WhatIsInvalidIsSaidByField) {
  run([&](Api& api) {
    expect_error(create<EtcdCluster>(api, ns, cluster("c", -1)), Code::Invalid, "spec.replicas");
    expect_error(create<ConfigMap>(api, ns, config_map("A_b")), Code::Invalid, "metadata.name");
    expect_error(create<ConfigMap>(api, ns, {{"metadata", {{"name", "a"}}}, {"data", 7}}),
                 Code::Invalid, "");
  });
}

TEST_F(KubeContract, ANamespaceThatEndsTakesNothingNew) {
  run([&](Api& api) {
    Json held = config_map("held");
    held.as_object()["metadata"].as_object()["finalizers"] = json::array{"example.io/wait"};
    ASSERT_TRUE(create<ConfigMap>(api, ns, held));
    auto ending = get<Namespace>(api, {"", ns});
    ASSERT_TRUE(ending);
    ASSERT_TRUE(remove<Namespace>(api, {"", ns}, ending->metadata.uid));
    expect_error(
        create<ConfigMap>(api, ns, config_map("late")), Code::Denied,
        "unable to create new content in namespace " + ns + " because it is being terminated");
    EXPECT_TRUE(
        merge_patch<ConfigMap>(api, key("held"), "", {{"metadata", {{"finalizers", nullptr}}}}));
  });
}

TEST_F(KubeContract, AWatchGoesOnFromAnyRecentVersion) {
  run([&](Api& api) {
    const std::string start = version_now(api);
    const ConfigMap a = made(api, "a");
    ASSERT_TRUE(set(api, "a", "2"));
    ASSERT_TRUE(remove<ConfigMap>(api, key("a"), a.metadata.uid));
    Names seen;
    ASSERT_TRUE(watch(api, start, 3, seen));
    EXPECT_EQ(seen, (Names{"+a", "~a", "-a"}));
    seen.clear();
    ASSERT_TRUE(watch(api, a.metadata.resource_version, 2, seen));
    EXPECT_EQ(seen, (Names{"~a", "-a"}));
  });
}

TEST_F(KubeContract, ABookmarkComesBeforeTheServerClosesIfTheVersionMovedOn) {
  run([&](Api& api) {
    const std::string start = version_now(api);
    (void)made(api, "a");
    Names seen;
    for (int i = 0; i < 5 && seen.empty(); ++i) {  // A busy server may skip a bookmark.
      const Instant began = loop().now();
      auto ended = watch(api, start, 1000, seen, "app=other");
      EXPECT_TRUE(ended) << ended.error().message;
      EXPECT_GE(loop().now() - began, 3s) << "timeoutSeconds was 4";
    }
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.back(), ".");
  });
}

TEST_F(KubeContract, WhatLosesItsLabelIsDeletedToASelectiveWatch) {
  run([&](Api& api) {
    const std::string start = version_now(api);
    const ConfigMap a = made(api, "a");
    const auto relabel = [&](Json value) {
      return merge_patch<ConfigMap>(api, key("a"), "",
                                    {{"metadata", {{"labels", {{"app", std::move(value)}}}}}});
    };
    ASSERT_TRUE(relabel("other"));
    ASSERT_TRUE(relabel("etcd"));
    Names seen;
    ASSERT_TRUE(watch(api, start, 3, seen, "app=etcd"));
    EXPECT_EQ(seen, (Names{"+a", "-a", "+a"}));
  });
}

TEST_F(KubeContract, AnAncientVersionIsExpired) {
  run([&](Api& api) {  // This kind began later than the first version.
    Call ancient = call(Verb::Watch, EtcdCluster::resource);
    ancient.query = {{"resourceVersion", "1"}};
    expect_error(api.watch(ancient, [](WatchEvent) { return false; }), Code::Expired,
                 "too old resource version: 1 (");
  });
}

TEST_F(KubeContract, AVersionOfTheFutureIsUnavailableToAListAndSilenceToAWatch) {
  run([&](Api& api) {
    Call newer = call(Verb::List, ConfigMap::resource);
    newer.query = {{"resourceVersion", "999999999"}, {"resourceVersionMatch", "NotOlderThan"}};
    expect_error(api.call(newer), Code::Unavailable, "Too large resource version");
    Names seen;
    (void)loop().spawn([&] { (void)made(api, "a"); });
    EXPECT_TRUE(watch(api, "999999999", 1000, seen));
    EXPECT_EQ(seen, Names()) << "not even a bookmark";
  });
}

TEST_F(KubeContract, AMadeUpContinueTokenIsInvalid) {
  run([&](Api& api) {
    Call later_page = call(Verb::List, ConfigMap::resource);
    later_page.query = {{"continue", "nonsense"}, {"limit", "5"}};
    expect_error(api.call(later_page), Code::Invalid, "continue");
  });
}

TEST_F(KubeContract, AReflectorFollowsAndReadsItsWrites) {
  run([&](Api& api) {
    Store<ConfigMap> store([](const ConfigMap&) { return ObjectKey{"", "all"}; });
    Reflector<ConfigMap> reflector(loop(), server->random(), log, api, store, {ns, "app=etcd"});
    (void)made(api, "before");
    reflector.start();
    const auto until = [&](const std::function<bool()>& holds) {
      for (int i = 0; i < 3000 && !holds(); ++i) (void)loop().sleep(10ms);
      return holds();
    };
    ASSERT_TRUE(until([&] { return store.synced(); }));
    EXPECT_EQ(store.size(), 1U);
    for (int i = 0; i < 50; ++i) {  // Our write is visible at once, and stays.
      auto written = i == 0 ? create<ConfigMap>(api, ns, config_map("a"))
                            : set(api, "a", std::to_string(i).c_str());
      ASSERT_TRUE(written);
      store.wrote(*written);
      EXPECT_EQ(store.get(key("a"))->metadata.resource_version, written->metadata.resource_version);
    }
    const auto uid = store.get(key("a"))->metadata.uid;
    ASSERT_TRUE(remove<ConfigMap>(api, key("a"), uid));
    EXPECT_TRUE(until([&] { return store.get(key("a")) == nullptr; }));
    EXPECT_FALSE(store.overdue(loop().now()));
    reflector.stop();
  });
}

TEST_F(KubeContract, ADeleteAnswersAStatusOrTheLastStateOfWhatIsGone) {
  run([&](Api& api) {
    const auto last = [&](const Resource& resource, Json manifest) {
      Call make = call(Verb::Create, resource);
      manifest.as_object()["apiVersion"] = api::api_version(resource);
      manifest.as_object()["kind"] = resource.kind;
      make.body = std::move(manifest);
      auto object = api.call(make);
      for (int i = 0; i < 3000 && object.failed_with(Code::Denied); ++i) {
        (void)loop().sleep(10ms);  // Pods need the service account, which a controller creates.
        object = api.call(make);
      }
      EXPECT_TRUE(object) << object.error().message;
      Call end = call(Verb::Delete, resource);
      end.name = identity_of(make.body).key.name;
      auto answer = api.call(end);
      EXPECT_TRUE(answer) << answer.error().message;
      EXPECT_FALSE(is_kept(*answer, resource.kind)) << *answer;
      Call look = end;
      look.verb = Verb::Get;
      EXPECT_TRUE(api.call(look).failed_with(Code::NotFound)) << resource.kind;
      return std::string(answer->at("kind").as_string());
    };
    EXPECT_EQ(last(ConfigMap::resource, config_map("a")), "Status");
    EXPECT_EQ(last(EtcdCluster::resource, cluster("c", 1)), "Status");
    EXPECT_EQ(
        last(Service::resource, {{"metadata", {{"name", "s"}}},
                                 {"spec", {{"clusterIP", "None"}, {"ports", {{{"port", 2379}}}}}}}),
        "Service");
    EXPECT_EQ(last(Pod::resource, {{"metadata", {{"name", "p"}}},
                                   {"spec",
                                    {{"automountServiceAccountToken", false},
                                     {"containers", {{{"name", "c"}, {"image", "i"}}}}}}}),
              "Pod")
        << "on no node";
  });
}

}  // namespace
}  // namespace etcdop::kube

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (const std::string word = argv[i]; word.starts_with("--kubeconfig="))
      etcdop::contract::tested_kubeconfig = word.substr(13);
  return RUN_ALL_TESTS();
}
