#include "sim/world/snapshots.h"

#include <charconv>

#include "agent/manifest.h"
#include "api/v1alpha2/etcdcluster.h"
#include "runtime/conditions.h"
#include "s3/sigv4.h"
#include "sim/api/budgets.h"
#include "sim/api/jobs.h"
#include "sim/etcd/data_dir.h"
#include "sim/world/agent.h"
#include "sim/world/clients.h"

namespace etcdop::sim {

namespace v1 = api::v1alpha2;

namespace {

constexpr const char* kUidKey = "etcd-snapshot-uid";
const std::string kToTheEnd(1, '\0');

template <class T>
std::optional<T> read(const ApiServer::Object& object) {
  T out;
  if (!object || !api::decode(*object, out, T::resource.kind)) return std::nullopt;
  return out;
}

std::string uid_in(const StoredObject& object) {
  const auto found = object.metadata.find(kUidKey);
  return found == object.metadata.end() ? "" : found->second;
}

/// Its key, if it is stored in the bucket of worlds; else empty.
std::string key_of_object(const v1::EtcdSnapshot& snapshot) {
  const std::string place = std::string("s3://") + kBucket + "/";
  const auto& artifact = snapshot.status.artifact;
  return artifact && artifact->uri.starts_with(place) ? artifact->uri.substr(place.size()) : "";
}

v1::EtcdSnapshotStatus without_proof(v1::EtcdSnapshotStatus status) {
  status.verification.reset();
  std::erase_if(status.conditions, [](const auto& c) { return c.type == v1::kVerified; });
  return status;
}

}  // namespace

std::string checksum_of(const std::string& bytes) { return "sha256:" + s3::sha256_hex(bytes); }

SnapshotChecker::SnapshotChecker(const Clock& clock, ApiServer& server, ObjectStore& store,
                                 const EtcdNet& net, const History& history, Checker& checker)
    : clock_(clock),
      server_(server),
      store_(store),
      net_(net),
      history_(history),
      checker_(checker) {
  server_.on_change([this](const api::Resource& r, const ApiServer::Object& before,
                           const ApiServer::Object& after) { changed(r, before, after); });
}

void SnapshotChecker::changed(const api::Resource& r, const ApiServer::Object& before,
                              const ApiServer::Object& after) {
  if (r == kJobs && !before) job_made(*after);
  if (r == v1::EtcdCluster::resource)
    if (const auto was = read<v1::EtcdCluster>(before))
      borne_[{was->metadata.key(), was->status.cluster_id}] = clock_.now();
  if (!(r == v1::EtcdSnapshot::resource) || !after) return;
  const auto was = read<v1::EtcdSnapshot>(before), is = read<v1::EtcdSnapshot>(after);
  asked_.try_emplace(is->metadata.uid, clock_.now());
  if (was && was->status.finished()) {
    if (without_proof(is->status) != without_proof(was->status))
      checker_.violated("snapshot", to_string(is->metadata.key()) + " changes after its end");
    return check_proof(*was, *is);
  }
  if (is->status.phase == v1::kSnapshotComplete) completed(*is);
}

void SnapshotChecker::job_made(const Json& job) {
  const std::string uid = controller_of(job);
  const bool is_first = began_.try_emplace(uid, clock_.now()).second;
  if (!is_first && job.at("metadata").at("name").as_string().ends_with("-delete"))
    doomed_.insert(uid);
}

bool SnapshotChecker::bore_the_name(const std::string& cluster_id,
                                    const v1::EtcdSnapshot& snapshot) const {
  const api::ObjectKey name{snapshot.metadata.ns, snapshot.spec.cluster_ref.name};
  const auto now = server_.read<v1::EtcdCluster>(name);
  if (now && now->status.cluster_id == cluster_id) return true;
  const auto last = borne_.find({name, cluster_id});
  return last != borne_.end() && last->second >= asked_.at(snapshot.metadata.uid);
}

void SnapshotChecker::check_proof(const v1::EtcdSnapshot& was, const v1::EtcdSnapshot& is) {
  const auto& before = was.status.verification;
  const auto& now = is.status.verification;
  if (!now) return;
  if (!before || before->request != now->request) proving_[is.metadata.uid] = clock_.now();
  if (!now->time || (before && before->time == now->time)) return;
  const auto* verdict = runtime::find_condition(is.status.conditions, v1::kVerified);
  if (!verdict || verdict->status == "Unknown")
    return checker_.violated("proof", to_string(is.metadata.key()) + " was verified, and how?");
  // One that its schedule deletes meanwhile was read before.
  if (verdict->status != "True" || doomed_.contains(is.metadata.uid)) return;
  const std::string wrong = wrong_proof(is);
  if (!wrong.empty())
    checker_.violated("proof", to_string(is.metadata.key()) + " is verified, and " + wrong);
}

/// Returns the fault of a snapshot that was verified; empty: none, or it was spoilt meanwhile.
std::string SnapshotChecker::wrong_proof(const v1::EtcdSnapshot& snapshot) {
  const std::string key = key_of_object(snapshot);
  const auto touched = touched_at_.find(key);
  if (touched != touched_at_.end() && touched->second >= proving_.at(snapshot.metadata.uid))
    return "";
  const v1::SnapshotArtifact& said = *snapshot.status.artifact;
  const v1::SnapshotVerification& found = *snapshot.status.verification;
  const StoredObject* const object = store_.look(kBucket, key);
  if (!object) return key + " is not there";
  if (said.checksum != checksum_of(object->bytes)) return key + " was spoilt before";
  auto image = image_of(object->bytes);
  if (!image) return key + " is no database";
  if (!found.revision || found.revision != said.revision) return "at another revision";
  if (found.hash_kv != image->store.hash(*found.revision)) return "has another hash";
  if (image->store.compacted() == said.compact_revision && found.hash_kv != said.hash_kv)
    return "has another hash than its cluster had";
  return "";
}

void SnapshotChecker::completed(const v1::EtcdSnapshot& snapshot) {
  const std::string name = to_string(snapshot.metadata.key());
  const std::string place = std::string("s3://") + kBucket + "/";
  if (!snapshot.status.artifact || !snapshot.status.artifact->uri.starts_with(place)) {
    checker_.violated("snapshot", name + " is Complete, and nowhere");
    return;
  }
  const std::string key = snapshot.status.artifact->uri.substr(place.size());
  if (touched_.contains(key) || touched_.contains(key + agent::kManifestSuffix)) return;
  const std::string wrong = wrong_object(snapshot, key);
  if (!wrong.empty()) checker_.violated("snapshot", name + " is Complete, and " + wrong);
}

/// Returns the fault of the stored object; empty: none.
std::string SnapshotChecker::wrong_object(const v1::EtcdSnapshot& snapshot,
                                          const std::string& key) {
  const auto began = began_.find(snapshot.metadata.uid);
  if (began == began_.end()) return "no Job was ever made for it";
  const StoredObject* const object = store_.look(kBucket, key);
  const StoredObject* const beside = store_.look(kBucket, key + agent::kManifestSuffix);
  if (!object || !beside) return key + " or its manifest is not there";
  if (uid_in(*object) != snapshot.metadata.uid) return key + " is somebody else's";
  auto manifest = agent::to_manifest(beside->bytes);
  if (!manifest || manifest->snapshot_uid != snapshot.metadata.uid)
    return "its manifest is of something else";
  kept_[key] = object->tag;
  kept_of_[key] = snapshot.metadata.uid;
  const std::string& of = snapshot.status.artifact->cluster_id;
  if (!bore_the_name(of, snapshot)) return "is of cluster " + of + ", which never bore the name";
  return wrong_bytes(*snapshot.status.artifact, object->bytes, began->second);
}

/// The keys that the cluster was restored with; null: none.
const Store* SnapshotChecker::born_with(const std::string& cluster_id) const {
  for (const EtcdNet::Birth& birth : net_.births())
    if (birth.from && to_hex(birth.cluster) == cluster_id) return &birth.from->image.store;
  return nullptr;
}

std::string SnapshotChecker::wrong_bytes(const v1::SnapshotArtifact& said, const std::string& bytes,
                                         Instant began) const {
  if (said.size_bytes != static_cast<std::int64_t>(bytes.size())) return "has another size";
  if (said.checksum != checksum_of(bytes)) return "has another sum";
  auto whole = image_of(bytes);
  if (!whole) return "is no database";
  const Store* const image = &whole->store;
  const std::string own = said.cluster_id + "/", home = checker_.home_of(said.cluster_id) + "/";
  const Store* const first = born_with(said.cluster_id);
  // Clients of worlds name their keys so.
  for (const Store::Found& one : image->range(kToTheEnd, kToTheEnd, 0))
    if (const std::size_t slash = one.key.find('/');
        slash == 16 && !one.key.starts_with(own) && !one.key.starts_with(home) &&
        (!first || first->range(one.key, "", 0).empty()))
      return "has key " + one.key + " of another cluster";
  if (said.revision && *said.revision > image->revision()) return "is older than it says";
  // Overwritten values may be compacted.
  if (image->compacted() > (first ? first->compacted() : 0)) return "";
  for (const Operation& op : history_.operations())
    if (op.kind == Operation::Kind::Put && op.outcome == Operation::Outcome::Ok &&
        op.returned <= began && op.key.starts_with(own) &&
        !image->keeps(Clients::key_in(op.key), std::to_string(op.value)))
      return "lacks " + op.key + " = " + std::to_string(op.value) +
             ", which was acknowledged before";
  return "";
}

void SnapshotChecker::look() {
  std::map<std::string, std::string> keys;  // By UID.
  for (const std::string& key : store_.keys(kBucket)) {
    if (key.ends_with(agent::kManifestSuffix)) continue;
    const std::string uid = uid_in(*store_.look(kBucket, key));
    const auto [other, first] = keys.try_emplace(uid, key);
    if (!uid.empty() && !first)
      checker_.violated("snapshot", uid + " has two objects: " + other->second + ", " + key);
  }
  for (const auto& [key, tag] : kept_) {
    const StoredObject* const object = store_.look(kBucket, key);
    const bool goes = doomed_.contains(kept_of_[key]);
    if (object ? object->tag != tag : !goes)
      checker_.violated("snapshot", key + " is another one than it was");
  }
}

void SnapshotChecker::touched(const std::string& key) {
  touched_.insert(key);
  touched_at_[key] = clock_.now();
  const bool was_kept = kept_.erase(key) > 0;  // Otherwise an agent may still overwrite it.
  const StoredObject* const object = store_.look(kBucket, key);
  if (object && was_kept) kept_[key] = object->tag;
  if (const auto of = kept_of_.find(key);
      of != kept_of_.end() && (!object || uid_in(*object) != of->second))
    kept_of_.erase(of);
}

}  // namespace etcdop::sim
