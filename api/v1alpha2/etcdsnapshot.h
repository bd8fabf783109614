// EtcdSnapshot, one snapshot of a cluster in an object store or a volume: the single source of its
// CRD and codec.
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

// status.phase: the last two are final.
inline constexpr const char* kSnapshotPending = "Pending";
inline constexpr const char* kSnapshotStarted = "Started";
inline constexpr const char* kSnapshotComplete = "Complete";
inline constexpr const char* kSnapshotFailed = "Failed";

/// Condition type, besides kReady; also the reason of a True condition.
inline constexpr const char* kVerified = "Verified";
inline constexpr const char* kVerifying = "Verifying";
inline constexpr const char* kVerificationFailed = "VerificationFailed";
/// On an EtcdSnapshot, and then on the Job that verifies it: the requested verification. Another
/// text requests one more. It leaves spec unchanged, because an edited spec may name another place.
inline constexpr const char* kVerifyAnnotation = "etcd-operator.cozystack.io/verify";
/// The request of spec.verify.
inline constexpr const char* kVerifyOnce = "once";
/// In the Pod of a Job that verifies.
inline constexpr const char* kVerifyContainer = "verify-agent";

/// Not immutable: users of the Go operator apply edited manifests over snapshots that ended long
/// ago, and those would be refused.
struct EtcdSnapshotSpec {
  LocalObjectReference cluster_ref;
  SnapshotLocation destination;
  bool verify = false;
  std::optional<AgentPodSpec> pod;
  bool operator==(const EtcdSnapshotSpec&) const = default;

  template <class S = EtcdSnapshotSpec>
  static auto describe() {
    return object(
        "The cluster, and where its snapshot is to be stored. It cannot change while "
        "the snapshot is being taken; afterwards only verify has an effect.",
        Fields{required("clusterRef", &S::cluster_ref, "The EtcdCluster."),
               required("destination", &S::destination, ""),
               sparse("verify", &S::verify,
                      "Whether the stored snapshot is restored into a scratch volume and "
                      "compared with the data that the cluster had. It can be set at any time."),
               optional("pod", &S::pod, "")});
  }
};

/// The stored snapshot, as reported by the program that stored it. The Go operator may have written
/// this, so fields that it does not know are optional.
struct SnapshotArtifact {
  std::string uri;
  std::int64_t size_bytes = 0;
  std::string checksum, etcd_version, cluster_id, member_id, digest, key_id;
  std::optional<std::int64_t> revision, compact_revision, hash_kv, keys;
  std::optional<bool> auth_enabled;
  bool operator==(const SnapshotArtifact&) const = default;

  template <class S = SnapshotArtifact>
  static auto describe() {
    return object(
        "The stored snapshot.",
        Fields{
            required("uri", &S::uri,
                     "Where it is: s3://BUCKET/KEY, or file:///PATH in the volume."),
            sparse("sizeBytes", &S::size_bytes, "Its size."),
            sparse("checksum", &S::checksum, "sha256: and 64 hex digits, of all its bytes."),
            sparse("etcdVersion", &S::etcd_version, "Version of the etcd that it is from."),
            sparse("clusterID", &S::cluster_id, "etcd's id of the cluster, in hex."),
            sparse("memberID", &S::member_id, "etcd's id of the member that it is from, in hex."),
            optional("revision", &S::revision,
                     "The cluster's newest revision shortly before the snapshot was taken; the "
                     "snapshot may have newer ones."),
            optional("compactRevision", &S::compact_revision,
                     "The revision up to which history was compacted; -1: never."),
            optional("hashKV", &S::hash_kv, "etcd's HashKV of that member at that revision."),
            optional("keys", &S::keys, "Number of keys that the cluster had at that revision."),
            sparse(
                "digest", &S::digest,
                "sha256: and 64 hex digits, over all keys at that revision with their values and "
                "revisions."),
            sparse("encryptionKeyID", &S::key_id,
                   "Id of the key that it is encrypted with, 16 hex digits. Absent: it is not "
                   "encrypted."),
            optional("authEnabled", &S::auth_enabled,
                     "Whether authentication is turned on in it. If so, a cluster that is "
                     "restored from it needs spec.auth.")});
  }
};

/// The result when the stored snapshot was restored and compared.
struct SnapshotVerification {
  std::string request;  ///< The requested one (kVerifyAnnotation).
  std::int32_t attempts = 0;
  std::string job_uid;
  std::optional<std::string> time;  ///< RFC 3339
  std::optional<std::int64_t> revision, hash_kv, keys, duration_seconds;
  std::optional<std::string> proven_time;  ///< RFC 3339; no later finding concerns the object.
  std::string failure;  ///< Failure of the last verification that ended; empty: success.
  bool operator==(const SnapshotVerification&) const = default;

  template <class S = SnapshotVerification>
  static auto describe() {
    return object(
        "The result of restoring the stored snapshot and comparing it with the data that the "
        "cluster had.",
        Fields{sparse("request", &S::request,
                      "The request: the value of the annotation "
                      "etcd-operator.cozystack.io/verify, or \"once\" "
                      "for spec.verify."),
               sparse("attempts", &S::attempts, "Number of attempts, one Job each."),
               sparse("jobUID", &S::job_uid, "UID of the Job of this attempt."),
               optional("time", &S::time, "When it ended.", {{"format", "date-time"}}),
               optional("revision", &S::revision, "The revision at which both were compared."),
               optional("hashKV", &S::hash_kv, "etcd's HashKV of the restored data."),
               optional("keys", &S::keys, "Number of keys in the restored data."),
               optional("durationSeconds", &S::duration_seconds, "How long restoring took."),
               optional("provenTime", &S::proven_time,
                        "When a verification last found the data that the cluster had. The "
                        "time stays if a later verification cannot run. It is removed if a "
                        "later one finds the stored snapshot missing, broken or replaced by "
                        "another.",
                        {{"format", "date-time"}}),
               sparse("failure", &S::failure,
                      "Reason and message of the last verification that ended, if it failed. "
                      "They stay while the next one runs.")});
  }
};

struct EtcdSnapshotStatus {
  std::string phase;  ///< Empty: no pass yet.
  std::optional<SnapshotArtifact> artifact;
  std::vector<Condition> conditions;
  std::string cluster_id;     ///< From the EtcdCluster, when the snapshot began.
  std::int32_t attempts = 0;  ///< Written before each Job is created.
  std::string job_uid;        ///< The observed Job; empty: none of this attempt was observed.
  std::optional<SnapshotVerification> verification;
  bool operator==(const EtcdSnapshotStatus&) const = default;

  bool finished() const { return phase == kSnapshotComplete || phase == kSnapshotFailed; }

  template <class S = EtcdSnapshotStatus>
  static auto describe() {
    return object(
        "The state of the snapshot.",
        Fields{sparse("phase", &S::phase, "Pending, Started, Complete or Failed."),
               optional("artifact", &S::artifact, ""), sparse("conditions", &S::conditions, ""),
               sparse("clusterID", &S::cluster_id,
                      "etcd's id of the cluster from which it is to be taken, in hex."),
               sparse("attempts", &S::attempts, "Number of attempts, one Job each."),
               sparse("jobUID", &S::job_uid, "UID of the Job of this attempt."),
               optional("verification", &S::verification, "")});
  }
};

struct EtcdSnapshot {
  static constexpr Resource resource{kGroup, kVersion, "etcdsnapshots", "EtcdSnapshot"};
  static constexpr std::array columns{
      Column{"Cluster", "string", ".spec.clusterRef.name"},
      Column{"Phase", "string", ".status.phase"},
      Column{"Verified", "string", ".status.conditions[?(@.type==\"Verified\")].status"},
      Column{"Age", "date", ".metadata.creationTimestamp"},
      Column{"Reason", "string", ".status.conditions[?(@.type==\"Ready\")].reason", 1},
      Column{"URI", "string", ".status.artifact.uri", 1},
  };

  ObjectMeta metadata;
  EtcdSnapshotSpec spec;
  EtcdSnapshotStatus status;
  bool operator==(const EtcdSnapshot&) const = default;

  /// The requested verification; empty: none.
  std::string asked() const {
    const auto found = metadata.annotations.find(kVerifyAnnotation);
    if (found != metadata.annotations.end() && !found->second.empty()) return found->second;
    return spec.verify ? kVerifyOnce : "";
  }
  /// Whether a verification is running, or due to begin. A running one ends, even if the request is
  /// withdrawn.
  bool verifying() const {
    if (status.phase != kSnapshotComplete) return false;
    const auto& last = status.verification;
    if (last && !last->time) return true;
    return !asked().empty() && (!last || last->request != asked());
  }
  /// Whether no work is left for it.
  bool settled() const { return status.finished() && !verifying(); }

  template <class S = EtcdSnapshot>
  static auto describe() {
    return object(
        "One snapshot of an etcd cluster. It is stored once. The stored snapshot stays when "
        "this object is deleted.",
        Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
               sparse("status", &S::status, "")},
        // A snapshot with a status is older than the rule and must stay writable.
        {{"has(self.status) || size(self.metadata.name) <= 54",
          "metadata.name must have at most 54 characters: its Job is called <name>-snapshot, and "
          "labels of Pods have at most 63"},
         {"!has(oldSelf.status) || !has(oldSelf.status.phase) || "
          "oldSelf.status.phase != 'Started' || (has(self.spec) == has(oldSelf.spec) && "
          "(!has(self.spec) || self.spec == oldSelf.spec))",
          "spec cannot change while the snapshot is being taken"}});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdSnapshot>;
}  // namespace etcdop::api
