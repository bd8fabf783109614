// The names in the API that users, dashboards and scripts rely on: labels, annotations, ports,
// condition types and reasons. Constants only.
#pragma once
#include <array>
#include <cstdint>

namespace etcdop::api::v1alpha2 {

inline constexpr const char* kGroup = "etcd-operator.cozystack.io";
inline constexpr const char* kVersion = "v1alpha2";

// Labels and annotations.
inline constexpr const char* kReservedPrefix = "etcd-operator.cozystack.io/";
inline constexpr const char* kClusterLabel = "etcd-operator.cozystack.io/cluster";
/// On the Pods of members: the UID of their EtcdCluster. The Services select by it, so that only
/// Pods of this EtcdCluster get connections, whatever other Pods have its name as a label.
inline constexpr const char* kClusterUidLabel = "etcd-operator.cozystack.io/cluster-uid";
inline constexpr const char* kRoleLabel = "etcd-operator.cozystack.io/role";
/// On Pods whose member will be removed: its replacement may run on the same node.
/// On a ServiceAccount, "true": templates may use it although the operator's policy is restricted.
inline constexpr const char* kAllowPodsLabel = "etcd-operator.cozystack.io/allow-pods";
inline constexpr const char* kLeavingLabel = "etcd-operator.cozystack.io/leaving";
inline constexpr const char* kVoter = "voter";  ///< kRoleLabel's only value; absent on learners.
/// On the Jobs of snapshots and on their Pods: the EtcdSnapshot. No Service selects by it, and
/// these Pods have no kClusterLabel, so no client's connection to etcd can reach them.
inline constexpr const char* kSnapshotLabel = "etcd-operator.cozystack.io/snapshot";
/// In the selectors of a cluster's Services while it is being restored: no Pod has it, so no client
/// reaches data that may still be rolled back.
inline constexpr const char* kFencedLabel = "etcd-operator.cozystack.io/fenced";
inline constexpr const char* kAppNameLabel = "app.kubernetes.io/name";
inline constexpr const char* kAppInstanceLabel = "app.kubernetes.io/instance";
inline constexpr const char* kAppManagedByLabel = "app.kubernetes.io/managed-by";
inline constexpr const char* kAppComponentLabel = "app.kubernetes.io/component";
inline constexpr const char* kAppName = "etcd";
inline constexpr const char* kAppManagedBy = "etcd-operator";
/// On the Pod of a first member with its data in memory: "new" until the cluster is founded, then
/// "existing". etcd reads it at each start of the container.
inline constexpr const char* kInitialStateAnnotation =
    "etcd-operator.cozystack.io/initial-cluster-state";
/// On the Pod of a later member with its data in memory, until its etcd has started: the members
/// that it joins. Without it an etcd on an empty data directory does not start.
inline constexpr const char* kInitialClusterAnnotation =
    "etcd-operator.cozystack.io/initial-cluster";
/// On the Pod of a first member: the generation of its EtcdMember from which it was made.
inline constexpr const char* kMadeFromAnnotation = "etcd-operator.cozystack.io/made-from";
/// Scheduling gate of a Pod with data in memory, until its UID is recorded in its EtcdMember.
inline constexpr const char* kRecordGate = "etcd-operator.cozystack.io/record";
inline constexpr const char* kMemberFinalizer = "etcd-operator.cozystack.io/member-cleanup";
/// On adopted EtcdMembers: the Service of their URLs, the folder in their volume.
inline constexpr const char* kHeadlessServiceAnnotation =
    "etcd-operator.cozystack.io/headless-service-name";
inline constexpr const char* kDataDirSubpathAnnotation =
    "etcd-operator.cozystack.io/data-dir-subpath";
/// On adopted EtcdClusters, "true": peers use self-made certificates.
inline constexpr const char* kPeerAutoTlsAnnotation = "etcd-operator.cozystack.io/peer-auto-tls";
/// On EtcdClusters, a duration in Go's form ("15m"): a voter that has been unreachable for so long
/// is replaced, and its volume is deleted.
inline constexpr const char* kReplaceUnreachableAnnotation =
    "etcd-operator.cozystack.io/replace-unreachable-members-after";
/// On EtcdClusters: the user agrees that a new etcd is founded although volumes with the cluster's
/// label exist. The condition VolumesFound shows the required value.
inline constexpr const char* kFoundBesideVolumesAnnotation =
    "etcd-operator.cozystack.io/found-beside-volumes";

/// On Pods: fingerprints of the CAs that their etcd read at its start.
inline constexpr const char* kClientAuthorityAnnotation =
    "etcd-operator.cozystack.io/client-ca-fingerprint";
inline constexpr const char* kPeerAuthorityAnnotation =
    "etcd-operator.cozystack.io/peer-ca-fingerprint";

/// On the Job of a snapshot: its number.
inline constexpr const char* kAttemptAnnotation = "etcd-operator.cozystack.io/attempt";

// The Pod of a snapshot's Job.
inline constexpr const char* kAgentContainer = "snapshot-agent";

// The member's Pod. The last two containers run before etcd, if the member starts from a snapshot.
inline constexpr const char* kEtcdContainer = "etcd";
inline constexpr const char* kDataVolume = "data";
inline constexpr const char* kInstallToolsContainer = "install-tools";
inline constexpr const char* kRestoreContainer = "restore";
inline constexpr std::int32_t kClientPort = 2379;
inline constexpr std::int32_t kPeerPort = 2380;
inline constexpr std::int32_t kMetricsPort = 2381;  ///< Also for health; always plain HTTP.
inline constexpr std::int64_t kUserId = 65532;      ///< Also the group and fsGroup.

// Condition types of EtcdCluster, then of EtcdMember.
inline constexpr const char* kAvailable = "Available";
inline constexpr const char* kDegraded = "Degraded";
inline constexpr const char* kProgressing = "Progressing";
/// Whether etcd has raised an alarm; absent until the first one.
inline constexpr const char* kAlarmed = "Alarmed";
/// On all our kinds: the last pass over the object ended in a programming error of the operator.
/// Absent until the first such error.
inline constexpr const char* kInternalError = "InternalError";
inline constexpr const char* kPassFailed = "PassFailed";
inline constexpr const char* kPassSucceeded = "PassSucceeded";
/// Only in an Event, because no condition can be written: the operator cannot read the object.
inline constexpr const char* kUnreadable = "Unreadable";
/// Whether all members use the certificates of their Secrets; absent without TLS.
inline constexpr const char* kTlsReady = "TLSReady";
/// A port has no TLS although the spec asks for security; absent if it asks for none, or has all.
inline constexpr const char* kPlainText = "PlainText";
inline constexpr const char* kPortsInPlainText = "PortsInPlainText";
inline constexpr const char* kReady = "Ready";
inline constexpr const char* kVersionDrifted = "VersionDrifted";
/// On EtcdDefrag: whether it may continue, and at the end whether it achieved its purpose.
inline constexpr const char* kDefragChecked = "DefragChecked";

// status.phase of an EtcdCluster: a summary of its conditions in one word.
inline constexpr const char* kPhaseCreating = "Creating";
inline constexpr const char* kPhaseReady = "Ready";
inline constexpr const char* kPhaseProgressing = "Progressing";
inline constexpr const char* kPhaseStalled = "Stalled";
inline constexpr const char* kPhaseRefused = "Refused";
inline constexpr const char* kPhaseDegraded = "Degraded";
inline constexpr const char* kPhasePaused = "Paused";
inline constexpr const char* kPhaseRestoring = "Restoring";
inline constexpr const char* kPhaseFailed = "Failed";
inline constexpr const char* kPhaseUnreachable = "Unreachable";
inline constexpr const char* kPhaseQuorumLost = "QuorumLost";
inline constexpr const char* kPhaseDataLost = "DataLost";
inline constexpr const char* kPhaseSplitBrain = "SplitBrain";
inline constexpr const char* kPhaseCorrupt = "Corrupt";
// status.members[].role.
inline constexpr const char* kLeader = "Leader";
inline constexpr const char* kFollower = "Follower";
inline constexpr const char* kLearner = "Learner";

// Event reasons for changes of etcd's membership; other Events have the reasons of conditions.
inline constexpr const char* kLearnerAdded = "LearnerAdded";
inline constexpr const char* kMemberPromoted = "MemberPromoted";
inline constexpr const char* kMemberRemoved = "MemberRemoved";
inline constexpr const char* kLeaderMoved = "LeaderMoved";
inline constexpr const char* kLeaderChanged = "LeaderChanged";  ///< Whatever caused it.
inline constexpr const char* kNotRedundant = "NotRedundant";    ///< About the cost of a drain.
inline constexpr const char* kCertificateRenewed = "CertificateRenewed";
inline constexpr const char* kAuthEnabled = "AuthEnabled";
inline constexpr const char* kPasswordChanged = "PasswordChanged";
inline constexpr const char* kMembersAdopted = "MembersAdopted";  ///< They had no owner.
inline constexpr const char* kRestored = "Restored";  ///< For a first member, from a snapshot.

// Reasons that the Go operator has, too: EtcdCluster.
inline constexpr const char* kCertManagerNotInstalled = "CertManagerNotInstalled";
inline constexpr const char* kClusterUnreachable = "ClusterUnreachable";
inline constexpr const char* kAuthRequiredNotConfigured = "AuthRequiredNotConfigured";
inline constexpr const char* kAuthCredentialsRejected = "AuthCredentialsRejected";
inline constexpr const char* kClusterDiscovered = "ClusterDiscovered";
inline constexpr const char* kQuorumHealthy = "QuorumHealthy";
inline constexpr const char* kQuorumAvailable = "QuorumAvailable";
inline constexpr const char* kMembersUnhealthy = "MembersUnhealthy";
inline constexpr const char* kQuorumLost = "QuorumLost";
inline constexpr const char* kPaused = "Paused";
inline constexpr const char* kInitialSnapshot = "InitialSnapshot";
inline constexpr const char* kSpecChanged = "SpecChanged";
inline constexpr const char* kRetryAfterDeadline = "RetryAfterDeadline";
inline constexpr const char* kWaitingForSeed = "WaitingForSeed";
inline constexpr const char* kReconciled = "Reconciled";
inline constexpr const char* kBootstrapFailed = "BootstrapFailed";
inline constexpr const char* kDeadlineExceeded = "DeadlineExceeded";
// EtcdMember.
inline constexpr const char* kPodNotReady = "PodNotReady";
inline constexpr const char* kDiscoveringMemberId = "DiscoveringMemberID";
inline constexpr const char* kPodReady = "PodReady";
inline constexpr const char* kVersionMatched = "VersionMatched";
inline constexpr const char* kVersionMismatch = "VersionMismatch";

// EtcdSnapshot.
inline constexpr const char* kJobCreated = "JobCreated";
inline constexpr const char* kJobRunning = "JobRunning";
inline constexpr const char* kSnapshotStored = "SnapshotStored";
inline constexpr const char* kOperatorImageNotConfigured = "OperatorImageNotConfigured";
inline constexpr const char* kAuthLatchTimeout = "AuthLatchTimeout";
inline constexpr const char* kSnapshotJobLost = "SnapshotJobLost";
inline constexpr const char* kJobFailed = "JobFailed";

// Our own reasons: EtcdCluster.
inline constexpr const char* kNotImplemented = "NotImplemented";
inline constexpr const char* kUnsupportedVersion = "UnsupportedVersion";
inline constexpr const char* kUnsupportedFlag = "UnsupportedFlag";
inline constexpr const char* kPodTemplateConflict = "PodTemplateConflict";
inline constexpr const char* kClusterLost = "ClusterLost";
inline constexpr const char* kForeignMember = "ForeignMember";
inline constexpr const char* kVolumesFound = "VolumesFound";
inline constexpr const char* kMembersFound = "MembersFound";
inline constexpr const char* kMemberReplacing = "MemberReplacing";
inline constexpr const char* kObjectRejected = "ObjectRejected";
inline constexpr const char* kServiceRefused = "ServiceRefused";
inline constexpr const char* kSplitBrain = "SplitBrain";
inline constexpr const char* kNoSpace = "NoSpace";
inline constexpr const char* kCorrupt = "Corrupt";
inline constexpr const char* kDisarmed = "Disarmed";
inline constexpr const char* kCertificateMissing = "CertificateMissing";
inline constexpr const char* kCertificateInvalid = "CertificateInvalid";
inline constexpr const char* kCertificateNotInUse = "CertificateNotInUse";
inline constexpr const char* kAuthorityChanged = "AuthorityChanged";
inline constexpr const char* kAuthorityLost = "AuthorityLost";
inline constexpr const char* kCertificatesInUse = "CertificatesInUse";
inline constexpr const char* kRestoring = "Restoring";
inline constexpr const char* kRestoreFailed = "RestoreFailed";
// EtcdDefrag; the Go operator has the first two, too.
inline constexpr const char* kClusterNotHealthy = "ClusterNotHealthy";
inline constexpr const char* kClusterNotFound = "ClusterNotFound";
inline constexpr const char* kAnotherRunFirst = "AnotherRunFirst";
inline constexpr const char* kClusterHealthy = "ClusterHealthy";
inline constexpr const char* kDefragmented = "Defragmented";
inline constexpr const char* kDefragmentedInPart = "DefragmentedInPart";
inline constexpr const char* kLeaderNotDefragmented = "LeaderNotDefragmented";
inline constexpr const char* kDefragTimedOut = "DefragTimedOut";
inline constexpr const char* kClusterReplaced = "ClusterReplaced";
inline constexpr const char* kSnapshotFirst = "SnapshotFirst";
// EtcdSnapshot: reasons from the operator, then from its agent.
inline constexpr const char* kClusterPaused = "ClusterPaused";
inline constexpr const char* kEtcdUnreachable = "EtcdUnreachable";
inline constexpr const char* kEtcdCredentialsRejected = "EtcdCredentialsRejected";
inline constexpr const char* kEtcdUnhealthy = "EtcdUnhealthy";
inline constexpr const char* kSnapshotBroken = "SnapshotBroken";
inline constexpr const char* kDestinationExists = "DestinationExists";
inline constexpr const char* kDestinationInvalid = "DestinationInvalid";
inline constexpr const char* kDestinationUnreachable = "DestinationUnreachable";
inline constexpr const char* kDestinationUntrusted = "DestinationUntrusted";
inline constexpr const char* kDestinationCredentialsRejected = "DestinationCredentialsRejected";
inline constexpr const char* kDestinationAccessDenied = "DestinationAccessDenied";
inline constexpr const char* kDestinationClockSkewed = "DestinationClockSkewed";
inline constexpr const char* kDestinationFailed = "DestinationFailed";
inline constexpr const char* kBucketNotFound = "BucketNotFound";
inline constexpr const char* kEncryptionKeyInvalid = "EncryptionKeyInvalid";
// EtcdMember.
inline constexpr const char* kCrashLooping = "CrashLooping";
inline constexpr const char* kDataLost = "DataLost";
inline constexpr const char* kDataCorrupt = "DataCorrupt";
inline constexpr const char* kImagePullFailed = "ImagePullFailed";
inline constexpr const char* kPodConflict = "PodConflict";
inline constexpr const char* kPodFailed = "PodFailed";
inline constexpr const char* kPodRejected = "PodRejected";
inline constexpr const char* kUnschedulable = "Unschedulable";
inline constexpr const char* kVolumeConflict = "VolumeConflict";

}  // namespace etcdop::api::v1alpha2
