#include "agent/verify_snapshot.h"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/fetch_snapshot.h"
#include "agent/reason.h"

namespace etcdop::agent {
namespace {

constexpr Duration kStopLimit = std::chrono::seconds(10);

/// No other process uses this member, so its peer URL does not matter.
const Rebuild kScratchMember{.member_name = "verify",
                             .initial_cluster = "verify=http://127.0.0.1:2380",
                             .initial_cluster_token = "verify",
                             .peer_urls = "http://127.0.0.1:2380",
                             .bump_revision = 0};

SnapshotFetch::With fetch_with(const VerifyCollaborators& with) {
  return {.executor = with.executor,
          .log = with.log,
          .source = with.source,
          .site = with.site,
          .keys = with.keys};
}

FetchRules rules_of(const VerifyTask& task) {
  return {.folder = task.scratch_dir,
          .etcd_version = task.etcd_version,
          .may_have_auth = task.auth,
          .uid = task.expected.uid,
          .checksum = task.expected.checksum,
          .space_advice = ": give it a larger scratch volume",
          .version_advice = ": verify it with a newer one",
          .auth_advice = ", which spec.auth of the EtcdCluster does not ask for"};
}

std::string text_of(std::int64_t number) { return std::to_string(number); }
std::string text_of(const std::string& text) { return text; }

/// Merges two values, either of which may be unknown. False: they contradict each other.
template <class T>
bool merge(std::optional<T>& into, const std::optional<T>& other) {
  if (into && other && *into != *other) return false;
  if (!into) into = other;
  return true;
}

/// One verification of one snapshot.
class Verification {
 public:
  Verification(const VerifyTask& task, const VerifyCollaborators& with)
      : task_(task),
        with_(with),
        expected_(task.expected),
        fetch_(rules_of(task), fetch_with(with)) {}

  Verdict run(VerifyReport& report) {
    if (auto bad = verdict(RestoreSide::Tool, with_.site.find_tool())) return bad;
    if (auto bad = verdict(RestoreSide::DataDirectory, with_.site.sweep())) return bad;
    report.uri = with_.source.uri();
    if (auto bad = fetch_.look()) return bad;
    if (auto bad = settle_expectations()) return bad;
    if (auto bad = fetch_.fetch()) return bad;
    report.checksum = fetch_.checksum();
    report.etcd_version = fetch_.etcd_version();
    if (auto bad = verdict(RestoreSide::Tool, with_.site.rebuild(kScratchMember))) return bad;
    if (auto bad = verdict(RestoreSide::Etcd, with_.etcd.start())) return bad;
    return comparable() ? compare(report) : look_only(report);
  }

 private:
  /// The task and the manifest must agree.
  Verdict settle_expectations() {
    if (fetch_.manifest()) {
      const AgentReport& said = fetch_.manifest()->report;
      const bool same_digest =
          expected_.digest.empty() || said.digest.empty() || expected_.digest == said.digest;
      const bool same = merge(expected_.revision, said.revision) &&
                        merge(expected_.compact_revision, said.compact_revision) &&
                        merge(expected_.hash_kv, said.hash_kv) &&
                        merge(expected_.keys, said.keys) && same_digest;
      if (!same)
        return Refusal{RestoreReason::SnapshotForeign,
                       with_.source.uri() + kManifestSuffix +
                           " says another revision, hash, digest or number of keys than status"};
      if (expected_.digest.empty()) expected_.digest = said.digest;
    }
    if (comparable() || task_.only_check) return std::nullopt;
    return Refusal{RestoreReason::SnapshotNotComparable,
                   with_.source.uri() +
                       " has no manifest, or one with neither hash nor digest: the data cannot be "
                       "compared with the cluster's"};
  }

  bool comparable() const {
    const bool hash = expected_.hash_kv && expected_.compact_revision;
    return expected_.revision && (hash || !expected_.digest.empty());
  }

  Verdict compare(VerifyReport& report) {
    const std::int64_t revision = *expected_.revision;
    report.revision = revision;
    auto hash = with_.etcd.hash_kv(revision);
    if (!hash) return cannot_answer("HashKV", hash.error());
    report.hash_kv = hash->hash;
    report.compact_revision = hash->compacted;
    auto keys = with_.etcd.count(revision);
    if (!keys) return cannot_answer("number of keys", keys.error());
    report.keys = *keys;
    if (auto bad = must_be("keys", expected_.keys, *keys)) return bad;
    report.hash_compared = expected_.hash_kv && expected_.compact_revision == hash->compacted;
    if (report.hash_compared) return must_be("HashKV", expected_.hash_kv, std::int64_t{hash->hash});
    return compare_digest(report);
  }

  /// Used if the history was compacted between the hash and the snapshot.
  Verdict compare_digest(VerifyReport& report) {
    if (expected_.digest.empty())
      return Refusal{RestoreReason::SnapshotNotComparable,
                     with_.source.uri() + " was compacted at " + text_of(*report.compact_revision) +
                         ", and its hash is of when that was " +
                         text_of(expected_.compact_revision.value_or(0)) +
                         "; it has no digest of its keys"};
    auto digest = with_.etcd.digest(*expected_.revision);
    if (!digest) return cannot_answer("digest of the keys", digest.error());
    report.digest_compared = true;
    return must_be("digest", std::optional(expected_.digest), *digest);
  }

  template <class T>
  Verdict must_be(const char* what, const std::optional<T>& expected, const T& found) const {
    if (!expected || *expected == found) return std::nullopt;
    return differs(std::string(what) + " " + text_of(found) + " at revision " +
                   text_of(*expected_.revision) + ", and the cluster had " + text_of(*expected));
  }

  /// A missing revision is a difference, unless it was compacted.
  Verdict cannot_answer(const char* what, const Error& error) const {
    if (error.code != Code::Invalid) return refusal(RestoreSide::Etcd, error);
    auto newest = with_.etcd.hash_kv(0);
    if (!newest) return refusal(RestoreSide::Etcd, newest.error());
    const std::string wanted =
        "no " + std::string(what) + " at revision " + text_of(*expected_.revision);
    if (newest->compacted > *expected_.revision)
      return Refusal{RestoreReason::SnapshotNotComparable,
                     with_.source.uri() + " has " + wanted + ": it was compacted at " +
                         text_of(newest->compacted) + " while it was taken"};
    return differs(wanted + ": " + error.message);
  }

  Refusal differs(const std::string& how) const {
    return {RestoreReason::SnapshotDiffers, with_.source.uri() + " restores to " + how};
  }

  /// Only checks that it starts and answers, because nothing more is known.
  Verdict look_only(VerifyReport& report) {
    auto hash = with_.etcd.hash_kv(0);
    if (!hash) return refusal(RestoreSide::Etcd, hash.error());
    report.revision = hash->revision;
    report.compact_revision = hash->compacted;
    report.hash_kv = hash->hash;
    auto keys = with_.etcd.count(hash->revision);
    if (!keys) return refusal(RestoreSide::Etcd, keys.error());
    report.keys = *keys;
    return std::nullopt;
  }

  const VerifyTask& task_;
  const VerifyCollaborators& with_;
  Expected expected_;
  SnapshotFetch fetch_;
};

void clean_up(const VerifyCollaborators& with) {
  {
    const Shield orderly(with.executor, kStopLimit);
    with.etcd.stop();
  }
  sweep(fetch_with(with));
}

}  // namespace

VerifyReport verify_failure(RestoreReason reason, const std::string& message) {
  VerifyReport report;
  report.reason = to_string(reason);
  report.message = message;
  report.for_good = is_for_good(reason);
  return report;
}

int exit_code(const VerifyReport& report) {
  if (!report.failed()) return kExitStored;
  return report.for_good ? kExitFailedForGood : kExitFailed;
}

VerifyReport verify(const VerifyTask& task, const VerifyCollaborators& with) {
  const Within limit(with.executor, kVerifyLimit);
  const Instant begin = with.executor.now();
  VerifyReport report;
  auto member = with.site.has_member();
  if (!member)
    return verify_failure(reason_of(RestoreSide::DataDirectory, member.error()),
                          member.error().message);
  if (*member)
    return verify_failure(RestoreReason::DataDirectoryInvalid,
                          task.scratch_dir + " has a member: it is no folder for a copy");
  const Verdict refused = Verification(task, with).run(report);
  clean_up(with);
  report.duration_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(with.executor.now() - begin).count();
  if (refused) {
    const VerifyReport failure = verify_failure(refused->reason, refused->message);
    report.reason = failure.reason;
    report.message = failure.message;
    report.for_good = failure.for_good;
    return report;
  }
  with.log.info("verified", {{"uri", report.uri},
                             {"revision", report.revision.value_or(0)},
                             {"keys", report.keys.value_or(0)},
                             {"hash_compared", report.hash_compared},
                             {"digest_compared", report.digest_compared}});
  return report;
}

}  // namespace etcdop::agent
