#include "operator/cluster/membership.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "etcd/version_facts.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/issuing.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/outage.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/spec.h"
#include "operator/cluster/version_change.h"

namespace etcdop::cluster {
namespace {

using api::v1alpha2::PendingMember;

constexpr std::int64_t kBlockedLong = 120;  // Seconds; schedulers and quotas need some.
constexpr std::uint64_t kLagSmall = 1000;   // Raft entries.

/// Whether the newer of two comes first.
bool newer(const Seat* a, const Seat* b) {
  return std::tie(a->object->created, a->name) > std::tie(b->object->created, b->name);
}

/// Whether to give up a joiner of ours that has waited since then.
bool past_deadline(const Observation& seen, WallTime since) {
  return seen.now - since > std::chrono::seconds(seen.cluster.spec.progress_deadline_seconds);
}

/// Whether to give up a joiner of ours that has waited since then, and has not started. While a
/// voter that leaves may have its place, it is kept until that voter makes room (leaves_first,
/// gives_way), however short the deadline is: else one would be created after the other. A removed
/// voter has a place only with its data in memory.
bool is_stuck(const View& view, WallTime since) {
  const auto in_the_way = [&](const Seat* s) {
    return s->listed ? !s->listed->learner && healthy(*s)
                     : s->object->voter && s->pod && has_data_in_memory(view.seen, *s);
  };
  const bool too_early = view.seen.now - since <= std::chrono::seconds(2 * kBlockedLong);
  return past_deadline(view.seen, since) &&
         !(too_early && std::ranges::any_of(view.census.leaving, in_the_way));
}

/// The voter that is to lead: one that was not asked before, then the one that has applied most of
/// the log. Null: none is healthy.
const Seat* heir_of(const View& view) {
  const auto rank = [&](const Seat* s) {
    const auto& tried = view.seen.tried_heirs;
    return std::tuple(std::ranges::find(tried, s->name) == tried.end(), s->answer->applied);
  };
  const Seat* best = nullptr;
  for (const Seat* seat : view.census.staying)
    if (healthy(*seat) && (!best || rank(seat) > rank(best))) best = seat;
  return best;
}

/// A leader hands over before it is removed.
Verdict take_out(const View& view, const Seat& seat) {
  if (&seat != view.census.leader) return RemoveFromEtcd{seat.name, seat.listed->id};
  if (const Seat* heir = heir_of(view)) return MoveLeader{seat.name, heir->name, heir->listed->id};
  return Wait{"a healthy member to take the leadership from " + seat.name};
}

/// name=URL of every member, sorted. A member that has not started has no name in etcd; the name
/// then comes from its URL.
std::string initial_cluster(const Observation& seen) {
  std::vector<std::string> members;
  for (const Seat& seat : seen.seats)
    if (seat.listed) members.push_back(seat.name + "=" + seat.peer_url);
  std::ranges::sort(members);
  std::string out;
  for (const std::string& member : members) out += (out.empty() ? "" : ",") + member;
  return out;
}

}  // namespace

namespace {

/// Whether a joiner's Pod has had no node, or was refused, for so long that a member of ours may be
/// in its way.
bool replacement_has_no_place(const Census& census) {
  return std::ranges::any_of(
      census.joiners, [](const Seat* s) { return !s->answer && s->blocked_s >= kBlockedLong; });
}

bool keeps_up_with(const Observation& seen, const Seat& seat) {
  return healthy(seat) && lag_of(seen, seat) <= kLagSmall;
}

/// Whether a removed voter whose data is in memory makes room for its replacement: its Pod would
/// keep it from starting. All voters that etcd has are healthy, and have caught up.
bool gives_way(const View& view, const Seat& removed) {
  const auto keeps_up = [&](const Seat* s) { return keeps_up_with(view.seen, *s); };
  return has_data_in_memory(view.seen, removed) && replacement_has_no_place(view.census) &&
         !view.census.voters.empty() && std::ranges::all_of(view.census.voters, keeps_up);
}

}  // namespace

bool is_stalled(const Observation& seen, const Seat& seat) {
  return seat.listed && seat.listed->learner && !seat.receives_snapshot &&
         seat.stalled_s > seen.cluster.spec.progress_deadline_seconds;
}

const Seat* leaves_first(const Observation& seen, const Census& census) {
  if (!replacement_has_no_place(census)) return nullptr;
  // One at most: the joiner is called blocked for some seconds after it has got the place.
  if (std::cmp_less(census.voters.size(), census.want)) return nullptr;
  const auto keeps_up = [&](const Seat* s) { return keeps_up_with(seen, *s); };
  const Seat* leader = nullptr;  // If all leave, no member can take the leadership from it.
  for (const Seat* seat : census.leaving) {
    const bool votes = seat->listed && !seat->listed->learner;
    const auto fine = [&](const Seat* s) { return s == seat || keeps_up(s); };
    if (!votes || !healthy(*seat) || census.voters.size() <= 1 ||
        !std::ranges::all_of(census.voters, fine))
      continue;
    if (seat != census.leader) return seat;
    leader = seat;
  }
  return leader;
}

/// The list is linearizable: a member that is not in it is removed. A voter's volume stays until
/// its replacement votes; its Pod goes before (facts), unless the Pod has the data.
Verdict release(const View& view) {
  for (const Seat* seat : view.census.leaving)
    if (!seat->listed && seat->object->has_finalizer &&
        (!seat->object->voter || view.staying() >= view.census.want || gives_way(view, *seat)))
      return ReleaseMember{seat->name, seat->object->uid};
  return Skip{};
}

Verdict remove_leaving(const View& view) {
  for (const Seat* seat : view.census.leaving)
    if (seat->listed && seat->listed->learner) return RemoveFromEtcd{seat->name, seat->listed->id};
  if (const Seat* first = leaves_first(view.seen, view.census)) return take_out(view, *first);
  for (const bool broken : {true, false})
    for (const Seat* seat : view.census.leaving) {
      if (!seat->listed || healthy(*seat) == broken) continue;
      if (view.census.publishing)
        return Wait{"joiners to start before " + seat->name + " is removed"};
      if (!view.can_lose(*seat)) return Wait{"a quorum without " + seat->name};
      // A broken member is removed, then replaced; a healthy one is replaced, then removed.
      if (!broken && view.staying() < view.census.want) continue;
      return take_out(view, *seat);
    }
  return Skip{};
}

/// Deletes joiners that are surplus, that another client removed from etcd, that have lost their
/// data, that make no progress in time, or that have not started when the spec is edited.
Verdict drop_joiner(const View& view) {
  const auto intent_of = [&](const Seat& seat) {
    const auto& all = view.status.pending_members;
    const auto found = std::ranges::find(all, seat.name, &PendingMember::name);
    return found == all.end() ? nullptr : &*found;
  };
  const auto waits_since = [&](const Seat& seat) {
    const PendingMember* intent = intent_of(seat);
    const auto since = intent ? from_rfc3339(intent->since) : std::nullopt;
    return since.value_or(seat.object->created);
  };
  // By the record, not by the object: an older CRD prunes fields of the object, for ever.
  const std::string wanted = template_of(*view.status.observed);
  const auto is_outdated = [&](const Seat& seat) {
    const PendingMember* intent = intent_of(seat);
    return intent && !intent->made_as.empty() && intent->made_as != wanted;
  };
  auto newest_first = view.census.joiners;
  const auto has_started = [](const Seat* s) { return s->listed && s->listed->started; };
  std::ranges::sort(newest_first, [&](const Seat* a, const Seat* b) {
    return has_started(a) != has_started(b) ? has_started(b) : newer(a, b);
  });
  for (const Seat* seat : newest_first) {
    // A broken voter goes before a healthy learner (shrink).
    const bool surplus =
        view.too_many() && !(healthy(*seat) && has_started(seat) && view.census.broken_staying());
    const bool removed = !seat->listed && !seat->object->initial_cluster.empty();
    // A large snapshot is progress.
    const bool stuck =
        unstarted(*seat) && is_stuck(view, waits_since(*seat)) && !seat->receives_snapshot;
    const bool outdated = !has_started(seat) && !seat->answer && is_outdated(*seat);
    const bool stalled = has_started(seat) && is_stalled(view.seen, *seat);
    if (surplus || removed || stuck || outdated || stalled || lost(*seat))
      return DeleteMember{seat->name, seat->object->uid};
  }
  return Skip{};
}

/// Foreign members are left alone, except for a learner that we recorded and that never started.
Verdict remove_foreign_member(const View& view) {
  for (const Seat* foreign : view.census.foreign_members) {
    if (!foreign->listed->learner || foreign->listed->started) continue;
    for (const PendingMember& intent : view.status.pending_members) {
      const auto since = from_rfc3339(intent.since);
      if (intent.peer_url == foreign->peer_url && since && past_deadline(view.seen, *since))
        return RemoveFromEtcd{foreign->name, foreign->listed->id};
    }
  }
  return Skip{};
}

/// Replaces members that have lost their data, one at a time: the next one once etcd has removed
/// the last. A healthy quorum of all voters must know what the lost member knew (I5). If many
/// clusters became unavailable at once, the cause is our network or their common storage.
Verdict replace(const View& view) {
  const auto found = std::ranges::find_if(view.census.staying, [](auto* s) { return lost(*s); });
  if (found == view.census.staying.end()) return Skip{};
  const Seat& seat = **found;
  const auto on_its_way = [](const Seat* s) { return s->listed && !healthy(*s); };
  if (std::ranges::any_of(view.census.leaving, on_its_way))
    return Wait{"another member to leave before " + seat.name + " is replaced"};
  if (view.census.publishing) return Wait{"joiners to start before " + seat.name + " is replaced"};
  if (view.census.healthy_voters < quorum(view.voters()))
    return Wait{"a healthy quorum before " + seat.name + " is replaced"};
  if (waits_for_others(view.seen, seat))
    return Wait{"an outage of many clusters to end before " + seat.name + " is replaced"};
  // Its silence may be old, or be that of a watch.
  const bool if_silent = is_lost_by_its_words(seat) || given_up(view.seen, seat);
  return DeleteMember{seat.name, seat.object->uid, if_silent};
}

/// With a quorum, one more healthy voter never costs it. The learner that has caught up furthest
/// goes first, and of equals the oldest: a learner that lags blocks no other. A member whose Pod
/// could still join again must not vote: after it loses its memory, it would vote again without
/// its earlier promises.
Verdict promote(const View& view) {
  if (view.staying() >= view.census.want) return Skip{};
  const Seat* best = nullptr;
  for (const Seat* seat : view.census.joiners) {
    if (!seat->listed || !seat->listed->started || !healthy(*seat)) continue;
    if (seat->pod && seat->pod->may_join) continue;
    const bool level = best && seat->answer->applied == best->answer->applied;
    if (!best || (level ? newer(best, seat) : seat->answer->applied > best->answer->applied))
      best = seat;
  }
  if (!best) return Skip{};
  return Promote{best->name, best->listed->id};
}

/// Creates an EtcdMember for a missing voter: one at a time, as etcd has one learner at a time.
Verdict create(const View& view) {
  if (is_founding(view.seen)) return Wait{"the first member to restart"};
  if (view.missing() <= 0) return Skip{};
  if (view.census.publishing) return Wait{"joiners to start"};
  const bool joins = std::ranges::any_of(view.census.joiners, [](auto* s) { return !s->listed; });
  if (joins || !view.census.learners.empty()) return Skip{};
  const auto recorded = uncreated(view.seen, view.status);
  const PendingMember next =
      recorded.empty() ? next_intent(view.seen, view.status) : recorded.front();
  return CreateMember{next.name, next.peer_url, false};
}

/// Never adds a second learner, whatever the members' own limits allow (ADR 23). etcd checks its
/// limit when it applies the change, and again when it replays its log: a member with the default
/// limit could never start or join again.
Verdict add(const View& view) {
  for (const Seat* seat : view.census.joiners) {
    if (seat->listed) continue;
    if (!view.census.learners.empty())
      return Wait{view.census.learners.front()->name + " to vote before " + seat->name +
                  " is added"};
    return AddLearner{seat->name, seat->peer_url};
  }
  return Skip{};
}

/// Gives a joiner that has not started the current list, and again if the list changes before it
/// starts.
Verdict publish(const View& view) {
  const std::string list = initial_cluster(view.seen);
  for (const Seat* seat : view.census.joiners)
    if (unstarted(*seat) && seat->object->initial_cluster != list) return Publish{seat->name, list};
  return Skip{};
}

/// Only marks the member that leaves; remove_leaving protects the quorum. Broken members go first.
/// Then, on the way back to an older minor, the newer ones: without an older voter, no member of
/// the older minor could join. Then members created from an older spec, so that scaling up and down
/// renews all. Then followers before the leader, then the zone and the node with most members, then
/// the newest.
Verdict shrink(const View& view) {
  const bool replaceable = view.census.broken_staying() && view.too_many();
  if (view.staying() <= view.census.want && !replaceable) return Skip{};
  // A voter that leaves may need the quorum that only the removal of a broken one gives.
  const auto is_held = [&](const Seat* s) {
    return s->listed && !s->listed->learner && healthy(*s) && !view.can_lose(*s);
  };
  const auto& leaving = view.census.leaving;
  if (!leaving.empty() && !(replaceable && std::ranges::all_of(leaving, is_held))) return Skip{};
  const auto neighbours = [&](const Seat* s) {
    return std::ranges::count_if(view.census.staying, [&](const Seat* other) {
      return s->pod && other->pod && !s->pod->node.empty() && s->pod->node == other->pod->node;
    });
  };
  const auto in_its_zone = [&](const Seat* s) {
    return std::ranges::count_if(view.census.staying, [&](const Seat* other) {
      return s->pod && other->pod && !s->pod->zone.empty() && s->pod->zone == other->pod->zone;
    });
  };
  const std::string wanted = template_of(*view.status.observed);
  const Seat& victim =
      **std::ranges::min_element(view.census.staying, [&](const Seat* a, const Seat* b) {
        const auto cost = [&](const Seat* s) {
          const bool is_current = s->object->made_as == wanted;
          const bool stays_back = !is_newer_minor(*s, view.status.observed->version);
          return std::tuple(healthy(*s), stays_back, is_current, s == view.census.leader,
                            -in_its_zone(s), -neighbours(s));
        };
        return cost(a) != cost(b) ? cost(a) < cost(b) : newer(a, b);
      });
  if (!leaving.empty() && !view.can_lose(victim)) return Skip{};
  return DeleteMember{victim.name, victim.object->uid};
}

/// Pauses the last member once it is alone. While foreign members vote, that would leave them
/// without a quorum.
Verdict pause(const View& view) {
  if (!view.census.pause || view.staying() != 1 || view.joiners() > 0 ||
      !view.census.leaving.empty())
    return Skip{};
  if (view.voters() > 1)
    return Wait{"a user to remove foreign member " + view.census.foreign_members.front()->name};
  return PauseMember{view.census.staying.front()->name, view.census.staying.front()->object->uid};
}

/// A dormant member beside others is needed, even by members that are to leave: only the last
/// member may be dormant. A deleted one has the data that its replacement needs, unless the
/// cluster is to be paused.
Verdict wake(const View& view) {
  if (view.status.cluster_id.empty() && view.seen.split) return Skip{};  // Maybe another etcd's.
  std::optional<WakeMember> refused;
  for (const Seat& seat : view.seen.seats) {
    if (!seat.object || !seat.object->dormant || has_left(view.seen, seat)) continue;
    if (seat.object->terminating && view.census.pause) continue;
    WakeMember step{seat.name, seat.object->uid};
    if (!view.seen.failing_step.ends_with(step.words())) return step;
    refused = std::move(step);  // The others do not wait for it.
  }
  if (refused) return *refused;
  return Skip{};
}

/// The first member has run in the Pod that founded, and etcd of the version in its spec would not
/// start on its data (K4). The member controller waits for this before it makes another Pod.
Verdict keep_version(const View& view) {
  if (!has_founder_only(view.seen)) return Skip{};
  const Seat& first = view.seen.seats.front();
  if (!first.object || (first.pod && !first.pod->founds)) return Skip{};
  const std::string& ran = first.answer ? first.answer->version : first.object->version;
  const auto data = etcd::parse_version(ran),
             with = etcd::parse_version(first.object->spec_version);
  if (!data || !with || etcd::goes_on(*data, *with)) return Skip{};
  return KeepVersion{first.name, first.object->uid, ran};
}

/// Without a cluster id: creates exactly one seed, whose name is recorded first. While its etcd
/// does not run, a corrected spec reaches it: nothing else can mend a first member.
Verdict found(const View& view) {
  if (!authority_trouble(view.seen).empty()) return Skip{};  // issue() waits.
  const auto has_object = [](const Seat& s) { return s.object.has_value(); };
  if (std::ranges::any_of(view.seen.seats, has_object)) {
    const Seat& first = view.seen.seats.front();
    const bool alone = view.seen.seats.size() == 1 && !first.object->terminating;
    if (view.census.pause && alone) return PauseMember{first.name, first.object->uid};
    const Wait wait{"the first member to answer"};
    const Seat* founder = idle_founder(view.seen);
    if (!founder) return wait;
    if (founder->object->made_as != template_of(*view.status.observed))
      return CorrectFounder{founder->name, founder->object->uid};
    // A user edited it: etcd would not start. With other TLS its URL would be another, too.
    const std::string list = founder->name + "=" + founder->peer_url;
    const bool is_edited = founder->object->initial_cluster != list;
    if (is_edited && !founder->object->other_tls) return Publish{founder->name, list};
    return wait;
  }
  const auto& pending = view.status.pending_members;
  const PendingMember seed =
      pending.empty() ? next_intent(view.seen, view.status) : pending.front();
  return CreateMember{seed.name, seed.peer_url, true};
}

}  // namespace etcdop::cluster
