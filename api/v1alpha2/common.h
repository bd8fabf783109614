// Shared by the specs of several kinds: storage, etcd options, references, places of snapshots.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/describe.h"

namespace etcdop::api::v1alpha2 {

inline constexpr const char* kVersionPattern = R"(^\d+\.\d+\.\d+$)";

/// The schema of a part of core/v1 that passes through unparsed.
inline json::object core(const char* type) {
  return {{"$ref", std::string("io.k8s.api.core.v1.") + type}};
}
inline json::object list_of_core(const char* type) {
  return {{"type", "array"}, {"items", core(type)}};
}

/// Required node labels, as in core/v1: one value, replaced as a whole.
using NodeSelector = std::map<std::string, std::string>;
inline json::object atomic_map() { return {{"x-kubernetes-map-type", "atomic"}}; }

struct LocalObjectReference {
  std::string name;
  bool operator==(const LocalObjectReference&) const = default;

  template <class S = LocalObjectReference>
  static auto describe() {
    return object("An object of the same namespace, by name.",
                  Fields{defaulted("name", &S::name, "Name of the object.")}, {},
                  {{"x-kubernetes-map-type", "atomic"}});
  }
};

enum class Medium { Disk, Memory };
inline auto names(Medium) {  // Disk is "" on the wire: it predates the field.
  return std::array{std::pair{Medium::Disk, ""}, std::pair{Medium::Memory, "Memory"}};
}

struct StorageSpec {
  std::string size = "1Gi";
  Medium medium = Medium::Disk;
  std::optional<std::string> storage_class_name;  ///< "" means: no dynamic provisioning.
  bool operator==(const StorageSpec&) const = default;

  template <class S = StorageSpec>
  static auto describe() {
    return object(
        "Where a member keeps its data.",
        Fields{
            defaulted<Quantity>("size", &S::size, "Size of each member's volume. It can only grow.",
                                rules({{"quantity(string(self)).compareTo("
                                        "quantity(string(oldSelf))) >= 0",
                                        "storage.size cannot shrink"}})),
            defaulted("medium", &S::medium,
                      "Empty: a PersistentVolumeClaim. Memory: a tmpfs; a lost Pod is lost data.",
                      rules({{"self == oldSelf", "storage.medium cannot change"}})),
            optional("storageClassName", &S::storage_class_name,
                     "StorageClass of the volumes. Absent: the cluster's default class; empty: "
                     "only volumes that exist already.")});
  }
};

struct AdditionalMetadata {
  std::map<std::string, std::string> labels, annotations;
  bool operator==(const AdditionalMetadata&) const = default;

  template <class S = AdditionalMetadata>
  static auto describe() {
    return object(
        "Labels and annotations of all objects that the operator creates for the cluster. They "
        "cannot override the operator's own.",
        Fields{sparse("labels", &S::labels, "Labels to add."),
               sparse("annotations", &S::annotations, "Annotations to add.")});
  }
};

enum class AutoCompactionMode { Periodic, Revision };
inline auto names(AutoCompactionMode) {
  return std::array{std::pair{AutoCompactionMode::Periodic, "periodic"},
                    std::pair{AutoCompactionMode::Revision, "revision"}};
}

struct EtcdOptions {
  std::optional<std::int64_t> quota_backend_bytes;
  std::optional<AutoCompactionMode> auto_compaction_mode;
  std::optional<std::string> auto_compaction_retention;
  std::optional<std::int64_t> snapshot_count;
  bool operator==(const EtcdOptions&) const = default;

  template <class S = EtcdOptions>
  static auto describe() {
    return object(
        "Flags of etcd. An absent flag has etcd's own default.",
        Fields{
            optional("quotaBackendBytes", &S::quota_backend_bytes,
                     "--quota-backend-bytes: size of the database at which writes are refused.",
                     {{"minimum", 0}}),
            optional("autoCompactionMode", &S::auto_compaction_mode,
                     "--auto-compaction-mode: what autoCompactionRetention counts."),
            optional("autoCompactionRetention", &S::auto_compaction_retention,
                     "--auto-compaction-retention: how much history is kept, as a duration (1h30m) "
                     "or a number of hours or revisions.",
                     {{"pattern", R"(^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$|^[0-9]+$)"}}),
            optional("snapshotCount", &S::snapshot_count,
                     "--snapshot-count: transactions between two snapshots of the raft log.",
                     {{"minimum", 1}})});
  }
};

struct S3Location {
  std::string endpoint, bucket, key, region;
  LocalObjectReference credentials_secret_ref;  ///< Without a name: the Pod's own identity.
  std::optional<LocalObjectReference> ca_secret_ref;
  bool force_path_style = false;
  bool operator==(const S3Location&) const = default;

  template <class S = S3Location>
  static auto describe() {
    return object(
        "A place in an S3-compatible object store.",
        Fields{required("endpoint", &S::endpoint, "URL of the store.", {{"minLength", 1}}),
               required("bucket", &S::bucket, "Name of the bucket.", {{"minLength", 1}}),
               required("credentialsSecretRef", &S::credentials_secret_ref,
                        "Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and "
                        "AWS_SESSION_TOKEN if the credentials are temporary. Empty: the Pod "
                        "gets credentials through its ServiceAccount."),
               optional("caSecretRef", &S::ca_secret_ref,
                        "Secret whose key ca.crt has the CAs (PEM) that may have signed the "
                        "store's certificate. Absent: the well-known CAs."),
               sparse("key", &S::key,
                      "To store: prefix of the object's key. To restore: key of the object."),
               sparse("region", &S::region, "Region of the bucket; us-east-1 if absent."),
               sparse("forcePathStyle", &S::force_path_style,
                      "Address the bucket by path and not by host name.")});
  }
};

struct PvcLocation {
  std::string claim_name, sub_path;
  bool operator==(const PvcLocation&) const = default;

  template <class S = PvcLocation>
  static auto describe() {
    return object("A place in a PersistentVolumeClaim of the same namespace.",
                  Fields{required("claimName", &S::claim_name, "Name of the PersistentVolumeClaim.",
                                  {{"minLength", 1}}),
                         sparse("subPath", &S::sub_path,
                                "To store: folder in the volume. To restore: path of the file.")});
  }
};

struct EncryptionSpec {
  LocalObjectReference key_secret_ref;
  bool operator==(const EncryptionSpec&) const = default;

  template <class S = EncryptionSpec>
  static auto describe() {
    return object(
        "Encryption of snapshots: AES-256-GCM, before they leave the Pod. Only a holder of the "
        "key can read them.",
        Fields{required("keySecretRef", &S::key_secret_ref,
                        "Secret whose entry `key` is the key that encrypts snapshots: 32 "
                        "random bytes, raw, as 64 hex digits or as base64. A snapshot is read "
                        "with the entry that encrypted it: keep old keys in the Secret, under "
                        "other names.")},
        {{"has(self.keySecretRef.name) && size(self.keySecretRef.name) > 0",
          "encryption.keySecretRef.name must name the Secret"}});
  }
};

struct SnapshotLocation {
  std::optional<S3Location> s3;
  std::optional<PvcLocation> pvc;
  std::optional<EncryptionSpec> encryption;
  bool operator==(const SnapshotLocation&) const = default;

  template <class S = SnapshotLocation>
  static auto describe() {
    return object("Where a snapshot is stored: exactly one of s3 and pvc.",
                  Fields{optional("s3", &S::s3, ""), optional("pvc", &S::pvc, ""),
                         optional("encryption", &S::encryption, "")},
                  {{"has(self.s3) != has(self.pvc)", "exactly one of s3 and pvc must be set"}});
  }
};

/// For the Pods of agents that take, check and delete stored snapshots.
struct AgentPodSpec {
  std::optional<Json> resources, affinity, tolerations;  ///< core/v1, unchanged.
  NodeSelector node_selector;
  std::string priority_class_name, service_account_name;
  bool operator==(const AgentPodSpec&) const = default;

  template <class S = AgentPodSpec>
  static auto describe() {
    return object(
        "Settings of the Pods that take, check and delete snapshots.",
        Fields{
            optional("resources", &S::resources,
                     "Resources of each container. 64Mi of memory are enough to take a snapshot of "
                     "any size; a verification needs as much as an etcd with its data.",
                     core("ResourceRequirements")),
            sparse("nodeSelector", &S::node_selector, "Labels of the nodes that may run them.",
                   atomic_map()),
            optional("affinity", &S::affinity, "Their affinity.", core("Affinity")),
            optional("tolerations", &S::tolerations, "Taints that they tolerate.",
                     list_of_core("Toleration")),
            sparse("priorityClassName", &S::priority_class_name, "Their PriorityClass."),
            sparse("serviceAccountName", &S::service_account_name,
                   "Their ServiceAccount; the namespace's default if absent. Its token is given to "
                   "them only where the object store has no credentialsSecretRef.")});
  }
};

struct RestoreSpec {
  SnapshotLocation source;
  std::optional<std::int64_t> bump_revision;
  std::string checksum;  ///< Empty: any.
  bool operator==(const RestoreSpec&) const = default;

  template <class S = RestoreSpec>
  static auto describe() {
    return object(
        "The snapshot that the first member starts from.",
        Fields{required("source", &S::source, ""),
               optional("bumpRevision", &S::bump_revision,
                        "Added to the snapshot's revision; 1000000000 if absent. It must be more "
                        "than the old cluster wrote since the snapshot. All earlier revisions "
                        "count as compacted: clients that watched the old cluster read all keys "
                        "again and never see a revision twice. 0: the revision stays as it is in "
                        "the snapshot.",
                        {{"minimum", 0}, {"maximum", 1000000000000000000}}),
               sparse("checksum", &S::checksum,
                      "sha256: and 64 hex digits, of all bytes of the snapshot, as in "
                      "status.artifact.checksum of its EtcdSnapshot. A snapshot with another "
                      "checksum is refused. Absent: any checksum is accepted.",
                      {{"pattern", "^sha256:[0-9a-f]{64}$"}})},
        {{"!has(self.source.s3) || (has(self.source.s3.key) && size(self.source.s3.key) > 0)",
          "restore.source.s3.key must be set: it names the object to restore"},
         {"!has(self.source.pvc) || (has(self.source.pvc.subPath) && "
          "size(self.source.pvc.subPath) > 0)",
          "restore.source.pvc.subPath must be set: it names the file to restore"}});
  }
};

}  // namespace etcdop::api::v1alpha2
