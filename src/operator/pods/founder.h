// What is known of a first member whose etcd has not answered yet: may it ever have run (ADR 31)?
// Pure.
#pragma once
#include <cstdint>

#include "api/v1alpha2/etcdmember.h"
#include "kube/core_types.h"

namespace etcdop {

/// Whether etcd's container does not run, as the kubelet reported last.
bool is_idle(const kube::Pod& pod);

/// Whether no container ever had the volume, as it was read.
bool is_unbound(const kube::PersistentVolumeClaim& volume);

/// Whether this member's etcd cannot ever have run. The proof is the place of its data: a volume
/// that was never bound, or for data in memory the only Pod, which never had a node. Its status
/// records the volume, or the Pod, before any etcd may run there. `pod` and `volume`: with the
/// names of the member's, and any owner; null: not found.
bool never_ran(const api::v1alpha2::EtcdMember& member, const kube::Pod* pod,
               const kube::PersistentVolumeClaim* volume);

/// The generation of the EtcdMember from which the Pod of a first member was made. 1 without the
/// annotation: earlier releases never edited the spec of such a member.
std::int64_t made_from(const kube::Pod& pod);

}  // namespace etcdop
