// Pods, and the strictest Pod Security Standard that admits each. A unit test judges them, and so
// does a real API server (test/contract).
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "operator/pods/pod_policy.h"

namespace etcdop::testing {

struct PodByPolicy {
  std::string what;
  json::object pod;
  PodPolicy strictest;  ///< Any: baseline refuses it, too.
};

/// A Pod that `restricted` admits.
inline json::object restricted_pod() {
  return json::parse(R"({
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "annotations": {}},
    "spec": {
      "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "fsGroup": 65532,
                          "seccompProfile": {"type": "RuntimeDefault"}},
      "containers": [{"name": "c", "image": "i",
                      "securityContext": {"allowPrivilegeEscalation": false,
                                          "capabilities": {"drop": ["ALL"]}}}],
      "volumes": [{"name": "v", "emptyDir": {}}]}})")
      .as_object();
}

inline std::vector<PodByPolicy> pods_by_policy() {
  std::vector<PodByPolicy> out;
  using Edit = std::function<void(json::object & spec, json::object & context)>;
  // `context`: the securityContext of the container.
  const auto row = [&](PodPolicy strictest, const std::string& what, const Edit& edit) {
    json::object pod = restricted_pod();
    json::object& spec = pod["spec"].as_object();
    edit(spec, spec["containers"].at(0).at("securityContext").as_object());
    out.push_back({what, std::move(pod), strictest});
  };
  const auto container = [](json::object& spec) -> json::object& {
    return spec["containers"].at(0).as_object();
  };
  const auto pods_context = [](json::object& spec) -> json::object& {
    return spec["securityContext"].as_object();
  };
  using enum PodPolicy;
  row(Restricted, "as it is", [](auto&, auto&) {});
  for (const char* host : {"hostNetwork", "hostPID", "hostIPC"}) {
    row(Any, host, [&](auto& spec, auto&) { spec[host] = true; });
    row(Restricted, std::string("no ") + host, [&](auto& spec, auto&) { spec[host] = false; });
  }
  row(Any, "hostPath", [](auto& spec, auto&) {
    spec["volumes"] = json::parse(R"([{"name": "v", "hostPath": {"path": "/"}}])");
  });
  row(Baseline, "nfs", [](auto& spec, auto&) {
    spec["volumes"] = json::parse(R"([{"name": "v", "nfs": {"server": "s", "path": "/"}}])");
  });
  for (const char* source :
       {R"("configMap": {"name": "x"})", R"("secret": {"secretName": "x"})", R"("downwardAPI": {})",
        R"("persistentVolumeClaim": {"claimName": "x"})",
        R"("projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]})",
        R"("csi": {"driver": "d"})", R"("image": {"reference": "r"})",
        R"("ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"],
           "resources": {"requests": {"storage": "1Gi"}}}}})"})
    row(Restricted, source, [&](auto& spec, auto&) {
      spec["volumes"] = json::parse(std::string(R"([{"name": "v", )") + source + "}]");
    });
  row(Any, "privileged", [](auto&, auto& context) {
    context["privileged"] = true;
    context.erase("allowPrivilegeEscalation");
  });
  row(Any, "privileged init container", [](auto& spec, auto&) {
    spec["initContainers"] =
        json::parse(R"([{"name": "i", "image": "i", "securityContext": {"privileged": true}}])");
  });
  row(Baseline, "init container without a context", [](auto& spec, auto&) {
    spec["initContainers"] = json::parse(R"([{"name": "i", "image": "i"}])");
  });
  const auto adds = [](const char* capability) {
    return [capability](auto&, auto& context) {
      context["capabilities"].as_object()["add"] = json::array{capability};
    };
  };
  row(Restricted, "NET_BIND_SERVICE", adds("NET_BIND_SERVICE"));
  row(Baseline, "CHOWN", adds("CHOWN"));
  row(Any, "NET_ADMIN", adds("NET_ADMIN"));
  row(Any, "NET_RAW", adds("NET_RAW"));
  row(Baseline, "drops nothing", [](auto&, auto& context) { context.erase("capabilities"); });
  row(Any, "hostPort", [&](auto& spec, auto&) {
    container(spec)["ports"] = json::parse(R"([{"containerPort": 80, "hostPort": 80}])");
  });
  row(Restricted, "a port", [&](auto& spec, auto&) {
    container(spec)["ports"] = json::parse(R"([{"containerPort": 80}])");
  });
  row(Baseline, "procMount of other users", [](auto& spec, auto& context) {
    context["procMount"] = "Unmasked";
    spec["hostUsers"] = false;
  });
  row(Any, "AppArmor of the Pod", [&](auto& spec, auto&) {
    pods_context(spec)["appArmorProfile"] = json::object{{"type", "Unconfined"}};
  });
  row(Any, "AppArmor of the container", [](auto&, auto& context) {
    context["appArmorProfile"] = json::object{{"type", "Unconfined"}};
  });
  row(Restricted, "AppArmor by default", [](auto&, auto& context) {
    context["appArmorProfile"] = json::object{{"type", "RuntimeDefault"}};
  });
  row(Any, "seccomp of the Pod", [&](auto& spec, auto&) {
    pods_context(spec)["seccompProfile"] = json::object{{"type", "Unconfined"}};
  });
  row(Any, "seccomp of the container", [](auto&, auto& context) {
    context["seccompProfile"] = json::object{{"type", "Unconfined"}};
  });
  row(Baseline, "no seccomp profile",
      [&](auto& spec, auto&) { pods_context(spec).erase("seccompProfile"); });
  row(Restricted, "seccomp of the container alone", [&](auto& spec, auto& context) {
    pods_context(spec).erase("seccompProfile");
    context["seccompProfile"] = json::object{{"type", "RuntimeDefault"}};
  });
  const auto se_linux = [](const char* field, const char* value) {
    return [=](auto&, auto& context) { context["seLinuxOptions"] = json::object{{field, value}}; };
  };
  row(Restricted, "container_t", se_linux("type", "container_t"));
  row(Any, "spc_t", se_linux("type", "spc_t"));
  row(Any, "SELinux user", se_linux("user", "system_u"));
  row(Any, "SELinux role", se_linux("role", "system_r"));
  row(Restricted, "SELinux level", se_linux("level", "s0:c1,c2"));
  const auto sysctl = [&](const char* name) {
    return [&, name](auto& spec, auto&) {
      pods_context(spec)["sysctls"] = json::array{json::object{{"name", name}, {"value", "1"}}};
    };
  };
  row(Restricted, "safe sysctl", sysctl("net.ipv4.tcp_syncookies"));
  row(Any, "unsafe sysctl", sysctl("kernel.msgmax"));
  row(Any, "probe of another host", [&](auto& spec, auto&) {
    container(spec)["livenessProbe"] =
        json::parse(R"({"httpGet": {"host": "10.0.0.1", "port": 80, "path": "/"}})");
  });
  row(Any, "hook to another host", [&](auto& spec, auto&) {
    container(spec)["lifecycle"] =
        json::parse(R"({"preStop": {"httpGet": {"host": "10.0.0.1", "port": 80, "path": "/"}}})");
  });
  row(Restricted, "probe of its own", [&](auto& spec, auto&) {
    container(spec)["livenessProbe"] = json::parse(R"({"tcpSocket": {"port": 80}})");
  });
  row(Baseline, "may escalate",
      [](auto&, auto& context) { context["allowPrivilegeEscalation"] = true; });
  row(Baseline, "does not say whether it may escalate",
      [](auto&, auto& context) { context.erase("allowPrivilegeEscalation"); });
  row(Baseline, "may be root",
      [&](auto& spec, auto&) { pods_context(spec).erase("runAsNonRoot"); });
  row(Restricted, "not root by the container alone", [&](auto& spec, auto& context) {
    pods_context(spec).erase("runAsNonRoot");
    context["runAsNonRoot"] = true;
  });
  row(Baseline, "root by the container", [](auto&, auto& context) {
    context["runAsUser"] = 0;
    context["runAsNonRoot"] = false;
  });
  row(Baseline, "user 0 of the Pod",
      [&](auto& spec, auto&) { pods_context(spec)["runAsUser"] = 0; });
  return out;
}

}  // namespace etcdop::testing
