// The children of an EtcdMember as they should be made, and what we read back from them. Pure.
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
  std::string operator_image = {};  ///< This program's own; empty: not known.
};

/// The PersistentVolumeClaim data-<member>.
Json volume(const api::v1alpha2::EtcdMember& member);

/// How a Pod's etcd is to start.
struct Start {
  bool founds = false;     ///< initial-cluster-state=new, out of the snapshot that the spec names.
  bool with_auth = false;  ///< The cluster's spec has authentication: so may its snapshot.
  /// With --max-learners, where etcd has it: the cluster's log may need it (status.maxLearners).
  bool many_learners = false;
};

/// The Pod. Invalid if spec.version is not an etcd that we
/// know how to run, or extraArgs or podTemplate have what is not theirs to set. `tls`: what its
/// Secrets are like now.
Result<Json> pod(const api::v1alpha2::EtcdMember& member, Start start, const Images& images,
                 const TlsSeen& tls = {});

/// Whether its data is gone with its Pod.
bool in_memory(const api::v1alpha2::EtcdMember& member);
/// It runs no more, and will not again.
bool ended(const kube::Pod& pod);

}  // namespace etcdop::member
