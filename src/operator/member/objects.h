// The children of an EtcdMember: how they are created, and what is read back from them. Pure.
#pragma once
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "base/json.h"
#include "kube/core_types.h"
#include "operator/credentials/tls.h"

namespace etcdop::member {

/// Operator-wide settings that reach the Pods.
struct Images {
  std::string etcd_repository = "quay.io/coreos/etcd";
  std::string operator_image = {};  ///< The operator's own; empty: unknown.
};

/// The PersistentVolumeClaim data-<member>.
Json volume(const api::v1alpha2::EtcdMember& member);

/// How the etcd of a Pod starts.
struct Start {
  bool founds = false;     ///< initial-cluster-state=new, from the snapshot that the spec names.
  bool with_auth = false;  ///< The cluster's spec has authentication, so its snapshot may have it.
  /// With --max-learners, where etcd has it: the cluster's log may need it (status.maxLearners).
  bool many_learners = false;
  /// Avoids Pods with the EtcdCluster's UID, not all with its name: they have it as a label.
  bool by_uid = false;
};

/// The Pod. Invalid if this release does not run the etcd of spec.version, or if extraArgs or
/// podTemplate set what only the operator may set. `tls`: the present state of its Secrets.
Result<Json> pod(const api::v1alpha2::EtcdMember& member, Start start, const Images& images,
                 const TlsSeen& tls = {});

/// Whether etcd's container has the command of this manifest of a Pod, and the tag of its image. A
/// mirror of the registry may have another name.
bool runs_as(const kube::Pod& pod, const Json& manifest);

/// Whether its data is lost with its Pod.
bool in_memory(const api::v1alpha2::EtcdMember& member);

}  // namespace etcdop::member
