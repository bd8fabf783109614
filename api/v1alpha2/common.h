// What specs of several kinds share: storage, etcd options, references, places of snapshots.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/describe.h"

namespace etcdop::api::v1alpha2 {

inline constexpr const char* kVersionPattern = R"(^\d+\.\d+\.\d+$)";

/// The schema of a part of core/v1 that passes through unread.
inline json::object core(const char* type) {
  return {{"$ref", std::string("io.k8s.api.core.v1.") + type}};
}
inline json::object list_of_core(const char* type) {
  return {{"type", "array"}, {"items", core(type)}};
}

/// Labels that a node must have, as core/v1 has them: one value to be replaced as a whole.
using NodeSelector = std::map<std::string, std::string>;
inline json::object atomic_map() { return {{"x-kubernetes-map-type", "atomic"}}; }

struct LocalObjectReference {
  std::string name;
  bool operator==(const LocalObjectReference&) const = default;

  static auto describe() {
    using S = LocalObjectReference;
    return object("An object of the same namespace, by name.",
                  std::tuple{defaulted("name", &S::name, "Name of the object.")}, {},
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

  static auto describe() {
    using S = StorageSpec;
    return object(
        "Where a member keeps its data.",
        std::tuple{
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

  static auto describe() {
    using S = AdditionalMetadata;
    return object(
        "Labels and annotations put on everything that is made for the cluster. They cannot "
        "override the operator's own.",
        std::tuple{sparse("labels", &S::labels, "Labels to add."),
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

  static auto describe() {
    using S = EtcdOptions;
    return object(
        "Flags of etcd. What is absent is left to etcd's own default.",
        std::tuple{
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
  LocalObjectReference credentials_secret_ref;
  bool force_path_style = false;
  bool operator==(const S3Location&) const = default;

  static auto describe() {
    using S = S3Location;
    return object(
        "A place in an S3-compatible object store.",
        std::tuple{required("endpoint", &S::endpoint, "URL of the store.", {{"minLength", 1}}),
                   required("bucket", &S::bucket, "Name of the bucket.", {{"minLength", 1}}),
                   required("credentialsSecretRef", &S::credentials_secret_ref,
                            "Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."),
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

  static auto describe() {
    using S = PvcLocation;
    return object(
        "A place in a PersistentVolumeClaim of the same namespace.",
        std::tuple{required("claimName", &S::claim_name, "Name of the PersistentVolumeClaim.",
                            {{"minLength", 1}}),
                   sparse("subPath", &S::sub_path,
                          "To store: folder in the volume. To restore: path of the file.")});
  }
};

struct SnapshotLocation {
  std::optional<S3Location> s3;
  std::optional<PvcLocation> pvc;
  bool operator==(const SnapshotLocation&) const = default;

  static auto describe() {
    using S = SnapshotLocation;
    return object("Where a snapshot lies: exactly one of s3 and pvc.",
                  std::tuple{optional("s3", &S::s3, ""), optional("pvc", &S::pvc, "")},
                  {{"has(self.s3) != has(self.pvc)", "exactly one of s3 and pvc must be set"}});
  }
};

struct RestoreSpec {
  SnapshotLocation source;
  bool operator==(const RestoreSpec&) const = default;

  static auto describe() {
    using S = RestoreSpec;
    return object(
        "The snapshot that the first member starts from.",
        std::tuple{required("source", &S::source, "")},
        {{"!has(self.source.s3) || (has(self.source.s3.key) && size(self.source.s3.key) > 0)",
          "restore.source.s3.key must be set: it names the object to restore"},
         {"!has(self.source.pvc) || (has(self.source.pvc.subPath) && "
          "size(self.source.pvc.subPath) > 0)",
          "restore.source.pvc.subPath must be set: it names the file to restore"}});
  }
};

}  // namespace etcdop::api::v1alpha2
