#include "operator/snapshot_schedule/objects.h"

#include <string_view>
#include <utility>

#include "api/describe.h"
#include "operator/agents/agent_pod.h"
#include "operator/agents/snapshot_env.h"
#include "operator/agents/stored_location.h"
#include "operator/passes/metadata.h"
#include "runtime/conditions.h"

namespace etcdop::snapshot_schedule {
namespace {

namespace v1 = api::v1alpha2;

constexpr int kRetries = 1, kSecondsMax = 600;

/// Joins them like the agent: "/a//b/" and "x.db" are "a/b/x.db".
std::string joined(std::string_view folder, const std::string& file) {
  const std::string in = segments_of(folder);
  return in.empty() ? file : in + "/" + file;
}

}  // namespace

std::string deletion_name(const std::string& snapshot) { return snapshot + "-delete"; }

Json snapshot(const v1::EtcdSnapshotSchedule& of, const std::string& name) {
  json::object metadata{{"name", name}, {"namespace", of.metadata.ns}};
  metadata["labels"].emplace_object()[v1::kScheduleLabel] = of.metadata.name;
  metadata["ownerReferences"] = owned_by_controller(of);
  if (const auto& more = of.spec.snapshot.metadata)
    add_metadata(metadata, v1::AdditionalMetadata{more->labels, more->annotations});
  v1::EtcdSnapshotSpec spec;
  spec.cluster_ref = of.spec.cluster_ref;
  spec.destination = of.spec.snapshot.destination;
  spec.pod = of.spec.snapshot.pod;
  return json::object{{"metadata", std::move(metadata)}, {"spec", api::encode(spec)}};
}

Json deletion(const v1::EtcdSnapshot& of, const std::optional<v1::EtcdCluster>& cluster,
              const std::string& image) {
  json::array env{variable("SNAPSHOT_NAME", of.metadata.name),
                  variable("SNAPSHOT_UID", of.metadata.uid)};
  AgentMounts mounted;
  v1::SnapshotLocation from = of.spec.destination;
  from.encryption.reset();  // The Job reads no data.
  add_destination(env, mounted, from);
  json::object metadata{{"name", deletion_name(of.metadata.name)}, {"namespace", of.metadata.ns}};
  json::object& labels = metadata["labels"].emplace_object();
  labels[v1::kClusterLabel] = of.spec.cluster_ref.name;
  labels[v1::kSnapshotLabel] = of.metadata.name;
  metadata["ownerReferences"] = owned_by_controller(of);
  json::object pod_metadata;
  pod_metadata["labels"].emplace_object()[v1::kSnapshotLabel] = of.metadata.name;
  if (cluster) {
    add_metadata(metadata, cluster->spec.additional_metadata);
    add_metadata(pod_metadata, cluster->spec.additional_metadata);
  }
  json::object pod = agent_pod(agent_container(v1::kDeleteContainer, "delete-agent", image,
                                               std::move(env), std::move(mounted.mounts)),
                               std::move(mounted.volumes), cluster);
  place_agents(pod, of.spec.pod);
  return json::object{
      {"metadata", std::move(metadata)},
      {"spec",
       {{"backoffLimit", kRetries},
        {"activeDeadlineSeconds", kSecondsMax},
        {"podFailurePolicy", agent_failure_policy(v1::kDeleteContainer)},
        {"template", {{"metadata", std::move(pod_metadata)}, {"spec", std::move(pod)}}}}}};
}

bool is_displaced(const v1::EtcdSnapshot& of) {
  if (!of.status.artifact) return false;
  // Edited after it ended: an endpoint or a claim, which the URI does not have.
  const auto* ready = runtime::find_condition(of.status.conditions, v1::kReady);
  if (ready && ready->observed_generation != of.metadata.generation) return true;
  const v1::SnapshotLocation& to = of.spec.destination;
  const std::string file = of.metadata.name + ".db";
  std::string expected;
  if (to.s3) expected = "s3://" + to.s3->bucket + "/" + joined(to.s3->key, file);
  if (to.pvc)
    expected = std::string("file://") + kStoredFolder + "/" + joined(to.pvc->sub_path, file);
  return of.status.artifact->uri != expected;
}

}  // namespace etcdop::snapshot_schedule
