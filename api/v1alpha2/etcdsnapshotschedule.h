// EtcdSnapshotSchedule, snapshots of a cluster by schedule, and which of them are kept: the single
// source of its CRD and codec.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/crd.h"
#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/names.h"

namespace etcdop::api::v1alpha2 {

/// On EtcdSnapshots: the EtcdSnapshotSchedule that created them.
inline constexpr const char* kScheduleLabel = "etcd-operator.cozystack.io/schedule";
/// On an expired EtcdSnapshot, written before anything of it is deleted: it is deleted even if the
/// retention rules change afterwards.
inline constexpr const char* kExpiredAnnotation = "etcd-operator.cozystack.io/expired";
/// In the Pod of a Job that deletes a stored snapshot.
inline constexpr const char* kDeleteContainer = "delete-agent";

// Condition types, besides kReady.
inline constexpr const char* kBackupStale = "BackupStale";
inline constexpr const char* kBackupUnverified = "BackupUnverified";
inline constexpr const char* kRetentionApplied = "RetentionApplied";
// Reasons of kReady, besides kObjectRejected.
inline constexpr const char* kScheduled = "Scheduled";
inline constexpr const char* kSuspended = "Suspended";
inline constexpr const char* kScheduleInvalid = "ScheduleInvalid";  ///< Also for the other types.
inline constexpr const char* kSnapshotNameTaken = "SnapshotNameTaken";
// For kBackupStale.
inline constexpr const char* kNoRecentSnapshot = "NoRecentSnapshot";
inline constexpr const char* kSnapshotRecent = "SnapshotRecent";
// For kBackupUnverified, besides kVerificationFailed.
inline constexpr const char* kVerificationOverdue = "VerificationOverdue";
inline constexpr const char* kBackupVerified = "BackupVerified";
// For kRetentionApplied, besides kOperatorImageNotConfigured and kObjectRejected.
inline constexpr const char* kExpiredDeleted = "ExpiredDeleted";
inline constexpr const char* kRetentionFailed = "RetentionFailed";
// Reasons of Events: the schedule's actions.
inline constexpr const char* kSnapshotCreated = "SnapshotCreated";
inline constexpr const char* kSnapshotReplaced = "SnapshotReplaced";
inline constexpr const char* kSnapshotDeleted = "SnapshotDeleted";

enum class ConcurrencyPolicy { Forbid, Allow, Replace };
inline auto names(ConcurrencyPolicy) {
  return std::array{std::pair{ConcurrencyPolicy::Forbid, "Forbid"},
                    std::pair{ConcurrencyPolicy::Allow, "Allow"},
                    std::pair{ConcurrencyPolicy::Replace, "Replace"}};
}

struct SnapshotRetention {
  std::optional<std::int32_t> keep_last;
  std::optional<std::string> keep_for;  ///< In Go's form: "720h".
  std::optional<std::int32_t> keep_daily, keep_weekly, keep_monthly;
  bool operator==(const SnapshotRetention&) const = default;

  template <class S = SnapshotRetention>
  static auto describe() {
    return object(
        "Which stored snapshots of this schedule are kept: each that one of these fields "
        "keeps, and always the newest. For all others, the operator deletes the stored "
        "snapshot and then the EtcdSnapshot.",
        Fields{optional("keepLast", &S::keep_last, "This many of the newest snapshots.",
                        {{"minimum", 1}}),
               optional("keepFor", &S::keep_for,
                        "All snapshots that are no older than this, such as 36h or 720h; at least "
                        "1m.",
                        {{"pattern", R"(^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$)"}, {"maxLength", 32}}),
               optional("keepDaily", &S::keep_daily,
                        "The newest snapshot of each day, for this many of the last days that "
                        "have one. Days, weeks and months begin by the clocks of timeZone.",
                        {{"minimum", 1}}),
               optional("keepWeekly", &S::keep_weekly,
                        "The newest snapshot of each week, from Monday, for this many of the last "
                        "weeks that have one.",
                        {{"minimum", 1}}),
               optional("keepMonthly", &S::keep_monthly,
                        "The newest snapshot of each month, for this many of the last months that "
                        "have one.",
                        {{"minimum", 1}})},
        {{"has(self.keepLast) || has(self.keepFor) || has(self.keepDaily) || "
          "has(self.keepWeekly) || has(self.keepMonthly)",
          "retention must set at least one field; without retention all snapshots are kept"},
         {"!has(self.keepFor) || duration(self.keepFor) >= duration('1m')",
          "retention.keepFor must be at least 1m"}});
  }
};

/// How often stored snapshots are verified.
struct VerifySpec {
  std::int32_t every = 1;
  bool operator==(const VerifySpec&) const = default;

  template <class S = VerifySpec>
  static auto describe() {
    return object(
        "Whether stored snapshots are restored into a scratch volume and compared with the "
        "data that the cluster had.",
        Fields{defaulted("every", &S::every,
                         "After this many stored snapshots the newest is verified, and all "
                         "others that are kept are verified again, one at a time.",
                         {{"minimum", 1}, {"maximum", 1000}})});
  }
};

struct SnapshotMetadata {
  std::map<std::string, std::string> labels, annotations;
  bool operator==(const SnapshotMetadata&) const = default;

  template <class S = SnapshotMetadata>
  static auto describe() {
    return object(
        "Labels and annotations of each EtcdSnapshot. They cannot override the operator's own.",
        Fields{sparse("labels", &S::labels, "Labels to add."),
               sparse("annotations", &S::annotations, "Annotations to add.")});
  }
};

struct SnapshotTemplate {
  std::optional<SnapshotMetadata> metadata;
  SnapshotLocation destination;
  std::optional<AgentPodSpec> pod;
  bool operator==(const SnapshotTemplate&) const = default;

  template <class S = SnapshotTemplate>
  static auto describe() {
    return object(
        "The template of each EtcdSnapshot.",
        Fields{optional("metadata", &S::metadata, ""), required("destination", &S::destination, ""),
               optional("pod", &S::pod, "")});
  }
};

struct EtcdSnapshotScheduleSpec {
  LocalObjectReference cluster_ref;
  std::string schedule, time_zone;
  std::optional<std::int64_t> starting_deadline_seconds;
  ConcurrencyPolicy concurrency_policy = ConcurrencyPolicy::Forbid;
  bool suspend = false;
  std::optional<SnapshotRetention> retention;
  std::optional<VerifySpec> verify;
  SnapshotTemplate snapshot;
  bool operator==(const EtcdSnapshotScheduleSpec&) const = default;

  template <class S = EtcdSnapshotScheduleSpec>
  static auto describe() {
    return object(
        "The cluster, when snapshots of it are taken, and how long they are kept.",
        Fields{required("clusterRef", &S::cluster_ref, "The EtcdCluster."),
               required("schedule", &S::schedule,
                        "Minute, hour, day of the month, month and day of the week, as in a "
                        "CronJob; or @hourly, @daily, @weekly, @monthly, @yearly.",
                        {{"minLength", 1}, {"maxLength", 256}}),
               sparse("timeZone", &S::time_zone,
                      "Time zone of the schedule, such as Europe/Berlin. UTC if absent.",
                      {{"maxLength", 64}}),
               optional("startingDeadlineSeconds", &S::starting_deadline_seconds,
                        "A run that is later than this is not started. Absent: a run is started "
                        "however late it is. If several runs were missed, only the newest is "
                        "started.",
                        {{"minimum", 0}}),
               defaulted("concurrencyPolicy", &S::concurrency_policy,
                         "While the previous snapshot has not ended: Forbid lets the next one "
                         "wait, Allow takes both, Replace deletes the previous one."),
               defaulted("suspend", &S::suspend,
                         "If true, nothing is started, deleted or verified. Work that has begun "
                         "continues."),
               optional("retention", &S::retention, ""), optional("verify", &S::verify, ""),
               required("template", &S::snapshot, "")},
        {{"has(self.clusterRef.name) && size(self.clusterRef.name) > 0",
          "clusterRef.name must name the EtcdCluster"}});
  }
};

/// The newest stored snapshot.
struct SnapshotSuccess {
  std::string time;  ///< RFC 3339: when it was known to be stored.
  std::string snapshot, uri;
  std::optional<std::int64_t> revision;
  bool operator==(const SnapshotSuccess&) const = default;

  template <class S = SnapshotSuccess>
  static auto describe() {
    return object("The newest snapshot that is stored.",
                  Fields{required("time", &S::time, "When it was known to be stored.",
                                  {{"format", "date-time"}}),
                         required("snapshot", &S::snapshot, "Name of the EtcdSnapshot."),
                         sparse("uri", &S::uri, "Where it is."),
                         optional("revision", &S::revision,
                                  "etcd's newest revision shortly before it was taken.")});
  }
};

/// The newest failed snapshot.
struct SnapshotFailure {
  std::string snapshot, reason, message;
  bool operator==(const SnapshotFailure&) const = default;

  template <class S = SnapshotFailure>
  static auto describe() {
    return object("The newest snapshot that has failed.",
                  Fields{required("snapshot", &S::snapshot, "Name of the EtcdSnapshot."),
                         sparse("reason", &S::reason, "Why, in one word."),
                         sparse("message", &S::message, "Why, in a sentence.")});
  }
};

/// The newest successful verification.
struct VerificationSuccess {
  std::string time;  ///< RFC 3339: when it ended.
  std::string snapshot;
  std::optional<std::int64_t> revision, hash_kv, keys, duration_seconds;
  bool operator==(const VerificationSuccess&) const = default;

  template <class S = VerificationSuccess>
  static auto describe() {
    return object(
        "The newest verification that found the data that the cluster had.",
        Fields{required("time", &S::time, "When it ended.", {{"format", "date-time"}}),
               required("snapshot", &S::snapshot, "Name of the EtcdSnapshot."),
               optional("revision", &S::revision, "The revision that was compared."),
               optional("hashKV", &S::hash_kv, "etcd's HashKV at that revision."),
               optional("keys", &S::keys, "Number of keys at that revision."),
               optional("durationSeconds", &S::duration_seconds, "How long restoring took.")});
  }
};

struct EtcdSnapshotScheduleStatus {
  std::optional<std::string> last_schedule_time, next_schedule_time;  ///< RFC 3339, as planned.
  std::optional<SnapshotSuccess> last_success;
  std::optional<SnapshotFailure> last_failure;
  std::int32_t failures_in_a_row = 0;
  std::optional<VerificationSuccess> last_verified;
  std::string verify_round;  ///< EtcdSnapshot that began the newest round; empty: no round yet.
  std::int32_t stored_since_round = 0;
  std::vector<std::string> active;
  std::vector<Condition> conditions;
  bool operator==(const EtcdSnapshotScheduleStatus&) const = default;

  template <class S = EtcdSnapshotScheduleStatus>
  static auto describe() {
    return object(
        "The state of its runs.",
        Fields{optional("lastScheduleTime", &S::last_schedule_time,
                        "The planned time of the newest run that was started.",
                        {{"format", "date-time"}}),
               optional("nextScheduleTime", &S::next_schedule_time,
                        "The time of the next run; absent while suspended.",
                        {{"format", "date-time"}}),
               optional("lastSuccess", &S::last_success, ""),
               optional("lastFailure", &S::last_failure, ""),
               sparse("failuresInARow", &S::failures_in_a_row,
                      "Snapshots that have failed since the last stored one."),
               optional("lastVerified", &S::last_verified, ""),
               sparse("verifyRound", &S::verify_round,
                      "EtcdSnapshot with which the newest round of verifications began. The "
                      "round verifies it and all kept ones."),
               sparse("storedSinceRound", &S::stored_since_round,
                      "Snapshots that were stored since that round began."),
               sparse("active", &S::active, "EtcdSnapshots that have not ended.",
                      {{"x-kubernetes-list-type", "atomic"}}),
               sparse("conditions", &S::conditions, "")});
  }
};

struct EtcdSnapshotSchedule {
  static constexpr Resource resource{kGroup, kVersion, "etcdsnapshotschedules",
                                     "EtcdSnapshotSchedule"};
  static constexpr std::array columns{
      Column{"Cluster", "string", ".spec.clusterRef.name"},
      Column{"Schedule", "string", ".spec.schedule"},
      Column{"Suspended", "boolean", ".spec.suspend"},
      Column{"Last Success", "date", ".status.lastSuccess.time"},
      // Not of type date: kubectl shows a date as an age, and a future date as nothing.
      Column{"Next", "string", ".status.nextScheduleTime"},
      Column{"Stale", "string", ".status.conditions[?(@.type==\"BackupStale\")].status"},
      Column{"Unverified", "string", ".status.conditions[?(@.type==\"BackupUnverified\")].status"},
      Column{"Last Verified", "date", ".status.lastVerified.time", 1},
      Column{"Age", "date", ".metadata.creationTimestamp"},
      Column{"Reason", "string", ".status.conditions[?(@.type==\"Ready\")].reason", 1},
  };

  ObjectMeta metadata;
  EtcdSnapshotScheduleSpec spec;
  EtcdSnapshotScheduleStatus status;
  bool operator==(const EtcdSnapshotSchedule&) const = default;

  template <class S = EtcdSnapshotSchedule>
  static auto describe() {
    return object(
        "Scheduled snapshots of an etcd cluster. When this object is deleted, its "
        "EtcdSnapshots are deleted, too, but the stored snapshots stay.",
        Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
               sparse("status", &S::status, "")},
        {{"size(self.metadata.name) <= 41",
          "metadata.name must have at most 41 characters: its EtcdSnapshots are called "
          "<name>-<yyyymmddhhmm>, and may have at most 54"}});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdSnapshotSchedule>;
}  // namespace etcdop::api
