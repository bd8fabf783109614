// What etcd's alarms mean for a cluster, and who counts as lost though its data may be there.
// etcd's word alone convicts nobody: it may blame the wrong member (etcd issue 14849), so the
// members' data is compared. Pure.
#pragma once
#include <string>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

/// Of a CORRUPT alarm.
enum class Corruption {
  None,       ///< There is no such alarm.
  Convicted,  ///< Of one voter of ours, whose data is not that of a majority that has the same.
  Removed,    ///< Of who is no member any more; a majority has the same data, and nobody another.
  Open        ///< Anything else: a person's to decide.
};
struct Suspicion {
  Corruption what = Corruption::None;
  const Seat* who = nullptr;  ///< Convicted: in the observation that it was made from.
  std::string why;            ///< Open: for people.
};
Suspicion suspicion_of(const Observation& seen);

/// Whether `seen.alarms` are all there are: else what was known stays as it was, for alarms outlive
/// elections and restarts.
bool knows_alarms(const Observation& seen);
bool has_alarm(const Observation& seen, etcd::AlarmKind kind);
/// Whose id that is in etcd's list; null: nobody's.
const Seat* seat_of(const Observation& seen, etcd::MemberId id);
/// "db-a (8e9e05c52164694d), ...": for whom that kind is raised, once each, ordered.
std::string raised_for(const Observation& seen, etcd::AlarmKind kind);
/// kNoSpace, kCorrupt or empty: the worse one of what is raised for that member.
std::string alarm_of(const Observation& seen, const Seat& seat);

/// A voter of ours that has been away for longer than its cluster's owner wants to wait, as those
/// see it who answer.
bool given_up(const Observation& seen, const Seat& seat);

/// With those marked as having lost their data who count as if: the convicted one, one that etcd
/// accuses and whose EtcdMember a person has deleted, and who is given up.
Observation with_verdicts(Observation seen);

}  // namespace etcdop::cluster
