// EtcdRestore, the return of a running cluster to a snapshot: the single source of its CRD and
// codec.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/crd.h"
#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/names.h"

namespace etcdop::api::v1alpha2 {

// status.phase: the last three are final.
inline constexpr const char* kRestorePending = "Pending";
inline constexpr const char* kRestoreChecking = "Checking";
inline constexpr const char* kRestoreReady = "Ready";
inline constexpr const char* kRestoreStopping = "Stopping";
inline constexpr const char* kRestoreRestoring = "Restoring";
inline constexpr const char* kRestoreReview = "Review";
inline constexpr const char* kRestoreCommitting = "Committing";
inline constexpr const char* kRestoreRollingBack = "RollingBack";
inline constexpr const char* kRestoreComplete = "Complete";
inline constexpr const char* kRestoreRolledBack = "RolledBack";
inline constexpr const char* kRestorePhaseFailed = "Failed";

// Condition types, in the order in which they come; each is also the reason of a True condition.
inline constexpr const char* kChecked = "Checked";
inline constexpr const char* kStopped = "Stopped";
inline constexpr const char* kRestoredData = "DataRestored";
inline constexpr const char* kCommitted = "Committed";
inline constexpr const char* kRolledBack = "RolledBack";
// Reasons.
inline constexpr const char* kChecking = "Checking";
inline constexpr const char* kCheckFailed = "CheckFailed";
inline constexpr const char* kStopping = "Stopping";
inline constexpr const char* kAwaitingDecision = "AwaitingDecision";
inline constexpr const char* kCommitting = "Committing";
inline constexpr const char* kRollingBack = "RollingBack";
inline constexpr const char* kAnotherRestoreFirst = "AnotherRestoreFirst";
inline constexpr const char* kAlreadyDone = "AlreadyDone";

/// How far the user lets it go. Until the old volumes are deleted, everything can be rolled back.
enum class RestoreDecision { Check, Restore, Commit, Rollback };
inline auto names(RestoreDecision) {
  return std::array{std::pair{RestoreDecision::Check, "Check"},
                    std::pair{RestoreDecision::Restore, "Restore"},
                    std::pair{RestoreDecision::Commit, "Commit"},
                    std::pair{RestoreDecision::Rollback, "Rollback"}};
}

struct EtcdRestoreSpec {
  LocalObjectReference cluster_ref;
  SnapshotLocation source;
  std::optional<std::int64_t> bump_revision;
  RestoreDecision decision = RestoreDecision::Check;
  std::string run_id;
  std::optional<AgentPodSpec> pod;
  bool operator==(const EtcdRestoreSpec&) const = default;

  template <class S = EtcdRestoreSpec>
  static auto describe() {
    return object(
        "The cluster, the snapshot, and how far to go. Only decision and pod can change.",
        Fields{required("clusterRef", &S::cluster_ref, "The EtcdCluster."),
               required("source", &S::source, ""),
               optional("bumpRevision", &S::bump_revision,
                        "The restored cluster's revision is at least this much above the "
                        "snapshot's revision and above all revisions that clients of this cluster "
                        "may have seen; 1000000000 if absent. All earlier revisions count as "
                        "compacted: clients that watch read all keys again and never see a "
                        "revision twice.",
                        {{"minimum", 1000000}, {"maximum", 1000000000000000000}}),
               defaulted("decision", &S::decision,
                         "Check: the operator checks the snapshot and changes nothing. Restore: "
                         "the operator stops the cluster, keeps its volumes, and starts one "
                         "member from the snapshot. Clients cannot reach this member; you can "
                         "inspect it. Commit: the operator lets clients in and deletes the old "
                         "volumes. Rollback: the operator brings back the cluster as it was "
                         "before. An EtcdRestore that is created with Commit does all of this "
                         "without a stop."),
               sparse("runId", &S::run_id,
                      "Any text. An EtcdRestore with the name, source and runId of a committed "
                      "restore does not restore again, for example when a GitOps tool applies it "
                      "again. Set another runId to restore again.",
                      {{"maxLength", 63}}),
               optional("pod", &S::pod, "")},
        {{"has(self.clusterRef.name) && size(self.clusterRef.name) > 0",
          "clusterRef.name must name the EtcdCluster"},
         {"self.clusterRef == oldSelf.clusterRef", "clusterRef cannot change"},
         {"self.source == oldSelf.source", "source cannot change: make another EtcdRestore"},
         {"has(self.bumpRevision) == has(oldSelf.bumpRevision) && (!has(self.bumpRevision) || "
          "self.bumpRevision == oldSelf.bumpRevision)",
          "bumpRevision cannot change"},
         {"has(self.runId) == has(oldSelf.runId) && (!has(self.runId) || self.runId == "
          "oldSelf.runId)",
          "runId cannot change: delete the EtcdRestore first, or make another"},
         {"!has(self.source.s3) || (has(self.source.s3.key) && size(self.source.s3.key) > 0)",
          "source.s3.key must be set: it names the object to restore"},
         {"!has(self.source.pvc) || (has(self.source.pvc.subPath) && "
          "size(self.source.pvc.subPath) > 0)",
          "source.pvc.subPath must be set: it names the file to restore"}});
  }
};

/// Facts of the snapshot, found before anything was stopped.
struct RestoreSource {
  std::string uri, checksum, etcd_version;
  std::optional<std::int64_t> revision, keys;
  bool operator==(const RestoreSource&) const = default;

  template <class S = RestoreSource>
  static auto describe() {
    return object(
        "Facts about the snapshot.",
        Fields{sparse("uri", &S::uri, "Where it is."),
               sparse("checksum", &S::checksum, "sha256: and 64 hex digits, of all its bytes."),
               sparse("etcdVersion", &S::etcd_version, "Version of the etcd that it is from."),
               optional("revision", &S::revision, "Its newest revision."),
               optional("keys", &S::keys, "Number of keys in it.")});
  }
};

struct EtcdRestoreStatus {
  std::string phase;        ///< Empty: Pending, and no pass yet.
  std::string cluster_uid;  ///< The EtcdCluster for which it was checked.
  std::int32_t attempts = 0;
  std::string job_uid;
  std::optional<RestoreSource> source;
  std::optional<std::string> started_at, completed_at;  ///< RFC 3339
  std::vector<Condition> conditions;
  bool operator==(const EtcdRestoreStatus&) const = default;

  bool finished() const {
    return phase == kRestoreComplete || phase == kRestoreRolledBack || phase == kRestorePhaseFailed;
  }

  template <class S = EtcdRestoreStatus>
  static auto describe() {
    return object(
        "The progress of the restore.",
        Fields{
            sparse("phase", &S::phase,
                   "Pending, Checking, Ready, Stopping, Restoring, Review, Committing, "
                   "RollingBack, Complete, RolledBack or Failed."),
            sparse("clusterUID", &S::cluster_uid, "UID of its EtcdCluster."),
            sparse("attempts", &S::attempts,
                   "Number of attempts to check the snapshot, one Job each."),
            sparse("jobUID", &S::job_uid, "UID of the Job of this attempt."),
            optional("source", &S::source, ""),
            optional("startedAt", &S::started_at, "When the cluster was first told to stop.",
                     {{"format", "date-time"}}),
            optional("completedAt", &S::completed_at, "When it ended.", {{"format", "date-time"}}),
            sparse("conditions", &S::conditions, "")});
  }
};

struct EtcdRestore {
  static constexpr Resource resource{kGroup, kVersion, "etcdrestores", "EtcdRestore"};
  static constexpr std::array columns{
      Column{"Cluster", "string", ".spec.clusterRef.name"},
      Column{"Decision", "string", ".spec.decision"},
      Column{"Phase", "string", ".status.phase"},
      Column{"Revision", "integer", ".status.source.revision"},
      Column{"Age", "date", ".metadata.creationTimestamp"},
  };

  ObjectMeta metadata;
  EtcdRestoreSpec spec;
  EtcdRestoreStatus status;
  bool operator==(const EtcdRestore&) const = default;

  template <class S = EtcdRestore>
  static auto describe() {
    return object(
        "A restore in place: a running cluster goes back to a snapshot. If this object is "
        "deleted before the restore is committed, the operator rolls the restore back.",
        Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
               sparse("status", &S::status, "")},
        {{"size(self.metadata.name) <= 57",
          "metadata.name must have at most 57 characters: its Job is called <name>-check, and "
          "labels of Pods have at most 63"}});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdRestore>;
}  // namespace etcdop::api
