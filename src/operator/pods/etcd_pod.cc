#include "operator/pods/etcd_pod.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "api/v1alpha2/names.h"

namespace etcdop {
namespace {

/// The argument of the etcd container that begins with `flag`, without `flag`.
std::optional<std::string> argument(const kube::Pod& pod, std::string_view flag) {
  for (const kube::Container& container : pod.spec.containers) {
    if (container.name != api::v1alpha2::kEtcdContainer) continue;
    for (const std::string& word : container.command)
      if (word.starts_with(flag)) return word.substr(flag.size());
  }
  return std::nullopt;
}

}  // namespace

std::string initial_cluster_of(const kube::Pod& pod) {
  if (const auto list = argument(pod, kInitialClusterFlag)) return *list;
  return may_join(pod) ? pod.metadata.annotations.at(api::v1alpha2::kInitialClusterAnnotation) : "";
}

bool may_join(const kube::Pod& pod) {
  return pod.metadata.annotations.contains(api::v1alpha2::kInitialClusterAnnotation);
}

bool founds_a_cluster(const kube::Pod& pod) {
  if (!argument(pod, kInitialClusterFlag)) return false;
  if (const auto state = argument(pod, kInitialStateFlag)) return *state == "new";
  const auto said = pod.metadata.annotations.find(api::v1alpha2::kInitialStateAnnotation);
  return said == pod.metadata.annotations.end() || said->second != "existing";  // etcd's default.
}

bool has_to_restore(const kube::Pod& pod) {
  if (std::ranges::find(pod.spec.init_containers, api::v1alpha2::kRestoreContainer,
                        &kube::Container::name) == pod.spec.init_containers.end())
    return false;
  const auto* restore = pod.init_container(api::v1alpha2::kRestoreContainer);
  return !restore || !restore->state.terminated || restore->state.terminated->exit_code != 0;
}

bool takes_many_learners(const kube::Pod& pod) {
  return argument(pod, kMaxLearnersFlag).has_value();
}

}  // namespace etcdop
