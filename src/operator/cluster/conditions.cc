#include "operator/cluster/conditions.h"

#include <algorithm>
#include <chrono>

#include "api/v1alpha2/names.h"
#include "base/joined.h"
#include "base/utf8.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/intents.h"
#include "operator/cluster/membership.h"
#include "operator/cluster/objects.h"
#include "operator/cluster/outage.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/restoring.h"
#include "operator/cluster/security.h"
#include "operator/cluster/spec.h"
#include "operator/passes/metadata.h"
#include "operator/passes/owner.h"
#include "operator/pods/member_name.h"
#include "operator/pods/pod_shape.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::chrono::seconds kUnknownFor{60};
constexpr std::size_t kNameShown = 253;  ///< Bytes; the longest name in Kubernetes.

/// States the remedy. Never advises deleting the cluster: its old volumes and the revision that
/// clients have seen would be lost.
std::string nothing_is_left(const Observation& seen) {
  const bool memory = seen.cluster.spec.storage.medium == v1::Medium::Memory;
  return std::string("no member with data is left; ") +
         (memory ? "restore a snapshot into a new EtcdCluster with volumes"
                 : "create an EtcdRestore to restore a snapshot");
}

/// Writes one cluster's conditions: all of them carry the generation and the time of this pass.
struct Conditions {
  const Observation& seen;
  v1::EtcdClusterStatus& status;
  bool being_born = false;  ///< is_being_born() before any condition is written.
  void set(const char* type, const char* value, const char* reason, std::string message) {
    runtime::set_condition(status.conditions, {type, value, reason, std::move(message)},
                           seen.cluster.metadata.generation, seen.now);
  }
  /// Nothing exists, and nothing is created.
  void refuse(const char* reason, const std::string& message) {
    set(v1::kAvailable, "False", reason, message);
    set(v1::kDegraded, "True", reason, message);
    set(v1::kProgressing, "False", reason, message);
  }
  std::string reason_of(const char* type) const {
    const api::Condition* c = runtime::find_condition(status.conditions, type);
    return c ? c->reason : "";
  }
};

std::string ready_of(const Census& census) {
  return std::to_string(census.ready) + "/" + std::to_string(census.want) + " members ready";
}

/// The first reason why a member is not ready, for users; empty: none is known.
std::string trouble(const Observation& seen) {
  if (!seen.rejected.empty()) return seen.rejected;
  for (const Seat& seat : seen.seats)
    if (seat.object && !seat.object->ready && !seat.object->trouble.empty())
      return seat.name + ": " + seat.object->trouble;
  return "";
}

std::string with(std::string text, const std::string& detail) {
  if (text.empty()) return detail;
  return detail.empty() ? text : text + "; " + detail;
}

constexpr const char* kOfTwoEtcds =
    "the members belong to different etcd clusters; see SplitBrain in docs/user/operations.md";

/// A part of another message.
std::string read_only(const Observation& seen) {
  return has_alarm(seen, etcd::AlarmKind::NoSpace) ? "read-only, as the database is full" : "";
}

/// A part of another message: etcd answers, and the clients that use the Service do not reach it.
std::string unserved(const Observation& seen) {
  return seen.service_refused.empty()
             ? ""
             : "Service " + client_service_name(seen.cluster.metadata.name) +
                   " does not exist, so its name leads to no member";
}

bool any_answers(const Observation& seen) {
  return std::ranges::any_of(seen.seats, [](const Seat& s) { return s.answer.has_value(); });
}

/// Whether only the first member exists, and no condition has reported yet that it serves.
bool is_news(const Observation& seen, const Conditions& out) {
  const std::string before = out.reason_of(v1::kAvailable);
  return (before.empty() || precedes_birth(before)) && has_founder_only(seen);
}

/// Whether no cluster exists yet, or its first member is being recreated and is unreachable for a
/// moment.
bool is_being_born(const Observation& seen, const Conditions& out) {
  if (out.status.cluster_id.empty()) return true;
  if (seen.split) return false;
  const api::Condition* told = runtime::find_condition(out.status.conditions, v1::kAvailable);
  const bool announced = told && told->status == "True";
  if (is_founding(seen)) return !announced;  // Its Pod is recreated, even after the deadline.
  const bool late = out.reason_of(v1::kProgressing) == v1::kDeadlineExceeded;
  return is_news(seen, out) && !seen.linearizable && !late;
}

/// Whether the only voter has restarted so often that it may end again in a moment.
bool restarts_often(const Observation& seen) {
  return std::ranges::any_of(seen.seats, [](const Seat& s) {
    return s.object && s.object->voter && s.object->reason == v1::kCrashLooping;
  });
}

/// Names of members that answer as members of another etcd cluster.
std::vector<std::string> elsewhere(const Observation& seen) {
  std::vector<std::string> out;
  for (const Seat& seat : seen.seats)
    if (seat.elsewhere) out.push_back(seat.name);
  return out;
}

/// Whether the member controller knows of them, and takes their Pods out of the Services. An older
/// CRD drops the field.
bool is_kept_apart(const Observation& seen) {
  return std::ranges::all_of(
      seen.seats, [](const Seat& s) { return !s.elsewhere || (s.object && s.object->elsewhere); });
}

/// Whether no member with data is left.
bool all_is_lost(const Observation& seen) {
  return std::ranges::all_of(seen.seats, [](const Seat& s) { return s.object && lost(s); });
}

/// Whether the cluster cannot form: its members have lost their data, or were to join an etcd that
/// never took them, so they have no Pod.
bool none_has_data(const Observation& seen) {
  const auto never_added = [](const Seat& s) {
    return !s.object->seed && s.object->member_id.empty() && s.object->initial_cluster.empty() &&
           !s.pod;
  };
  return std::ranges::all_of(
      seen.seats, [&](const Seat& s) { return s.object && (lost(s) || never_added(s)); });
}

/// No member answers: the operator's own network may be the cause. After a minute it is an outage
/// for whoever waits for the condition. Its message has the time of the last answer, and then stays
/// the same: an age would cost a write each minute (I11).
void report_silence(const Observation& seen, Conditions& out) {
  const api::Condition* told = runtime::find_condition(out.status.conditions, v1::kAvailable);
  const bool known = told && told->reason == v1::kClusterUnreachable;
  if (known && told->status == "False")
    return out.set(v1::kAvailable, "False", v1::kClusterUnreachable, told->message);
  const auto since = known ? from_rfc3339(told->last_transition_time) : std::nullopt;
  const auto silent = since ? seen.now - *since : std::chrono::seconds(0);
  if (!since || (silent >= std::chrono::seconds(0) && silent < kUnknownFor))
    return out.set(v1::kAvailable, "Unknown", v1::kClusterUnreachable,
                   with("no member answers", with(trouble(seen), seen.etcd_error)));
  const WallTime last = seen.last_answer ? std::min(*seen.last_answer, *since) : *since;
  out.set(v1::kAvailable, "False", v1::kClusterUnreachable,
          "no member has answered since " + to_rfc3339(last));
}

void report_available(const Observation& seen, const Census& census, Conditions& out) {
  const bool latched_now = seen.cluster.status.cluster_id.empty();
  if (seen.split || (!seen.linearizable && !elsewhere(seen).empty()))
    out.set(v1::kAvailable, "Unknown", v1::kSplitBrain,
            "members answer with different cluster ids: " + seen.etcd_error);
  else if (seen.linearizable && has_alarm(seen, etcd::AlarmKind::Corrupt))
    // Quorum reads succeed but are not reliable: etcd accepts no writes, and /readyz fails on every
    // member, so the client Service has no endpoint.
    out.set(v1::kAvailable, "False", v1::kCorrupt,
            "etcd refuses to serve: it has raised CORRUPT for " +
                raised_for(seen, etcd::AlarmKind::Corrupt));
  else if (seen.linearizable && (latched_now || is_news(seen, out) ||
                                 (out.reason_of(v1::kAvailable) == v1::kClusterDiscovered &&
                                  census.voters.size() == 1 && census.want > 1)))
    out.set(v1::kAvailable, "True", v1::kClusterDiscovered,
            "etcd cluster " + out.status.cluster_id + " discovered");
  else if (seen.linearizable && census.want == 1 && restarts_often(seen))
    // Between two ends of the only member; several members cover for one another.
    out.set(v1::kAvailable, "False", v1::kCrashLooping, trouble(seen));
  else if (seen.linearizable && census.ready >= census.want)
    // A full database still serves reads, by a quorum and through the client Service: Available
    // reports that. Alarmed and Degraded report that writes fail.
    out.set(v1::kAvailable, "True", v1::kQuorumHealthy,
            with(with("All members are ready", read_only(seen)), unserved(seen)));
  else if (seen.linearizable)
    out.set(v1::kAvailable, "True", v1::kQuorumAvailable,
            with(with(ready_of(census), read_only(seen)), unserved(seen)));
  else if (all_is_lost(seen))
    out.set(v1::kAvailable, "False", v1::kDataLost, nothing_is_left(seen));
  else if (any_answers(seen))
    out.set(v1::kAvailable, "False", v1::kQuorumLost, ready_of(census) + ", quorum lost");
  else report_silence(seen, out);
}

/// Whether a foreign learner blocks growth: only one learner exists at a time.
bool holds_up_growth(const Census& census) {
  return static_cast<int>(census.staying.size()) < census.want &&
         std::ranges::any_of(
             census.foreign_members, [](const Seat* s) { return s->listed->learner; });
}

/// Members of etcd without an EtcdMember of ours, EtcdMembers that nobody owns and etcd does not
/// list, and Pods that belong to no member; empty: there are none.
std::string about_foreign(const Observation& seen, const Census& census,
                          const v1::EtcdClusterStatus& status) {
  std::vector<std::string> foreign;
  for (const Seat* one : census.foreign_members)
    if (!recorded(status, *one) || one->listed->started)
      foreign.push_back(shortened(one->name, kNameShown) + " (" + to_hex(one->listed->id) + ")");
  std::string out;
  if (!foreign.empty())
    out = "etcd lists members without an EtcdMember of this cluster: " + joined(foreign) +
          "; remove them with etcdctl if they are not wanted" +
          (holds_up_growth(census) ? "; the operator adds no member beside a learner" : "");
  if (seen.linearizable && !seen.strangers.empty())
    out = with(out, "etcd does not list these EtcdMembers, which have lost their owner or label: " +
                        some_of(seen.strangers) + "; delete them if their data is not needed");
  if (!seen.stray_pods.empty())
    out = with(out, "the Services lead to Pods that belong to no member: " +
                        some_of(seen.stray_pods) + "; delete them");
  return out;
}

void report_degraded(const Observation& seen, const Census& census, Conditions& out) {
  const std::string foreign = about_foreign(seen, census, out.status);
  const bool asks = out.status.auth_enabled || seen.auth.enabled.value_or(false);
  const bool waits = wants_auth(seen.cluster) && is_complete(seen, census);
  if (seen.split)
    out.set(v1::kDegraded, "True", v1::kSplitBrain,
            "members answer with different cluster ids; the operator changes nothing");
  else if (const auto odd = elsewhere(seen); !odd.empty())
    out.set(v1::kDegraded, "True", v1::kSplitBrain,
            joined(odd) +
                ": answers as a member of another etcd cluster; it counts as unreachable, and " +
                (is_kept_apart(seen)
                     ? "the operator keeps clients away from it and its data as it is"
                     : "clients may reach it until status.elsewhere of its EtcdMember is true") +
                "; delete this EtcdMember to replace it");
  else if (!foreign.empty()) out.set(v1::kDegraded, "True", v1::kForeignMember, foreign);
  else if (seen.linearizable && has_alarm(seen, etcd::AlarmKind::Corrupt))
    out.set(v1::kDegraded, "True", v1::kCorrupt,
            with(ready_of(census) + "; see Alarmed", about_outage(seen)));
  else if (seen.linearizable && !seen.service_refused.empty())
    out.set(v1::kDegraded, "True", v1::kServiceRefused,
            with(with(unserved(seen), seen.service_refused), ready_of(census)));
  else if (seen.linearizable && census.ready < census.want)
    out.set(
        v1::kDegraded, "True", v1::kMembersUnhealthy,
        with(with(with(ready_of(census), trouble(seen)), about_outage(seen)), seen.policy_error));
  else if (seen.linearizable && has_alarm(seen, etcd::AlarmKind::NoSpace))
    out.set(v1::kDegraded, "True", v1::kNoSpace, "the database is full; see Alarmed");
  else if (!seen.rejected.empty() && is_complete(seen, census))
    out.set(v1::kDegraded, "True", v1::kObjectRejected, seen.rejected);
  else if (!seen.auth.refused.empty() && (asks || waits))
    // The operator may still see the cluster's state: by its certificate, or without credentials
    // from an older etcd. With its recorded password it logs in although the Secret has none.
    out.set(v1::kDegraded, "True", v1::kAuthCredentialsRejected,
            with(seen.auth.refused, !asks ? "authentication stays off until this is fixed"
                                    : seen.auth.entered ? "root keeps its current password"
                                                        : ""));
  else if (seen.linearizable)
    out.set(v1::kDegraded, "False", v1::kQuorumHealthy, "All members are ready");
  else if (all_is_lost(seen))
    out.set(v1::kDegraded, "True", v1::kDataLost, with(nothing_is_left(seen), seen.rejected));
  else if (any_answers(seen))
    out.set(v1::kDegraded, "True", v1::kQuorumLost,
            with(ready_of(census) + ", quorum lost", trouble(seen)));
  else
    out.set(v1::kDegraded, "True", v1::kClusterUnreachable,
            with("no member answers", with(trouble(seen), seen.etcd_error)));
}

std::string about_corruption(const Observation& seen) {
  const std::string who =
      "etcd has raised CORRUPT for " + raised_for(seen, etcd::AlarmKind::Corrupt) + ": ";
  const Suspicion suspicion = suspicion_of(seen);
  if (suspicion.what == Corruption::Convicted)
    return who + "its data differs from the majority's; the operator replaces it";
  if (suspicion.what == Corruption::Removed)
    return who +
           "it is no longer a member, and a majority has the same data; run etcdctl alarm disarm "
           "to let etcd serve again";
  return who + suspicion.why +
         "; the operator changes nothing until you decide: see Corrupt in docs/user/operations.md";
}

/// Without an alarm so far, no condition is written: it would cost each cluster at rest a write.
void report_alarms(const Observation& seen, Conditions& out) {
  if (!knows_alarms(seen)) return;
  if (has_alarm(seen, etcd::AlarmKind::Corrupt))
    out.set(v1::kAlarmed, "True", v1::kCorrupt, about_corruption(seen));
  else if (has_alarm(seen, etcd::AlarmKind::NoSpace))
    out.set(v1::kAlarmed, "True", v1::kNoSpace,
            "etcd has raised NOSPACE for " + raised_for(seen, etcd::AlarmKind::NoSpace) +
                ": etcd accepts no writes; delete or compact keys, then create an EtcdDefrag, "
                "which disarms the alarm");
  else if (runtime::find_condition(out.status.conditions, v1::kAlarmed))
    out.set(v1::kAlarmed, "False", v1::kDisarmed, "no alarm is raised");
}

/// The seconds that etcd has to start.
constexpr std::int64_t kStarts = 120;

/// Whether a member answers that it has no leader, or had time to start and does not answer: a
/// joiner waits for its peers.
bool has_no_leader(const Observation& seen) {
  const auto waits = [](const Seat& s) { return s.answer || (s.pod && s.silent_s >= kStarts); };
  const auto leads = [](const Seat& s) { return s.answer && s.answer->leader.value != 0; };
  return std::ranges::any_of(seen.seats, waits) && std::ranges::none_of(seen.seats, leads);
}

/// Why a first member with another storage medium does not get the spec; empty: it need not.
std::string about_medium(const Seat& first) {
  const bool unborn = first.object->unborn;
  if (!first.object->other_medium || (unborn ? first.object->terminating : runs(first))) return "";
  const std::string stays =
      "its storage.medium stays, and edits of the EtcdCluster do not reach it; ";
  if (unborn) return stays + "delete EtcdMember " + first.name;
  return "the etcd of " + first.name + " may have run, so " + stays +
         "to keep its data, delete the EtcdCluster with --cascade=orphan and create it again with "
         "the storage.medium of EtcdMember " +
         first.name + "; to discard it, delete the EtcdCluster and create it again";
}

/// Why a first member that was deleted, or lost its data, is not replaced, and the remedy; empty:
/// it need not be, or will be at once. No second one may found the cluster.
std::string about_founder(const Observation& seen) {
  if (!seen.cluster.status.cluster_id.empty() || seen.seats.empty()) return "";
  const Seat& first = seen.seats.front();
  const bool founds = seen.seats.size() == 1 && first.object && first.object->seed &&
                      first.object->member_id.empty();
  if (seen.split) return kOfTwoEtcds;
  if (!founds && none_has_data(seen))  // A user made the EtcdCluster their owner.
    return "no member with data is left; delete the EtcdCluster and create it again";
  if (!founds && has_no_leader(seen))
    return "etcd has no leader; if too many of its members are gone for good, delete the "
           "EtcdCluster and create it again from a snapshot";
  if (!founds) return "";
  // A first member of an earlier EtcdCluster does not found.
  const bool of_this = is_token_of(first.object->token, seen.cluster.metadata);
  const bool crashes = first.object->reason == v1::kCrashLooping;
  const bool is_silent = runs(first) && !first.answer && first.silent_s >= kStarts;
  if (crashes ? !of_this : is_silent)
    return "the etcd of " + first.name +
           " does not serve; if its volume has no data, or that of an etcd whose other members "
           "are gone for good, delete the EtcdCluster and create it again from a snapshot";
  if (std::string medium = about_medium(first); !medium.empty()) return medium;
  if (first.object->unborn) return "";
  const std::string may_have_run = "the etcd of " + first.name + " may have run, so ";
  if (lost(first))
    return may_have_run +
           "no other member founds the cluster; delete the EtcdCluster and create it again";
  if (!first.object->terminating) return "";
  return may_have_run +
         "it stays until another member has its data; edit the EtcdCluster so that its Pod can "
         "start, or delete the EtcdCluster";
}

/// Why etcd has not answered yet. The error of a call counts once a member is ready; before, etcd
/// starts.
std::string why_no_birth(const Observation& seen) {
  const auto is_ready = [](const Seat& s) { return s.object && s.object->ready; };
  const std::string why = trouble(seen);
  return why.empty() && std::ranges::any_of(seen.seats, is_ready) ? seen.etcd_error : why;
}

/// Progress towards the target, in words that change only when something was achieved.
std::string progress(const Observation& seen, const Census& census, const Conditions& out) {
  if (census.voters.empty() || out.being_born) {
    const auto restore = restore_of(seen);
    if (restore) return restore->message;
    return with(with("waiting for the first member", why_no_birth(seen)), about_founder(seen));
  }
  const std::string votes = std::to_string(census.staying.size()) + " of " +
                            std::to_string(census.want) + " members vote";
  if (const Seat* first = leaves_first(seen, census))
    return with(votes + "; " + first->name +
                    " is removed before its replacement votes, which needs "
                    "its place",
                trouble(seen));
  if (!census.leaving.empty())
    return with(votes + ", " + std::to_string(census.leaving.size()) + " leaving", trouble(seen));
  return with(votes, trouble(seen));
}

/// Before etcd's first answer, within the deadline.
void report_birth(const Observation& seen, const Census& census, Conditions& out) {
  const auto restore = restore_of(seen);
  const char* const reason = restore ? restore->reason : v1::kWaitingForSeed;
  const std::string message = progress(seen, census, out);
  out.set(v1::kProgressing, restore && restore->stopped ? "False" : "True", reason, message);
  // If Available said that the birth had stopped, it now says that the birth goes on.
  if ((restore && restore->stopped) || stops_birth(out.reason_of(v1::kAvailable)))
    out.set(v1::kAvailable, "False", reason, message);
}

void report_progressing(const Observation& seen, const Census& census, Conditions& out) {
  auto& deadline = out.status.progress_deadline;
  const std::string before = out.reason_of(v1::kProgressing);
  if (is_complete(seen, census)) {
    deadline.reset();
    const int behind = census.want - out.status.updated_members;
    const std::string done = behind <= 0
                                 ? "the cluster matches its spec"
                                 : std::to_string(behind) + " of " + std::to_string(census.want) +
                                       " members were created from an older spec";
    out.set(v1::kProgressing, "False", v1::kReconciled, with(done, outdated_spec(seen)));
    return;
  }
  const bool settled = static_cast<int>(census.staying.size()) == census.want &&
                       census.joiners.empty() && census.leaving.empty();
  if (before == v1::kReconciled && settled) return;  // Degraded reports its health.
  if (!seen.linearizable && before == v1::kReconciled) return;
  if (!deadline)
    deadline =
        to_rfc3339(seen.now + std::chrono::seconds(seen.cluster.spec.progress_deadline_seconds));
  const bool waiting_for_seed = out.status.cluster_id.empty() && !seen.seats.empty();
  const auto restore = restore_of(seen);
  if (waiting_for_seed && restore && restore->stopped) return report_birth(seen, census, out);
  const auto when = from_rfc3339(*deadline);
  if (when && seen.now >= *when) {
    const bool born = !out.status.cluster_id.empty();
    out.set(v1::kProgressing, "False", born ? v1::kDeadlineExceeded : v1::kBootstrapFailed,
            "not done within " + std::to_string(seen.cluster.spec.progress_deadline_seconds) +
                " s: " + progress(seen, census, out) + "; still trying");
    if (!born) out.set(v1::kAvailable, "False", v1::kBootstrapFailed, progress(seen, census, out));
    return;
  }
  if (waiting_for_seed) return report_birth(seen, census, out);
  const bool same_errand = before == v1::kInitialSnapshot || before == v1::kSpecChanged ||
                           before == v1::kRetryAfterDeadline || before == v1::kMemberReplacing;
  const bool just_born = precedes_birth(before) && before != v1::kBootstrapFailed;
  const char* const reason = same_errand ? before.c_str()
                             : just_born ? v1::kInitialSnapshot
                                         : v1::kMemberReplacing;
  out.set(v1::kProgressing, "True", reason, with(progress(seen, census, out), outdated_spec(seen)));
}

/// Before etcd's first answer nothing else is degraded.
void report_two_etcds(Conditions& out) {
  if (out.seen.split) return out.set(v1::kDegraded, "True", v1::kSplitBrain, kOfTwoEtcds);
  std::erase_if(out.status.conditions, [](const api::Condition& c) {
    return c.type == v1::kDegraded && c.reason == v1::kSplitBrain;
  });
}

void count_members(const Observation& seen, v1::EtcdClusterStatus& status) {
  const std::string wanted = status.observed ? template_of(*status.observed) : "";
  // Counts only ready members: a change of their number is written anyway.
  const auto is_updated = [&](const Seat& s) {
    return s.object && s.object->ready && s.object->made_as == wanted;
  };
  status.updated_members = static_cast<std::int32_t>(std::ranges::count_if(seen.seats, is_updated));
  status.broken_members = static_cast<std::int32_t>(std::ranges::count_if(seen.seats, lost));
  status.selector = selector_of(seen.cluster.metadata.name);
}

}  // namespace

void report(const Observation& seen, const Census& census, const std::optional<Refusal>& refused,
            v1::EtcdClusterStatus& status) {
  Conditions out{seen, status};
  out.being_born = is_being_born(seen, out);
  status.ready_members = census.ready;
  count_members(seen, status);
  if (const Shut shut = shut_out(seen); shut.reason) {
    out.set(v1::kAvailable, "False", shut.reason, shut.message);
    out.set(v1::kDegraded, "True", shut.reason, shut.message);
  } else if (out.being_born) {
    report_two_etcds(out);
  } else {
    report_available(seen, census, out);
    report_degraded(seen, census, out);
  }
  report_alarms(seen, out);
  report_tls(seen, status);
  report_plain_text(seen, status);
  if (!refused) report_progressing(seen, census, out);
  else
    out.set(v1::kProgressing, "False", refused->reason,
            refused->message + "; the cluster is kept as it is");
}

void report_refused(const Observation& seen, const Refusal& refused,
                    v1::EtcdClusterStatus& status) {
  Conditions out{seen, status};
  if (status.cluster_id.empty() && seen.seats.empty())
    return out.refuse(refused.reason, refused.message + "; nothing was created");
  if (has_orphans(seen))
    return out.refuse(refused.reason,
                      refused.message + "; the EtcdMembers without an owner are kept as they are");
  const std::string message = refused.message + "; the cluster is kept as it is";
  if (refused.reason == std::string_view(v1::kMembersFound))
    return out.refuse(refused.reason, message);
  // They may serve; the reason for which they were not taken over before has gone.
  std::erase_if(status.conditions, [](const api::Condition& c) {
    return c.reason == v1::kMembersFound && c.type != v1::kProgressing;
  });
  out.set(v1::kProgressing, "False", refused.reason, message);
}

void report_remains(const Observation& seen, const std::string& why,
                    v1::EtcdClusterStatus& status) {
  status.progress_deadline.reset();
  std::vector<std::string> members = seen.stray_members;
  for (const Seat& seat : seen.seats)
    if (seat.object && seat.object->orphan) members.push_back("EtcdMember " + seat.name);
  Conditions out{seen, status};
  if (members.empty())
    out.refuse(v1::kVolumesFound,
               about_volumes(seen.cluster, volumes_in_the_way(seen.cluster, seen.stray_volumes)));
  else
    out.refuse(v1::kMembersFound,
               about_members(members, seen.linearizable ? why : with(why, trouble(seen))));
}

void forget_refused(const Observation& seen, v1::EtcdClusterStatus& status) {
  if (!status.cluster_id.empty()) return;
  const auto about_it = [](const api::Condition& c) {
    return refuses(c.reason) &&
           (c.type == v1::kAvailable || c.type == v1::kDegraded || c.type == v1::kProgressing);
  };
  if (std::erase_if(status.conditions, about_it) == 0 || !status.observed) return;
  Conditions{seen, status}.set(v1::kProgressing, "True", v1::kInitialSnapshot,
                               towards(*status.observed));
}

void report_paused(const Observation& seen, const std::string& dormant_member,
                   const std::optional<Refusal>& refused, v1::EtcdClusterStatus& status) {
  Conditions out{seen, status};
  status.progress_deadline.reset();
  status.ready_members = 0;
  count_members(seen, status);
  const std::string state = dormant_member.empty()
                                ? "no data has been written (cluster never bootstrapped)"
                                : "data is preserved on PVC " + volume_name(dormant_member);
  const std::string remedy = dormant_member.empty() ? "set spec.replicas to start it"
                             : seen.split           ? kOfTwoEtcds
                                          : "set spec.replicas to resume the same etcd cluster";
  // The user may have set spec.replicas already, with an edit that is refused.
  const std::string message = "paused: " + state + "; " + (refused ? refused->message : remedy);
  out.set(v1::kAvailable, "False", v1::kPaused, message);
  out.set(v1::kDegraded, "False", v1::kPaused, message);
  if (!refused) out.set(v1::kProgressing, "False", v1::kPaused, message);
  else
    out.set(v1::kProgressing, "False", refused->reason,
            refused->message + "; the cluster stays paused");
}

namespace {

/// The stage of a restore in place, in words.
std::string words_of(const v1::RestoreRecord& record) {
  const v1::RestoreStage stage = record.stage;
  if (stage == v1::RestoreStage::Stopping)
    return "the operator stops the members and keeps their volumes";
  if (stage == v1::RestoreStage::Restoring) return "a new member restores the snapshot";
  if (stage == v1::RestoreStage::Review)
    return record.founder + " has the restored data; clients cannot reach it";
  if (stage == v1::RestoreStage::Committing) return "the operator deletes the old volumes";
  if (stage == v1::RestoreStage::RollingBack) return "the operator deletes the restored data";
  return stage == v1::RestoreStage::Committed ? "the cluster has the restored data"
                                              : "the cluster is as it was before";
}

}  // namespace

void report_in_place(const Observation& seen, const std::string& waiting,
                     v1::EtcdClusterStatus& status) {
  Conditions out{seen, status};
  const v1::RestoreRecord& record = *status.restore;
  status.progress_deadline.reset();
  status.ready_members = static_cast<std::int32_t>(
      std::ranges::count_if(seen.seats, [](const Seat& s) { return s.object && s.object->ready; }));
  count_members(seen, status);
  std::string message = "EtcdRestore " + record.name + ": " + words_of(record);
  if (!waiting.empty()) message += "; waiting for " + waiting;
  message = with(std::move(message), trouble(seen));
  if (seen.auth.required && !seen.auth.entered) message = with(message, seen.auth.refused);
  const auto restore =
      record.stage == v1::RestoreStage::Restoring ? restore_of(seen) : std::nullopt;
  const char* const reason = restore && restore->stopped ? restore->reason : v1::kRestoring;
  out.set(v1::kAvailable, "False", reason, message);
  out.set(v1::kDegraded, "True", reason, message);
  out.set(v1::kProgressing, restore && restore->stopped ? "False" : "True", reason, message);
}

}  // namespace etcdop::cluster
