// Tests that only a real API server allows, because the simulated one has no such layer: TLS,
// authentication, permissions, kinds that are not served.
#include <string>

#include "kube/dialer.h"
#include "kube/exec_plugin.h"
#include "operator/pods/pod_policy.h"
#include "sys/command.h"
#include "test/contract/kube_fixture.h"
#include "test/support/pods_by_policy.h"

namespace etcdop::kube {
namespace {

class KubeReal : public KubeContract {
 protected:
  KubeReal() : real(dynamic_cast<contract::RealKube&>(*server)), config(real.config) {}
  std::unique_ptr<Client> client(const Config& as) { return real.client(as); }
  contract::RealKube& real;
  const Config config;
};

TEST_F(KubeReal, AKindThatNobodyServesIsNotFound) {
  run([&](Api& api) {
    expect_error(api.call(call(Verb::List, {"", "v1", "nonsense", "Nonsense"})), Code::NotFound,
                 "could not find the requested resource");
  });
}

/// N10: the operator judges templates as Pod Security does, which asks nobody about Pods that an
/// operator creates in a namespace without labels.
TEST_F(KubeReal, N10_PodSecurityAgreesWithThePolicy) {
  run([&](Api& api) {
    for (const auto& [policy, level] : {std::pair{PodPolicy::Baseline, "baseline"},
                                        std::pair{PodPolicy::Restricted, "restricted"}}) {
      auto space =
          create<Namespace>(api, "",
                            {{"metadata",
                              {{"generateName", "policy-"},
                               {"labels", {{"pod-security.kubernetes.io/enforce", level}}}}}});
      ASSERT_TRUE(space) << space.error().message;
      Call account = call(Verb::Create, ServiceAccount::resource);
      account.ns = space->metadata.name;
      account.body = json::parse(R"({"apiVersion": "v1", "kind": "ServiceAccount",
                                     "metadata": {"name": "default"}})");
      (void)api.call(account);  // Or a controller has made it.
      for (const testing::PodByPolicy& row : testing::pods_by_policy()) {
        Call dry = call(Verb::Create, Pod::resource);
        dry.ns = space->metadata.name;
        dry.query = {{"dryRun", "All"}};
        dry.body = row.pod;
        const auto made = api.call(dry);
        const std::string ours = why_not_pod(row.pod, policy);
        EXPECT_EQ(bool(made), ours.empty())
            << level << ", " << row.what << ": " << (made ? "admitted" : made.error().message)
            << "; ours: " << ours;
        if (!made)
          EXPECT_NE(made.error().message.find("violates PodSecurity"), std::string::npos)
              << row.what << ": " << made.error().message;
      }
      EXPECT_TRUE(remove<Namespace>(api, {"", space->metadata.name}, space->metadata.uid));
    }
  });
}

TEST_F(KubeReal, WhoMayNotIsDenied) {
  run([&](Api&) {
    Config anonymous = config;
    anonymous.certificate.clear();
    anonymous.key = Secret();
    expect_error(get<ConfigMap>(*client(anonymous), key("a")), Code::Denied,
                 "configmaps \"a\" is forbidden: User \"system:anonymous\" cannot get resource "
                 "\"configmaps\" in API group \"\" in the namespace");
    Config stranger = anonymous;
    stranger.token = Secret("nonsense");
    expect_error(get<ConfigMap>(*client(stranger), key("a")), Code::Denied, "Unauthorized");
    Call watching = call(Verb::Watch, ConfigMap::resource);
    expect_error(client(anonymous)->watch(watching, [](WatchEvent) { return true; }), Code::Denied,
                 "cannot watch resource");
  });
}

TEST_F(KubeReal, AServerThatCannotBeTrustedOrReachedSaysWhy) {
  run([&](Api&) {
    Config untrusting = config;
    untrusting.ca.clear();  // The system's store is used instead.
    expect_error(get<ConfigMap>(*client(untrusting), key("a")), Code::Denied, "TLS handshake");
    Config nobody = config;
    nobody.port = "1";
    expect_error(create<ConfigMap>(*client(nobody), ns, config_map("a")), Code::Unavailable,
                 "onnection refused");
  });
}

TEST_F(KubeReal, WhoIsStoodInForIsAsTheServerSeesIt) {
  const auto config_of = [&](const std::string& cluster, const std::string& user) {
    const ReadFile with_more = [&](const std::string& path) -> Result<std::string> {
      auto content = read_file(path);
      if (!content) return content;
      for (const auto& [entry, more] : {std::pair{"- cluster:", cluster}, {"  user:", user}}) {
        const std::string heading = std::string(entry) + "\n";
        const std::size_t at = content->find(heading);
        check(at != std::string::npos, "a kubeconfig in kubectl's layout");
        content->insert(at + heading.size(), more);
      }
      return content;
    };
    auto out = load_config({.kubeconfig_env = real.kubeconfig}, with_more);
    check(bool(out), out ? "" : out.error().message.c_str());
    return std::move(*out);
  };
  run([&](Api& api) {
    (void)made(api, "a");
    const auto nobody = client(config_of("", "    as: nobody\n"));
    expect_error(get<ConfigMap>(*nobody, key("a")), Code::Denied,
                 "configmaps \"a\" is forbidden: User \"nobody\" cannot get resource");
    const auto somebody = client(config_of("",
                                           "    as: nobody\n    as-uid: u-1\n"
                                           "    as-groups: [system:masters, b]\n"
                                           "    as-user-extra: {example.com/k%: [v, w]}\n"));
    EXPECT_TRUE(get<ConfigMap>(*somebody, key("a"))) << "the group may";
    Call review;
    review.verb = Verb::Create;
    review.resource = {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"};
    review.body = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
    auto seen = somebody->call(review);
    ASSERT_TRUE(seen) << seen.error().message;
    EXPECT_EQ(seen->at("status").at("userInfo"), json::parse(R"({
        "username": "nobody", "uid": "u-1",
        "groups": ["system:masters", "b", "system:authenticated"],
        "extra": {"example.com/k%": ["v", "w"]}})"));

    const std::string service = "kubernetes.default.svc";
    EXPECT_TRUE(
        get<ConfigMap>(*client(config_of("    tls-server-name: " + service + "\n", "")), key("a")));
    expect_error(get<ConfigMap>(*client(config_of("    tls-server-name: elsewhere.example\n", "")),
                                key("a")),
                 Code::Denied, "TLS handshake with elsewhere.example");
  });
}

TEST_F(KubeReal, APluginsCredentialIsTakenForOurOwn) {
  Config as = config;  // All its credentials come from a plugin now.
  json::object status;
  if (!as.token.empty()) status["token"] = as.token.reveal();
  if (!as.key.empty()) status["clientCertificateData"] = as.certificate;
  if (!as.key.empty()) status["clientKeyData"] = as.key.reveal();
  as.token = as.key = Secret();
  as.certificate = "";
  run([&](Api& api) {
    (void)made(api, "a");
    expect_error(get<ConfigMap>(*client(as), key("a")), Code::Denied, "");
    as.exec.emplace();
    as.exec->program = "printenv";
    as.exec->args = {"ANSWER"};
    as.exec->api_version = "client.authentication.k8s.io/v1";
    as.exec->env["ANSWER"] = json::serialize(json::object{
        {"kind", "ExecCredential"}, {"apiVersion", as.exec->api_version}, {"status", status}});
    const SystemWallClock wall;
    PluginCredentials plugin(real.loop, wall, *as.exec, [&](const Command& command) {
      return run_command(real.loop, command);
    });
    auto dial = dialer(real.loop, as, &plugin);
    ASSERT_TRUE(dial) << dial.error().message;
    Client mine(real.loop, real.random(), as, std::move(*dial), read_file,
                {.version = "contract", .plugin = &plugin});
    auto object = get<ConfigMap>(mine, key("a"));
    EXPECT_TRUE(object) << object.error().message;
  });
}

}  // namespace
}  // namespace etcdop::kube
