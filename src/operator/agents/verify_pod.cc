#include "operator/agents/verify_pod.h"

#include <utility>

#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/snapshot_env.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

constexpr const char* kToolsFolder = "/tools";
constexpr const char* kScratchFolder = "/scratch";

}  // namespace

/// Two images: that of etcd has etcd and etcdutl, but nothing that reads an object store.
json::object verify_pod(const VerifyWork& work, const VerifyImages& images,
                        const std::optional<v1::EtcdCluster>& cluster) {
  AgentMounts tools, mounted;
  tools.add("tools", "emptyDir", {}, kToolsFolder, false);
  mounted.add("tools", "emptyDir", {}, kToolsFolder, true);
  mounted.add("scratch", "emptyDir", {}, kScratchFolder, false);
  json::array env;
  add_location(env, work.from, kStoredFolder);
  add_store_secrets(mounted, work.from);
  if (work.from.pvc)
    mounted.add("snapshot-data", "persistentVolumeClaim",
                {{"claimName", work.from.pvc->claim_name}, {"readOnly", true}}, kStoredFolder,
                true);
  env.push_back(variable("VERIFY_SCRATCH_DIR", kScratchFolder));
  env.push_back(variable("RESTORE_ETCD_VERSION", work.etcd_version));
  for (const Json& one : work.expected) env.push_back(one);
  json::object agent = agent_container(v1::kVerifyContainer, "verify-agent",
                                       images.etcd_repository + ":v" + work.etcd_version,
                                       std::move(env), std::move(mounted.mounts));
  agent["command"] = json::array{std::string(kToolsFolder) + "/manager", "verify-agent"};
  // It runs an etcd with all data of the snapshot: how much memory that needs is unknown.
  agent["resources"].as_object().erase("limits");
  json::object install =
      agent_container(v1::kInstallToolsContainer, "install-tools", images.own,
                      {variable("TOOLS_DEST_DIR", kToolsFolder)}, std::move(tools.mounts));
  json::object out = agent_pod(std::move(agent), std::move(mounted.volumes), cluster);
  out["initContainers"] = json::array{std::move(install)};
  place_agents(out, work.placed);
  return out;
}

std::optional<VerifyReport> verify_success(const std::vector<kube::Pod>& pods) {
  for (const kube::Pod& pod : pods) {
    const kube::ContainerTerminated* end = end_of(pod, v1::kVerifyContainer);
    if (!end || end->exit_code != 0) continue;
    auto report = to_verify_report(end->message);
    if (report && !report->failed()) return std::move(*report);
  }
  return std::nullopt;
}

VerifyFailure verify_failure(const std::vector<kube::Pod>& pods, const kube::JobCondition& failed) {
  const kube::Pod* last = last_ended(pods, v1::kVerifyContainer);
  if (!last)
    return {v1::kJobFailed,
            "its Job failed (" + (failed.reason.empty() ? failed.message : failed.reason) + ")"};
  const kube::ContainerTerminated& end = *end_of(*last, v1::kVerifyContainer);
  if (auto report = to_verify_report(end.message); report && report->failed())
    return {std::move(report->reason), std::move(report->message), report->for_good};
  return {v1::kJobFailed, ended_without_report(*last, end)};
}

}  // namespace etcdop
