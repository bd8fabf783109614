// The caches of the kinds that the controllers share, grouped by cluster.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"
#include "api/v1alpha2/names.h"
#include "kube/certificate.h"
#include "kube/core_types.h"
#include "kube/store.h"
#include "operator/passes/trims.h"

namespace etcdop {

/// The cluster that an object's label names. The UID tells later whether that cluster owns it.
inline std::optional<api::ObjectKey> cluster_of(const api::ObjectMeta& meta) {
  const auto label = meta.labels.find(api::v1alpha2::kClusterLabel);
  if (label == meta.labels.end()) return std::nullopt;
  return api::ObjectKey{meta.ns, label->second};
}

/// The EtcdSnapshot or EtcdRestore that owns a Job, by owner reference: the Go operator sets no
/// label for it. The UID tells later which of the two.
inline std::optional<api::ObjectKey> owner_of(const kube::Job& job) {
  const api::OwnerReference* owner = job.metadata.controller();
  if (!owner || (owner->kind != api::v1alpha2::EtcdSnapshot::resource.kind &&
                 owner->kind != api::v1alpha2::EtcdRestore::resource.kind))
    return std::nullopt;
  return api::ObjectKey{job.metadata.ns, owner->name};
}

struct Stores {
  Stores();
  ~Stores();
  template <class T>
  static std::optional<api::ObjectKey> labelled(const T& object) {
    return cluster_of(object.metadata);
  }
  template <class T>
  static std::string trimmed(T& object) {
    return trim(object);
  }
  /// An EtcdCluster and its EtcdMembers have one template.
  kube::SharedTexts texts;
  kube::Store<api::v1alpha2::EtcdCluster> clusters{
      [](const auto& c) { return std::optional(c.metadata.key()); }, texts,
      trimmed<api::v1alpha2::EtcdCluster>};
  /// By the cluster that their spec names: a user may edit the label.
  kube::Store<api::v1alpha2::EtcdMember> members{
      [](const auto& member) {
        return std::optional(api::ObjectKey{member.metadata.ns, member.spec.cluster_name});
      },
      texts, trimmed<api::v1alpha2::EtcdMember>};
  /// By the cluster that they name, even if it does not exist.
  kube::Store<api::v1alpha2::EtcdDefrag> defrags{
      [](const auto& run) {
        return std::optional(api::ObjectKey{run.metadata.ns, run.spec.cluster_ref.name});
      },
      {},
      trimmed<api::v1alpha2::EtcdDefrag>};
  /// Likewise; settled ones are in no group, as there may be a thousand of them.
  kube::Store<api::v1alpha2::EtcdSnapshot> snapshots{
      [](const auto& snapshot) {
        const api::ObjectKey cluster{snapshot.metadata.ns, snapshot.spec.cluster_ref.name};
        return snapshot.settled() ? std::nullopt : std::optional(cluster);
      },
      {},
      trimmed<api::v1alpha2::EtcdSnapshot>};
  /// By the cluster that they name, likewise.
  kube::Store<api::v1alpha2::EtcdSnapshotSchedule> schedules{
      [](const auto& schedule) {
        return std::optional(api::ObjectKey{schedule.metadata.ns, schedule.spec.cluster_ref.name});
      },
      {},
      trimmed<api::v1alpha2::EtcdSnapshotSchedule>};
  /// By the cluster that they name, likewise.
  kube::Store<api::v1alpha2::EtcdRestore> restores{
      [](const auto& restore) {
        return std::optional(api::ObjectKey{restore.metadata.ns, restore.spec.cluster_ref.name});
      },
      {},
      trimmed<api::v1alpha2::EtcdRestore>};
  /// By the EtcdSnapshot or EtcdRestore that owns them.
  kube::Store<kube::Job> jobs{owner_of, {}, trimmed<kube::Job>};
  /// The Pods of these Jobs, by the EtcdSnapshot that their label names.
  kube::Store<kube::Pod> agents{[](const kube::Pod& pod) -> std::optional<api::ObjectKey> {
                                  const auto label =
                                      pod.metadata.labels.find(api::v1alpha2::kSnapshotLabel);
                                  if (label == pod.metadata.labels.end()) return std::nullopt;
                                  return api::ObjectKey{pod.metadata.ns, label->second};
                                },
                                {},
                                trimmed<kube::Pod>};
  kube::Store<kube::Pod> pods{labelled<kube::Pod>, {}, trimmed<kube::Pod>};
  kube::Store<kube::PersistentVolumeClaim> volumes{
      labelled<kube::PersistentVolumeClaim>, {}, trimmed<kube::PersistentVolumeClaim>};
  kube::Store<kube::Service> services{labelled<kube::Service>, {}, trimmed<kube::Service>};
  kube::Store<kube::PodDisruptionBudget> budgets{
      labelled<kube::PodDisruptionBudget>, {}, trimmed<kube::PodDisruptionBudget>};
  /// Not filled before cert-manager's kinds are installed.
  kube::Store<kube::Certificate> certificates{
      labelled<kube::Certificate>, {}, trimmed<kube::Certificate>};

  /// EtcdMembers whose status one of two controllers is writing (Claim). The other one waits: its
  /// write would be refused, because its resourceVersion would be stale.
  std::set<api::ObjectKey> status_writes;
  /// Clusters whose snapshot or defragmentation is being marked as begun (Claim; see turns.h).
  std::set<api::ObjectKey> beginnings;
};

}  // namespace etcdop
