#include "operator/cluster/remains.h"

#include <algorithm>

#include "api/describe.h"
#include "api/v1alpha2/names.h"
#include "base/fnv.h"
#include "base/joined.h"
#include "kube/json_patch.h"
#include "operator/cluster/census.h"
#include "operator/passes/metadata.h"
#include "operator/passes/stores.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::size_t kNamesTold = 5;

/// An EtcdMember that is being deleted, and that etcd does not list.
bool only_goes(const Seat& seat) { return seat.object && seat.object->terminating && !seat.listed; }

/// Why etcd's list contradicts this member; empty: it does not.
std::string contradicts(const Seat& seat) {
  if (!seat.object) return "etcd lists " + seat.name + ", which has no EtcdMember";
  const Seat::Object& object = *seat.object;
  if (only_goes(seat)) return "";
  const std::string listed =
      seat.listed && seat.listed->started ? etcd::to_hex(seat.listed->id) : "";
  if (!object.member_id.empty() && object.member_id != listed)
    return "etcd does not list " + seat.name + " with the id " + object.member_id;
  return "";
}

json::array other_owners(const api::ObjectMeta& of, const v1::EtcdCluster& cluster) {
  json::array out;
  for (const api::OwnerReference& owner : of.owner_references)
    if (owner.uid != cluster.metadata.uid) out.push_back(api::encode(owner));
  return out;
}

}  // namespace

std::string some_of(const std::vector<std::string>& names) {
  std::vector<std::string> told = names;
  told.resize(std::min(names.size(), kNamesTold));
  std::string out = joined(told);
  if (names.size() > told.size())
    out += " and " + std::to_string(names.size() - told.size()) + " more";
  return out;
}

std::set<std::string> uids_of_members(const Observation& seen) {
  std::set<std::string> out;
  for (const auto* seats : {&seen.seats, &seen.kept})
    for (const Seat& seat : *seats)
      if (seat.object) out.insert(seat.object->uid);
  return out;
}

bool is_stray(const kube::PersistentVolumeClaim& volume, const std::set<std::string>& members) {
  if (volume.metadata.terminating()) return false;
  const api::OwnerReference* owner = volume.metadata.controller();
  return !owner || !members.contains(owner->uid);
}

bool is_stray(const kube::Pod& pod, const std::set<std::string>& members) {
  const bool ended = pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
  if (pod.metadata.terminating() || ended) return false;
  const api::OwnerReference* owner = pod.metadata.controller();
  return !owner || (owner->kind != kube::Job::resource.kind && !members.contains(owner->uid));
}

bool is_orphan(const v1::EtcdMember& member, const v1::EtcdCluster& cluster) {
  const v1::EtcdClusterStatus& status = cluster.status;
  const bool may_adopt =
      status.cluster_id.empty() && status.pending_members.empty() && !status.restore;
  return may_adopt && !member.metadata.controller() &&
         member.spec.cluster_name == cluster.metadata.name;
}

bool has_orphans(const Observation& seen) {
  return std::ranges::any_of(seen.seats,
                             [](const Seat& s) { return s.object && s.object->orphan; });
}

bool has_found_members(const Observation& seen) {
  const v1::EtcdClusterStatus& status = seen.cluster.status;
  return status.cluster_id.empty() && status.pending_members.empty() && !seen.seats.empty();
}

std::string why_not_tls(const Observation& seen) {
  const auto differs = [](const Seat& s) { return s.object && s.object->other_tls; };
  const auto found = std::ranges::find_if(seen.seats, differs);
  if (!has_found_members(seen) || found == seen.seats.end()) return "";
  return "EtcdMember " + found->name +
         " has TLS at other ports than spec.tls says: to keep its data, recreate the EtcdCluster "
         "with the spec.tls that it had (kubectl delete --cascade=orphan keeps its members); to "
         "discard it, delete " +
         (found->object->orphan ? "the EtcdMembers without an owner" : "the EtcdCluster");
}

bool has_lost_label(const Seat& seat) {
  return seat.object && seat.object->orphan && seat.object->astray;
}

namespace {
/// Whether nothing tells which etcd is the cluster's: neither an id, nor a restore that gives it
/// one.
bool has_no_etcd(const Observation& seen) {
  return seen.cluster.status.cluster_id.empty() && !seen.cluster.restoring();
}
}  // namespace

std::optional<std::string> token_to_take(const Observation& seen) {
  if (!has_no_etcd(seen)) return std::nullopt;
  std::set<std::string> tokens;
  for (const Seat& seat : seen.seats) {
    if (!seat.object || seat.object->orphan) continue;
    // Etcd's list says whose token it is; without one, the user who has given up the others.
    if (seen.linearizable ? !seat.listed : seat.object->terminating) continue;
    tokens.insert(seat.object->token);
  }
  if (tokens.size() != 1 || tokens.begin()->empty()) return std::nullopt;
  return *tokens.begin();
}

bool are_of_two_etcds(const Observation& seen) {
  if (!has_no_etcd(seen) || has_orphans(seen)) return false;
  std::set<std::string> tokens;
  bool all_listed = true;
  for (const Seat& seat : seen.seats) {
    if (!seat.object || has_left(seen, seat)) continue;
    tokens.insert(seat.object->token);
    all_listed &= seat.listed.has_value();
  }
  return tokens.size() > 1 && !all_listed;
}

bool has_left(const Observation& seen, const Seat& seat) {
  return seen.linearizable && only_goes(seat);
}

std::string why_not_adopted(const Observation& seen) {
  if (!seen.stray_members.empty()) return "others belong to another owner";
  if (std::ranges::all_of(seen.seats, lost)) return "the data of all of them is lost";
  if (seen.split) return "they answer with different cluster ids";
  std::set<std::string> tokens;
  for (const Seat& seat : seen.seats) {
    if (!seat.object) continue;
    if (seat.object->dormant && !only_goes(seat)) return "EtcdMember " + seat.name + " is dormant";
    tokens.insert(seat.object->token);
  }
  if (tokens.size() != 1) return "they have different cluster tokens";
  if (!seen.linearizable || !seen.cluster_id)
    return "etcd does not answer with quorum" +
           (seen.etcd_error.empty() ? "" : ": " + seen.etcd_error);
  for (const Seat& seat : seen.seats)
    if (std::string why = contradicts(seat); !why.empty()) return why;
  return "";
}

Observation without_strangers(Observation seen) {
  if (!seen.linearizable) return seen;
  const auto& pending = seen.cluster.status.pending_members;
  for (Seat& seat : seen.seats) {
    if (!seat.object || !seat.object->astray) continue;
    const std::string& id = seat.object->member_id;  // Empty: it could not be written yet.
    const bool has_id = seat.listed && seat.listed->started && etcd::to_hex(seat.listed->id) == id;
    const bool is_listed = has_id || (seat.listed && id.empty());
    const bool is_recorded =
        id.empty() &&
        std::ranges::find(pending, seat.name, &v1::PendingMember::name) != pending.end();
    if (is_listed || is_recorded || only_goes(seat)) continue;
    if (!seat.listed) seen.strangers.push_back(seat.name);
    seat.object.reset();
  }
  std::erase_if(seen.seats, [](const Seat& s) { return !s.object && !s.listed; });
  std::erase_if(seen.strangers, [&](const std::string& name) {
    return std::ranges::any_of(seen.seats,
                               [&](const Seat& s) { return s.listed && s.name == name; });
  });
  return seen;
}

Verdict adopt_astray(const View& view) {
  AdoptMembers step;
  const auto is_recorded = [&](const Seat& seat) {
    const v1::EtcdClusterStatus& status = view.seen.cluster.status;
    const auto named = [&](const auto& one) { return one.name == seat.name; };
    // Without an id and an owner it may be a copy of that member, which a user applied again.
    const bool may_be_copy = seat.object->disowned && seat.object->member_id.empty();
    return (!may_be_copy && std::ranges::any_of(status.members, named)) ||
           std::ranges::any_of(status.pending_members, named);
  };
  for (const Seat& seat : view.seen.seats)
    if (seat.object && seat.object->astray && (view.seen.linearizable || is_recorded(seat)))
      step.members.push_back({seat.name, seat.object->uid});
  // The others do not wait for one that the API server refuses.
  if (step.members.empty() || view.seen.failing_step.ends_with(step.words())) return Skip{};
  return step;
}

bool lacks_only_owner(const api::ObjectMeta& meta, const v1::EtcdCluster& cluster) {
  return !meta.controller() && cluster_of(meta) == cluster.metadata.key();
}

std::string about_owner(const v1::EtcdCluster& cluster, bool ownerless) {
  return ownerless ? " has no owner: make EtcdCluster " + cluster.metadata.name +
                         " its owner, or rename one of them"
                   : " belongs to another owner: rename it or the cluster";
}

Error not_kept(const std::string& kind_and_name) {
  return {Code::Denied, "repair " + kind_and_name +
                            ": the API server accepts the change and stores something else, as "
                            "with an admission webhook that changes the object"};
}

json::object ownership(const api::ObjectMeta& of, const v1::EtcdCluster& cluster) {
  json::array owners = other_owners(of, cluster);
  owners.push_back(owned_by_controller(cluster).at(0));
  return {{"metadata",
           {{"uid", of.uid},
            {"resourceVersion", of.resource_version},
            {"ownerReferences", std::move(owners)}}}};
}

json::array without_owner(const api::ObjectMeta& of, const v1::EtcdCluster& cluster) {
  const std::string ours =
      "/metadata/ownerReferences/" + std::to_string(other_owners(of, cluster).size());
  return {kube::must_be("/metadata/uid", of.uid),
          kube::must_be(ours + "/uid", cluster.metadata.uid), kube::removed(ours)};
}

std::vector<std::string> volumes_in_the_way(const v1::EtcdCluster& cluster,
                                            std::vector<std::string> stray) {
  const auto& notes = cluster.metadata.annotations;
  const auto consent = notes.find(v1::kFoundBesideVolumesAnnotation);
  if (consent != notes.end() && consent->second == founding_consent(cluster)) stray.clear();
  return stray;
}

bool keeps_from_founding(const Observation& seen, const v1::EtcdClusterStatus& status) {
  if (!status.cluster_id.empty()) return false;
  if (has_orphans(seen)) return true;
  return seen.seats.empty() && (!seen.stray_members.empty() ||
                                !volumes_in_the_way(seen.cluster, seen.stray_volumes).empty());
}

std::string founding_consent(const v1::EtcdCluster& cluster) {
  return etcd::to_hex(fnv1a(cluster.metadata.uid + serialize(api::encode(cluster.spec))));
}

std::string about_volumes(const v1::EtcdCluster& cluster, const std::vector<std::string>& names) {
  return "volumes with this cluster's label exist and belong to none of its members: " +
         some_of(names) +
         "; the operator founds no new etcd beside them. To serve the data of these volumes, "
         "follow \"VolumesFound\" in docs/user/operations.md. To start without it, "
         "set "
         "the annotation " +
         v1::kFoundBesideVolumesAnnotation + " to " + founding_consent(cluster) +
         "; nothing is deleted";
}

std::string about_members(const std::vector<std::string>& names, const std::string& why) {
  return "EtcdMembers or Pods with this cluster's label exist and belong to none of its members: " +
         some_of(names) + (why.empty() ? "" : "; they are not adopted: " + why) +
         "; the operator founds no new etcd beside them. To keep their data or to discard it, "
         "follow \"MembersFound\" in docs/user/operations.md; nothing is deleted";
}

}  // namespace etcdop::cluster
