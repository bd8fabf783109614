// The remains of an earlier EtcdCluster of that name: EtcdMembers, Pods and volumes that have the
// cluster's label and belong to none of its members. An EtcdCluster that comes back, from Git or
// from a backup of objects, must not found an empty etcd beside its data, and never a second etcd
// beside one that runs. Pure.
//
// EtcdMembers without an owner are adopted (K17): `kubectl delete --cascade=orphan` leaves them. It
// takes etcd's own list to show that they are one etcd, and all of it.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/v1alpha2/etcdmember.h"
#include "kube/core_types.h"
#include "operator/cluster/observation.h"
#include "operator/cluster/rule.h"

namespace etcdop::cluster {

/// The UIDs of the cluster's EtcdMembers, also of those from before a restore in place.
std::set<std::string> uids_of_members(const Observation&);

/// Whether a volume belongs to none of these members (UIDs) and is not terminating.
bool is_stray(const kube::PersistentVolumeClaim&, const std::set<std::string>& members);
/// The same for a Pod that may run. The Pod of a Job is none: the Go operator labels those of
/// snapshots like members.
bool is_stray(const kube::Pod&, const std::set<std::string>& members);

/// Whether an EtcdMember of this cluster's name has no owner, and the cluster may adopt it: it has
/// no etcd yet, and has not begun to found one.
bool is_orphan(const api::v1alpha2::EtcdMember&, const api::v1alpha2::EtcdCluster&);
bool has_orphans(const Observation&);
/// Whether members exist although the cluster has made none: it has no id, and has recorded none.
/// They have no owner, or a user has made the EtcdCluster their owner.
bool has_found_members(const Observation&);
/// Why the spec cannot be that of such members, for users; empty: it may be.
std::string why_not_tls(const Observation&);
/// Whether an EtcdMember without an owner has lost its label, too.
bool has_lost_label(const Seat&);
/// The token of the members that a user gave to an EtcdCluster without an id, if all have the same.
/// Their etcd keeps the token with which it was founded, as that of orphans does.
std::optional<std::string> token_to_take(const Observation&);
/// Whether a user gave it members that were founded as different etcd clusters, as far as their
/// tokens and etcd's list tell. Until it has an id, nothing tells whose data is the right one: none
/// is started, and none is deleted.
bool are_of_two_etcds(const Observation&);
/// Whether a member is being deleted, and etcd's linearizable list does not have it.
bool has_left(const Observation&, const Seat&);
/// Why the members without an owner are not adopted; empty: etcd's linearizable list has exactly
/// these members, with their ids, and they are to be adopted. One that is being deleted is adopted,
/// too: it keeps its vote until then (member/observation.h), and is replaced after that.
std::string why_not_adopted(const Observation&);

/// The observation without the EtcdMembers that have lost their owner or label and that etcd's
/// linearizable list does not confirm: a member with that id has that name. While its id is
/// not known, the name does: it has the cluster's token, or the cluster as its owner. One that is
/// recorded and not in etcd yet is confirmed by the record. One that is being deleted and not in
/// etcd stays: nobody else lets it go. The names of the others that etcd does not list are in
/// `strangers`.
Observation without_strangers(Observation seen);
/// Gives those that remain their owner and label again. While etcd gives no such list, only those
/// that the status of the cluster has: without a label, nothing makes a lost Pod again, and etcd
/// could never answer.
Verdict adopt_astray(const View&);

/// Whether only the owner of a Service, budget, Certificate or Secret is missing: our label says
/// whose it was.
bool lacks_only_owner(const api::ObjectMeta&, const api::v1alpha2::EtcdCluster&);

/// Why an object of a name that the operator needs is not its own, and the remedy: the end of a
/// sentence.
std::string about_owner(const api::v1alpha2::EtcdCluster&, bool ownerless);

/// An object was repaired, and the answer shows that it is not as it was to be.
Error not_kept(const std::string& kind_and_name);
/// A merge patch that adds the EtcdCluster to the owners of an object without a controller, as it
/// was read.
json::object ownership(const api::ObjectMeta& of, const api::v1alpha2::EtcdCluster&);
/// A JSON patch that takes away the owner that `ownership` gave, if it is still there.
json::array without_owner(const api::ObjectMeta& of, const api::v1alpha2::EtcdCluster&);

/// Names of the volumes that block the founding of the cluster; empty: none does, or the user has
/// agreed by the annotation found-beside-volumes.
std::vector<std::string> volumes_in_the_way(const api::v1alpha2::EtcdCluster&,
                                            std::vector<std::string> stray);

/// Whether remains exist that block the founding, and no member or cluster id yet.
bool keeps_from_founding(const Observation&, const api::v1alpha2::EtcdClusterStatus&);

/// The value that the annotation must have: a hash of the EtcdCluster's UID and spec. So a consent
/// in Git does not outlive the EtcdCluster that it was given for.
std::string founding_consent(const api::v1alpha2::EtcdCluster&);

/// The first five names, and how many more there are.
std::string some_of(const std::vector<std::string>& names);
/// The messages, with the remedies. `why`: why they are not adopted; may be empty.
std::string about_volumes(const api::v1alpha2::EtcdCluster&, const std::vector<std::string>& names);
std::string about_members(const std::vector<std::string>& names, const std::string& why);

}  // namespace etcdop::cluster
