#include "operator/cluster/learners.h"

#include <algorithm>

#include "etcd/version_facts.h"
#include "operator/cluster/census.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

// A leader keeps so many entries before its snapshot for members that lag
// (SnapshotCatchUpEntries). With more entries than that, a joiner gets a snapshot.
constexpr std::int64_t kCatchUp = 5000;
// etcd looks whether a snapshot is due only after each batch of entries that it applies.
constexpr std::int64_t kBatch = 1000;
constexpr std::int64_t kCountMax =
    1'000'000'000'000;  // A --snapshot-count beyond it is as good as none.

bool has_flag(const Seat& seat) { return seat.pod && seat.pod->many_learners && !seat.pod->founds; }

std::string uid_of(const Seat& seat) { return seat.pod->run.substr(0, seat.pod->run.find('/')); }

/// An earlier release has made its Pod. A Pod that had the flag when the flag was dropped is no
/// news.
bool was_made_since(const Seat& seat, const v1::EtcdClusterStatus& status) {
  if (!has_flag(seat)) return false;
  if (!status.old_log) return true;
  const auto& known = status.old_log->pods;
  return std::ranges::find(known, uid_of(seat)) == known.end();
}

/// etcd's list, of this pass and of the cluster that the status names, and an answer of each voter.
bool knows_all_voters(const Observation& seen, const Census& census,
                      const v1::EtcdClusterStatus& status) {
  const auto answers = [](const Seat* voter) { return voter->answer && voter->answer->index > 0; };
  return seen.linearizable && seen.cluster_id && to_hex(*seen.cluster_id) == status.cluster_id &&
         !census.voters.empty() && std::ranges::all_of(census.voters, answers);
}

etcd::VersionFacts facts_of(const Seat& seat) {
  return etcd::facts_of(etcd::parse_version(seat.answer->version).value_or(etcd::Version{}));
}

/// etcd of such a version refuses a second learner, so the log has none.
bool takes_one_learner(const Seat* voter) {
  return !has_flag(*voter) && etcd::parse_version(voter->answer->version) &&
         !facts_of(*voter).max_learners_flag;
}

/// After so many more entries the member has taken a raft snapshot, from which it starts.
std::int64_t snapshot_count(const Seat& voter) {
  const std::int64_t said = voter.pod ? voter.pod->snapshot_count : 0;
  const std::int64_t count = said > 0 ? said : facts_of(voter).snapshot_count_default;
  return std::clamp(count, kCatchUp, kCountMax);
}

std::int64_t catch_up(const Seat& voter) {
  return std::clamp(voter.pod ? voter.pod->catch_up : 0, kCatchUp, kCountMax);
}

/// Two facts follow for each voter that has applied more: it has a raft snapshot beyond the old
/// part of the log, and its log no longer begins at the first entry, so that it sends its snapshot
/// to a joiner.
std::int64_t safe_above(const Census& census, std::int64_t raft_index) {
  std::int64_t count = 0, kept = 0;
  for (const Seat* voter : census.voters) {
    count = std::max(count, snapshot_count(*voter));
    kept = std::max(kept, catch_up(*voter));
  }
  return std::max(raft_index, kept) + count + kBatch;
}

/// Where the old part of the log ends. While two learners exist, it has not ended.
void record_old_log(const Census& census, v1::EtcdClusterStatus& status) {
  if (census.learners.size() > 1) return;
  if (!status.old_log || status.old_log->cluster_id != status.cluster_id) {
    std::uint64_t index = 0;
    for (const Seat* voter : census.voters) index = std::max(index, voter->answer->index);
    status.old_log = {.cluster_id = status.cluster_id,
                      .raft_index = static_cast<std::int64_t>(index),
                      .safe_above = 0,
                      .pods = {}};
  }
  status.old_log->safe_above = safe_above(census, status.old_log->raft_index);
}

bool is_past_old_log(const Census& census, const v1::OldLog& old) {
  return std::ranges::all_of(census.voters, [&](const Seat* voter) {
    return voter->answer->applied > static_cast<std::uint64_t>(old.safe_above);
  });
}

/// Without the flag, from now on. Volumes of before a restore in place still need it.
void drop_flag(const Observation& seen, const Census& census, v1::EtcdClusterStatus& status) {
  if (!census.learners.empty() || !seen.kept.empty()) return;
  if (std::ranges::all_of(census.voters, takes_one_learner)) {
    status.max_learners = 1;
    status.old_log.reset();
  } else if (status.old_log && is_past_old_log(census, *status.old_log)) {
    status.max_learners = 1;
    for (const Seat& seat : seen.seats)
      if (has_flag(seat)) status.old_log->pods.push_back(uid_of(seat));
  }
}

}  // namespace

void note_learners(const Observation& seen, v1::EtcdClusterStatus& status) {
  const Census census(seen);
  const auto has_object = [](const Seat& s) { return s.object.has_value(); };
  const auto is_news = [&](const Seat& s) { return was_made_since(s, status); };
  const bool found = !status.cluster_id.empty() || std::ranges::any_of(seen.seats, has_object);
  const bool several = census.learners.size() > 1;
  if (status.max_learners == 0 ? found : std::ranges::any_of(seen.seats, is_news) || several) {
    if (status.max_learners != v1::kManyLearners || several) status.old_log.reset();
    status.max_learners = v1::kManyLearners;
  }
  if (status.max_learners != v1::kManyLearners || !knows_all_voters(seen, census, status)) return;
  record_old_log(census, status);
  drop_flag(seen, census, status);
}

}  // namespace etcdop::cluster
