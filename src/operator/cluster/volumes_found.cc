#include "operator/cluster/volumes_found.h"

#include <algorithm>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "base/fnv.h"
#include "base/joined.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::size_t kNamesTold = 5;

}  // namespace

bool is_stray(const kube::PersistentVolumeClaim& volume, const std::set<std::string>& members) {
  if (volume.metadata.terminating()) return false;
  const api::OwnerReference* owner = volume.metadata.controller();
  return !owner || !members.contains(owner->uid);
}

std::vector<std::string> volumes_in_the_way(const v1::EtcdCluster& cluster,
                                            std::vector<std::string> stray) {
  const auto& notes = cluster.metadata.annotations;
  const auto consent = notes.find(v1::kFoundBesideVolumesAnnotation);
  if (consent != notes.end() && consent->second == founding_consent(cluster)) stray.clear();
  return stray;
}

bool keeps_from_founding(const Observation& seen, const v1::EtcdClusterStatus& status) {
  return status.cluster_id.empty() && seen.seats.empty() &&
         !volumes_in_the_way(seen.cluster, seen.stray_volumes).empty();
}

std::string founding_consent(const v1::EtcdCluster& cluster) {
  return etcd::to_hex(fnv1a(cluster.metadata.uid + serialize(api::encode(cluster.spec))));
}

std::string about_volumes(const v1::EtcdCluster& cluster, const std::vector<std::string>& names) {
  std::vector<std::string> told = names;
  told.resize(std::min(names.size(), kNamesTold));
  std::string list = joined(told);
  if (names.size() > told.size())
    list += " and " + std::to_string(names.size() - told.size()) + " more";
  return "volumes with this cluster's label exist and belong to none of its members: " + list +
         "; the operator founds no new etcd beside them. To serve the data of these volumes, "
         "follow \"VolumesFound\" in docs/user/operations.md. To start without it, "
         "set "
         "the annotation " +
         v1::kFoundBesideVolumesAnnotation + " to " + founding_consent(cluster) +
         "; nothing is deleted";
}

}  // namespace etcdop::cluster
