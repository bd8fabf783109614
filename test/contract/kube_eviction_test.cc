// Evictions and their budgets: on a real API server with its disruption controller, and on the
// simulated ones.
#include <string>

#include "api/v1alpha2/etcdmember.h"
#include "test/contract/kube_fixture.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;
using api::v1alpha2::EtcdMember;

constexpr Resource kBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};
constexpr const char* kRefused =
    "Cannot evict pod as it would violate the pod's disruption budget.";

class KubeEviction : public KubeContract {
 protected:
  Json send(Verb verb, const Resource& resource, const std::string& name, Json body,
            const std::string& subresource = "") {
    Call request = call(verb, resource);
    request.name = name;
    request.subresource = subresource;
    request.body = std::move(body);
    if (verb == Verb::Create) {
      request.body.as_object()["apiVersion"] = api::api_version(resource);
      request.body.as_object()["kind"] = resource.kind;
    }
    auto answer = server->api().call(request);
    for (int i = 0; i < 3000 && answer.failed_with(Code::Denied); ++i) {
      (void)loop().sleep(10ms);  // Pods need the service account, which a controller creates.
      answer = server->api().call(request);
    }
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : Json();
  }
  /// Creates a Pod on a node that does not exist.
  void make_pod(const std::string& name, bool is_ready, const std::string& owner_uid = "") {
    Json pod{{"metadata", {{"name", name}, {"labels", {{"app", "etcd"}}}}},
             {"spec",
              {{"automountServiceAccountToken", false},
               {"nodeName", "nowhere"},
               {"containers", {{{"name", "c"}, {"image", "i"}}}}}}};
    if (!owner_uid.empty())
      pod.at("metadata").as_object()["ownerReferences"] = {
          {{"apiVersion", api::api_version(EtcdMember::resource)},
           {"kind", "EtcdMember"},
           {"name", name},
           {"uid", owner_uid},
           {"controller", true}}};
    (void)send(Verb::Create, Pod::resource, "", std::move(pod));
    ready(name, is_ready);
  }
  void ready(const std::string& name, bool is) {
    (void)send(Verb::Patch, Pod::resource, name,
               {{"status",
                 {{"phase", "Running"},
                  {"conditions", {{{"type", "Ready"}, {"status", is ? "True" : "False"}}}}}}},
               "status");
  }
  void make_budget(const std::string& name, const char* field, int number) {
    (void)send(Verb::Create, kBudgets, "",
               {{"metadata", {{"name", name}}},
                {"spec", {{field, number}, {"selector", {{"matchLabels", {{"app", "etcd"}}}}}}}});
  }
  /// Waits until the budget's status is "expected healthy wanted allowed".
  void await(const std::string& name, const std::string& wanted) {
    std::string is;
    for (int i = 0; i < 1500 && is != wanted; ++i) {
      if (i > 0) (void)loop().sleep(20ms);
      Call look = call(Verb::Get, kBudgets);
      look.name = name;
      auto budget = server->api().call(look);
      ASSERT_TRUE(budget) << budget.error().message;
      const Json* const status = budget->as_object().if_contains("status");
      if (!status || !status->as_object().contains("observedGeneration")) continue;
      is.clear();
      for (const char* field :
           {"expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed"})
        is += (is.empty() ? "" : " ") + json::serialize(status->at(field));
    }
    EXPECT_EQ(is, wanted);
  }
  Result<Json> evict(const std::string& pod) {
    Call request = call(Verb::Create, Pod::resource);
    request.name = pod;
    request.subresource = "eviction";
    request.body = {{"apiVersion", "policy/v1"},
                    {"kind", "Eviction"},
                    {"metadata", {{"name", pod}, {"namespace", ns}}}};
    return server->api().call(request);
  }
  bool is_leaving(const std::string& pod) {
    auto there = get<Pod>(server->api(), key(pod));
    return there.failed_with(Code::NotFound) || (there && there->metadata.terminating());
  }
  void end_pods() {
    auto pods = list<Pod>(server->api(), ns, "");
    ASSERT_TRUE(pods);
    for (const Pod& pod : *pods)
      (void)send(Verb::Delete, Pod::resource, pod.metadata.name, {{"gracePeriodSeconds", 0}});
  }
};

TEST_F(KubeEviction, GoesAsFarAsTheBudgetAllows) {
  run([&](Api&) {
    for (const char* name : {"a", "b", "c"}) make_pod(name, true);
    make_budget("budget", "minAvailable", 2);
    await("budget", "3 3 2 1");
    expect_error(evict("nobody"), Code::NotFound, "pods \"nobody\" not found");
    auto gone = evict("a");
    ASSERT_TRUE(gone) << gone.error().message;
    EXPECT_EQ(gone->at("kind"), "Status");
    EXPECT_EQ(gone->at("status"), "Success");
    EXPECT_TRUE(is_leaving("a"));
    expect_error(evict("b"), Code::Unavailable, kRefused);
    EXPECT_FALSE(is_leaving("b"));
    EXPECT_TRUE(evict("a")) << "it is leaving already";
    await("budget", "3 2 2 0");
    ready("b", false);
    await("budget", "3 1 2 0");
    expect_error(evict("b"), Code::Unavailable, kRefused);
    end_pods();
  });
}

TEST_F(KubeEviction, TakesWhatIsNotReadyIfTheRestIsEnough) {
  run([&](Api&) {
    for (const char* name : {"a", "b", "sick"}) make_pod(name, *name != 's');
    make_budget("budget", "minAvailable", 2);
    await("budget", "3 2 2 0");
    expect_error(evict("a"), Code::Unavailable, kRefused);
    EXPECT_TRUE(evict("sick"));
    EXPECT_TRUE(is_leaving("sick"));
    end_pods();
  });
}

TEST_F(KubeEviction, IsAnErrorWhereTwoBudgetsMeet) {
  run([&](Api&) {
    make_pod("a", true);
    make_budget("one", "minAvailable", 0);
    make_budget("two", "minAvailable", 0);
    await("one", "1 1 0 1");
    await("two", "1 1 0 1");
    expect_error(evict("a"), Code::Lost,
                 "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                 "does not support.");
    end_pods();
  });
}

TEST_F(KubeEviction, OfUnavailableCountsByTheScaleOfTheOwners) {
  run([&](Api&) {
    make_budget("budget", "maxUnavailable", 1);
    for (const char* name : {"a", "b", "c"}) make_pod(name, true);
    await("budget", "0 3 0 0");  // Pods without an owner.
    for (const char* name : {"x", "y", "z"}) {
      const Json member = send(Verb::Create, EtcdMember::resource, "",
                               {{"metadata", {{"name", name}}},
                                {"spec",
                                 {{"clusterName", "c"},
                                  {"version", "3.6.16"},
                                  {"clusterToken", "t"},
                                  {"initialCluster", ""},
                                  {"storage", {{"size", "1Gi"}}}}}});
      make_pod(name, *name != 'z', std::string(member.at("metadata").at("uid").as_string()));
    }
    await("budget", "3 5 2 3");
    for (const char* name : {"a", "b", "c"}) {
      EXPECT_TRUE(evict(name));
      (void)send(Verb::Delete, Pod::resource, name, {{"gracePeriodSeconds", 0}});
    }
    await("budget", "3 2 2 0");
    expect_error(evict("x"), Code::Unavailable, kRefused);
    EXPECT_TRUE(evict("z")) << "it is not ready, the others are enough";
    end_pods();
  });
}

TEST_F(KubeEviction, DoesNotAskTheBudgetOfWhatDoesNotRunYet) {
  run([&](Api&) {
    make_pod("running", true);
    make_budget("budget", "minAvailable", 5);
    (void)send(Verb::Create, Pod::resource, "",
               {{"metadata", {{"name", "pending"}, {"labels", {{"app", "etcd"}}}}},
                {"spec",
                 {{"automountServiceAccountToken", false},
                  {"containers", {{{"name", "c"}, {"image", "i"}}}}}}});
    await("budget", "2 1 5 0");
    expect_error(evict("running"), Code::Unavailable, kRefused);
    EXPECT_TRUE(evict("pending"));
    EXPECT_TRUE(is_leaving("pending"));
    end_pods();
  });
}

}  // namespace
}  // namespace etcdop::kube
