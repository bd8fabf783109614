#include "operator/cluster/alarms.h"

#include <algorithm>
#include <set>

#include "api/v1alpha2/names.h"
#include "base/joined.h"
#include "operator/cluster/census.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

bool votes(const Seat& seat) { return seat.listed && !seat.listed->learner; }

/// Compares the data of each voter that answers with the data of a majority of all voters.
struct Comparison {
  int voters = 0, told = 0;
  const SeatHash* majority = nullptr;  ///< Null: no majority has the same data.

  explicit Comparison(const Observation& seen) {
    for (const Seat& seat : seen.seats) {
      if (!votes(seat)) continue;
      ++voters;
      told += seat.hash.has_value();
    }
    for (const Seat& one : seen.seats) {
      const auto same = std::ranges::count_if(seen.seats, [&](const Seat& other) {
        return votes(other) && healthy(other) && other.hash && other.hash == one.hash;
      });
      if (one.hash && same >= quorum(voters)) majority = &*one.hash;
    }
  }
  /// Whether the data surely differs: hashes compare only at equal compacted revisions.
  bool differs(const Seat& seat) const {
    return majority && votes(seat) && seat.hash && seat.hash->revision == majority->revision &&
           seat.hash->compacted == majority->compacted && seat.hash->hash != majority->hash;
  }
};

std::string in_words(const Observation& seen, etcd::MemberId id) {
  if (id == etcd::MemberId{}) return "an unknown member";
  const Seat* seat = seat_of(seen, id);
  return seat ? seat->name + " (" + to_hex(id) + ")" : to_hex(id);
}

Suspicion open(std::string why) { return {Corruption::Open, nullptr, std::move(why)}; }

}  // namespace

bool knows_alarms(const Observation& seen) { return seen.linearizable && !seen.alarms_hidden; }

const Seat* seat_of(const Observation& seen, etcd::MemberId id) {
  const auto found = std::ranges::find_if(
      seen.seats, [&](const Seat& s) { return s.listed && s.listed->id == id; });
  return found == seen.seats.end() ? nullptr : &*found;
}

bool has_alarm(const Observation& seen, etcd::AlarmKind kind) {
  return std::ranges::count(seen.alarms, kind, &RaisedAlarm::kind) > 0;
}

std::string raised_for(const Observation& seen, etcd::AlarmKind kind) {
  std::set<std::string> names;
  for (const RaisedAlarm& alarm : seen.alarms)
    if (alarm.kind == kind) names.insert(in_words(seen, alarm.member));
  return joined(std::vector<std::string>(names.begin(), names.end()));
}

std::string alarm_of(const Observation& seen, const Seat& seat) {
  std::string out;
  for (const RaisedAlarm& alarm : seen.alarms)
    if (seat.listed && seat.listed->id == alarm.member && out != v1::kCorrupt)
      out = alarm.kind == etcd::AlarmKind::Corrupt ? v1::kCorrupt : v1::kNoSpace;
  return out;
}

Suspicion suspicion_of(const Observation& seen) {
  if (!has_alarm(seen, etcd::AlarmKind::Corrupt)) return {};
  std::set<etcd::MemberId> accused;
  bool gone = true;  // No accused id is a member.
  for (const RaisedAlarm& alarm : seen.alarms) {
    if (alarm.kind != etcd::AlarmKind::Corrupt) continue;
    accused.insert(alarm.member);
    if (alarm.member == etcd::MemberId{} || seat_of(seen, alarm.member)) gone = false;
  }
  const Comparison data(seen);
  const bool all_alike = std::ranges::none_of(seen.seats, [&](auto& s) { return data.differs(s); });
  const std::string unsure = data.told < data.voters
                                 ? "not all voters report a hash of their data"
                                 : "no majority of the voters has the same data";
  if (gone) {
    if (data.majority && all_alike) return {Corruption::Removed, nullptr, ""};
    return open(data.majority ? "other voters differ, too" : unsure);
  }
  std::erase_if(accused, [&](auto id) { return id != etcd::MemberId{} && !seat_of(seen, id); });
  if (accused.size() > 1) return open("more than one member is accused");
  const Seat* who = seat_of(seen, *accused.begin());
  if (!who || !votes(*who) || !who->object)
    return open("the accused member is not a voter with an EtcdMember");
  if (!data.majority) return open(unsure);
  if (!data.differs(*who))
    return open(who->hash == *data.majority ? "its data is the same as the majority's" : unsure);
  for (const Seat& other : seen.seats)
    if (&other != who && data.differs(other)) return open("other voters differ, too");
  return {Corruption::Convicted, who, ""};
}

bool given_up(const Observation& seen, const Seat& seat) {
  return seen.linearizable && seen.replace_unreachable_s > 0 &&
         seat.unreachable_s >= seen.replace_unreachable_s && votes(seat) && seat.object &&
         !seat.answer && !seat.object->ready;
}

bool is_lost_by_its_words(const Seat& seat) {
  return seat.object && seat.object->says_lost && !seat.answer && seat.silent_s >= kSilentLeast;
}

std::set<std::string> condemned(const Observation& seen) {
  const Seat* convicted = suspicion_of(seen).who;
  std::set<std::string> out;
  for (const Seat& seat : seen.seats) {
    if (!seat.object) continue;
    const bool accused = alarm_of(seen, seat) == v1::kCorrupt && seat.object->terminating;
    if (lost(seat) || &seat == convicted || accused || is_lost_by_its_words(seat) ||
        given_up(seen, seat))
      out.insert(seat.object->uid);
  }
  return out;
}

Observation with_verdicts(Observation seen) {
  const std::set<std::string> uids = condemned(seen);
  for (Seat& seat : seen.seats) {
    if (!seat.object || !uids.contains(seat.object->uid)) continue;
    seat.object->lost = true;
    if (given_up(seen, seat) && seat.object->trouble.empty())
      seat.object->trouble = "unreachable for longer than replace-unreachable-members-after";
  }
  return seen;
}

}  // namespace etcdop::cluster
