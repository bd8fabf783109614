// Restores in place that a cluster has committed: an EtcdRestore that Git applies once more must
// not take acknowledged writes away. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"

namespace etcdop {

/// How many commits a cluster remembers.
inline constexpr std::size_t kCommitsKept = 16;

/// What tells one EtcdRestore from another, but for its UID. Two are the same if they have the same
/// name and runId, and the same snapshot: by its place, however that is entered (a newer snapshot
/// there would take writes away as well), or by its checksum.
struct RestoreIdentity {
  std::string name;
  api::v1alpha2::SnapshotLocation source;
  std::string run_id;
  std::string checksum;  ///< Empty: not known yet.
};

/// The commit that an EtcdRestore like this one would repeat, the last of them; nullopt: none.
std::optional<api::v1alpha2::CommittedRestore> committed_before(
    const api::v1alpha2::EtcdClusterStatus&, const RestoreIdentity&);

/// The commit of the EtcdRestore with that UID; nullopt: it was not committed, or too long ago.
std::optional<api::v1alpha2::CommittedRestore> committed_as(const api::v1alpha2::EtcdClusterStatus&,
                                                            const std::string& uid);

/// Remembers status.restore among the commits, if that is one and is not there yet. Releases before
/// this one kept no other record.
void remember_commit(api::v1alpha2::EtcdClusterStatus&);

}  // namespace etcdop
