// Each step of a plan, and the checks right before it.
#include "operator/cluster/act.h"

#include <algorithm>

#include "api/v1alpha2/names.h"
#include "base/joined.h"
#include "kube/json_patch.h"
#include "operator/cluster/census.h"
#include "operator/cluster/events.h"
#include "operator/cluster/give_owner.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/remains.h"
#include "operator/members/silence.h"
#include "operator/passes/finalizer.h"
#include "operator/passes/members_of.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/founder.h"
#include "operator/pods/pod_shape.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr auto kProofHolds = 3s;  // A direct read counts this long; the watch reports changes.

struct Actor {
  const Collaborators& with;
  const Observation& seen;
  const Plan& plan;
  const Endpoints& endpoints;
  Proof& joiner;

  const std::string& ns() const { return seen.cluster.metadata.ns; }

  /// The voters to ask for a membership change: the healthy ones, the leader first. A member is
  /// asked to remove itself only if it leads.
  std::vector<const Seat*> changers(const std::string& victim) const {
    const Census census(seen);
    std::vector<const Seat*> out;
    for (const Seat* voter : census.voters) {
      const bool leads = voter == census.leader;
      if (healthy(*voter) && (leads || voter->name != victim) && endpoints.contains(voter->name))
        out.insert(leads ? out.begin() : out.end(), voter);
    }
    return out;
  }
  /// A change of the membership, for an Event.
  struct What {
    const char* reason;
    const std::string& member;
    std::string note;
  };
  /// Each member judges by its own connections whether the cluster is healthy enough for a change.
  /// It may believe forever that a restarted peer is inactive (etcd issue 14523; seen after one
  /// restart in four). So if a member refuses, the next one is asked: Unavailable means that
  /// nothing was done.
  template <class Change>
  Result<Done> ask_voters(Change change, const std::string& victim = "") const {
    Result<Done> done = Error{Code::Unavailable, "no healthy voter can be asked"};
    for (const Seat* voter : changers(victim)) {
      done = change(*with.etcd.at(endpoints.at(voter->name)));
      if (!done.failed_with(Code::Unavailable)) break;
    }
    if (!done) return Error(done.error()).during(to_string(plan.step));
    return done;
  }
  template <class Change>
  Result<Done> change(const What& what, Change change, const std::string& victim = "") const {
    auto done = ask_voters(change, victim);
    if (!done) return done;
    with.log.info("etcd membership changed", {{"cluster", to_string(seen.cluster.metadata.key())},
                                              {"step", to_string(plan.step)}});
    tell(what);
    return done;
  }
  void tell(const What& what) const {
    if (!with.events) return;
    with.events->record(
        {.regarding = object_of(seen),
         .related = runtime::Event::Object{v1::EtcdMember::resource, {ns(), what.member}, ""},
         .warning = false,
         .reason = what.reason,
         .action = "ChangeMembership",
         .note = what.note});
  }

  Result<Done> operator()(const NoStep&) const { return Done{}; }

  /// Before a snapshot is restored: no earlier member may run or be about to run. The caches may be
  /// stale, so this asks the API server.
  Result<Done> all_dormant(const std::string& founder) const {
    const api::ObjectMeta& meta = seen.cluster.metadata;
    const std::string ours = selector_of(meta.name);
    auto members = members_of(with.api, ns(), seen.cluster.metadata.name);
    if (!members) return members.error();
    for (v1::EtcdMember& member : *members) {
      if (member.metadata.name == founder || member.spec.dormant) continue;
      if (!is_ours(member.metadata, seen.cluster.metadata.uid) &&
          !has_lost_owner(member, seen.cluster))
        continue;
      const std::string name = member.metadata.name;
      with.stores.members.wrote(std::move(member));
      return Error{Code::Conflict, "EtcdMember " + name + " is not dormant"};
    }
    auto pods = with.api.list<kube::Pod>(meta.ns, ours);
    if (!pods) return Error(pods.error()).during("list the Pods of " + meta.name);
    for (kube::Pod& pod : *pods) {
      const std::string name = pod.metadata.name;
      if (!with.stores.members.get({meta.ns, name})) continue;  // It belongs to no member.
      with.stores.pods.wrote(std::move(pod));
      return Error{Code::Conflict, "Pod " + name + " still exists"};
    }
    return Done{};
  }

  /// Whether the EtcdCluster had no etcd before: a restore in place may replace an earlier one.
  static bool is_first(const v1::EtcdCluster& cluster) {
    const v1::RestoreRecord* record = cluster.restoring();
    return !record || (!record->cluster_token.empty() && record->cluster_id.empty() &&
                       record->members.empty());
  }

  /// Before an etcd is founded: asks the API server for remains, as the cache may be stale.
  Result<Done> no_remains() const {
    const api::ObjectMeta& meta = seen.cluster.metadata;
    const std::string ours = selector_of(meta.name);
    const std::set<std::string> members = uids_of_members(seen);
    if (auto none = no_members(ours, members); !none) return none;
    auto volumes = with.api.list<kube::PersistentVolumeClaim>(meta.ns, ours);
    if (!volumes) return Error(volumes.error()).during("list the volumes of " + meta.name);
    std::vector<std::string> stray;
    for (const auto& volume : *volumes)
      if (is_stray(volume, members)) stray.push_back(volume.metadata.name);
    stray = volumes_in_the_way(seen.cluster, std::move(stray));
    if (stray.empty()) return Done{};
    return Error{Code::Conflict, about_volumes(seen.cluster, stray)};
  }

  Result<Done> no_members(const std::string& ours, const std::set<std::string>& members) const {
    const api::ObjectMeta& meta = seen.cluster.metadata;
    std::vector<std::string> stray;
    auto objects = members_of(with.api, ns(), seen.cluster.metadata.name);
    if (!objects) return objects.error();
    for (v1::EtcdMember& member : *objects) {
      if (is_ours(member.metadata, meta.uid)) continue;
      stray.push_back("EtcdMember " + member.metadata.name);
      with.stores.members.wrote(std::move(member));
    }
    auto pods = with.api.list<kube::Pod>(meta.ns, ours);
    if (!pods) return Error(pods.error()).during("list the Pods of " + meta.name);
    for (const kube::Pod& pod : *pods)
      if (is_stray(pod, members)) stray.push_back("Pod " + pod.metadata.name);
    return stray.empty() ? Result<Done>(Done{}) : Error{Code::Conflict, about_members(stray, "")};
  }

  Result<Done> operator()(const CreateMember& step) const {
    v1::EtcdCluster reported = seen.cluster;
    reported.status = plan.status;
    if (step.seed && is_first(reported))
      if (auto none = no_remains(); !none) return none;
    if (reported.restoring()) {
      if (auto dormant = all_dormant(step.name); !dormant) return dormant;
      if (auto wanted = still_wanted_so(); !wanted) return wanted;
    }
    auto made = with.api.create<v1::EtcdMember>(ns(), member(reported, step));
    if (made.failed_with(Code::AlreadyExists))
      made = with.api.get<v1::EtcdMember>({ns(), step.name});
    if (!made) return Error(made.error()).during("create EtcdMember " + step.name);
    if (!is_ours(made->metadata, seen.cluster.metadata.uid))
      return Error{Code::AlreadyExists, "EtcdMember " + step.name + " belongs to another owner"};
    // A user edited its label.
    if (cluster_of(made->metadata) != seen.cluster.metadata.key())
      return adopt_member({step.name, made->metadata.uid});
    with.stores.members.wrote(std::move(*made));
    return Done{};
  }

  /// Its Pod is asked for once more: the watch may be late.
  Result<Done> operator()(const CorrectFounder& step) const {
    const api::ObjectKey key{ns(), step.name};
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    auto pod = look_for<kube::Pod>(with.api, key);
    if (!pod) return pod.error();
    if (*pod && is_ours((*pod)->metadata, step.uid) && !is_idle(**pod)) {
      with.stores.pods.wrote(std::move(**pod));
      return Error{Code::Conflict, "etcd of " + step.name + " runs"};
    }
    auto now = with.api.get<v1::EtcdMember>(key);
    if (!now) return Error(now.error()).during("find EtcdMember " + step.name);
    if (now->metadata.uid != step.uid || !now->status.member_id.empty())
      return Error{Code::Conflict, "EtcdMember " + step.name + " has changed"};
    static_cast<v1::MemberTemplate&>(now->spec) = *plan.status.observed;
    auto written = with.api.json_patch<v1::EtcdMember>(
        key, json::array{kube::must_be("/metadata/uid", step.uid),
                         kube::must_be("/metadata/resourceVersion", now->metadata.resource_version),
                         kube::becomes("/spec", api::encode(now->spec))});
    if (!written) return Error(written.error()).during("correct EtcdMember " + step.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  Result<Done> operator()(const KeepVersion& step) const {
    auto written = with.api.merge_patch<v1::EtcdMember>(
        {ns(), step.name},
        {{"metadata", {{"uid", step.uid}}}, {"spec", {{"version", step.version}}}});
    if (!written) return Error(written.error()).during("keep the version of " + step.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  /// The Services first: while one selects by the UID of the earlier EtcdCluster, the Pods keep
  /// that label. The EtcdMembers last: then nothing is left to adopt.
  Result<Done> operator()(const AdoptMembers& step) const {
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    const std::string& name = seen.cluster.metadata.name;
    json::object by_name;
    by_name["selector"].emplace_object()[v1::kClusterUidLabel] = nullptr;
    for (const std::string& service : {name, client_service_name(name)})
      if (auto done = adopt(with.stores.services, service, by_name); !done) return done;
    if (auto done = adopt(with.stores.budgets, name); !done) return done;
    for (const CertificateChild& one : seen.certificates)
      if (auto done = adopt(with.stores.certificates, one.name); !done) return done;
    if (auto done = adopt_secrets(); !done) return done;
    for (const OfMember& member : step.members)
      if (auto done = adopt_member(member); !done) return done;
    tell_of_adoption(step);
    return Done{};
  }

  Result<Done> operator()(const LabelMembers& step) const {
    for (const OfMember& member : step.members)
      if (auto done = label_member(member); !done) return done;
    return Done{};
  }

  Result<Done> label_member(const OfMember& member) const {
    auto written = with.api.merge_patch<v1::EtcdMember>(
        {ns(), member.name},
        {{"metadata", {{"uid", member.uid}, {"labels", labels_of_member(member.name)}}}});
    if (!written) return Error(written.error()).during("label EtcdMember " + member.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  /// Leaves an object of another owner alone: a condition reports it later. `spec`: a merge patch.
  template <class T>
  Result<Done> adopt(kube::Store<T>& store, const std::string& name, json::object spec = {}) const {
    auto there = with.api.get<T>({ns(), name});
    if (there.failed_with(Code::NotFound)) return Done{};
    if (there && lacks_only_owner(there->metadata, seen.cluster)) {
      json::object patch = ownership(there->metadata, seen.cluster);
      if (!spec.empty()) patch["spec"] = std::move(spec);
      there = give_owner<T>(with.executor, with.api, seen.cluster, api::ObjectMeta(there->metadata),
                            std::move(patch));
      if (there) store.wrote(std::move(*there));
    }
    if (!there)
      return Error(there.error()).during("adopt " + std::string(T::resource.kind) + " " + name);
    return Done{};
  }

  /// Orphans prove that what has the name is of their cluster. In a running one only the UID in a
  /// Secret's label does (OwnSecret).
  Result<Done> adopt_secrets() const {
    if (!has_orphans(seen)) return Done{};
    std::vector<std::string> names{auth_secret_name(seen.cluster.metadata.name)};
    for (const ManagedSecret& one : managed_secrets_of(seen.cluster)) names.push_back(one.name);
    for (const std::string& name : names) {
      auto there = with.credentials.secrets.ask({ns(), name});
      if (there.failed_with(Code::NotFound)) continue;
      if (!there) return Error(there.error()).during("adopt Secret " + name);
      const api::ObjectMeta& meta = (*there)->metadata;
      if (!lacks_only_owner(meta, seen.cluster)) continue;
      // The members do not wait for one that a webhook edits.
      if (auto kept = own_secret(meta); !kept) return kept.error();
    }
    return Done{};
  }

  /// False: a webhook took the owner away again.
  Result<bool> own_secret(const api::ObjectMeta& secret) const {
    json::object patch = ownership(secret, seen.cluster);
    patch["metadata"].as_object()["labels"] = uid_label();
    auto owned = give_owner<kube::SecretObject>(with.executor, with.api, seen.cluster, secret,
                                                std::move(patch));
    const bool kept = owned && is_ours(owned->metadata, seen.cluster.metadata.uid);
    auto done = noted(secret.name, std::move(owned));
    return done ? Result<bool>(kept) : done.error();
  }
  json::object uid_label() const {
    json::object out;
    out[v1::kClusterUidLabel] = seen.cluster.metadata.uid;
    return out;
  }

  Result<Done> adopt_member(const OfMember& member) const {
    auto there = with.api.get<v1::EtcdMember>({ns(), member.name});
    if (!there) return Error(there.error()).during("adopt EtcdMember " + member.name);
    const bool labelled = cluster_of(there->metadata) == seen.cluster.metadata.key();
    const api::OwnerReference* owner = there->metadata.controller();
    const bool ours = owner && owner->uid == seen.cluster.metadata.uid;
    if (ours && labelled) return Done{};
    const bool may_adopt =
        ours || is_orphan(*there, seen.cluster) || has_lost_owner(*there, seen.cluster);
    if (there->metadata.uid != member.uid || !may_adopt)
      return Error{Code::Conflict, "EtcdMember " + member.name + " belongs to another owner"};
    if (ours) return label_member(member);
    const api::ObjectMeta meta = there->metadata;
    json::object patch = ownership(meta, seen.cluster);
    if (!labelled) patch["metadata"].as_object()["labels"] = labels_of_member(member.name);
    auto written =
        give_owner<v1::EtcdMember>(with.executor, with.api, seen.cluster, meta, std::move(patch));
    if (!written) return Error(written.error()).during("adopt EtcdMember " + member.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  /// As the operator creates it.
  json::object labels_of_member(const std::string& name) const {
    json::object out = cluster_labels(seen.cluster.metadata.name);
    out[v1::kAppComponentLabel] = name;
    return out;
  }

  void tell_of_adoption(const AdoptMembers& step) const {
    std::vector<std::string> names;
    for (const OfMember& member : step.members) names.push_back(member.name);
    const std::string note =
        "adopted EtcdMembers that had lost their owner or label: " + joined(names);
    with.log.info(note, {{"cluster", to_string(seen.cluster.metadata.key())}});
    if (!with.events) return;
    with.events->record({.regarding = object_of(seen),
                         .related = std::nullopt,
                         .warning = false,
                         .reason = v1::kMembersAdopted,
                         .action = "AdoptMembers",
                         .note = note});
  }

  /// The cache may be stale: a joiner whose EtcdMember is deleted or terminating is not added.
  /// etcd may refuse the joiner four times a second; the API server is asked less often.
  Result<Done> still_joins(const std::string& name) const {
    const std::string& uid = std::ranges::find(seen.seats, name, &Seat::name)->object->uid;
    const Instant now = with.executor.now();
    if (joiner.uid == uid && now - joiner.at < kProofHolds) return Done{};
    auto member = with.api.get<v1::EtcdMember>({ns(), name});
    if (member.failed_with(Code::NotFound)) with.stores.members.saw_deleted({ns(), name}, uid);
    else if (!member) return Error(member.error()).during("find EtcdMember " + name);
    const bool joins = member && member->metadata.uid == uid && !member->metadata.terminating();
    if (member) with.stores.members.wrote(std::move(*member));
    if (!joins) return Error{Code::Conflict, "EtcdMember " + name + " is being deleted"};
    joiner = {uid, now};
    return Done{};
  }
  /// Whether the EtcdCluster is unchanged. Known if its status was just written under the
  /// resourceVersion that we saw.
  Result<Done> still_wanted_so() const {
    if (!(plan.status == seen.cluster.status)) return Done{};
    const api::ObjectMeta& meta = seen.cluster.metadata;
    auto cluster = with.api.get<v1::EtcdCluster>(meta.key());
    if (!cluster) return Error(cluster.error()).during("find EtcdCluster " + meta.name);
    if (cluster->metadata.resource_version == meta.resource_version) return Done{};
    with.stores.clusters.wrote(std::move(*cluster));
    return Error{Code::Conflict, "EtcdCluster " + meta.name + " has changed"};
  }

  Result<Done> operator()(const AddLearner& step) const {
    if (auto joins = still_joins(step.name); !joins) return joins;
    const auto add = [&](etcd::Client& client) -> Result<Done> {
      auto added = client.add_learner(step.peer_url);
      if (!added && !added.failed_with(Code::AlreadyExists)) return added.error();
      return Done{};
    };
    return change({v1::kLearnerAdded, step.name, step.name + " was added to etcd as a learner"},
                  add);
  }

  Result<Done> operator()(const Publish& step) const {
    const Seat::Object& seen_as = *std::ranges::find(seen.seats, step.name, &Seat::name)->object;
    json::array patch{kube::must_be("/metadata/uid", seen_as.uid),
                      kube::must_be("/spec/initialCluster", seen_as.initial_cluster),
                      kube::becomes("/spec/initialCluster", Json(step.initial_cluster))};
    // A member that the Go operator created gets this label only now.
    if (const auto known = with.stores.members.get({ns(), step.name});
        known && !known->metadata.labels.empty() &&
        !known->metadata.labels.contains(v1::kAppComponentLabel))
      patch.push_back(
          kube::added("/metadata/labels/app.kubernetes.io~1component", Json(step.name)));
    auto written = with.api.json_patch<v1::EtcdMember>({ns(), step.name}, std::move(patch));
    if (!written) return Error(written.error()).during("publish the member list to " + step.name);
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }

  /// The member answered in this pass, but the pass may have waited for other members since. A vote
  /// for a member that has died may cost the quorum.
  Result<Done> still_answers(const std::string& name, etcd::MemberId id) const {
    const auto at = endpoints.find(name);
    if (at == endpoints.end()) return Error{Code::Unavailable, name + " has no address"};
    auto status = with.etcd.at(at->second)->status();
    if (status && status->header.member == id && status->leader != etcd::MemberId{}) return Done{};
    return Error{Code::Unavailable, name + " no longer answers"};
  }

  Result<Done> operator()(const Promote& step) const {
    if (auto answers = still_answers(step.name, step.id); !answers) return answers;
    return change({v1::kMemberPromoted, step.name, step.name + " was promoted to a voter"},
                  [&](etcd::Client& client) -> Result<Done> {
                    auto promoted = client.promote(step.id);
                    if (promoted.failed_with(Code::AlreadyExists)) return Done{};  // It votes.
                    return promoted;
                  });
  }

  Result<Done> operator()(const MoveLeader& step) const {
    return change({v1::kLeaderMoved, step.name,
                   "leadership moved from " + step.from + " to " + step.name + ": " + step.from +
                       " is being removed"},
                  [&](etcd::Client& client) { return client.move_leader(step.to); });
  }

  /// The watch may be silent, the kubelet late, or the address another one by now: asks the API
  /// server for the Pod, and etcd at its address.
  Result<Done> is_silent(const std::string& name) const {
    auto pod = with.api.get<kube::Pod>({ns(), name});
    if (pod.failed_with(Code::NotFound)) return Done{};
    if (!pod) return Error(pod.error()).during("find Pod " + name);
    const auto member = with.stores.members.get({ns(), name});
    with.stores.pods.wrote(kube::Pod(*pod));
    if (!member) return Done{};
    auto heard = last_look(seen.cluster, *member, *pod, with.etcd, with.credentials);
    if (!heard) return heard.error();
    if (*heard == Heard::Answer) return Error{Code::Conflict, name + " answers again"};
    return Done{};
  }

  Result<Done> operator()(const DeleteMember& step) const {
    if (step.if_silent)
      if (auto silent = is_silent(step.name); !silent) return silent;
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    auto going = with.api.remove<v1::EtcdMember>({ns(), step.name}, step.uid);
    if (!going) return Error(going.error()).during("delete EtcdMember " + step.name);
    if (*going) with.stores.members.wrote(std::move(**going));
    else with.stores.members.saw_deleted({ns(), step.name}, step.uid);
    return Done{};
  }

  Result<Done> operator()(const RemoveFromEtcd& step) const {
    const auto remove = [&](etcd::Client& client) -> Result<Done> {
      auto removed = client.remove(step.id);
      if (removed.failed_with(Code::NotFound)) return Done{};
      return removed;
    };
    return change({v1::kMemberRemoved, step.name, step.name + " was removed from etcd"}, remove,
                  step.name);
  }

  /// The member controller then deletes or recreates the Pod.
  Result<Done> set_dormant(const std::string& name, const std::string& uid, bool dormant) const {
    if (auto wanted = still_wanted_so(); !wanted) return wanted;
    auto written = with.api.merge_patch<v1::EtcdMember>(
        {ns(), name}, {{"metadata", {{"uid", uid}}}, {"spec", {{"dormant", dormant}}}});
    if (!written)
      return Error(written.error()).during((dormant ? "pause " : "wake ") + ("EtcdMember " + name));
    with.stores.members.wrote(std::move(*written));
    return Done{};
  }
  Result<Done> operator()(const PauseMember& step) const {
    return set_dormant(step.name, step.uid, true);
  }
  Result<Done> operator()(const WakeMember& step) const {
    return set_dormant(step.name, step.uid, false);
  }

  Result<Done> operator()(const ReleaseMember& step) const {
    return release_finalizer(with.api, with.stores, {ns(), step.name}, step.uid);
  }

  /// Writes under the resourceVersion that was read: the next pass sees another client's write.
  Result<Done> write_secret(const std::string& name, const char* type, json::object data) const {
    const api::ObjectKey key{ns(), name};
    auto there = with.credentials.secrets.get(key);
    if (!there) return create_secret(name, type, data);
    const api::ObjectMeta& meta = (*there)->metadata;
    if (!is_made_for(seen.cluster, meta))
      return Error{Code::AlreadyExists,
                   "Secret " + name + about_owner(seen.cluster, meta.owner_references.empty())};
    return change_secret(meta, std::move(data));
  }

  Result<Done> operator()(const OwnSecret& step) const {
    auto there = with.credentials.secrets.ask({ns(), step.secret});
    if (there.failed_with(Code::NotFound)) return Done{};
    if (!there) return Error(there.error()).during("adopt Secret " + step.secret);
    const api::ObjectMeta& meta = (*there)->metadata;
    if (is_ours(meta, seen.cluster.metadata.uid) || !is_made_for(seen.cluster, meta)) return Done{};
    auto kept = own_secret(meta);
    if (!kept) return kept.error();
    return *kept ? Result<Done>(Done{}) : not_kept("Secret " + step.secret);
  }

  Result<Done> create_secret(const std::string& name, const char* type,
                             const json::object& data) const {
    return noted(name,
                 with.api.create<kube::SecretObject>(ns(), secret(seen.cluster, name, type, data)));
  }

  Result<Done> change_secret(const api::ObjectMeta& now, json::object data) const {
    return noted(now.name, with.api.merge_patch<kube::SecretObject>(
                               now.key(), {{"metadata",
                                            {{"uid", now.uid},
                                             {"resourceVersion", now.resource_version},
                                             {"labels", uid_label()}}},
                                           {"data", std::move(data)}}));
  }

  Result<Done> noted(const std::string& name, Result<kube::SecretObject> written) const {
    if (!written) {
      with.credentials.secrets.expire({ns(), name});
      return Error(written.error()).during("write Secret " + name);
    }
    with.credentials.secrets.wrote(std::move(*written));
    return Done{};
  }

  Result<Done> operator()(const IssueCertificate& step) const {
    const auto all = managed_secrets_of(seen.cluster);
    const auto wanted = std::ranges::find(all, step.secret, &ManagedSecret::name);
    if (wanted == all.end())
      return Error{Code::Conflict, "the operator does not manage Secret " + step.secret};
    auto done = wanted->authority.empty() ? make_authority(*wanted) : sign(*wanted, step.names);
    if (done)
      with.log.info("certificate issued",
                    {{"cluster", to_string(seen.cluster.metadata.key())}, {"secret", step.secret}});
    return done;
  }
  /// Never replaces an authority: members may trust it already.
  Result<Done> make_authority(const ManagedSecret& wanted) const {
    auto made = issue(request_for(wanted, {}));
    if (!made) return made.error();
    return create_secret(wanted.name, "kubernetes.io/tls", data_of(*made, made->certificate));
  }

  /// Signs with the authority in a Secret, which a user may have edited. A certificate that clients
  /// of that authority would reject is not written.
  Result<Done> sign(const ManagedSecret& wanted, const std::vector<std::string>& names) const {
    auto by = with.credentials.secrets.get({ns(), wanted.authority});
    if (!by) return Error(by.error()).during("sign for " + wanted.name);
    const Identity signer{(*by)->value(kCertificateKey).reveal(), (*by)->value(kPrivateKeyKey)};
    const std::string trusted = (*by)->value(kAuthorityKey).reveal();
    const CertificateRequest request = request_for(wanted, names);
    auto made = issue(request, &signer);
    if (!made) return Error(made.error()).during("sign for " + wanted.name);
    const auto faults = [&] {
      return faults_of(*made, trusted, {request.server, request.client}, with.clock.wall_now());
    };
    if (!faults().empty()) made->certificate += signer.certificate;  // For an intermediate CA.
    if (const auto why = faults(); !why.empty())
      return Error{Code::Conflict, "Secret " + wanted.authority + " cannot sign: " + joined(why)};
    return write_secret(wanted.name, "kubernetes.io/tls", data_of(*made, trusted));
  }

  CertificateRequest request_for(const ManagedSecret& wanted,
                                 const std::vector<std::string>& names) const {
    using Kind = ManagedSecret::Kind;
    const bool both = wanted.kind == Kind::Server || wanted.kind == Kind::Peer;
    const WallTime now = with.clock.wall_now();
    const std::chrono::seconds life(wanted.duration_s);
    return {.common_name = wanted.common_name,
            .names = names,
            .authority = wanted.kind == Kind::Authority,
            .server = both,
            .client = both || wanted.kind == Kind::Client,
            // A certificate that lives for minutes allows less.
            .from = now + -std::min(std::chrono::seconds(kClocksDiffer), life / 10),
            .until = now + life};
  }

  Result<Done> operator()(const RecordPassword&) const {
    const KeptPasswords kept = to_keep(with.credentials.sessions.passwords_of(seen.cluster));
    return write_secret(auth_secret_name(seen.cluster.metadata.name), "Opaque", data_of(kept));
  }

  /// An existing user root may have another password.
  Result<Done> operator()(const EnableAuth&) const {
    const Secret password = with.credentials.sessions.passwords_of(seen.cluster).kept.password;
    if (password.empty()) return Error{Code::Conflict, "no root password is recorded"};
    auto done = ask_voters([&](etcd::Client& client) {
      auto made = client.user_add(kRoot, password);
      if (made.failed_with(Code::AlreadyExists))
        made = client.user_change_password(kRoot, password);
      if (made) made = client.user_grant_role(kRoot, kRoot);
      return made ? client.auth_enable() : made;
    });
    if (done) tell_of_auth("etcd authentication enabled", v1::kAuthEnabled);
    return done;
  }

  Result<Done> operator()(const ChangePassword&) const {
    const Secret next = with.credentials.sessions.passwords_of(seen.cluster).kept.next;
    if (next.empty()) return Error{Code::Conflict, "no next root password is recorded"};
    auto done =
        ask_voters([&](etcd::Client& client) { return client.user_change_password(kRoot, next); });
    with.credentials.sessions.password_changed(seen.cluster.metadata.key());  // It may have been.
    if (done) tell_of_auth("etcd root password changed", v1::kPasswordChanged);
    return done;
  }

  void tell_of_auth(const char* words, const char* reason) const {
    with.log.info(words, {{"cluster", to_string(seen.cluster.metadata.key())}});
    if (!with.events) return;
    with.events->record({.regarding = object_of(seen),
                         .related = std::nullopt,
                         .warning = false,
                         .reason = reason,
                         .action = "ChangeAuthentication",
                         .note = words});
  }
};

}  // namespace

Result<Done> act(const Collaborators& with, const Observation& seen, const Plan& plan,
                 const Endpoints& endpoints, Proof& joiner) {
  return std::visit(Actor{with, seen, plan, endpoints, joiner}, plan.step);
}

Result<Done> still_exists(const Api& api, const v1::EtcdCluster& cluster) {
  const api::ObjectMeta& meta = cluster.metadata;
  auto now = api.get<v1::EtcdCluster>(meta.key());
  if (!now) return Error(now.error()).during("find EtcdCluster " + meta.name);
  if (now->metadata.uid == meta.uid && !now->metadata.terminating()) return Done{};
  return Error{Code::Conflict, "EtcdCluster " + meta.name + " is deleted"};
}

}  // namespace etcdop::cluster
