// The decision for one etcd cluster, in reading order: adopt the spec, report, then the one next
// step.
#include "operator/cluster/plan.h"

#include <algorithm>
#include <variant>

#include "api/v1alpha2/names.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/census.h"
#include "operator/cluster/conditions.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/learners.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/mode.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/restore_in_place.h"
#include "operator/cluster/security.h"
#include "operator/cluster/selectors.h"
#include "operator/cluster/spec.h"
#include "operator/cluster/version_change.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
using api::v1alpha2::EtcdClusterStatus;
using api::v1alpha2::PendingMember;

constexpr auto kLookAgain = 10s;  // For members without an owner whose etcd does not answer.
constexpr auto kSteady = 60s;     // Between passes over a cluster that needs nothing.
// etcd refuses changes for up to 5 s after another: ask again soon.
constexpr auto kPaceMin = 300ms;
constexpr auto kPaceMax = 60s;
constexpr std::int64_t kSequencesLooked = 1000;  // Looks so far back for a name of ours.

// --- Recorded before the API server or etcd knows it ---------------------------------------------

/// After the clock went back, an intent's time lies in the future. It becomes now; otherwise the
/// member would wait until the clock has caught up.
void renew_intents(const Observation& seen, EtcdClusterStatus& status) {
  for (PendingMember& intent : status.pending_members)
    if (const auto since = from_rfc3339(intent.since); since && *since > seen.now)
      intent.since = to_rfc3339(seen.now);
}

/// The sequence number under which a member of ours was recorded; nullopt: we never gave that name.
std::optional<std::int64_t> sequence_of(const Observation& seen, const EtcdClusterStatus& status,
                                        const Seat& seat) {
  const auto& meta = seen.cluster.metadata;
  if (seat.peer_url != peer_url(seen.cluster, seat.name)) return std::nullopt;
  const std::int64_t first = std::max<std::int64_t>(1, status.last_sequence - kSequencesLooked);
  for (std::int64_t n = status.last_sequence; n >= first; --n)
    if (member_name(meta.name, meta.uid, n) == seat.name) return n;
  return std::nullopt;
}

/// Learners that we added and have forgotten: of two operators, one gave up the member (EtcdMember
/// and intent) while the other, with an older view, was adding it. They are recorded again, and
/// removed after their deadline.
void remember_orphans(const Observation& seen, EtcdClusterStatus& status) {
  for (const Seat& seat : seen.seats) {
    if (seat.object || !seat.listed || !seat.listed->learner || seat.listed->started ||
        recorded(status, seat))
      continue;
    if (const auto sequence = sequence_of(seen, status, seat))
      status.pending_members.push_back({*sequence, seat.name, seat.peer_url, to_rfc3339(seen.now)});
  }
}

/// Drops intents that are no longer wanted and that neither the API server nor etcd knows.
void forget_uncreated(const Observation& seen, EtcdClusterStatus& status) {
  std::erase_if(status.pending_members,
                [&](const PendingMember& p) { return !seat_named(seen, p.name); });
}

/// The number of voters of which a drain must leave a quorum. In growth, voters to come count too.
/// Without an answer from etcd, members that have voted count.
std::int64_t voters_to_keep(const Observation& seen, const Census& census) {
  const auto has_voted = [](const Seat& s) { return s.object && s.object->voter; };
  const auto voters =
      seen.linearizable ? std::ssize(census.voters) : std::ranges::count_if(seen.seats, has_voted);
  return std::max<std::int64_t>(census.want, voters);
}

/// The budget's minAvailable, if it must be written. The budget selects by the cluster's name: the
/// Go operator, if it takes the cluster back, never changes a selector, and its new Pods lack our
/// labels. So Pods that the budget counts in vain are added instead (K17). A drain may evict the
/// only member, unless its data is in memory: a restart costs less than a node that cannot be
/// drained. Without an answer from etcd it is not lowered.
std::optional<std::int64_t> budget(const Observation& seen, const Census& census) {
  const std::int64_t keep = voters_to_keep(seen, census);
  const bool is_new =
      std::ranges::none_of(seen.seats, [](const Seat& s) { return bool(s.object); });
  const bool memory =
      (is_new && seen.cluster.spec.storage.medium == api::v1alpha2::Medium::Memory) ||
      std::ranges::any_of(seen.seats, [&](const Seat& s) { return has_data_in_memory(seen, s); });
  std::int64_t min = keep > 1 || memory ? quorum(static_cast<int>(keep)) + seen.stray_voters : 0;
  if (!seen.linearizable && seen.budget != Child::Missing) min = std::max(min, seen.budget_min);
  if (seen.budget == Child::AsMade && seen.budget_min == min) return std::nullopt;
  return min;
}

Plan not_now(EtcdClusterStatus status) {
  Plan out;
  out.status = std::move(status);
  out.again = kSteady;
  return out;
}

/// Asks the mode's rules in their order.
void judge(Mode mode, const View& view, Plan& out) {
  for (const Rule rule : rules_of(mode)) {
    Verdict verdict = rule(view);
    if (auto* step = std::get_if<Step>(&verdict)) {
      out.step = std::move(*step);
      out.waiting_for.clear();
      return;
    }
    if (auto* wait = std::get_if<Wait>(&verdict); wait && out.waiting_for.empty())
      out.waiting_for = std::move(wait->why);
  }
  if (out.waiting_for.empty()) out.waiting_for = why_it_waits(mode, view);
}

/// A member is recorded before it is created, with the spec that it gets. Members that were to be
/// adopted may have gone meanwhile: their token is not used again.
void note_intent(const Observation& seen, const CreateMember& step, EtcdClusterStatus& status) {
  if (step.seed && status.max_learners == 0) status.max_learners = 1;
  if (step.seed) status.cluster_token = own_token(seen.cluster.metadata);
  if (std::ranges::count(status.pending_members, step.name, &PendingMember::name) == 0)
    (void)record_intent(seen, status);
  std::ranges::find(status.pending_members, step.name, &PendingMember::name)->made_as =
      template_of(*status.observed);
}

/// Without the label, no command of the manual finds them.
Plan label_orphans(const Observation& seen, EtcdClusterStatus status) {
  report_remains(seen, seen.rejected.empty() ? "they have lost their label" : seen.rejected,
                 status);
  Plan out = not_now(std::move(status));
  out.again = kLookAgain;
  LabelMembers step;
  for (const Seat& seat : seen.seats)
    if (has_lost_label(seat)) step.members.push_back({seat.name, seat.object->uid});
  out.step = std::move(step);
  return out;
}

/// EtcdMembers without an owner exist. They are adopted once etcd has shown that they are its
/// members. Their etcd keeps the token with which it was founded.
Plan adopt_orphans(const Observation& seen, EtcdClusterStatus status) {
  if (std::ranges::any_of(seen.seats, has_lost_label))
    return label_orphans(seen, std::move(status));
  const std::string why = why_not_adopted(seen);
  if (!why.empty() || !seen.rejected.empty()) {
    report_remains(seen, why.empty() ? seen.rejected : why, status);
  }
  Plan out = not_now(std::move(status));
  out.again = kLookAgain;
  if (!why.empty()) return out;
  AdoptMembers step;
  for (const Seat& seat : seen.seats) {
    out.status.cluster_token = seat.object->token;
    step.members.push_back({seat.name, seat.object->uid});
  }
  out.step = std::move(step);
  return out;
}

/// For how long Available has not been True; nullopt: it is. During an outage it changes once from
/// Unknown to False.
std::optional<std::chrono::seconds> unavailable_for(const Observation& seen,
                                                    const EtcdClusterStatus& status) {
  std::optional<std::chrono::seconds> out;
  for (const EtcdClusterStatus* one : {&status, &seen.cluster.status}) {
    const auto* c = runtime::find_condition(one->conditions, api::v1alpha2::kAvailable);
    if (!c || c->status == "True") return out;
    const auto since = from_rfc3339(c->last_transition_time);
    if (since) out = std::max(out.value_or(0s), seen.now - *since);
  }
  if (seen.last_answer) out = std::max(out.value_or(0s), seen.now - *seen.last_answer);
  return out;
}

Plan decide(const Observation& seen) {
  EtcdClusterStatus status = seen.cluster.status;
  status.cluster_token = token_to_take(seen).value_or(status.cluster_token);
  begin_restore(seen, status);
  if (status.restore && !status.restore->over()) return plan_in_place(seen, std::move(status));
  const bool is_new =
      status.cluster_id.empty() && seen.seats.empty() && status.pending_members.empty();
  const auto refused = refusal_of(seen);
  // A target that was accepted before members without an owner were seen is none for them.
  if (refused && (!is_target_of_members(seen) || !why_not_tls(seen).empty()))
    status.observed.reset();
  // Without a target, as after a restore of the object without its status, nothing is decided.
  if (refused && (is_new || !status.observed)) {
    report_refused(seen, *refused, status);
    return not_now(std::move(status));
  }
  if (!refused) adopt_spec(seen, status);
  if (has_orphans(seen)) return adopt_orphans(seen, std::move(status));
  note_learners(seen, status);
  const bool nothing_yet = status.cluster_id.empty() && seen.seats.empty();
  if (keeps_from_founding(seen, status)) {
    report_remains(seen, "", status);
    return not_now(std::move(status));
  }
  if (!refused) forget_refused(seen, status);
  if (nothing_yet && lacks_cert_manager(seen)) {
    report_no_cert_manager(seen, status);
    return not_now(std::move(status));
  }
  if (nothing_yet && status.observed && status.observed->replicas == 0) {
    report_paused(seen, "", refused, status);
    Plan out = not_now(std::move(status));
    // The Services that keep clients out during a restore must exist before it.
    if (seen.restore) select_members(seen, out);
    return out;
  }
  note_birth(seen, status);
  status.auth_enabled |= seen.auth.enabled.value_or(false) && seen.auth.recorded;
  renew_intents(seen, status);
  settle_intents(seen, status);
  remember_orphans(seen, status);

  Observation adopted = seen;  // The counts are against the target just adopted.
  adopted.cluster.status = status;
  const Census census(adopted);
  const View view{adopted, census, status};
  const Mode mode = mode_of(view);
  Plan out;
  select_members(seen, out);
  for (const CertificateChild& child : seen.certificates)
    if (seen.cert_manager && child.state != Child::AsMade)
      out.make_certificates.push_back(child.name);
  if (mode == Mode::Paused) {
    out.drop_budget = seen.budget != Child::Missing;
    report_paused(seen, seen.seats.front().name, refused, status);
    out.status = std::move(status);
    out.again = kSteady;
    return out;
  }
  out.budget = budget(seen, census);
  out.facts = facts(seen);
  if (mode == Mode::Normal && !is_founding(adopted) && view.missing() <= 0)
    forget_uncreated(adopted, status);
  judge(mode, view, out);
  if (const auto* made = std::get_if<CreateMember>(&out.step)) note_intent(adopted, *made, status);
  report(seen, census, refused, status);
  out.status = std::move(status);
  if (!acts(out.step)) out.again = out.waiting_for.empty() ? kSteady : pace(seen, out.status);
  else if (is_seen_later(out.step)) out.again = kPaceMin;
  return out;
}

}  // namespace

Plan plan(const Observation& seen) {
  Observation judged = without_strangers(with_verdicts(seen));
  judged.split |= are_of_two_etcds(judged);
  Plan out = decide(judged);
  report_members(judged, out.status);
  return out;
}

std::chrono::milliseconds pace(const Observation& seen, const EtcdClusterStatus& status) {
  // By default nothing of ours is under way: Pods come back by themselves, and their watch tells
  // us.
  std::chrono::seconds waited = 100s;
  if (const auto deadline = from_rfc3339(status.progress_deadline.value_or("")))
    waited = std::max(0s, std::chrono::seconds(seen.cluster.spec.progress_deadline_seconds) -
                              (*deadline - seen.now));
  if (const auto silent = unavailable_for(seen, status)) waited = *silent;
  for (const Seat& seat : seen.seats)
    if (seat.object && !seat.object->voter)
      waited = std::min(waited, std::max(0s, seen.now - seat.object->created));
  const auto decides_soon = [](const Seat& s) {
    return s.object && s.object->says_lost && !s.answer && s.silent_s < kSilentLeast;
  };
  if (std::ranges::any_of(seen.seats, decides_soon)) waited = std::min(waited, 20s);
  return std::clamp<std::chrono::milliseconds>(waited / 20, kPaceMin, kPaceMax);
}

}  // namespace etcdop::cluster
