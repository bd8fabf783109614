// The input of one pass over an EtcdMember. A value; nothing here does I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "base/wall_time.h"
#include "kube/core_types.h"
#include "operator/credentials/tls.h"
#include "operator/passes/owner.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::member {

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdMember member;
  /// The EtcdCluster with the UID that owns this member; absent: it is deleted or being deleted.
  std::optional<api::v1alpha2::EtcdCluster> cluster;
  std::optional<kube::Pod> pod;                       ///< With the member's name and any owner.
  std::optional<kube::PersistentVolumeClaim> volume;  ///< data-<member>, with any owner.
  /// A Service selects the Pod by the UID of another EtcdCluster, which the Pod's label has.
  bool selected_by_other = false;
  /// Each Pod of a member of the cluster has its UID as a label; read while there is no Pod.
  bool all_have_uid = false;
  std::string rejected;  ///< Why the API server refused the last step; empty if it did not.
  std::string failed;    ///< The kubelet's words about its Pods that failed in a row; or empty.
  /// Its etcd has started before and cannot run now, with another command line or image than a new
  /// Pod would have: another operator, or an earlier release, made its Pod.
  bool outdated = false;
  /// A voter whose Pod finds no node, or exceeds a quota, while etcd has no quorum; empty: none.
  /// Read for a joiner.
  std::string makes_room_for;
  /// A voter without an owner, or about to lose it, and other EtcdMembers of its etcd are not
  /// deleted: as orphans they run on until an EtcdCluster adopts them. Read while it has no
  /// EtcdCluster.
  bool beside_orphans = false;
  /// Another EtcdMember of its EtcdCluster is not dormant. Read for a dormant one.
  bool others_awake = false;
  /// Seconds since this process last changed the message of Ready; absent: it has not.
  std::optional<std::int64_t> words_s;
  bool has_image = false;         ///< The operator knows its own image, which restores a snapshot.
  std::string credentials_fault;  ///< The fault of the Secret of a snapshot's store, in words that
                                  ///< name it; read while there is no Pod.
  TlsSeen tls;                    ///< Read while there is no Pod: a new Pod must be able to use it.
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(
        api::required("now", &S::now), api::required("member", &S::member),
        api::optional("cluster", &S::cluster), api::optional("pod", &S::pod),
        api::optional("volume", &S::volume), api::sparse("selectedByOther", &S::selected_by_other),
        api::sparse("allHaveUID", &S::all_have_uid), api::sparse("rejected", &S::rejected),
        api::sparse("failed", &S::failed), api::sparse("outdated", &S::outdated),
        api::sparse("makesRoomFor", &S::makes_room_for),
        api::sparse("besideOrphans", &S::beside_orphans),
        api::sparse("othersAwake", &S::others_awake), api::optional("words", &S::words_s),
        api::sparse("hasImage", &S::has_image),
        api::sparse("credentialsFault", &S::credentials_fault), api::sparse("tls", &S::tls));
  }
};

/// The Pod is the member's own, and nobody has deleted it.
inline bool has_pod(const Observation& seen) {
  return seen.pod && is_ours(seen.pod->metadata, seen.member.metadata.uid) &&
         !seen.pod->metadata.terminating();
}

}  // namespace etcdop::member
