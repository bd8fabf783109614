// The decision for one etcd cluster, in reading order: adopt the spec, report, then the one next
// step.
#include "operator/cluster/plan.h"

#include <algorithm>
#include <tuple>

#include "api/v1alpha2/names.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/census.h"
#include "operator/cluster/conditions.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/restore_in_place.h"
#include "operator/cluster/security.h"
#include "operator/cluster/spec.h"
#include "operator/cluster/version_change.h"
#include "operator/cluster/volumes_found.h"
#include "operator/pods/member_endpoint.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
using api::v1alpha2::EtcdClusterStatus;
using api::v1alpha2::PendingMember;

constexpr auto kSteady = 60s;  // Between looks at a cluster that needs nothing.
constexpr auto kPaceMin =
    300ms;  // etcd refuses changes for up to 5 s after another: ask again soon.
constexpr auto kPaceMax = 60s;
constexpr std::int64_t kSequencesLooked = 1000;  // Back from the last one, for a name of ours.
constexpr std::int64_t kManyUnavailable = 3, kShareUnavailable = 5;  // As many, and one in so many.

/// Whether the newer of two comes first.
bool newer(const Seat* a, const Seat* b) {
  return std::tie(a->object->created, a->name) > std::tie(b->object->created, b->name);
}

/// Whether a joiner of ours that waits since then is to be given up.
bool past_deadline(const Observation& seen, WallTime since) {
  return seen.now - since > std::chrono::seconds(seen.cluster.spec.progress_deadline_seconds);
}

// --- What is recorded before anybody hears of it -------------------------------------------------

/// Who was decided on in the future, as the date says since it went back, is given its time from
/// now: else it would wait until the date has caught up.
void renew_intents(const Observation& seen, EtcdClusterStatus& status) {
  for (PendingMember& intent : status.pending_members)
    if (const auto since = from_rfc3339(intent.since); since && *since > seen.now)
      intent.since = to_rfc3339(seen.now);
}

/// Whether so many clusters are away that a member's loss is not its own.
bool many_are_unavailable(const Observation& seen) {
  return seen.others_unavailable >= kManyUnavailable &&
         seen.others_unavailable * kShareUnavailable >= seen.others;
}

/// The number that a member of ours was recorded under; nullopt: it has a name that we never gave.
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
/// and intent) that the other, with an older view, was just adding. They are remembered, and
/// removed once their time is over.
void remember_orphans(const Observation& seen, EtcdClusterStatus& status) {
  for (const Seat& seat : seen.seats) {
    if (seat.object || !seat.listed || !seat.listed->learner || seat.listed->started ||
        recorded(status, seat))
      continue;
    if (const auto sequence = sequence_of(seen, status, seat))
      status.pending_members.push_back({*sequence, seat.name, seat.peer_url, to_rfc3339(seen.now)});
  }
}

/// Recorded, but no EtcdMember yet, and unknown to etcd: it is to be created, or forgotten.
std::vector<PendingMember> uncreated(const Observation& seen, const EtcdClusterStatus& status) {
  std::vector<PendingMember> out;
  for (const PendingMember& intent : status.pending_members)
    if (!seat_named(seen, intent.name)) out.push_back(intent);
  return out;
}

void forget(EtcdClusterStatus& status, const std::string& name) {
  std::erase_if(status.pending_members, [&](const PendingMember& p) { return p.name == name; });
}

// --- The next step
// --------------------------------------------------------------------------------

/// All that a rule below may look at, and the two things that it may say.
struct Rules {
  const Observation& seen;
  const Census& census;
  EtcdClusterStatus& status;
  std::string waiting_for;

  Step wait(std::string why) {
    if (waiting_for.empty()) waiting_for = std::move(why);
    return NoStep{};
  }
  int voters() const { return static_cast<int>(census.voters.size()); }
  int staying() const { return static_cast<int>(census.staying.size()); }
  int joiners() const { return static_cast<int>(census.joiners.size()); }
  /// More are there or on their way than are wanted.
  bool too_many() const { return staying() + joiners() > census.want; }

  /// Whether those who remain still have a healthy quorum among themselves.
  bool can_lose(const Seat& voter) const {
    return census.healthy_voters - (healthy(voter) ? 1 : 0) >= quorum(voters() - 1);
  }

  Step release();
  Step remove_leaving();
  Step drop_joiner();
  Step remove_foreign_member();
  Step replace();
  Step promote();
  Step create();
  Step add();
  Step publish();
  Step shrink();
  Step pause();
  Step wake();
  Step record();
  Step secure();
  Step renew();
  Step issue();
};

/// The list is linearizable: who is not in it is out. A voter's volume stays until its replacement
/// votes.
Step Rules::release() {
  for (const Seat* seat : census.leaving)
    if (!seat->listed && seat->object->has_finalizer &&
        (!seat->object->voter || staying() >= census.want))
      return ReleaseMember{seat->name, seat->object->uid};
  return NoStep{};
}

Step Rules::remove_leaving() {
  for (const Seat* seat : census.leaving)
    if (seat->listed && seat->listed->learner) return RemoveFromEtcd{seat->name, seat->listed->id};
  for (const bool broken : {true, false})
    for (const Seat* seat : census.leaving) {
      if (!seat->listed || healthy(*seat) == broken) continue;
      if (census.publishing) return wait("joiners to start before " + seat->name + " is removed");
      if (!can_lose(*seat)) return wait("a quorum without " + seat->name);
      // A dead one is removed, then replaced; a live one is replaced, then removed.
      if (!broken && staying() < census.want) continue;
      if (seat != census.leader) return RemoveFromEtcd{seat->name, seat->listed->id};
      for (const Seat* heir : census.staying)
        if (healthy(*heir)) return MoveLeader{seat->name, heir->name, heir->listed->id};
      return wait("a member to lead instead of " + seat->name);
    }
  return NoStep{};
}

/// Joiners nobody wants any more, those that were removed behind our back or have lost their data,
/// and those that do not start in time.
Step Rules::drop_joiner() {
  const auto waits_since = [&](const Seat& seat) {
    const auto intent = std::ranges::find(status.pending_members, seat.name, &PendingMember::name);
    const auto since =
        intent == status.pending_members.end() ? std::nullopt : from_rfc3339(intent->since);
    return since.value_or(seat.object->created);
  };
  auto newest_first = census.joiners;
  const auto has_started = [](const Seat* s) { return s->listed && s->listed->started; };
  std::ranges::sort(newest_first, [&](const Seat* a, const Seat* b) {
    return has_started(a) != has_started(b) ? has_started(b) : newer(a, b);
  });
  for (const Seat* seat : newest_first) {
    // A broken voter goes before a healthy learner (shrink).
    const bool surplus =
        too_many() && !(healthy(*seat) && has_started(seat) && census.broken_staying());
    const bool removed = !seat->listed && !seat->object->initial_cluster.empty();
    const bool stuck = unstarted(*seat) && past_deadline(seen, waits_since(*seat));
    if (!surplus && !removed && !stuck && !lost(*seat)) continue;
    return DeleteMember{seat->name, seat->object->uid};
  }
  return NoStep{};
}

/// etcd members without an EtcdMember are somebody else's, but for a learner that we meant to add
/// and that never started.
Step Rules::remove_foreign_member() {
  for (const Seat* ghost : census.foreign_members) {
    if (!ghost->listed->learner || ghost->listed->started) continue;
    for (const PendingMember& intent : status.pending_members) {
      const auto since = from_rfc3339(intent.since);
      if (intent.peer_url == ghost->peer_url && since && past_deadline(seen, *since))
        return RemoveFromEtcd{ghost->name, ghost->listed->id};
    }
  }
  return NoStep{};
}

/// Who has lost its data makes room for another, one at a time: the next when etcd has let go of
/// the one before. More healthy voters than a quorum of all of them must know what it knew (I5).
/// Where many clusters are away at once, it is our network or the storage below all of them.
Step Rules::replace() {
  const auto found = std::ranges::find_if(census.staying, [](auto* s) { return lost(*s); });
  if (found == census.staying.end()) return NoStep{};
  const Seat& seat = **found;
  const auto on_its_way = [](const Seat* s) { return s->listed && !healthy(*s); };
  if (std::ranges::any_of(census.leaving, on_its_way))
    return wait("another member to leave before " + seat.name + " is replaced");
  if (census.publishing) return wait("joiners to start before " + seat.name + " is replaced");
  if (census.healthy_voters < quorum(voters()))
    return wait("a quorum that has its data before " + seat.name + " is replaced");
  if (many_are_unavailable(seen))
    return wait("other clusters to answer before " + seat.name + " is replaced");
  return DeleteMember{seat.name, seat.object->uid};
}

/// With a quorum, one more healthy voter never costs it. Who has caught up furthest goes first, and
/// of equals the oldest: one that lags holds up nobody. Who could still join anew must not vote:
/// its memory lost, it would vote again without what it has promised.
Step Rules::promote() {
  if (staying() >= census.want) return NoStep{};
  const Seat* best = nullptr;
  for (const Seat* seat : census.joiners) {
    if (!seat->listed || !seat->listed->started || !healthy(*seat)) continue;
    if (seat->pod && seat->pod->may_join) continue;
    const bool level = best && seat->answer->applied == best->answer->applied;
    if (!best || (level ? newer(best, seat) : seat->answer->applied > best->answer->applied))
      best = seat;
  }
  return best ? Step(Promote{best->name, best->listed->id}) : Step(NoStep{});
}

/// An EtcdMember for a missing voter: one at a time, as there is one learner at a time.
Step Rules::create() {
  auto recorded = uncreated(seen, status);
  if (is_founding(seen)) return wait("the first member to start anew");
  const int missing = census.want - staying() - joiners();
  const bool joins = std::ranges::any_of(census.joiners, [](auto* s) { return !s->listed; });
  if (missing <= 0) {
    for (const PendingMember& intent : recorded) forget(status, intent.name);
    return NoStep{};
  }
  if (census.publishing) return wait("joiners to start");
  if (joins || !census.learners.empty()) return NoStep{};
  if (recorded.empty()) recorded.push_back(record_intent(seen, status));
  return CreateMember{recorded.front().name, recorded.front().peer_url, false};
}

/// Never a second learner, whatever the members' own limits allow (ADR 23): etcd checks its limit
/// when it applies the change, also when it reads its log again, so that a member whose limit is
/// the default could never start or join any more.
Step Rules::add() {
  for (const Seat* seat : census.joiners) {
    if (seat->listed) continue;
    if (!census.learners.empty())
      return wait(census.learners.front()->name + " to vote before " + seat->name + " is added");
    return AddLearner{seat->name, seat->peer_url};
  }
  return NoStep{};
}

/// Name=URL of every member, sorted. One that has not started has no name in etcd: its URL tells
/// it.
std::string initial_cluster(const Observation& seen) {
  std::vector<std::string> members;
  for (const Seat& seat : seen.seats)
    if (seat.listed) members.push_back(seat.name + "=" + seat.peer_url);
  std::ranges::sort(members);
  std::string out;
  for (const std::string& member : members) out += (out.empty() ? "" : ",") + member;
  return out;
}

/// For one that has not started: the list of now, and again if that changed before it started.
Step Rules::publish() {
  const std::string list = initial_cluster(seen);
  for (const Seat* seat : census.joiners)
    if (unstarted(*seat) && seat->object->initial_cluster != list) return Publish{seat->name, list};
  return NoStep{};
}

/// Who leaves is only marked here; remove_leaving sees to the quorum. Broken ones first; then, on
/// the way back to an older minor, the newer ones: without an older voter none of its minor could
/// join any more; then those that are as the spec was before, so that scaling up and down again
/// makes all as it is; among the others a follower, where most members share a node, the newest of
/// them.
Step Rules::shrink() {
  const bool replaceable = census.broken_staying() && too_many();
  if ((staying() <= census.want && !replaceable) || !census.leaving.empty()) return NoStep{};
  const auto neighbours = [&](const Seat* s) {
    return std::ranges::count_if(census.staying, [&](const Seat* other) {
      return s->pod && other->pod && !s->pod->node.empty() && s->pod->node == other->pod->node;
    });
  };
  const std::string wanted = template_of(*status.observed);
  const Seat& victim = **std::ranges::min_element(census.staying, [&](const Seat* a,
                                                                      const Seat* b) {
    const auto cost = [&](const Seat* s) {
      const bool is_current = s->object->made_as == wanted;
      const bool stays_back = !is_newer_minor(*s, status.observed->version);
      return std::tuple(healthy(*s), stays_back, is_current, s == census.leader, -neighbours(s));
    };
    return cost(a) != cost(b) ? cost(a) < cost(b) : newer(a, b);
  });
  return DeleteMember{victim.name, victim.object->uid};
}

/// Once it is alone. While others vote whom nobody here knows, it would leave them without a
/// quorum.
Step Rules::pause() {
  if (!census.pause || staying() != 1 || joiners() > 0 || !census.leaving.empty()) return NoStep{};
  if (voters() > 1)
    return wait("somebody to remove " + census.foreign_members.front()->name +
                ", which is not ours");
  return PauseMember{census.staying.front()->name, census.staying.front()->object->uid};
}

/// Who sleeps beside others is needed, also by those who are to go: only the last one sleeps. One
/// that somebody has deleted has the data that its replacement needs, once there is to be one.
Step Rules::wake() {
  for (const Seat& seat : seen.seats)
    if (seat.object && seat.object->dormant && !(seat.object->terminating && census.pause))
      return WakeMember{seat.name, seat.object->uid};
  return NoStep{};
}

/// Before anything else: who is made without its name in a certificate does not get in.
Step Rules::issue() {
  if (auto due = due_certificate(seen, status, Due::Now)) return std::move(*due);
  if (std::string why = authority_trouble(seen); !why.empty()) return wait(std::move(why));
  return NoStep{};
}

/// One that grows old holds up nobody.
Step Rules::renew() {
  auto due = due_certificate(seen, status, Due::Soon);
  return due ? Step(std::move(*due)) : Step(NoStep{});
}

/// What root got in with, where authentication came with the data: before anything can be in the
/// way, as whoever edits the user's Secret locks us out until ours has it.
Step Rules::record() {
  const AuthSeen& auth = seen.auth;
  const bool due = wants_auth(seen.cluster) && auth.entered && !auth.recorded &&
                   auth.step == PasswordStep::Record && seen.rejected.empty();
  return due ? Step(RecordPassword{}) : Step(NoStep{});
}

/// Authentication comes when all members are there, and never goes. While it is off, what our
/// Secret says is what root will have.
Step Rules::secure() {
  if (!wants_auth(seen.cluster)) return NoStep{};
  const AuthSeen& auth = seen.auth;
  if (status.auth_enabled) {
    if (!auth.entered) return NoStep{};
    if (auth.step == PasswordStep::Record) return RecordPassword{};
    return auth.step == PasswordStep::Change ? Step(ChangePassword{}) : Step(NoStep{});
  }
  if (!is_complete(seen, census)) return NoStep{};
  NextToAuth next = next_to_auth(auth);
  return next.waits_for.empty() ? std::move(next.step) : wait(std::move(next.waits_for));
}

/// Whether all that is left sleeps, as it should.
bool is_dormant(const Observation& seen, const Census& census) {
  const auto sleeps = [](const Seat& s) {
    return s.object && s.object->dormant && !s.object->terminating;
  };
  return census.pause && !seen.seats.empty() && std::ranges::all_of(seen.seats, sleeps);
}

/// In their order: the first that has a step takes it.
using Order = std::vector<Step (Rules::*)()>;

/// What a person asked for, and nothing else.
Order only_what_was_asked() { return {&Rules::release, &Rules::remove_leaving}; }

/// While a CORRUPT alarm is raised, nobody is added or votes: the data would come from a leader
/// that may have the damaged one. It is the convicted one that goes first. Once it is no member,
/// another takes its place, though the alarm stays until a person disarms it.
Order rules_under(Corruption corruption) {
  if (corruption == Corruption::Open) return only_what_was_asked();
  if (corruption == Corruption::Convicted)
    return {&Rules::release, &Rules::drop_joiner, &Rules::remove_foreign_member,
            &Rules::remove_leaving, &Rules::replace};
  // Adding goes before promoting: etcd refuses to add for 5 s after a promotion.
  return {&Rules::release,
          &Rules::drop_joiner,
          &Rules::remove_foreign_member,
          &Rules::remove_leaving,
          &Rules::replace,
          &Rules::create,
          &Rules::add,
          &Rules::publish,
          &Rules::promote,
          &Rules::shrink,
          &Rules::pause,
          &Rules::secure,
          &Rules::renew};
}

/// A cluster that exists in etcd: grows, shrinks, replaces.
Step tend(Rules& rules) {
  if (rules.seen.split) return rules.wait("members that agree on one cluster");
  if (!rules.seen.linearizable) return rules.wait("etcd to answer with quorum");
  if (rules.seen.alarms_hidden) return rules.wait("etcd to list its alarms");
  const Corruption corruption = suspicion_of(rules.seen).what;
  const std::string outrun = why_none_can_join(rules.seen);
  const std::string tls = tls_trouble(rules.seen);
  const bool free = outrun.empty() && tls.empty();
  for (const auto rule : free ? rules_under(corruption) : only_what_was_asked())
    if (const Step step = (rules.*rule)(); acts(step)) {
      rules.waiting_for.clear();
      return step;
    }
  if (corruption == Corruption::Open) return rules.wait("somebody to settle the CORRUPT alarm");
  if (!outrun.empty()) return rules.wait("another version than " + outrun);
  if (!tls.empty()) return rules.wait("certificates that can be used: " + tls);
  if (free && rules.waiting_for.empty() && !is_complete(rules.seen, rules.census))
    return rules.wait("members to become ready");
  return NoStep{};
}

/// Whether Pods carry --max-learners. What an earlier release has founded, grown or taken over may
/// have had several learners at once: its members need the flag to read their logs. So does one
/// that such a release has had in hand since: its Pods tell.
void note_learners(const Observation& seen, EtcdClusterStatus& status) {
  const auto has_object = [](const Seat& s) { return s.object.has_value(); };
  const auto has_flag = [](const Seat& s) {
    return s.pod && s.pod->many_learners && !s.pod->founds;
  };
  const bool found = !status.cluster_id.empty() || std::ranges::any_of(seen.seats, has_object);
  if ((status.max_learners == 0 && found) || std::ranges::any_of(seen.seats, has_flag))
    status.max_learners = api::v1alpha2::kManyLearners;
}

/// No cluster id yet: exactly one seed, whose name was recorded before it is created.
Step bootstrap(Rules& rules) {
  const auto has_object = [](const Seat& s) { return s.object.has_value(); };
  if (std::ranges::any_of(rules.seen.seats, has_object)) {
    const Seat& first = rules.seen.seats.front();
    const bool alone = rules.seen.seats.size() == 1 && !first.object->terminating;
    if (rules.census.pause && alone) return PauseMember{first.name, first.object->uid};
    return rules.wait("the first member to answer");
  }
  if (rules.status.max_learners == 0) rules.status.max_learners = 1;
  auto& pending = rules.status.pending_members;
  const PendingMember seed =
      pending.empty() ? record_intent(rules.seen, rules.status) : pending.front();
  return CreateMember{seed.name, seed.peer_url, true};
}

/// Of how many voters a drain must leave a quorum. In growth those who are to come count, too.
/// While etcd does not tell, they are as many as have voted.
std::int64_t voters_to_keep(const Observation& seen, const Census& census) {
  const auto has_voted = [](const Seat& s) { return s.object && s.object->voter; };
  const auto voters =
      seen.linearizable ? std::ssize(census.voters) : std::ranges::count_if(seen.seats, has_voted);
  return std::max<std::int64_t>(census.want, voters);
}

/// The budget's minAvailable, if it is to be written. The only member may go, unless its data is in
/// memory: that costs a restart, and a node that cannot be drained costs more. Without etcd's word
/// it is not lowered.
std::optional<std::int64_t> budget(const Observation& seen, const Census& census) {
  const std::int64_t keep = voters_to_keep(seen, census);
  const bool memory = seen.cluster.spec.storage.medium == api::v1alpha2::Medium::Memory;
  std::int64_t min = keep > 1 || memory ? quorum(static_cast<int>(keep)) : 0;
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

Plan decide(const Observation& seen) {
  EtcdClusterStatus status = seen.cluster.status;
  begin_restore(seen, status);
  if (status.restore && !status.restore->over()) return plan_in_place(seen, std::move(status));
  const bool is_new =
      status.cluster_id.empty() && seen.seats.empty() && status.pending_members.empty();
  const auto refused = refusal_of(seen);
  // Without a target, as after a restore of the object without its status, nothing is decided.
  if (refused && (is_new || !status.observed)) {
    report_refused(seen, *refused, status);
    return not_now(std::move(status));
  }
  if (!refused) adopt_spec(seen, status);
  note_learners(seen, status);
  const bool nothing_yet = status.cluster_id.empty() && seen.seats.empty();
  if (keeps_from_founding(seen, status)) {
    report_volumes_found(seen, status);
    return not_now(std::move(status));
  }
  forget_volumes_found(seen, status);
  if (nothing_yet && lacks_cert_manager(seen)) {
    report_no_cert_manager(seen, status);
    return not_now(std::move(status));
  }
  if (nothing_yet && status.observed && status.observed->replicas == 0) {
    report_paused(seen, "", status);
    Plan out = not_now(std::move(status));
    // What keeps clients out while it is restored has to be there before.
    out.make_headless_service = seen.restore && seen.headless_service != Child::AsMade;
    out.make_client_service = seen.restore && seen.client_service != Child::AsMade;
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
  Rules rules{adopted, census, status, {}};
  Plan out;
  out.make_headless_service = seen.headless_service != Child::AsMade;
  out.make_client_service = seen.client_service != Child::AsMade;
  for (const CertificateChild& child : seen.certificates)
    if (seen.cert_manager && child.state != Child::AsMade)
      out.make_certificates.push_back(child.name);
  if (is_dormant(adopted, census)) {
    out.drop_budget = seen.budget != Child::Missing;
    report_paused(seen, seen.seats.front().name, status);
    out.status = std::move(status);
    out.again = kSteady;
    return out;
  }
  out.budget = budget(seen, census);
  out.facts = facts(seen);
  out.step = rules.issue();
  const bool unsafe = status.cluster_id.empty() && !rules.waiting_for.empty();
  if (!acts(out.step)) out.step = rules.record();
  if (!acts(out.step)) out.step = rules.wake();
  if (!acts(out.step) && !unsafe)
    out.step = status.cluster_id.empty() ? bootstrap(rules) : tend(rules);
  report(seen, census, refused, status);
  out.status = std::move(status);
  out.waiting_for = std::move(rules.waiting_for);
  if (!acts(out.step)) out.again = out.waiting_for.empty() ? kSteady : pace(seen, out.status);
  else if (is_seen_later(out.step)) out.again = kPaceMin;
  return out;
}

}  // namespace

Plan plan(const Observation& seen) {
  const Observation judged = with_verdicts(seen);
  Plan out = decide(judged);
  report_members(judged, out.status);
  return out;
}

std::vector<MemberFacts> facts(const Observation& seen) {
  std::vector<MemberFacts> out;
  for (const Seat& seat : seen.seats) {
    if (!seat.object || !seat.listed || !seat.listed->started) continue;
    const Seat::Object& o = *seat.object;
    MemberFacts fact{seat.name, o.uid, to_hex(seat.listed->id),
                     seat.answer ? seat.answer->version : o.version, !seat.listed->learner};
    if (fact.member_id != o.member_id || fact.version != o.version || fact.voter != o.voter)
      out.push_back(fact);
  }
  return out;
}

bool has_founder_only(const Observation& seen) {
  const api::ObjectMeta& meta = seen.cluster.metadata;
  return seen.seats.size() == 1 &&
         seen.seats[0].name == member_name(meta.name, meta.uid, seen.cluster.status.last_sequence);
}

bool is_founding(const Observation& seen) {
  return has_founder_only(seen) && seen.seats[0].pod && seen.seats[0].pod->founds;
}

std::chrono::milliseconds pace(const Observation& seen, const EtcdClusterStatus& status) {
  std::chrono::seconds waited =
      100s;  // Nothing of ours is under way: Pods come back by themselves, their watch tells us.
  if (const auto deadline = from_rfc3339(status.progress_deadline.value_or("")))
    waited = std::max(0s, std::chrono::seconds(seen.cluster.spec.progress_deadline_seconds) -
                              (*deadline - seen.now));
  if (const auto* available = runtime::find_condition(status.conditions, api::v1alpha2::kAvailable);
      available && available->status != "True")
    if (const auto since = from_rfc3339(available->last_transition_time))
      waited = seen.now - *since;
  for (const Seat& seat : seen.seats)
    if (seat.object && !seat.object->voter)
      waited = std::min(waited, std::max(0s, seen.now - seat.object->created));
  return std::clamp<std::chrono::milliseconds>(waited / 20, kPaceMin, kPaceMax);
}

std::string peer_url(const api::v1alpha2::EtcdCluster& cluster, const std::string& member) {
  api::v1alpha2::EtcdMember made;
  made.metadata.name = member;
  made.metadata.ns = cluster.metadata.ns;
  made.spec.cluster_name = cluster.metadata.name;
  made.spec.tls = member_tls(cluster);
  return peer_url_of(made);
}

}  // namespace etcdop::cluster
