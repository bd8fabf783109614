// The meaning of etcd's alarms for a cluster, and which members count as lost although their data
// may exist. An alarm alone convicts no member: etcd may blame the wrong one (etcd issue 14849), so
// the operator compares the members' data. Pure.
#pragma once
#include <set>
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// The verdict on a CORRUPT alarm.
enum class Corruption {
  None,       ///< No CORRUPT alarm is raised.
  Convicted,  ///< One voter with an EtcdMember: its data differs from that of a majority.
  Removed,    ///< The accused is no longer a member; a majority has the same data, and no voter
              ///< differs.
  Open        ///< Anything else: a user must decide.
};
struct Suspicion {
  Corruption what = Corruption::None;
  const Seat* who = nullptr;  ///< If Convicted: points into the observation.
  std::string why;            ///< If Open: the reason, for users.
};
Suspicion suspicion_of(const Observation& seen);

/// Whether `seen.alarms` is complete. Else the last known alarms stay: alarms outlive elections and
/// restarts.
bool knows_alarms(const Observation& seen);
bool has_alarm(const Observation& seen, etcd::AlarmKind kind);
/// The member with that id in etcd's list; null: none.
const Seat* seat_of(const Observation& seen, etcd::MemberId id);
/// The members for which that kind is raised, sorted: "db-a (8e9e05c52164694d), ...".
std::string raised_for(const Observation& seen, etcd::AlarmKind kind);
/// The worst alarm raised for that member: kCorrupt, kNoSpace or empty.
std::string alarm_of(const Observation& seen, const Seat& seat);

/// Whether a voter with an EtcdMember has been unreachable for longer than the cluster's owner
/// wants to wait, while a quorum answers.
bool given_up(const Observation& seen, const Seat& seat);

/// Whether etcd has said that its data is lost, and has not answered since: the kubelet reports the
/// end of a container some seconds late, so the words may be of a run before one that answers.
bool is_lost_by_its_words(const Seat& seat);
/// Seconds for which that must have been so.
inline constexpr std::int64_t kSilentLeast = 10;

/// The UIDs of the EtcdMembers that are lost, or that count as lost: the convicted one; one that
/// etcd accuses and whose EtcdMember a user has deleted; one that is lost by its own words; and one
/// that is given up.
std::set<std::string> condemned(const Observation& seen);

/// Marks these members as lost.
Observation with_verdicts(Observation seen);

}  // namespace etcdop::cluster
