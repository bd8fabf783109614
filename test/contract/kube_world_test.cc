// Facts about a real API server, its controllers and its admission that the simulated world takes
// for granted. It plays them itself, so only a real server can be asked.
#include <functional>
#include <string>
#include <utility>

#include "test/contract/kube_fixture.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
constexpr Resource kWebhooks{"admissionregistration.k8s.io", "v1",
                             "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"};

/// Does it at the end of the scope, also after a failed ASSERT.
class Afterwards {
 public:
  explicit Afterwards(std::function<void()> act) : act_(std::move(act)) {}
  ~Afterwards() { act_(); }
  Afterwards(const Afterwards&) = delete;
  Afterwards& operator=(const Afterwards&) = delete;

 private:
  std::function<void()> act_;
};

class KubeWorld : public KubeContract {
 protected:
  KubeWorld() : real(dynamic_cast<contract::RealKube&>(*server)) {}

  Result<Json> make(const Resource& kind, const std::string& name, Json body) {
    Call out = call(Verb::Create, kind);
    if (kind == kWebhooks) out.ns.clear();
    out.body = std::move(body);
    out.body.as_object()["apiVersion"] = api::api_version(kind);
    out.body.as_object()["kind"] = kind.kind;
    out.body.as_object()["metadata"].emplace_object()["name"] = name;
    return server->api().call(out);
  }
  void end(const Resource& kind, const std::string& name, Json options) {
    Call out = call(Verb::Delete, kind);
    if (kind == kWebhooks) out.ns.clear();
    out.name = name;
    out.body = std::move(options);
    auto ended = server->api().call(out);
    EXPECT_TRUE(ended) << ended.error().message;
  }
  /// Asks until `is` holds, for a minute at most.
  bool in_time(const std::function<bool()>& is) {
    for (int i = 0; i < 600; ++i) {
      if (is()) return true;
      (void)loop().sleep(100ms);
    }
    return false;
  }

  // --- Pods

  Result<Json> make_pod(const std::string& name) {
    return make(Pod::resource, name, json::parse(R"({"spec": {"automountServiceAccountToken": false,
                                         "nodeName": "nowhere",
                                         "containers": [{"name": "c", "image": "i"}]}})"));
  }
  /// Empty: it is admitted, in a request that changes nothing.
  std::string why_not_pod(const std::string& name) {
    auto made = make_pod(name);
    if (!made) return made.error().message;
    Call out = call(Verb::Delete, Pod::resource);
    out.name = name;
    out.body = {{"gracePeriodSeconds", 0}};
    (void)server->api().call(out);
    return "";
  }

  // --- webhooks

  /// One that is asked about each new ConfigMap of our namespace.
  void ask(const std::string& url, const char* policy) {
    Json webhook = json::parse(R"({"name": "policy.example.com", "sideEffects": "None",
        "timeoutSeconds": 1, "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                   "resources": ["configmaps"]}]})");
    json::object labels;
    labels["kubernetes.io/metadata.name"] = ns;
    webhook.as_object()["namespaceSelector"] = {{"matchLabels", std::move(labels)}};
    webhook.as_object()["clientConfig"] = {{"url", url}};
    webhook.as_object()["failurePolicy"] = policy;
    auto made = make(kWebhooks, ns, {{"webhooks", json::array{std::move(webhook)}}});
    ASSERT_TRUE(made) << made.error().message;
  }
  /// The answer to the first create that the webhook was asked about.
  Error refusal(Api& api) {
    Error out{Code::NotFound, "no webhook was asked"};
    EXPECT_TRUE(in_time([&] {
      auto made = create<ConfigMap>(api, ns, config_map("new"));
      if (!made && made.error().message.find("webhook") != std::string::npos) {
        out = made.error();
        return true;
      }
      if (made) (void)remove<ConfigMap>(api, key("new"), made->metadata.uid);
      return false;
    }));
    return out;
  }

  contract::RealKube& real;
};

/// World::within_pods
TEST_F(KubeWorld, AQuotaByCountCountsAPodThatEndsAndNoneThatHasEnded) {
  run([&](Api&) {
    ASSERT_TRUE(make(kQuotas, "etcds", {{"spec", {{"hard", {{"pods", "1"}}}}}}));
    ASSERT_TRUE(in_time([&] { return bool(make_pod("a")); })) << "once an account is there";
    const std::string full =
        "exceeded quota: etcds, requested: pods=1, used: pods=1, limited: pods=1";
    const auto is_full = [&] { return why_not_pod("b").find(full) != std::string::npos; };
    ASSERT_TRUE(in_time(is_full)) << why_not_pod("b");
    end(Pod::resource, "a", json::object());
    auto there = get<Pod>(server->api(), key("a"));
    ASSERT_TRUE(there && there->metadata.terminating()) << "no kubelet ends it";
    EXPECT_TRUE(is_full()) << "it ends, and counts";
    end(Pod::resource, "a", {{"gracePeriodSeconds", 0}});
    ASSERT_TRUE(in_time([&] { return bool(make_pod("c")); })) << "it is gone";
    Call status = call(Verb::Patch, Pod::resource);
    status.name = "c";
    status.subresource = "status";
    status.body = {{"status", {{"phase", "Failed"}}}};
    ASSERT_TRUE(server->api().call(status));
    EXPECT_TRUE(in_time([&] { return why_not_pod("d").empty(); })) << "it has ended";
  });
}

/// World::disown, World::delete_in_foreground
TEST_F(KubeWorld, TheGarbageCollectorOrphansAndDeletesInTheForeground) {
  run([&](Api& api) {
    const auto owned = [&](const ConfigMap& owner, const char* name) {
      json::object reference{{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"name", owner.metadata.name},
                             {"uid", owner.metadata.uid},
                             {"blockOwnerDeletion", true}};
      Json child = config_map(name);
      child.at("metadata").as_object()["ownerReferences"] = json::array{std::move(reference)};
      child.at("metadata").as_object()["finalizers"] = json::array{"example.com/held"};
      return bool(create<ConfigMap>(api, ns, child));
    };
    const Afterwards let_go([&] {  // Else the namespace never ends.
      for (const char* child : {"orphan", "first"})
        (void)set(api, child, "2", {{"finalizers", nullptr}});
    });
    const auto is_gone = [&](const char* name) {
      return get<ConfigMap>(api, key(name)).failed_with(Code::NotFound);
    };
    ASSERT_TRUE(owned(made(api, "left"), "orphan"));
    end(ConfigMap::resource, "left", {{"propagationPolicy", "Orphan"}});
    ASSERT_TRUE(in_time([&] { return is_gone("left"); }));
    auto orphan = get<ConfigMap>(api, key("orphan"));
    ASSERT_TRUE(orphan) << "it stays";
    EXPECT_TRUE(orphan->metadata.owner_references.empty()) << "before its owner goes";
    EXPECT_FALSE(orphan->metadata.terminating());

    ASSERT_TRUE(owned(made(api, "last"), "first"));
    end(ConfigMap::resource, "last", {{"propagationPolicy", "Foreground"}});
    ASSERT_TRUE(in_time([&] {
      auto child = get<ConfigMap>(api, key("first"));
      return child && child->metadata.terminating();
    }));
    auto owner = get<ConfigMap>(api, key("last"));
    ASSERT_TRUE(owner && owner->metadata.terminating());
    EXPECT_EQ(owner->metadata.finalizers, std::vector<std::string>{"foregroundDeletion"});
    for (const char* child : {"orphan", "first"})
      EXPECT_TRUE(set(api, child, "2", {{"finalizers", nullptr}}));
    EXPECT_TRUE(in_time([&] { return is_gone("first") && is_gone("last"); }));
  });
}

/// World::webhook, Fault::WebhookDown: an error that hides whether the write happened.
TEST_F(KubeWorld, AWebhookThatIsDownFailsTheWrite) {
  run([&](Api& api) {
    ask("https://127.0.0.1:1/", "Fail");
    if (HasFatalFailure()) return;
    const Error refused = refusal(api);
    EXPECT_EQ(int(refused.code), int(Code::Lost)) << refused.message;
    EXPECT_TRUE(refused.message.find("Internal error occurred: failed calling webhook "
                                     "\"policy.example.com\": failed to call webhook: Post "
                                     "\"https://127.0.0.1:1/?timeout=1s\": dial tcp 127.0.0.1:1: "
                                     "connect: connection refused") != std::string::npos)
        << refused.message;
    end(kWebhooks, ns, json::object());
    EXPECT_TRUE(in_time([&] { return bool(create<ConfigMap>(api, ns, config_map("later"))); }));
  });
}

/// Fault::WebhookSlow: the server waits as long as the configuration says.
TEST_F(KubeWorld, AWebhookThatIsSilentHoldsTheWriteUp) {
  run([&](Api& api) {
    auto silent = real.loop.listen("127.0.0.1", 0);
    ASSERT_TRUE(silent);
    const std::string port = std::to_string((*silent)->local_port());
    ask("https://127.0.0.1:" + port + "/", "Fail");
    const Error refused = refusal(api);
    EXPECT_EQ(int(refused.code), int(Code::Lost)) << refused.message;
    EXPECT_NE(refused.message.find("failed calling webhook"), std::string::npos) << refused.message;
    end(kWebhooks, ns, json::object());
    ask("https://127.0.0.1:" + port + "/", "Ignore");
    EXPECT_TRUE(in_time([&] {
      const Instant begin = loop().now();
      auto made = create<ConfigMap>(api, ns, config_map("late"));
      if (made) (void)remove<ConfigMap>(api, key("late"), made->metadata.uid);
      return made && loop().now() - begin >= 1s;
    })) << "it waits for a second, and then succeeds";
    end(kWebhooks, ns, json::object());
  });
}

}  // namespace
}  // namespace etcdop::kube
