#include "operator/member/restoring.h"

#include "api/v1alpha2/names.h"
#include "operator/agents/restore_report.h"
#include "operator/agents/snapshot_env.h"
#include "operator/member/plan.h"
#include "operator/pods/etcd_pod.h"
#include "operator/pods/member_endpoint.h"
#include "operator/pods/pod_shape.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

constexpr const char* kToolsFolder = "/tools";
constexpr const char* kSourceFolder = "/restore/src";
constexpr std::int64_t kBumpRevision = 1'000'000'000;  // The schema's default.

enum class Access { ReadOnly, ReadWrite };
json::object mount(const char* volume, const char* folder, Access access) {
  json::object out{{"name", volume}, {"mountPath", folder}};
  if (access == Access::ReadOnly) out["readOnly"] = true;
  return out;
}

/// After a crash, its message is its last log lines.
json::object container(const char* name, std::string image, json::array command, json::array env,
                       json::array mounts, Json resources) {
  return {{"name", name},
          {"image", std::move(image)},
          {"command", std::move(command)},
          {"env", std::move(env)},
          {"terminationMessagePolicy", "FallbackToLogsOnError"},
          {"resources", std::move(resources)},
          {"securityContext", container_security()},
          {"volumeMounts", std::move(mounts)}};
}

/// etcd's own, if it has some: a quota may require limits, and etcdutl needs what etcd needs.
Json resources(const v1::EtcdMember& member) {
  const auto& own = member.spec.resources;
  if (own && own->is_object() && !own->as_object().empty()) return *own;
  return json::object{{"requests", {{"cpu", "50m"}, {"memory", "64Mi"}}}};
}

/// The variables of the contract, then ours.
json::array environment(const v1::EtcdMember& member, bool with_auth) {
  const v1::RestoreSpec& restore = *member.spec.restore;
  json::array out{variable("ETCD_DATA_DIR", data_dir_of(member)),
                  variable("ETCD_MEMBER_NAME", member.metadata.name),
                  variable("ETCD_INITIAL_CLUSTER", member.spec.initial_cluster),
                  variable("ETCD_INITIAL_CLUSTER_TOKEN", member.spec.cluster_token),
                  variable("ETCD_PEER_URLS", peer_url_of(member))};
  add_location(out, restore.source, kSourceFolder);
  out.push_back(variable("RESTORE_ETCD_VERSION", member.spec.version));
  out.push_back(variable("RESTORE_AUTH", with_auth ? "true" : "false"));
  out.push_back(variable("RESTORE_BUMP_REVISION",
                         std::to_string(restore.bump_revision.value_or(kBumpRevision))));
  if (!restore.checksum.empty()) out.push_back(variable("RESTORE_CHECKSUM", restore.checksum));
  return out;
}

/// Its last end, if that was a failure; null: none.
const kube::ContainerTerminated* last_failure(const kube::ContainerStatus* container) {
  const auto* ended = last_end(container);
  return ended && ended->exit_code != 0 ? ended : nullptr;
}

/// The message for an end without a reason.
std::string unexplained(const kube::Pod& pod, const char* container,
                        const kube::ContainerTerminated& end) {
  return std::string("the container ") + container + " ended with exit code " +
         std::to_string(end.exit_code) + (end.reason.empty() ? "" : " (" + end.reason + ")") +
         ": see kubectl logs " + pod.metadata.name + " -c " + container +
         "; the kubelet tries again";
}

/// In a restore in place the old volumes have the data: never advise deleting the cluster.
std::string way_out(const Observation& seen) {
  const v1::RestoreRecord* record = seen.cluster ? seen.cluster->restoring() : nullptr;
  return record ? "set spec.decision of EtcdRestore " + record->name + " to Rollback"
                : "delete the EtcdCluster and create it again";
}

}  // namespace

void add_restore(json::object& pod_spec, const v1::EtcdMember& member, const Images& images,
                 bool with_auth) {
  json::array mounts{mount(v1::kDataVolume, kVolumeRoot, Access::ReadWrite),
                     mount(kRestoreToolsVolume, kToolsFolder, Access::ReadOnly)};
  json::array& volumes = pod_spec["volumes"].as_array();
  volumes.push_back(json::object{{"name", kRestoreToolsVolume}, {"emptyDir", json::object{}}});
  if (const auto& pvc = member.spec.restore->source.pvc) {
    volumes.push_back(json::object{
        {"name", kRestoreSourceVolume},
        {"persistentVolumeClaim", {{"claimName", pvc->claim_name}, {"readOnly", true}}}});
    mounts.push_back(mount(kRestoreSourceVolume, kSourceFolder, Access::ReadOnly));
  }
  if (const auto authority = authority_secret_of(member.spec.restore->source); !authority.empty()) {
    volumes.push_back(json::object{
        {"name", kRestoreAuthorityVolume},
        {"secret",
         {{"secretName", authority},
          {"items", json::array{{{"key", kStoreAuthorityKey}, {"path", kStoreAuthorityKey}}}}}}});
    mounts.push_back(mount(kRestoreAuthorityVolume, kStoreAuthorityFolder, Access::ReadOnly));
  }
  if (const auto keys = keys_secret_of(member.spec.restore->source); !keys.empty()) {
    volumes.push_back(
        json::object{{"name", kRestoreKeysVolume}, {"secret", {{"secretName", keys}}}});
    mounts.push_back(mount(kRestoreKeysVolume, kSnapshotKeysFolder, Access::ReadOnly));
  }
  // The etcd image has etcdutl, but nothing that reads an object store.
  pod_spec["initContainers"] = json::array{
      container(v1::kInstallToolsContainer, images.operator_image, {"/manager", "install-tools"},
                {variable("TOOLS_DEST_DIR", kToolsFolder)},
                {mount(kRestoreToolsVolume, kToolsFolder, Access::ReadWrite)}, resources(member)),
      container(v1::kRestoreContainer, images.etcd_repository + ":v" + member.spec.version,
                {std::string(kToolsFolder) + "/manager", "restore-agent"},
                environment(member, with_auth), std::move(mounts), resources(member))};
}

std::string restore_trouble(const Observation& seen) {
  if (!seen.member.spec.restore || !founds(seen)) return "";
  if (!seen.has_image)
    return "the operator was started without --operator-image, the image that restores the "
           "snapshot: set this flag";
  if (seen.credentials_fault.empty()) return "";
  return "SourceCredentialsMissing: " + seen.credentials_fault +
         "; the operator creates no Pod until this is fixed";
}

std::string restore_failure(const Observation& seen, const kube::Pod& pod) {
  if (!has_to_restore(pod)) return "";
  if (const auto* end = last_failure(pod.init_container(v1::kInstallToolsContainer)))
    return unexplained(pod, v1::kInstallToolsContainer, *end);
  const auto* const end = last_failure(pod.init_container(v1::kRestoreContainer));
  if (!end) return "";
  auto report = to_restore_report(end->message);
  if (!report || !report->failed()) return unexplained(pod, v1::kRestoreContainer, *end);
  return report->reason + ": " + report->message +
         (report->for_good
              ? "; fix this (the kubelet tries again every few minutes), or " + way_out(seen)
              : "; the kubelet tries again");
}

}  // namespace etcdop::member
