#include "sim/world/restores.h"

#include <algorithm>
#include <utility>

#include "api/v1alpha2/etcdrestore.h"
#include "kube/core_types.h"
#include "sim/api/objects.h"
#include "sim/etcd/data_dir.h"
#include "sim/world/agent.h"

namespace etcdop::sim {

namespace v1 = api::v1alpha2;

namespace {
constexpr std::int64_t kBump = 1'000'000'000;  // The default of the spec.
const std::string kToTheEnd(1, '\0');
}  // namespace

RestoreChecker::RestoreChecker(ApiServer& server, ObjectStore& store, const EtcdNet& net,
                               const Nodes& nodes, const SnapshotChecker& snapshots,
                               Checker& checker)
    : server_(server),
      store_(store),
      net_(net),
      nodes_(nodes),
      snapshots_(snapshots),
      checker_(checker) {
  server_.on_change(
      [this](const api::Resource& r, const ApiServer::Object&, const ApiServer::Object& after) {
        if (!(r == v1::EtcdCluster::resource) || !after) return;
        if (const auto cluster = server_.read<v1::EtcdCluster>(key_of(*after))) changed(*cluster);
      });
}

void RestoreChecker::changed(const v1::EtcdCluster& cluster) {
  const std::string& token = cluster.status.cluster_token;
  if (token.empty() || asked_.contains(token)) return;
  v1::BootstrapSpec& asked = asked_[token];
  const auto& restore = cluster.status.restore;
  if (!restore || restore->stage != v1::RestoreStage::Restoring) {
    asked = cluster.spec.bootstrap.value_or(v1::BootstrapSpec{});
    return;
  }
  asked.restore = restore->from;
  const auto wanted = server_.read<v1::EtcdRestore>({cluster.metadata.ns, restore->name});
  const bool is_there = wanted && wanted->metadata.uid == restore->uid;
  const std::int64_t bump = is_there ? wanted->spec.bump_revision.value_or(kBump) : 1;
  before_[token] = {restore->cluster_id, cluster.status.revision_floor + bump};
}

void RestoreChecker::look() {
  for (; births_ < net_.births().size(); ++births_) check_birth(net_.births()[births_]);
  for (const auto& claim : server_.look_all(kube::PersistentVolumeClaim::resource))
    if (const auto dir = nodes_.data_of(std::string(claim->at("metadata").at("uid").as_string())))
      check_keys(*dir);
}

void RestoreChecker::check_birth(const EtcdNet::Birth& birth) {
  const auto asked = asked_.find(birth.token);
  const bool wanted = asked != asked_.end() && asked->second.restore;
  if (wanted != (birth.from != nullptr))
    return checker_.violated("restore", birth.name + (wanted ? " is born empty, and was to be "
                                                               "restored"
                                                             : " is restored, and nobody asked"));
  if (!wanted) return;
  const std::string wrong = wrong_start(*birth.from, *asked->second.restore);
  if (!wrong.empty()) checker_.violated("restore", birth.name + " begins with " + wrong);
  check_revision(birth);
}

/// The old members are dormant, so their volumes hold every revision that clients were told.
void RestoreChecker::check_revision(const EtcdNet::Birth& birth) {
  const auto found = before_.find(birth.token);
  if (found == before_.end()) return;
  std::int64_t least = found->second.least;
  for (const auto& claim : server_.look_all(kube::PersistentVolumeClaim::resource)) {
    const auto dir = nodes_.data_of(std::string(claim->at("metadata").at("uid").as_string()));
    if (dir && dir->owner && to_hex(dir->owner->cluster) == found->second.cluster_id)
      least = std::max(least, dir->applied.store.revision() + 1);
  }
  const std::int64_t begins = birth.from->image.store.revision();
  if (begins < least)
    checker_.violated("restore", birth.name + " begins with revision " + std::to_string(begins) +
                                     ", and must be above " + std::to_string(least - 1));
}

/// Empty: nothing. An unfinished snapshot may be stored again, so every version that was ever
/// stored counts.
std::string RestoreChecker::wrong_start(const Restored& made, const v1::RestoreSpec& wanted) {
  const std::string& key = wanted.source.s3->key;
  // A user may have changed it since; but a checksum identifies exactly one object.
  if (wanted.checksum.empty() && snapshots_.was_touched(key)) return "";
  const std::int64_t bump = wanted.bump_revision.value_or(kBump);
  std::string revisions;
  for (const std::string& bytes : store_.ever(kBucket, key)) {
    const bool is_it = wanted.checksum.empty() || wanted.checksum == checksum_of(bytes);
    if (!is_it) continue;
    auto image = image_of(bytes);
    if (!image) continue;
    // Bumps from the snapshot's revision; etcdutl counts from the newest key.
    Store& store = image->store;
    if (bump > 0)
      store.bump(bump + std::max<std::int64_t>(0, store.revision() - store.newest_key()));
    if (*image == made.image) return "";
    revisions += " " + std::to_string(image->store.revision());
  }
  if (revisions.empty()) return "what was never in " + key;
  return "revision " + std::to_string(made.image.store.revision()) + " and what " + key +
         " never had; it had" + revisions;
}

/// A restored member keeps everything that it began with, because clients write only keys of their
/// own cluster.
void RestoreChecker::check_keys(const DataDir& dir) {
  if (!dir.restored || dir.applied.index == 0) return;
  const Store& first = dir.restored->image.store;
  const Store& now = dir.applied.store;
  const std::string own = to_hex(dir.owner->cluster) + "/";
  const std::string home = checker_.home_of(to_hex(dir.owner->cluster)) + "/";
  if (now.revision() < first.revision() || now.compacted() < first.compacted())
    checker_.violated(
        "restore", dir.restored->name + " goes back to revision " + std::to_string(now.revision()));
  for (const Store::Found& one : first.range(kToTheEnd, kToTheEnd, 0)) {
    if (one.key.starts_with(own) || one.key.starts_with(home)) continue;
    const auto found = now.range(one.key, "", 0);
    if (found.empty() || found[0].version->value != one.version->value)
      checker_.violated("restore", dir.restored->name + " has lost " + one.key);
  }
}

}  // namespace etcdop::sim
