#include "operator/cluster/restore_in_place.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "api/v1alpha2/names.h"
#include "operator/agents/restore_history.h"
#include "operator/cluster/census.h"
#include "operator/cluster/conditions.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/restoring.h"
#include "operator/cluster/security.h"
#include "operator/cluster/selectors.h"
#include "operator/pods/member_name.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;
using v1::EtcdClusterStatus;
using v1::RestoreDecision;
using v1::RestoreRecord;

constexpr auto kSteady = 60s;    // While a user looks at the restored data.
constexpr auto kLookAgain = 5s;  // While something ends; changes start a pass, too.
constexpr auto kFollowUp = 300ms;
constexpr auto kVolumeAgain = 1s;
constexpr std::int64_t kBumpDefault = 1'000'000'000, kBumpMax = 1'000'000'000'000'000'000;

/// The highest revision that clients may have seen, as far as it is known. A cluster that was
/// founded from a snapshot began bumpRevision above it; an older operator did not record that.
std::int64_t floor_of(const Observation& seen, const EtcdClusterStatus& status) {
  std::int64_t out = status.revision_floor;
  const auto& bootstrap = seen.cluster.spec.bootstrap;
  if (bootstrap && bootstrap->restore)
    out = std::max(out, bootstrap->restore->bump_revision.value_or(kBumpDefault));
  for (const Seat& seat : seen.seats)
    if (seat.answer) out = std::max(out, seat.answer->revision);
  return out;
}

/// Raises bumpRevision above all that clients have seen, whatever revision the snapshot has: only
/// its checksum is known here. Without a quorum, nothing is known about writes since the floor, so
/// the bump is at least the default.
v1::RestoreSpec raised(const RestoreSeen& asked, std::int64_t floor, bool told) {
  v1::RestoreSpec out = asked.from;
  const std::int64_t least = out.bump_revision.value_or(kBumpDefault);
  out.bump_revision = std::min(kBumpMax, (told ? least : std::max(least, kBumpDefault)) + floor);
  return out;
}

/// False: the status has an id already, or no member reports one.
bool note_id(const Observation& seen, EtcdClusterStatus& status) {
  if (!status.cluster_id.empty() || !seen.cluster_id || seen.split) return false;
  status.cluster_id = to_hex(*seen.cluster_id);
  return true;
}

/// Adds a member to the record, which is sorted by name.
void keep(RestoreRecord& record, const Seat& seat) {
  record.members.push_back({seat.name, seat.object->uid});
  std::ranges::sort(record.members, {}, &v1::KeptMember::name);
}

/// One pass over a cluster during a restore in place.
class RestoreInPlace {
 public:
  RestoreInPlace(const Observation& seen, EtcdClusterStatus status) : seen_(seen) {
    out_.status = std::move(status);
    out_.again = kLookAgain;
  }

  Plan plan() && {
    select_members(seen_, out_);
    for (const CertificateChild& child : seen_.certificates)
      if (seen_.cert_manager && child.state != Child::AsMade)
        out_.make_certificates.push_back(child.name);
    // A single member has no redundancy to protect.
    out_.drop_budget = seen_.budget != Child::Missing;
    out_.facts = facts(seen_);
    out_.step = next();
    report_in_place(seen_, out_.waiting_for, out_.status);
    if (!std::holds_alternative<NoStep>(out_.step) || stage() != stage_seen())
      out_.again = kFollowUp;
    return std::move(out_);
  }

 private:
  RestoreRecord& record() { return *out_.status.restore; }
  v1::RestoreStage stage() const { return out_.status.restore->stage; }
  std::optional<v1::RestoreStage> stage_seen() const {
    const auto& record = seen_.cluster.status.restore;
    return record ? std::optional(record->stage) : std::nullopt;
  }
  Step to(v1::RestoreStage stage) {
    record().stage = stage;
    return NoStep{};
  }
  Step wait(std::string why) {
    out_.waiting_for = std::move(why);
    return NoStep{};
  }

  const RestoreSeen* asked() const {
    return seen_.restore && seen_.restore->uid == out_.status.restore->uid ? &*seen_.restore
                                                                           : nullptr;
  }
  /// A decision that is set back to Check rolls back, too.
  bool taken_back() const {
    const RestoreSeen* now = asked();
    return now && (now->gone || now->decision == RestoreDecision::Rollback ||
                   now->decision == RestoreDecision::Check);
  }
  bool committed() const {
    const RestoreSeen* now = asked();
    return now && !now->gone && now->decision == RestoreDecision::Commit;
  }
  /// Until the first old volume may have been deleted: from then on the record no longer has the
  /// earlier state.
  bool reversible() const { return !out_.status.restore->cluster_token.empty(); }
  bool fenced() const {
    return seen_.headless_service == Child::AsMade && seen_.client_service == Child::AsMade;
  }
  bool has_volume(const std::string& member) const {
    return std::ranges::count(seen_.have_volumes, member) > 0;
  }

  Step next() {
    if (stage() != stage_seen()) return NoStep{};  // A new stage is reported first.
    if (keep_strays()) return NoStep{};
    if (stage() == v1::RestoreStage::RollingBack) return roll_back();
    if (stage() == v1::RestoreStage::Committing) return commit();
    if (taken_back() && reversible()) return to(v1::RestoreStage::RollingBack);
    if (!fenced()) return wait("the Services to select no Pod");
    for (const Seat& seat : seen_.kept)
      if (!seat.object->dormant) return PauseMember{seat.name, seat.object->uid};
    for (const Seat& seat : seen_.kept)
      if (seat.pod) return wait("the Pod of " + seat.name + " to end");
    if (stage() == v1::RestoreStage::Stopping) return stop();
    return stage() == v1::RestoreStage::Restoring ? restore() : review();
  }

  /// Keeps earlier members that were not seen so far, or that a late request created. True: some
  /// were found.
  bool keep_strays() {
    bool more = false;
    const bool stopped = out_.status.cluster_token != record().cluster_token;
    for (const Seat& seat : seen_.seats)
      if (seat.object && (!stopped || !seat.object->current)) {
        keep(record(), seat);
        more = true;
      }
    return more;
  }

  /// All members are dormant.
  Step stop() {
    EtcdClusterStatus& status = out_.status;
    status.cluster_id.clear();
    status.cluster_token = record().cluster_token + "-" + record().uid;
    status.pending_members.clear();
    status.auth_enabled = false;
    return to(v1::RestoreStage::Restoring);
  }

  const Seat* founder() const {
    for (const Seat& seat : seen_.seats)
      if (seat.object && seat.object->seed) return &seat;
    return nullptr;
  }
  /// Whether the founder must be replaced by one that restores again.
  static bool is_lost(const Seat* founder) {
    return !founder || founder->object->terminating || lost(*founder);
  }
  /// Deletes a member. Our finalizer keeps it until its Pod has ended, so that nothing of it still
  /// runs afterwards; that it is being deleted tells that it sleeps by our will.
  Step drop(const Seat& seat) {
    const Seat::Object& object = *seat.object;
    if (!object.terminating && object.has_finalizer) return DeleteMember{seat.name, object.uid};
    if (!object.dormant) return PauseMember{seat.name, object.uid};
    if (seat.pod) return wait("the Pod of " + seat.name + " to end");
    if (!object.terminating) return DeleteMember{seat.name, object.uid};
    if (object.has_finalizer) return ReleaseMember{seat.name, object.uid};
    return wait(seat.name + " to be deleted");
  }

  /// A user made the founder dormant.
  static Step wake(const Seat& found) { return WakeMember{found.name, found.object->uid}; }

  /// Creates one founder, whose name is recorded first.
  Step restore() {
    if (auto due = due_certificate(seen_, out_.status, Due::Now)) return std::move(*due);
    if (std::string why = authority_trouble(seen_); !why.empty()) return wait(std::move(why));
    const Seat* found = founder();
    return found ? await(*found) : create_founder();
  }

  Step create_founder() {
    auto& pending = out_.status.pending_members;
    if (pending.empty()) {
      out_.status.cluster_id.clear();
      record().founder = record_intent(seen_, out_.status).name;
    }
    return CreateMember{pending.front().name, pending.front().peer_url, true};
  }

  /// Waits until the founder serves from a Pod that no longer founds a cluster.
  Step await(const Seat& found) {
    record().founder = found.name;
    if (is_lost(&found)) return drop(found);
    if (found.object->dormant) return wake(found);
    (void)note_id(seen_, out_.status);
    settle_intents(seen_, out_.status);
    if (!seen_.linearizable || !healthy(found) || !found.pod || found.pod->founds)
      return wait(found.name + " to serve the restored data");
    return to(v1::RestoreStage::Review);
  }

  Step review() {
    const Seat* found = founder();
    if (is_lost(found)) return to(v1::RestoreStage::Restoring);
    if (found->object->dormant) return wake(*found);
    if (auto due = due_certificate(seen_, out_.status, Due::Now)) return std::move(*due);
    if (committed() || !reversible()) {
      if (!healthy(*found)) return wait(found->name + " to answer before the commit");
      out_.status.revision_floor = floor_of(seen_, out_.status);
      record().cluster_id.clear();
      record().cluster_token.clear();
      record().pending_members.clear();
      record().stage = v1::RestoreStage::Committing;
      remember_commit(out_.status);
      return NoStep{};
    }
    // A user may take longer than a certificate lives.
    if (auto due = due_certificate(seen_, out_.status, Due::Soon)) return std::move(*due);
    out_.again = kSteady;
    return wait("your decision: set spec.decision of EtcdRestore " + record().name +
                " to Commit or Rollback");
  }

  /// No watch starts a pass when the volume is deleted. One that has lost its owner stays.
  Step wait_for_volume(const std::string& member) {
    out_.again = kVolumeAgain;
    return wait("PersistentVolumeClaim " + volume_name(member) +
                " to be deleted; delete it yourself if it has no owner");
  }

  /// The snapshot may be from a time without authentication. So it is enabled before clients
  /// connect: no client may read what it could not read before. nullopt: nothing is left to do.
  std::optional<Step> secure() {
    if (!wants_auth(seen_.cluster)) return std::nullopt;
    const AuthSeen& auth = seen_.auth;
    out_.status.auth_enabled |= auth.enabled.value_or(false) && auth.recorded;
    if (out_.status.auth_enabled) return std::nullopt;
    NextToAuth next = next_to_auth(auth);
    return next.waits_for.empty() ? std::move(next.step) : wait(std::move(next.waits_for));
  }

  /// From here on there is no way back. The old volumes are deleted before clients connect: an old
  /// Pod that a late request creates then has nothing to start from. They are deleted only while
  /// the restored data exists.
  Step commit() {
    const Seat* found = founder();
    if (is_lost(found)) return to(v1::RestoreStage::Restoring);
    if (found->object->dormant) return wake(*found);
    if (auto due = due_certificate(seen_, out_.status, Due::Now)) return std::move(*due);
    if (auto step = secure()) return std::move(*step);
    if (!seen_.kept.empty() && !healthy(*found))
      return wait(found->name + " to answer before the old volumes are deleted");
    if (!seen_.kept.empty()) return drop(seen_.kept.front());
    for (const v1::KeptMember& member : record().members)
      if (has_volume(member.name)) return wait_for_volume(member.name);
    record().members.clear();
    return to(v1::RestoreStage::Committed);
  }

  Step roll_back() {
    for (const Seat& seat : seen_.seats)
      if (seat.object) return drop(seat);
    if (!record().founder.empty() && has_volume(record().founder))
      return wait_for_volume(record().founder);
    EtcdClusterStatus& status = out_.status;
    status.cluster_id = std::exchange(record().cluster_id, {});
    status.cluster_token = std::exchange(record().cluster_token, {});
    status.pending_members = std::exchange(record().pending_members, {});
    status.auth_enabled = record().auth_enabled;
    record().members.clear();
    return to(v1::RestoreStage::RolledBack);
  }

  const Observation& seen_;
  Plan out_;
};

}  // namespace

void note_birth(const Observation& seen, EtcdClusterStatus& status) {
  if (note_id(seen, status) && seen.cluster.founded_from())
    status.revision_floor = floor_of(seen, status);
}

bool may_begin(const v1::EtcdRestore& restore, const v1::EtcdCluster& cluster) {
  const RestoreDecision decision = restore.spec.decision;
  return !restore.metadata.terminating() && restore.status.phase == v1::kRestoreReady &&
         restore.spec.cluster_ref.name == cluster.metadata.name &&
         restore.status.cluster_uid == cluster.metadata.uid &&
         (decision == RestoreDecision::Restore || decision == RestoreDecision::Commit);
}

std::string next_to_begin(const std::vector<std::shared_ptr<const v1::EtcdRestore>>& known,
                          const v1::EtcdCluster& cluster) {
  const v1::EtcdRestore* first = nullptr;
  const auto order = [](const v1::EtcdRestore& r) {
    return std::tie(r.metadata.creation_timestamp, r.metadata.name);
  };
  for (const auto& restore : known)
    if (may_begin(*restore, cluster) && (!first || order(*restore) < order(*first)))
      first = restore.get();
  return first ? first->metadata.name : "";
}

void begin_restore(const Observation& seen, EtcdClusterStatus& status) {
  const auto& asked = seen.restore;
  const bool under_way = status.restore && !status.restore->over();
  if (under_way || !asked || asked->gone || !status.observed || status.cluster_token.empty())
    return;
  if (asked->decision != RestoreDecision::Restore && asked->decision != RestoreDecision::Commit)
    return;
  if (status.restore && status.restore->uid == asked->uid) return;  // It was done.
  if (committed_before(status,
                       {asked->name, asked->from.source, asked->run_id, asked->from.checksum}))
    return;
  if (keeps_from_founding(seen, status)) return;  // An EtcdRestore in Git is no consent.
  if (seen.split) return;  // A rollback could not tell which members are to run again.
  // Data in memory could not be kept for a rollback. A user has made the EtcdCluster the owner of
  // an EtcdMember that another one made.
  if (std::ranges::any_of(seen.seats, [&](auto& s) { return has_data_in_memory(seen, s); })) return;
  // A Service that is not ours could still lead clients here.
  if (seen.headless_service != Child::AsMade || seen.client_service != Child::AsMade) return;
  note_birth(seen, status);  // The cluster may have been founded a moment ago.
  if (status.cluster_id.empty() && seen.seats.empty() && status.max_learners == 0)
    status.max_learners = 1;  // The restore founds it.
  status.revision_floor = floor_of(seen, status);
  RestoreRecord record{.name = asked->name,
                       .uid = asked->uid,
                       .stage = v1::RestoreStage::Stopping,
                       .from = raised(*asked, status.revision_floor, seen.linearizable),
                       .cluster_id = status.cluster_id,
                       .cluster_token = status.cluster_token,
                       .members = {},
                       .pending_members = std::exchange(status.pending_members, {}),
                       .run_id = asked->run_id,
                       .founder = {},
                       .auth_enabled = status.auth_enabled};
  for (const Seat& seat : seen.seats)
    if (seat.object) keep(record, seat);
  remember_commit(status);  // The record of the previous restore is replaced.
  status.restore = std::move(record);
}

Plan plan_in_place(const Observation& seen, EtcdClusterStatus status) {
  return RestoreInPlace(seen, std::move(status)).plan();
}

}  // namespace etcdop::cluster
