#include "operator/pods/etcd_pod.h"

#include <algorithm>
#include <array>
#include <charconv>
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

const kube::ContainerStatus* etcd_container(const kube::Pod& pod) {
  const auto& all = pod.status.container_statuses;
  const auto found = std::ranges::find(all, std::string(api::v1alpha2::kEtcdContainer),
                                       &kube::ContainerStatus::name);
  return found == all.end() ? nullptr : &*found;
}

bool cannot_run(const kube::Pod& pod) {
  constexpr std::array kFailing{"CrashLoopBackOff",     "ErrImagePull",
                                "ImagePullBackOff",     "InvalidImageName",
                                "CreateContainerError", "CreateContainerConfigError"};
  const auto* etcd = etcd_container(pod);
  return etcd && etcd->state.waiting &&
         std::ranges::find(kFailing, etcd->state.waiting->reason) != kFailing.end();
}

bool has_ended(const kube::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

bool ended_by_itself(const kube::Pod& pod) {
  return has_ended(pod) && (!pod.metadata.terminating() || !pod.status.reason.empty());
}

std::string run_of(const kube::Pod& pod) {
  const auto* etcd = etcd_container(pod);
  return pod.metadata.uid + "/" + std::to_string(etcd ? etcd->restart_count : 0);
}

bool ended_by(const kube::Pod& pod, std::string_view run) {
  const auto* etcd = etcd_container(pod);
  const std::string prefix = pod.metadata.uid + "/";
  if (!etcd || !run.starts_with(prefix)) return false;
  run.remove_prefix(prefix.size());
  std::int32_t restarts = 0;
  const auto read = std::from_chars(run.data(), run.data() + run.size(), restarts);
  // In back-off, the reported end is that of the last run, too.
  const bool runs = !etcd->state.terminated && !etcd->state.waiting;
  const std::int32_t ended = etcd->restart_count - (runs ? 1 : 0);
  return read.ec == std::errc{} && ended <= restarts;
}

const kube::ContainerTerminated* last_end(const kube::ContainerStatus* container) {
  if (!container) return nullptr;
  const auto& now = container->state.terminated;
  const auto& end = now ? now : container->last_state.terminated;
  return end ? &*end : nullptr;
}

std::string last_end_of(const kube::Pod& pod) {
  const auto* end = last_end(etcd_container(pod));
  if (!end) return "";
  const std::string code = "exit code " + std::to_string(end->exit_code);
  return end->reason.empty() ? code : code + " (" + end->reason + ")";
}

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
  return annotated_state(pod) != "existing";
}

std::optional<std::string> annotated_state(const kube::Pod& pod) {
  if (!argument(pod, kInitialClusterFlag) || argument(pod, kInitialStateFlag)) return std::nullopt;
  const auto said = pod.metadata.annotations.find(api::v1alpha2::kInitialStateAnnotation);
  return said == pod.metadata.annotations.end() ? "new" : said->second;  // etcd's default.
}

bool has_to_restore(const kube::Pod& pod) {
  if (std::ranges::find(pod.spec.init_containers, api::v1alpha2::kRestoreContainer,
                        &kube::Container::name) == pod.spec.init_containers.end())
    return false;
  const auto* restore = pod.init_container(api::v1alpha2::kRestoreContainer);
  return !restore || !restore->state.terminated || restore->state.terminated->exit_code != 0;
}

std::int64_t number_in(const kube::Pod& pod, std::string_view flag) {
  const std::string text = argument(pod, flag).value_or("");
  std::int64_t number = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc{} && read.ptr == end ? std::max<std::int64_t>(0, number) : 0;
}

bool takes_many_learners(const kube::Pod& pod) {
  return argument(pod, kMaxLearnersFlag).has_value();
}

}  // namespace etcdop
