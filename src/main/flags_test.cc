#include "main/flags.h"

#include <gtest/gtest.h>

#include <map>

namespace etcdop {
namespace {

Result<Flags> parse(std::vector<std::string> words,
                    std::map<std::string, std::string> environment = {}) {
  return parse_flags(std::move(words), [&](const std::string& name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(Flags, TheDefaultsAreTheReferences) {
  auto flags = parse({});
  ASSERT_TRUE(flags);
  EXPECT_EQ(flags->metrics_bind_address, ":8080");
  EXPECT_EQ(flags->health_probe_bind_address, ":8081");
  EXPECT_EQ(flags->flight_recorder_bind_address, "127.0.0.1:8082") << "nobody else's network";
  EXPECT_FALSE(flags->metrics_secure) << "its sidecar asks by plain HTTP";
  EXPECT_FALSE(flags->leader_elect);
  EXPECT_TRUE(flags->watch_namespaces.empty());
  EXPECT_EQ(flags->etcd_image_repository, "quay.io/coreos/etcd");
  EXPECT_EQ(flags->pod_template_policy, PodPolicy::Baseline);
}

TEST(Flags, N10_ThePolicyForTemplates) {
  EXPECT_EQ(parse({"--pod-template-policy=any"})->pod_template_policy, PodPolicy::Any);
  EXPECT_EQ(parse({"--pod-template-policy=restricted"})->pod_template_policy,
            PodPolicy::Restricted);
}

TEST(Flags, OneDashDoesForTwoAndBooleansTakeAValue) {
  auto flags = parse({"-leader-elect", "-metrics-bind-address=127.0.0.1:9", "--watch-namespace",
                      "a,b", "-zap-devel=false", "--metrics-secure"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_TRUE(flags->leader_elect);
  EXPECT_EQ(flags->metrics_bind_address, "127.0.0.1:9");
  EXPECT_TRUE(flags->metrics_secure);
  EXPECT_EQ(flags->watch_namespaces, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(flags->log_as_json);
  EXPECT_FALSE(parse({"--leader-elect=false"})->leader_elect);
}

TEST(Flags, ACertificateForMetricsIsForSecureOnes) {
  auto flags = parse({"--metrics-secure", "--metrics-cert-path=/tls"});
  ASSERT_TRUE(flags) << flags.error().message;
  EXPECT_EQ(flags->metrics_cert_path, "/tls");
  EXPECT_EQ(parse({"--metrics-cert-path=/tls"}).error().message,
            "--metrics-cert-path is of no use without --metrics-secure");
}

TEST(Flags, TheEnvironmentIsReadAndTheCommandLineWins) {
  const std::map<std::string, std::string> environment = {
      {"OPERATOR_IMAGE", "op:1"},
      {"ETCD_IMAGE_REPOSITORY", "r.example/etcd"},
      {"WATCH_NAMESPACE", "x"}};
  auto flags = parse({}, environment);
  EXPECT_EQ(flags->operator_image, "op:1");
  EXPECT_EQ(flags->etcd_image_repository, "r.example/etcd");
  EXPECT_EQ(flags->watch_namespaces, std::vector<std::string>{"x"});
  EXPECT_EQ(parse({"--watch-namespace=y"}, environment)->watch_namespaces,
            std::vector<std::string>{"y"});
}

TEST(Flags, ZapsFlagsAreUnderstood) {
  EXPECT_FALSE(parse({"--zap-devel"})->log_as_json);
  EXPECT_EQ(parse({"--zap-log-level=debug"})->log_level, Level::Debug);
  EXPECT_EQ(parse({"--zap-log-level=5"})->log_level, Level::Debug);
  EXPECT_FALSE(parse({"--zap-encoder=console"})->log_as_json);
  EXPECT_TRUE(parse({"--zap-stacktrace-level=error", "--zap-time-encoding=iso8601"}));
}

TEST(Flags, BadInputNamesTheFlagAndWhatToDo) {
  struct Row {
    std::vector<std::string> words;
    const char* says;
  };
  const Row rows[] = {
      {{"--no-such-flag"}, "--no-such-flag"},
      {{"stray"}, "stray"},
      {{"--log-format=xml"}, "say json or console"},
      {{"--log-level=loud"}, "say debug, info, warn or error"},
      {{"--metrics-bind-address=8080"}, "say HOST:PORT"},
      {{"--health-probe-bind-address=:99999"}, "--health-probe-bind-address"},
      {{"--flight-recorder-bind-address=:8082"}, "127.0.0.1:PORT"},
      {{"--flight-recorder-bind-address=0.0.0.0:8082"}, "no authorization"},
      {{"--flight-recorder-bind-address=127.0.0.1"}, "say HOST:PORT"},
      {{"--operator-image=controller:latest"}, "placeholder"},
      {{"--pod-template-policy=privileged"}, "say restricted, baseline or any"},
  };
  for (const Row& row : rows) {
    auto flags = parse(row.words);
    ASSERT_TRUE(flags.failed_with(Code::Invalid)) << row.words[0];
    EXPECT_NE(flags.error().message.find(row.says), std::string::npos) << flags.error().message;
  }
}

TEST(Flags, HelpListsThem) {
  EXPECT_NE(parse({"-h"})->help->find("--watch-namespace"), std::string::npos);
  EXPECT_NE(parse({"--help"})->help->find("--leader-elect"), std::string::npos);
}

}  // namespace
}  // namespace etcdop
