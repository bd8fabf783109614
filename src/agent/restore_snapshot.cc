#include "agent/restore_snapshot.h"

#include <algorithm>
#include <optional>
#include <string>

#include "agent/fetch_snapshot.h"
#include "agent/reason.h"
#include "etcd/version_facts.h"

namespace etcdop::agent {
namespace {

SnapshotFetch::With fetch_with(const RestoreCollaborators& with) {
  return {.executor = with.executor,
          .log = with.log,
          .source = with.source,
          .site = with.site,
          .keys = with.keys};
}

FetchRules rules_of(const RestoreTask& task) {
  return {.folder = task.data_dir,
          .etcd_version = task.etcd_version,
          .may_have_auth = task.auth,
          .checksum = task.checksum,
          .space_advice = ": restore into a larger volume, of an EtcdCluster with more storage",
          .version_advice = ": restore it into an EtcdCluster of such a spec.version",
          .auth_advice =
              ": restore it into an EtcdCluster with spec.auth, and root's password of then"};
}

/// One restore of one snapshot into a data directory without a member.
class Restoration {
 public:
  Restoration(const RestoreTask& task, const RestoreCollaborators& with)
      : task_(task), with_(with), fetch_(rules_of(task), fetch_with(with)) {}

  Verdict run(RestoreReport& report) {
    if (auto bad = can_bump()) return bad;
    if (auto bad = verdict(RestoreSide::Tool, with_.site.find_tool())) return bad;
    if (auto bad = verdict(RestoreSide::DataDirectory, with_.site.sweep())) return bad;
    report.uri = with_.source.uri();
    if (auto bad = fetch_.look()) return bad;
    if (auto bad = fetch_.fetch()) return bad;
    report.checksum = fetch_.checksum();
    report.etcd_version = fetch_.etcd_version();
    report.revision = revision_after();
    return rebuild();
  }

 private:
  /// Checked first: the tool would report it only after the whole snapshot has been fetched.
  Verdict can_bump() const {
    const auto version = etcd::parse_version(task_.etcd_version);
    if (task_.bump_revision == 0 || !version || etcd::facts_of(*version).etcdutl_raises_revisions)
      return std::nullopt;
    return Refusal{RestoreReason::RestoreToolMissing,
                   "the etcdutl of etcd " + task_.etcd_version +
                       " cannot raise revisions: restore it into an EtcdCluster of 3.5.10 or "
                       "later, or with bumpRevision: 0"};
  }

  /// etcdutl counts from the newest existing key, but compaction may have removed newer ones: add
  /// the difference.
  std::int64_t bump() const {
    const DatabaseFacts& database = fetch_.database();
    if (task_.bump_revision == 0 || !database.revision || !database.newest_key)
      return task_.bump_revision;
    return task_.bump_revision +
           std::max<std::int64_t>(0, *database.revision - *database.newest_key);
  }

  std::optional<std::int64_t> revision_after() const {
    const DatabaseFacts& database = fetch_.database();
    if (!database.revision || task_.bump_revision == 0) return database.revision;
    return database.newest_key.value_or(*database.revision) + bump();
  }

  Verdict rebuild() {
    const Rebuild how{.member_name = task_.member_name,
                      .initial_cluster = task_.initial_cluster,
                      .initial_cluster_token = task_.initial_cluster_token,
                      .peer_urls = task_.peer_urls,
                      .bump_revision = bump()};
    if (auto bad = verdict(RestoreSide::Tool, with_.site.rebuild(how))) return bad;
    return verdict(RestoreSide::DataDirectory, with_.site.commit());
  }

  const RestoreTask& task_;
  const RestoreCollaborators& with_;
  SnapshotFetch fetch_;
};

}  // namespace

RestoreReport restore_failure(RestoreReason reason, const std::string& message) {
  RestoreReport report;
  report.reason = to_string(reason);
  report.message = message;
  report.for_good = is_for_good(reason);
  return report;
}

int exit_code(const RestoreReport& report) {
  if (!report.failed()) return kExitStored;
  return report.for_good ? kExitFailedForGood : kExitFailed;
}

RestoreReport restore(const RestoreTask& task, const RestoreCollaborators& with) {
  const Within limit(with.executor, kRestoreLimit);
  RestoreReport report;
  auto member = with.site.has_member();
  if (!member)
    return restore_failure(reason_of(RestoreSide::DataDirectory, member.error()),
                           member.error().message);
  if (*member) {
    with.log.info("there is a member already: nothing is restored", {{"data_dir", task.data_dir}});
    report.already = true;
    sweep(fetch_with(with));
    return report;
  }
  const Verdict refused = Restoration(task, with).run(report);
  sweep(fetch_with(with));
  if (refused) return restore_failure(refused->reason, refused->message);
  with.log.info("restored", {{"data_dir", task.data_dir}, {"uri", report.uri}});
  return report;
}

}  // namespace etcdop::agent
