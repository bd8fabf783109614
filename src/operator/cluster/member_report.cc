#include "operator/cluster/member_report.h"

#include <algorithm>
#include <chrono>

#include "api/v1alpha2/names.h"
#include "base/quantity.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/remains.h"
#include "operator/cluster/restoring.h"
#include "operator/cluster/spec.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

// I9: at most one write a minute per object; dates have no fractions.
constexpr std::chrono::seconds kOld = 61s;
constexpr std::chrono::seconds kOldSizes = 5min;  // Sizes change most often.
constexpr std::int64_t kMi = 1 << 20;
constexpr std::int64_t kShare = 10;  // A size that changes by a tenth is news.
// etcd keeps this many entries for members that lag (SnapshotCatchUpEntries); beyond them it sends
// its whole database.
constexpr std::uint64_t kLags = 5000, kLagsNoMore = 1000;

std::string in_mi(std::int64_t bytes) {
  return bytes <= 0 ? "" : std::to_string((bytes + kMi - 1) / kMi) + "Mi";
}

/// A dormant member may still answer for a moment; that is not reported.
bool is_dormant(const Seat& seat) { return seat.object && seat.object->dormant; }

std::string role_of(const Observation& seen, const Census& census, const Seat& seat) {
  if (!seen.linearizable || !seat.answer || !seat.listed || is_dormant(seat)) return "";
  if (seat.listed->learner) return v1::kLearner;
  if (&seat == census.leader) return v1::kLeader;
  const etcd::MemberId follows = seat.answer->leader;
  // A member that claims to lead, and that the others do not follow, has neither role.
  return follows == etcd::MemberId{} || follows == seat.listed->id ? "" : v1::kFollower;
}

v1::MemberReport report_of(const Observation& seen, const Census& census, const Seat& seat,
                           const std::vector<v1::MemberReport>& told) {
  v1::MemberReport out;
  out.name = seat.name;
  if (seat.listed) out.member_id = to_hex(seat.listed->id);
  else if (seat.object) out.member_id = seat.object->member_id;
  out.role = role_of(seen, census, seat);
  const auto last = std::ranges::find(told, seat.name, &v1::MemberReport::name);
  const bool same = last != told.end() && last->member_id == out.member_id;
  out.alarm = knows_alarms(seen) ? alarm_of(seen, seat) : same ? last->alarm : "";
  if (seat.answer) {
    out.version = seat.answer->version;
    out.db_size = in_mi(seat.answer->db_size);
    out.lagging = seen.linearizable &&  // A lone member cannot know its lag.
                  lag_of(seen, seat) > (same && last->lagging ? kLagsNoMore : kLags);
  } else {
    out.version = seat.object ? seat.object->version : "";
    if (same) out.db_size = last->db_size;
  }
  return out;
}

std::int64_t bytes(const std::string& quantity) { return bytes_of(quantity).value_or(0); }

std::string largest(const std::vector<v1::MemberReport>& members) {
  std::string out;
  for (const v1::MemberReport& member : members)
    if (bytes(member.db_size) > bytes(out)) out = member.db_size;
  return out;
}

/// For members that are equal in all else.
bool sizes_are_news(const std::vector<v1::MemberReport>& before,
                    const std::vector<v1::MemberReport>& now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    const std::int64_t was = bytes(before[i].db_size), is = bytes(now[i].db_size);
    if (std::abs(is - was) > std::max(kMi, was / kShare)) return true;
  }
  return false;
}

std::vector<v1::MemberReport> without_sizes(std::vector<v1::MemberReport> members) {
  for (v1::MemberReport& member : members) member.db_size.clear();
  return members;
}

bool worth_a_write(const v1::EtcdClusterStatus& told, const std::string& leader,
                   const std::vector<v1::MemberReport>& members, WallTime now) {
  const auto at = from_rfc3339(told.reported_at.value_or(""));
  if (!at) return true;
  // After the clock went back, reportedAt lies in the future: do not wait for it.
  const auto age = *at > now ? kOldSizes : now - *at;
  if (leader != told.leader || without_sizes(members) != without_sizes(told.members))
    return age >= kOld;
  return age >= kOldSizes && sizes_are_news(told.members, members);
}

/// The phase of a cluster that does not serve, by the reason of Available.
std::string unavailable(const api::Condition& available) {
  for (const char* word : {v1::kPhasePaused, v1::kPhaseQuorumLost, v1::kPhaseDataLost,
                           v1::kPhaseSplitBrain, v1::kPhaseCorrupt})  // Same word.
    if (available.reason == word) return word;
  if (refuses(available.reason)) return v1::kPhaseRefused;
  if (available.reason == v1::kCertManagerNotInstalled) return v1::kPhaseCreating;
  if (available.reason == v1::kBootstrapFailed || stops_birth(available.reason))
    return v1::kPhaseFailed;
  return precedes_birth(available.reason) ? v1::kPhaseCreating : v1::kPhaseUnreachable;
}

}  // namespace

std::uint64_t lag_of(const Observation& seen, const Seat& seat) {
  std::uint64_t furthest = 0;
  for (const Seat& other : seen.seats)
    if (other.answer) furthest = std::max(furthest, other.answer->index);
  return seat.answer && seat.answer->applied < furthest ? furthest - seat.answer->applied : 0;
}

std::string phase_of(const std::vector<api::Condition>& conditions) {
  const api::Condition* const available = runtime::find_condition(conditions, v1::kAvailable);
  const api::Condition* const degraded = runtime::find_condition(conditions, v1::kDegraded);
  const api::Condition* const progress = runtime::find_condition(conditions, v1::kProgressing);
  const std::string reason = progress ? progress->reason : "";
  const bool refused = refuses(reason);
  if (!available) return refused ? v1::kPhaseRefused : v1::kPhaseCreating;
  const bool goes_back =  // In place: a new cluster has no Degraded condition yet.
      available->reason == v1::kRestoring && degraded && degraded->reason == v1::kRestoring;
  if (goes_back) return v1::kPhaseRestoring;
  if (available->status != "True") return unavailable(*available);
  const bool moves = progress && progress->status == "True";
  if (moves && reason == v1::kInitialSnapshot) return v1::kPhaseCreating;
  // While the cluster is progressing, unready members are normal.
  const bool ordinary = degraded && degraded->reason == v1::kMembersUnhealthy && moves;
  if (degraded && degraded->status == "True" && !ordinary) return v1::kPhaseDegraded;
  const api::Condition* const tls = runtime::find_condition(conditions, v1::kTlsReady);
  if (tls && tls->status == "False") return v1::kPhaseDegraded;
  if (refused) return v1::kPhaseRefused;
  if (reason == v1::kDeadlineExceeded) return v1::kPhaseStalled;
  return moves ? v1::kPhaseProgressing : v1::kPhaseReady;
}

void report_members(const Observation& seen, v1::EtcdClusterStatus& status) {
  const v1::EtcdClusterStatus& told = seen.cluster.status;
  const Census census(seen);
  status.phase = phase_of(status.conditions);
  const bool written_anyway = !(status == told);
  const bool led = seen.linearizable && census.leader && !is_dormant(*census.leader);
  const std::string leader = led ? census.leader->name : "";
  std::vector<v1::MemberReport> members;
  for (const Seat& seat : seen.seats)
    members.push_back(report_of(seen, census, seat, told.members));
  if (!written_anyway && !worth_a_write(told, leader, members, seen.now)) return;
  status.leader = leader;
  status.db_size = largest(members);
  status.members = std::move(members);
  status.reported_at = to_rfc3339(seen.now);
}

namespace {

/// Deleted, and no longer in etcd's list: it never comes back.
bool is_removed(const Observation& seen, const Seat& seat) {
  return has_left(seen, seat) && !seen.split && !seat.object->member_id.empty();
}

MemberFacts facts_of(const Observation& seen, const Seat& seat) {
  const Seat::Object& o = *seat.object;
  MemberFacts out{.name = seat.name,
                  .uid = o.uid,
                  .member_id = o.member_id,
                  .version = seat.answer ? seat.answer->version : o.version,
                  .voter = o.voter,
                  .removed = is_removed(seen, seat),
                  .elsewhere = seat.elsewhere,
                  .joined_in = {}};
  if (!seat.listed) return out;
  out.member_id = to_hex(seat.listed->id);
  out.voter = !seat.listed->learner;
  if (out.member_id != o.member_id && seat.pod) out.joined_in = seat.pod->run;
  return out;
}

/// Without a list: whether so few answer as members of another etcd that the others are the
/// cluster. Such a member may be all that the Services lead to. If most are of another etcd, the
/// recorded id may be the wrong one, and a person judges.
bool is_minority_elsewhere(const Observation& seen) {
  const auto odd = std::ranges::count_if(seen.seats, &Seat::elsewhere);
  const auto voted = std::ranges::count_if(
      seen.seats, [](const Seat& s) { return s.object && s.object->voter && !s.object->removed; });
  return odd < quorum(static_cast<int>(voted));
}

bool is_news(const MemberFacts& fact, const Seat::Object& o) {
  return fact.member_id != o.member_id || fact.version != o.version || fact.voter != o.voter ||
         fact.removed != o.removed || fact.elsewhere != o.elsewhere;
}

}  // namespace

bool has_only_measurements(const json::object& patch) {
  return patch.contains("reportedAt") && std::ranges::all_of(patch, [](const auto& field) {
           const std::string_view name = field.key();
           return name == "reportedAt" || name == "leader" || name == "dbSize" || name == "members";
         });
}

std::vector<MemberFacts> facts(const Observation& seen) {
  std::vector<MemberFacts> out;
  const bool few_elsewhere = is_minority_elsewhere(seen);
  for (const Seat& seat : seen.seats) {
    if (!seat.object || unstarted(seat)) continue;
    const bool goes = seat.elsewhere && few_elsewhere;
    const bool is_back = seat.object->elsewhere && seat.answer && !seat.elsewhere;
    if (!seat.listed && !goes && !is_back && !is_removed(seen, seat)) continue;
    const MemberFacts fact = facts_of(seen, seat);
    if (is_news(fact, *seat.object)) out.push_back(fact);
  }
  return out;
}

}  // namespace etcdop::cluster
