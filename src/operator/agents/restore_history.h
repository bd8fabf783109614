// The restores in place that a cluster has committed. An EtcdRestore that Git applies again must
// not discard acknowledged writes. Pure.
#pragma once
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"

namespace etcdop {

/// The number of commits that a cluster remembers.
inline constexpr std::size_t kCommitsKept = 16;

/// Identifies an EtcdRestore without its UID. Two are the same if they have the same name, runId
/// and snapshot. A snapshot is the same by its place, however that is entered (a newer snapshot
/// there would discard writes as well), or by its checksum.
struct RestoreIdentity {
  std::string name;
  api::v1alpha2::SnapshotLocation source;
  std::string run_id;
  std::string checksum;  ///< Empty: not known yet.
};

/// The last commit that an EtcdRestore like this one would repeat; nullopt: none.
std::optional<api::v1alpha2::CommittedRestore> committed_before(
    const api::v1alpha2::EtcdClusterStatus&, const RestoreIdentity&);

/// The commit of the EtcdRestore with that UID; nullopt: not committed, or no longer remembered.
std::optional<api::v1alpha2::CommittedRestore> committed_as(const api::v1alpha2::EtcdClusterStatus&,
                                                            const std::string& uid);

/// Adds status.restore to the commits, if it is committed and not there yet. Earlier releases had
/// no other record.
void remember_commit(api::v1alpha2::EtcdClusterStatus&);

}  // namespace etcdop
