// The permissions of the EtcdCluster controller in the API.
#pragma once
#include <array>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "kube/certificate.h"
#include "kube/core_types.h"
#include "kube/granted.h"
#include "kube/secret_object.h"

namespace etcdop::cluster {

inline constexpr auto kPermissions = [] {
  using enum kube::Verb;
  namespace v1 = api::v1alpha2;
  return std::to_array<kube::Permission>({
      {v1::EtcdCluster::resource, "", {Get, List, Watch}},
      {v1::EtcdCluster::resource, "status", {Patch}},
      // blockOwnerDeletion needs it.
      {v1::EtcdCluster::resource, "finalizers", {Update}},
      {v1::EtcdMember::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {v1::EtcdMember::resource, "status", {Patch}},
      {v1::EtcdRestore::resource, "", {Get, List, Watch}},
      {kube::Pod::resource, "", {Get, List, Watch}},
      {kube::PersistentVolumeClaim::resource, "", {List, Watch}},
      {kube::Service::resource, "", {Get, List, Watch, Create, Patch}},
      {kube::PodDisruptionBudget::resource, "", {Get, List, Watch, Create, Patch, Delete}},
      {kube::Certificate::resource, "", {Get, List, Watch, Create, Patch}},
      // For --pod-template-policy=restricted.
      {kube::ServiceAccount::resource, "", {Get}},
      // Our own; others are only read (operator/credentials/secrets.h).
      {kube::SecretObject::resource, "", {Create, Patch}},
  });
}();

/// This controller's client of the API.
using Api = kube::Granted<kPermissions>;

}  // namespace etcdop::cluster
