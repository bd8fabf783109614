#include "operator/agents/restore_history.h"

#include <algorithm>
#include <vector>

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

/// All remembered commits, and status.restore if it is committed or about to be; the newest last.
std::vector<v1::CommittedRestore> commits_of(const v1::EtcdClusterStatus& status) {
  std::vector<v1::CommittedRestore> out = status.restores;
  const auto& last = status.restore;
  const bool committed =
      last && (last->stage == v1::kStageCommitted || last->stage == v1::kStageCommitting);
  if (committed && std::ranges::find(out, last->uid, &v1::CommittedRestore::uid) == out.end())
    out.push_back({.name = last->name,
                   .uid = last->uid,
                   .run_id = last->run_id,
                   .source = last->from.source,
                   .checksum = last->from.checksum});
  return out;
}

/// Other keys, CA certificates or endpoints do not make it another snapshot.
bool same_place(const v1::SnapshotLocation& a, const v1::SnapshotLocation& b) {
  if (a.s3 && b.s3) return a.s3->bucket == b.s3->bucket && a.s3->key == b.s3->key;
  return a.pvc && b.pvc && a.pvc->claim_name == b.pvc->claim_name &&
         a.pvc->sub_path == b.pvc->sub_path;
}

template <class Matches>
std::optional<v1::CommittedRestore> last_that(const v1::EtcdClusterStatus& status,
                                              Matches matches) {
  std::optional<v1::CommittedRestore> out;
  for (v1::CommittedRestore& commit : commits_of(status))
    if (matches(commit)) out = std::move(commit);
  return out;
}

}  // namespace

std::optional<v1::CommittedRestore> committed_before(const v1::EtcdClusterStatus& status,
                                                     const RestoreIdentity& asked) {
  return last_that(status, [&](const v1::CommittedRestore& commit) {
    const bool same_bytes = !asked.checksum.empty() && commit.checksum == asked.checksum;
    return commit.name == asked.name && commit.run_id == asked.run_id &&
           (same_bytes || same_place(commit.source, asked.source));
  });
}

std::optional<v1::CommittedRestore> committed_as(const v1::EtcdClusterStatus& status,
                                                 const std::string& uid) {
  return last_that(status, [&](const v1::CommittedRestore& commit) { return commit.uid == uid; });
}

void remember_commit(v1::EtcdClusterStatus& status) {
  status.restores = commits_of(status);
  if (status.restores.size() > kCommitsKept)
    status.restores.erase(status.restores.begin(), status.restores.end() - kCommitsKept);
}

}  // namespace etcdop
