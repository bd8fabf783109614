#include "operator/pods/founder.h"

#include <charconv>

#include "api/v1alpha2/names.h"
#include "operator/passes/owner.h"
#include "operator/pods/etcd_pod.h"

namespace etcdop {

namespace v1 = api::v1alpha2;

bool is_idle(const kube::Pod& pod) {
  if (pod.spec.node_name.empty() || has_ended(pod)) return true;
  const kube::ContainerStatus* etcd = etcd_container(pod);
  if (!etcd) return pod.status.phase == "Pending" || pod.status.phase.empty();
  return etcd->state.waiting || etcd->state.terminated;
}

bool is_unbound(const kube::PersistentVolumeClaim& volume) {
  const std::string& phase = volume.status.phase;
  return volume.spec.volume_name.empty() && (phase == "Pending" || phase.empty());
}

bool never_ran(const v1::EtcdMember& member, const kube::Pod* pod,
               const kube::PersistentVolumeClaim* volume) {
  const v1::EtcdMemberStatus& known = member.status;
  if (!member.spec.bootstrap || !known.member_id.empty()) return false;
  if (member.spec.storage.medium == v1::Medium::Memory) {
    if (!pod || !is_ours(pod->metadata, member.metadata.uid)) return known.pod_uid.empty();
    return pod->spec.node_name.empty() &&
           (known.pod_uid.empty() || pod->metadata.uid == known.pod_uid);
  }
  if (volume && is_ours(volume->metadata, member.metadata.uid)) return is_unbound(*volume);
  return known.pvc_name.empty();
}

std::int64_t made_from(const kube::Pod& pod) {
  const auto found = pod.metadata.annotations.find(v1::kMadeFromAnnotation);
  std::int64_t out = 1;
  if (found == pod.metadata.annotations.end()) return out;
  const std::string& text = found->second;
  (void)std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace etcdop
