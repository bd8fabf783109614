#include "operator/pods/pod_policy.h"

#include <gtest/gtest.h>

#include "test/support/pods_by_policy.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::PodTemplate with_spec(const char* spec) {
  v1::PodTemplate out;
  out.spec = json::parse(spec);
  return out;
}

TEST(PodPolicy, N10_EachStandardAdmitsWhatPodSecurityAdmits) {
  for (const testing::PodByPolicy& row : testing::pods_by_policy())
    for (const PodPolicy policy : {PodPolicy::Any, PodPolicy::Baseline, PodPolicy::Restricted}) {
      const std::string why = why_not_pod(row.pod, policy);
      EXPECT_EQ(why.empty(), policy <= row.strictest) << row.what << ": " << why;
      EXPECT_TRUE(why.empty() || why.starts_with("spec.")) << why;
    }
}

/// Fields beside those of pods_by_policy(). A real API server refuses some of these Pods for
/// another reason first.
TEST(PodPolicy, N10_EachFieldOfBaselineIsJudged) {
  for (const char* context :
       {R"({"windowsOptions": {"hostProcess": true}})", R"({"seLinuxOptions": {"type": "spc_t"}})",
        R"({"seLinuxOptions": {"user": "system_u"}})",
        R"({"seLinuxOptions": {"role": "system_r"}})"}) {
    json::object pod = testing::restricted_pod();
    pod["spec"].as_object()["securityContext"] = json::parse(context);
    EXPECT_NE(why_not_pod(pod, PodPolicy::Baseline), "") << "the Pod's " << context;
    pod = testing::restricted_pod();
    pod["spec"].at("containers").at(0).as_object()["securityContext"] = json::parse(context);
    EXPECT_NE(why_not_pod(pod, PodPolicy::Baseline), "") << "a container's " << context;
  }
  for (const char* call : {"httpGet", "tcpSocket"})
    for (const auto& [of, hook] :
         std::initializer_list<std::pair<const char*, const char*>>{{"livenessProbe", ""},
                                                                    {"readinessProbe", ""},
                                                                    {"startupProbe", ""},
                                                                    {"lifecycle", "postStart"},
                                                                    {"lifecycle", "preStop"}}) {
      Json does = json::object{{call, {{"host", "10.0.0.1"}, {"port", 80}}}};
      if (*hook) does = json::object{{hook, std::move(does)}};
      json::object pod = testing::restricted_pod();
      pod["spec"].at("containers").at(0).as_object()[of] = does;
      EXPECT_EQ(why_not_pod(pod, PodPolicy::Baseline), std::string("spec.containers[c].") + of +
                                                           (*hook ? "." : "") + hook + "." + call +
                                                           ".host has a value that is not allowed");
    }
}

/// A real API server admits it with `hostUsers: false` only, whatever the policy.
TEST(PodPolicy, N10_OnlyUsersThatAreOthersOnTheNodeSeeAllOfProc) {
  json::object pod = testing::restricted_pod();
  json::object& spec = pod["spec"].as_object();
  spec["containers"].at(0).at("securityContext").as_object()["procMount"] = "Unmasked";
  EXPECT_NE(why_not_pod(pod, PodPolicy::Baseline), "");
  spec["hostUsers"] = true;
  EXPECT_NE(why_not_pod(pod, PodPolicy::Baseline), "");
  spec["hostUsers"] = false;
  EXPECT_EQ(why_not_pod(pod, PodPolicy::Baseline), "");
}

TEST(PodPolicy, N10_TheFieldAndTheWayToAllowItAreTold) {
  const v1::PodTemplate host = with_spec(R"({"hostPID": true})");
  EXPECT_EQ(why_not_by_policy(host, PodPolicy::Any), "");
  EXPECT_EQ(why_not_by_policy(host, PodPolicy::Baseline),
            "podTemplate.spec.hostPID has a value that is not allowed by "
            "--pod-template-policy=baseline; remove it, or let the operator's administrator choose "
            "--pod-template-policy=any");
  const v1::PodTemplate sidecar = with_spec(R"({"containers": [{"name": "log", "image": "i"}]})");
  EXPECT_EQ(why_not_by_policy(sidecar, PodPolicy::Baseline), "");
  EXPECT_EQ(why_not_by_policy(sidecar, PodPolicy::Restricted),
            "podTemplate.spec.containers[log].securityContext.allowPrivilegeEscalation must be "
            "false by --pod-template-policy=restricted; remove it, or let the operator's "
            "administrator choose --pod-template-policy=baseline");
  EXPECT_NE(why_not_by_policy(with_spec(R"({"securityContext": {"runAsNonRoot": null}})"),
                              PodPolicy::Restricted),
            "")
      << "a template also removes";
  EXPECT_EQ(why_not_by_policy({}, PodPolicy::Restricted), "") << "the operator's own Pod";
  v1::PodTemplate annotated;
  annotated.metadata.emplace().annotations = {
      {"container.apparmor.security.beta.kubernetes.io/etcd", "unconfined"}};
  EXPECT_NE(why_not_by_policy(annotated, PodPolicy::Baseline), "");
}

TEST(PodPolicy, N10_NothingThatATemplateHasThrows) {
  for (const char* spec :
       {R"({"hostPID": {"a": [1]}})", R"({"volumes": [7, {"hostPath": 7}]})",
        R"({"containers": [{"name": "etcd", "securityContext": [1]}]})",
        R"({"containers": [{"name": "s", "securityContext": {"capabilities": 7}, "ports": {}}]})",
        R"({"securityContext": "x", "initContainers": null})"})
    for (const PodPolicy policy : {PodPolicy::Baseline, PodPolicy::Restricted})
      (void)why_not_by_policy(with_spec(spec), policy);
}

TEST(PodPolicy, N10_TheAccountWhoseTokenAPodHas) {
  const std::pair<const char*, const char*> rows[] = {
      {"{}", ""},
      {R"({"serviceAccountName": "robot"})", "robot"},
      {R"({"automountServiceAccountToken": true})", "default"},
      {R"({"automountServiceAccountToken": true, "serviceAccountName": "robot"})", "robot"},
      {R"({"automountServiceAccountToken": null})", "default"},
      {R"({"volumes": [{"name": "t", "projected": {"sources": [{"serviceAccountToken": {}}]}}]})",
       "default"},
      {R"({"volumes": [{"name": "t", "projected": {"sources": [{"secret": {}}]}}]})", ""}};
  for (const auto& [spec, account] : rows) EXPECT_EQ(account_of(with_spec(spec)), account) << spec;
}

}  // namespace
}  // namespace etcdop
