#include "operator/defrag/plan.h"

#include <algorithm>
#include <chrono>

#include "etcd/client.h"
#include "operator/defrag/health.h"
#include "operator/defrag/rule.h"
#include "runtime/conditions.h"

namespace etcdop::defrag {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds kLookAgain{30s};  // For a run that waits; cluster changes queue it, too.
constexpr milliseconds kRecheck{5s};     // Between members, while the cluster is not healthy.
constexpr milliseconds kFollowUp{1s};    // After a step.
constexpr milliseconds kTimerMax{1h};    // The clock may jump.
constexpr std::int64_t kSlowDisk = 20 << 20;  // Bytes a second.
constexpr std::int64_t kRoomBelow = 90;       // Percent of each member's quota.

struct Verdict {
  const char* status;
  const char* reason;
  std::string message;
};

std::string count(std::int64_t number, const char* of) {
  return std::to_string(number) + " " + of + (number == 1 ? "" : "s");
}

constexpr const char* kPassedOver = "passed over: ";

/// Why a defragmentation could end by the liveness probe of its Pod, which an earlier release made;
/// empty: it cannot.
std::string why_passed_over(const MemberSeen& member) {
  const bool covered =
      member.patience_s == 0 || std::chrono::seconds(member.patience_s) >= etcd::kDefragmentLimit;
  if (covered || member.answer->db_in_use <= member.patience_s * kSlowDisk) return "";
  return kPassedOver + std::string("the liveness probe of its Pod allows ") +
         std::to_string(member.patience_s) + " s, too little for " +
         std::to_string(member.answer->db_in_use >> 20) +
         " MiB: delete the Pod, so that the operator creates one with a longer probe";
}

/// The run in this pass, while its status is being written.
class Run {
 public:
  explicit Run(const Observation& seen) : seen_(seen) { out_.status = seen.run.status; }

  Plan plan() && {
    if (status().finished()) clean_up();
    else if (!seen_.ahead.empty())
      wait({"False", v1::kAnotherRunFirst, "EtcdDefrag " + seen_.ahead + " goes first"});
    else if (status().phase == v1::kDefragRunning) go_on();
    else begin();
    return std::move(out_);
  }

 private:
  v1::EtcdDefragStatus& status() { return out_.status; }

  void say(const Verdict& v) {
    runtime::set_condition(status().conditions, {v1::kDefragChecked, v.status, v.reason, v.message},
                           seen_.run.metadata.generation, seen_.now);
  }
  void wait(const Verdict& why) {
    if (status().phase != v1::kDefragRunning) status().phase = v1::kDefragPending;
    say(why);
    out_.again = status().phase == v1::kDefragRunning ? kRecheck : kLookAgain;
  }
  /// etcd cannot rewrite a database while it is read (passes/turns.h).
  void wait_for_snapshot() {
    wait({"False", v1::kSnapshotFirst, "EtcdSnapshot " + seen_.snapshot + " goes first"});
  }
  void end(const char* phase, const Verdict& why) {
    status().phase = phase;
    status().completed_at = to_rfc3339(seen_.now);
    say(why);
    out_.again = kFollowUp;  // Its time to live begins.
  }

  /// Deletes the object when its time to live is over. Nothing else happens to a run that has
  /// ended.
  void clean_up() {
    const auto ttl = seen_.run.spec.ttl_seconds_after_finished;
    const auto ended = from_rfc3339(status().completed_at.value_or(""));
    if (!ttl || !ended) return;
    const std::chrono::seconds left = *ended + std::chrono::seconds(*ttl) - seen_.now;
    if (left <= 0s) out_.step = DeleteRun{};
    out_.again = left <= 0s ? kLookAgain : std::min<milliseconds>(left, kTimerMax);
  }

  void begin() {
    if (!seen_.cluster)
      return wait({"False", v1::kClusterNotFound,
                   "EtcdCluster " + seen_.run.spec.cluster_ref.name + " does not exist"});
    if (std::string why = not_healthy(seen_); !why.empty())
      return wait({"False", v1::kClusterNotHealthy, std::move(why)});
    if (!seen_.snapshot.empty()) return wait_for_snapshot();
    status().phase = v1::kDefragRunning;
    status().started_at = to_rfc3339(seen_.now);
    status().cluster_uid = seen_.cluster->metadata.uid;
    const MemberSeen* leader = leader_of(seen_);
    for (const MemberSeen& member : seen_.members) {
      v1::DefragMemberStatus one;
      one.name = member.name;
      one.role = &member == leader ? v1::kDefragLeader : v1::kDefragFollower;
      one.outcome = v1::kDefragPending;
      one.db_size_before = member.answer->db_size;
      status().members.push_back(std::move(one));
    }
    go_on();
  }

  void go_on() {
    if (!seen_.cluster || seen_.cluster->metadata.uid != status().cluster_uid)
      return end(v1::kDefragFailed,
                 {"False", v1::kClusterReplaced,
                  "the EtcdCluster was deleted or recreated after this run began"});
    record_attempts();
    if (leader_failed()) return;
    const std::string ill = not_healthy(seen_);
    if (ill.empty()) skip();
    if (std::ranges::none_of(status().members, is_open)) return finish(ill);
    if (overdue())
      return end(v1::kDefragFailed,
                 {"False", v1::kDefragTimedOut, "the run did not finish within 30 minutes"});
    if (!ill.empty()) return wait({"False", v1::kClusterNotHealthy, ill});
    if (!seen_.snapshot.empty()) return wait_for_snapshot();
    say({"True", v1::kClusterHealthy, "all members are healthy: one may be defragmented"});
    next_step();
  }

  static bool is_open(const v1::DefragMemberStatus& one) {
    return one.outcome == v1::kDefragPending;
  }
  const MemberSeen* seen_as(const v1::DefragMemberStatus& one) const {
    const auto found = std::ranges::find(seen_.members, one.name, &MemberSeen::name);
    return found == seen_.members.end() ? nullptr : &*found;
  }
  void close(v1::DefragMemberStatus& one, const char* outcome, std::string reason) {
    one.outcome = outcome;
    one.reason = std::move(reason);
    one.finished_at = to_rfc3339(seen_.now);
  }

  /// Whether the result of its last attempt is known. If not (a crash), that attempt is made again.
  bool heard_of(const v1::DefragMemberStatus& one) const {
    return seen_.tried && seen_.tried->member == one.name && seen_.tried->attempt == one.attempts;
  }

  /// Records the results of the attempts. If an answer was lost, a smaller database file shows
  /// success: it grows smaller in no other way.
  void record_attempts() {
    for (v1::DefragMemberStatus& one : status().members) {
      const MemberSeen* member = seen_as(one);
      if (!is_open(one) || one.attempts == 0 || !member || !member->answer) continue;
      const bool told_done = heard_of(one) && seen_.tried->error.empty();
      if (told_done || member->answer->db_size < one.db_size_before) {
        close(one, v1::kDefragDefragmented, "");
        one.db_size_after = member->answer->db_size;
        one.reclaimed_bytes = std::max<std::int64_t>(one.db_size_before - one.db_size_after, 0);
        ++status().defragmented;
      } else if (heard_of(one) && one.attempts >= kAttemptsMax) {
        close(one, v1::kDefragFailed,
              "tried " + count(one.attempts, "time") + ": " + seen_.tried->error);
      }
    }
  }

  /// Skips members whose database has nothing to give back, and members that have left the cluster.
  void skip() {
    for (v1::DefragMemberStatus& one : status().members) {
      if (!is_open(one)) continue;
      const MemberSeen* member = seen_as(one);
      if (!member) {
        close(one, v1::kDefragSkipped, "it is no longer a member");
      } else if (one.attempts == 0) {
        std::string why = not_worth_it(seen_.run.spec.rule, *member->answer, member->quota);
        if (why.empty()) why = why_passed_over(*member);
        if (!why.empty()) close(one, v1::kDefragSkipped, std::move(why));
      }
    }
  }

  /// True: it failed, and the run has ended.
  bool leader_failed() {
    for (const v1::DefragMemberStatus& one : status().members)
      if (one.role == v1::kDefragLeader && one.outcome == v1::kDefragFailed) {
        end(v1::kDefragFailed,
            {"False", v1::kLeaderNotDefragmented, "member " + one.name + ": " + one.reason});
        return true;
      }
    return false;
  }

  /// A member for which etcd would raise NOSPACE again with one of the next puts; null: there is
  /// room.
  const MemberSeen* without_room() const {
    for (const MemberSeen& member : seen_.members)
      if (member.answer && member.answer->db_size > member.quota / 100 * kRoomBelow) return &member;
    return nullptr;
  }

  /// No member is left to be defragmented. A full database takes writes again after its alarm is
  /// disarmed; without room that would last for a moment only, over and over.
  void finish(const std::string& ill) {
    const bool may = !overdue() && seen_.disarms < kDisarmsMax;
    if (!ill.empty() && seen_.was_full && may) return wait({"False", v1::kClusterNotHealthy, ill});
    if (!ill.empty() || seen_.no_space.empty() || !may || without_room()) return complete();
    say({"True", v1::kClusterHealthy,
         "every database has room again: the operator disarms NOSPACE"});
    out_.again = kFollowUp;
    out_.step = Disarm{leader_of(seen_)->name, seen_.no_space};
  }

  /// The state of NOSPACE, as a part of the message.
  std::string about_space() const {
    if (seen_.no_space.empty()) return seen_.disarms > 0 ? "; NOSPACE was disarmed" : "";
    const MemberSeen* full = without_room();
    return "; NOSPACE stays raised: " + (full ? "member " + full->name + " uses more than " +
                                                    std::to_string(kRoomBelow) + "% of its quota"
                                              : std::string("etcd did not disarm it"));
  }

  static std::string about_probes(std::int64_t passed_over) {
    if (passed_over == 0) return "";
    return "; " + count(passed_over, "member") +
           " passed over, as a liveness probe is too short: see status.members";
  }

  void complete() {
    std::int64_t skipped = 0, failed = 0, bytes = 0, passed_over = 0;
    for (const v1::DefragMemberStatus& one : status().members) {
      skipped += one.outcome == v1::kDefragSkipped;
      failed += one.outcome == v1::kDefragFailed;
      passed_over += one.reason.starts_with(kPassedOver);
      bytes += one.reclaimed_bytes;
    }
    const std::string told = count(status().defragmented, "member") + " defragmented, " +
                             std::to_string(skipped) + " skipped, " + std::to_string(failed) +
                             " failed; " + count(bytes, "byte") + " given back" +
                             about_probes(passed_over) + about_space();
    const bool in_part = failed > 0 || passed_over > 0;
    end(v1::kDefragComplete,
        {in_part ? "False" : "True", in_part ? v1::kDefragmentedInPart : v1::kDefragmented, told});
  }

  bool overdue() {
    const auto since = from_rfc3339(status().started_at.value_or(""));
    return !since || seen_.now - *since >= kRunMax;
  }

  /// First the member in progress, then followers, then the leader. All are healthy.
  void next_step() {
    const MemberSeen* leader = leader_of(seen_);
    v1::DefragMemberStatus* next = nullptr;
    const auto rank = [&](const v1::DefragMemberStatus& one) {
      return one.attempts > 0 ? 0 : one.name == leader->name ? 2 : 1;
    };
    for (v1::DefragMemberStatus& one : status().members)
      if (is_open(one) && (!next || rank(one) < rank(*next))) next = &one;
    out_.again = kFollowUp;
    if (next->name == leader->name && seen_.members.size() > 1) return move_leader(*next);
    if (next->attempts == 0) next->db_size_before = seen_as(*next)->answer->db_size;
    if (next->attempts == 0 || heard_of(*next)) ++next->attempts;
    out_.step = Defragment{next->name, next->attempts};
  }

  /// To a member that has been defragmented, if there is one: it need not hand over again.
  void move_leader(v1::DefragMemberStatus& from) {
    const bool again = seen_.moved != status().leader_moves;  // A crash: that move may not be made.
    if (!again && status().leader_moves >= kLeaderMovesMax) {
      close(from, v1::kDefragFailed, "it still leads: etcd did not move the leader");
      if (!leader_failed() && std::ranges::none_of(status().members, is_open)) finish("");
      return;
    }
    const MemberSeen* to = nullptr;
    for (const MemberSeen& member : seen_.members) {
      if (member.name == from.name) continue;
      const auto known =
          std::ranges::find(status().members, member.name, &v1::DefragMemberStatus::name);
      const bool open = known != status().members.end() && is_open(*known);
      if (!to || !open) to = &member;
      if (!open) break;
    }
    if (!again) ++status().leader_moves;
    out_.step = MoveLeader{from.name, to->name, to->id};
  }

  const Observation& seen_;
  Plan out_;
};

}  // namespace

Plan plan(const Observation& seen) { return Run(seen).plan(); }

}  // namespace etcdop::defrag
