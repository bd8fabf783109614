// EtcdDefrag, one run of defragmentation over a cluster: the single source of its CRD and codec.
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
inline constexpr const char* kDefragPending = "Pending";  ///< Also the outcome of a member.
inline constexpr const char* kDefragRunning = "Running";
inline constexpr const char* kDefragComplete = "Complete";
inline constexpr const char* kDefragFailed = "Failed";  ///< The same.
// status.members[].outcome, besides those two; and role.
inline constexpr const char* kDefragSkipped = "Skipped";
inline constexpr const char* kDefragDefragmented = "Defragmented";
inline constexpr const char* kDefragLeader = "leader";
inline constexpr const char* kDefragFollower = "follower";

/// Quantities are kept as text; empty: not set.
struct DefragRule {
  bool all = false;
  std::string free_space_above, quota_usage_above, min_reclaim;
  bool operator==(const DefragRule&) const = default;

  template <class S = DefragRule>
  static auto describe() {
    return object(
        "Which members are defragmented. A member is, if it exceeds one of the thresholds.",
        Fields{
            sparse("all", &S::all, "Every member, however little free space it has."),
            sparse<Quantity>("freeSpaceAbove", &S::free_space_above,
                             "Members whose database file has more free space than this. 200Mi if "
                             "no rule is set."),
            sparse("quotaUsageAbove", &S::quota_usage_above,
                   "Members whose database file is larger than this part of their quota, if at "
                   "least minReclaim of it is free.",
                   {{"pattern", "^([1-9][0-9]?|100)%$"}}),
            sparse<Quantity>("minReclaim", &S::min_reclaim,
                             "The least free space for quotaUsageAbove to count; 32Mi if absent.")},
        {{"!(has(self.all) && self.all && (has(self.freeSpaceAbove) || "
          "has(self.quotaUsageAbove) || has(self.minReclaim)))",
          "rule.all cannot be combined with thresholds"},
         {"!has(self.freeSpaceAbove) || "
          "quantity(string(self.freeSpaceAbove)).isGreaterThan(quantity('0'))",
          "rule.freeSpaceAbove must be greater than 0"},
         {"!has(self.minReclaim) || "
          "quantity(string(self.minReclaim)).isGreaterThan(quantity('0'))",
          "rule.minReclaim must be greater than 0"},
         {"!has(self.minReclaim) || has(self.quotaUsageAbove)",
          "rule.minReclaim needs rule.quotaUsageAbove: it has no other effect"},
         {"!has(self.minReclaim) || !has(self.freeSpaceAbove) || "
          "quantity(string(self.minReclaim))"
          ".compareTo(quantity(string(self.freeSpaceAbove))) <= 0",
          "rule.minReclaim must not be greater than rule.freeSpaceAbove"}});
  }
};

struct EtcdDefragSpec {
  LocalObjectReference cluster_ref;
  std::optional<DefragRule> rule;
  std::optional<std::int32_t> ttl_seconds_after_finished;
  bool operator==(const EtcdDefragSpec&) const = default;

  template <class S = EtcdDefragSpec>
  static auto describe() {
    return object(
        "The cluster, and which of its members are to be defragmented.",
        Fields{required("clusterRef", &S::cluster_ref, "The EtcdCluster."),
               optional("rule", &S::rule, ""),
               optional("ttlSecondsAfterFinished", &S::ttl_seconds_after_finished,
                        "This object is deleted so many seconds after its end. Absent: it "
                        "stays.",
                        {{"minimum", 0}})},
        {{"has(self.clusterRef.name) && size(self.clusterRef.name) > 0",
          "clusterRef.name must name the EtcdCluster"}});
  }
};

struct DefragMemberStatus {
  std::string name, role, outcome, reason;
  std::int64_t db_size_before = 0, db_size_after = 0, reclaimed_bytes = 0;
  std::optional<std::string> finished_at;  ///< RFC 3339
  std::int32_t attempts = 0;               ///< Written before each attempt.
  bool operator==(const DefragMemberStatus&) const = default;

  template <class S = DefragMemberStatus>
  static auto describe() {
    return object(
        "One member.",
        Fields{required("name", &S::name, "Name of the EtcdMember."),
               sparse("role", &S::role, "leader or follower, when the run began."),
               sparse("outcome", &S::outcome, "Pending, Skipped, Defragmented or Failed."),
               sparse("reason", &S::reason, "Why it was skipped or failed."),
               sparse("dbSizeBefore", &S::db_size_before, "Bytes of its database file before."),
               sparse("dbSizeAfter", &S::db_size_after, "Bytes of its database file afterwards."),
               sparse("reclaimedBytes", &S::reclaimed_bytes,
                      "Bytes by which the database file "
                      "shrank."),
               optional("finishedAt", &S::finished_at, "When its outcome was decided.",
                        {{"format", "date-time"}}),
               sparse("attempts", &S::attempts,
                      "Attempts; after a crash of the operator the last one may be repeated.")});
  }
};

struct EtcdDefragStatus {
  std::string phase;                                    ///< Empty: Pending, and no pass yet.
  std::optional<std::string> started_at, completed_at;  ///< RFC 3339
  std::int32_t defragmented = 0;
  std::vector<DefragMemberStatus> members;
  std::vector<Condition> conditions;
  std::string cluster_uid;        ///< The EtcdCluster at the start of the run.
  std::int32_t leader_moves = 0;  ///< Written before each move.
  bool operator==(const EtcdDefragStatus&) const = default;

  bool finished() const { return phase == kDefragComplete || phase == kDefragFailed; }

  template <class S = EtcdDefragStatus>
  static auto describe() {
    return object(
        "The state of the run.",
        Fields{
            sparse("phase", &S::phase, "Pending, Running, Complete or Failed."),
            optional("startedAt", &S::started_at, "When it began.", {{"format", "date-time"}}),
            optional("completedAt", &S::completed_at, "When it ended.", {{"format", "date-time"}}),
            sparse("defragmented", &S::defragmented, "Members that were defragmented."),
            sparse("members", &S::members, "The members, when the run began.",
                   {{"x-kubernetes-list-type", "map"},
                    {"x-kubernetes-list-map-keys", json::array{"name"}}}),
            sparse("conditions", &S::conditions, ""),
            sparse("clusterUID", &S::cluster_uid, "UID of the EtcdCluster."),
            sparse("leaderMoves", &S::leader_moves,
                   "How often a leader was asked to hand over before its turn.")});
  }
};

struct EtcdDefrag {
  static constexpr Resource resource{kGroup, kVersion, "etcddefrags", "EtcdDefrag"};
  static constexpr std::array columns{
      Column{"Cluster", "string", ".spec.clusterRef.name"},
      Column{"Phase", "string", ".status.phase"},
      Column{"Defragmented", "integer", ".status.defragmented"},
      Column{"Age", "date", ".metadata.creationTimestamp"},
  };

  ObjectMeta metadata;
  EtcdDefragSpec spec;
  EtcdDefragStatus status;
  bool operator==(const EtcdDefrag&) const = default;

  template <class S = EtcdDefrag>
  static auto describe() {
    return object("One defragmentation of the members of an etcd cluster.",
                  Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
                         sparse("status", &S::status, "")});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdDefrag>;
}  // namespace etcdop::api
