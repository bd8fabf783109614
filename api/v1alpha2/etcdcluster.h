// EtcdCluster: the single source of its CRD, its JSON codec and its reference page.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/crd.h"
#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/member_template.h"
#include "api/v1alpha2/names.h"

namespace etcdop::api::v1alpha2 {

enum class IssuerKind { Issuer, ClusterIssuer };
inline auto names(IssuerKind) {
  return std::array{std::pair{IssuerKind::Issuer, "Issuer"},
                    std::pair{IssuerKind::ClusterIssuer, "ClusterIssuer"}};
}

struct IssuerReference {
  std::string name;
  IssuerKind kind = IssuerKind::Issuer;
  bool operator==(const IssuerReference&) const = default;

  template <class S = IssuerReference>
  static auto describe() {
    return object(
        "An issuer of cert-manager.",
        Fields{required("name", &S::name, "Name of the issuer.", {{"minLength", 1}}),
               defaulted("kind", &S::kind, "Issuer (of the same namespace) or ClusterIssuer.")});
  }
};

struct ClientCertManager {
  IssuerReference server_issuer_ref;
  std::optional<IssuerReference> operator_client_issuer_ref;
  bool operator==(const ClientCertManager&) const = default;

  template <class S = ClientCertManager>
  static auto describe() {
    return object("Lets cert-manager make the certificates of the client port.",
                  Fields{required("serverIssuerRef", &S::server_issuer_ref,
                                  "Issuer of the members' server certificate."),
                         optional("operatorClientIssuerRef", &S::operator_client_issuer_ref,
                                  "Issuer of the operator's client certificate. If set, etcd "
                                  "asks every client for a certificate.")});
  }
};

/// Half a year: if a renewal fails, people have weeks to notice it.
inline constexpr std::int64_t kCertificateSecondsDefault = 15'552'000;

struct OperatorManaged {
  std::int64_t certificate_duration_seconds = kCertificateSecondsDefault;
  bool operator==(const OperatorManaged&) const = default;

  template <class S = OperatorManaged>
  static auto describe() {
    return object(
        "Lets the operator create a CA for this cluster and port, and certificates that this "
        "CA signs.",
        Fields{defaulted("certificateDurationSeconds", &S::certificate_duration_seconds,
                         "How long a certificate is valid. The operator renews it after two "
                         "thirds of that time; the kubelet updates it in the Pods within 90 "
                         "seconds.",
                         {{"minimum", 300}, {"maximum", 315'360'000}})});
  }
};

struct ClientTls {
  std::optional<LocalObjectReference> server_secret_ref, operator_client_secret_ref;
  std::optional<ClientCertManager> cert_manager;
  std::optional<OperatorManaged> operator_managed;
  bool operator==(const ClientTls&) const = default;

  template <class S = ClientTls>
  static auto describe() {
    return object(
        "TLS of the client port (2379): from your own Secrets, from cert-manager, or from a CA "
        "that the operator creates.",
        Fields{
            optional("serverSecretRef", &S::server_secret_ref,
                     "Secret with tls.crt, tls.key and ca.crt of the members' server certificate. "
                     "The certificate needs the usages server auth and client auth."),
            optional("operatorClientSecretRef", &S::operator_client_secret_ref,
                     "Secret with tls.crt and tls.key of the operator's client certificate. If "
                     "set, etcd asks every client for a certificate."),
            optional("certManager", &S::cert_manager, ""),
            optional("operatorManaged", &S::operator_managed,
                     "etcd then asks every client for a certificate. The Secret "
                     "<cluster>-client-tls has one for your clients.")},
        {{"[has(self.serverSecretRef), has(self.certManager), "
          "has(self.operatorManaged)].filter(x, x).size() == 1",
          "exactly one of tls.client.serverSecretRef, tls.client.certManager and "
          "tls.client.operatorManaged must be set"},
         {"!(has(self.operatorClientSecretRef) && has(self.certManager))",
          "tls.client.operatorClientSecretRef cannot be combined with tls.client.certManager: use "
          "tls.client.certManager.operatorClientIssuerRef"},
         {"!(has(self.operatorClientSecretRef) && has(self.operatorManaged))",
          "tls.client.operatorClientSecretRef cannot be combined with "
          "tls.client.operatorManaged"}});
  }
};

struct PeerCertManager {
  IssuerReference issuer_ref;
  bool operator==(const PeerCertManager&) const = default;

  template <class S = PeerCertManager>
  static auto describe() {
    return object(
        "Lets cert-manager make the certificate of the peer port.",
        Fields{required("issuerRef", &S::issuer_ref, "Issuer of the members' peer certificate.")});
  }
};

struct PeerTls {
  std::optional<LocalObjectReference> secret_ref;
  std::optional<PeerCertManager> cert_manager;
  std::optional<OperatorManaged> operator_managed;
  bool operator==(const PeerTls&) const = default;

  template <class S = PeerTls>
  static auto describe() {
    return object(
        "Mutual TLS of the peer port (2380): from your own Secret, from cert-manager, or from "
        "a CA that the operator creates.",
        Fields{optional("secretRef", &S::secret_ref,
                        "Secret with tls.crt, tls.key and ca.crt of the members' peer "
                        "certificate."),
               optional("certManager", &S::cert_manager, ""),
               optional("operatorManaged", &S::operator_managed, "")},
        {{"[has(self.secretRef), has(self.certManager), has(self.operatorManaged)].filter(x, "
          "x).size() == 1",
          "exactly one of tls.peer.secretRef, tls.peer.certManager and tls.peer.operatorManaged "
          "must be set"}});
  }
};

struct TlsSpec {
  std::optional<ClientTls> client;
  std::optional<PeerTls> peer;
  bool operator==(const TlsSpec&) const = default;

  template <class S = TlsSpec>
  static auto describe() {
    return object("TLS of the client and of the peer port.",
                  Fields{optional("client", &S::client, ""), optional("peer", &S::peer, "")});
  }
};

struct AuthSpec {
  bool enabled = false;
  std::optional<LocalObjectReference> root_credentials_secret_ref;
  bool operator==(const AuthSpec&) const = default;

  template <class S = AuthSpec>
  static auto describe() {
    return object("Authentication of etcd's clients by user and password.",
                  Fields{sparse("enabled", &S::enabled, "Turns authentication on."),
                         optional("rootCredentialsSecretRef", &S::root_credentials_secret_ref,
                                  "Secret of type kubernetes.io/basic-auth with the password "
                                  "of the user root.")});
  }
};

struct BootstrapSpec {
  std::optional<RestoreSpec> restore;
  bool operator==(const BootstrapSpec&) const = default;

  template <class S = BootstrapSpec>
  static auto describe() {
    return object("The data that a new cluster starts from.",
                  Fields{optional("restore", &S::restore, "")});
  }
};

struct EtcdClusterSpec : MemberTemplate {
  std::int32_t replicas = 3;
  std::int32_t progress_deadline_seconds = 600;
  std::optional<TlsSpec> tls;
  std::optional<AuthSpec> auth;
  std::optional<BootstrapSpec> bootstrap;
  bool operator==(const EtcdClusterSpec&) const = default;

  static std::vector<Rule> spec_rules() {
    return {
        {"!(self.replicas == 0 && self.storage.medium == 'Memory')",
         "replicas: 0 cannot be combined with storage.medium Memory: pausing would lose the data"},
        {"self.storage.medium != 'Memory' || "
         "quantity(string(self.storage.size)).isGreaterThan(quantity('0'))",
         "storage.size must be greater than 0 with storage.medium Memory"},
        {"has(self.tls) == has(oldSelf.tls)", "tls cannot be added or removed after creation"},
        {"!has(self.tls) || !has(oldSelf.tls) || self.tls == oldSelf.tls",
         "tls cannot change after creation"},
        {"has(self.storage.storageClassName) == has(oldSelf.storage.storageClassName)",
         "storage.storageClassName cannot be added or removed after creation"},
        {"!has(self.storage.storageClassName) || !has(oldSelf.storage.storageClassName) || "
         "self.storage.storageClassName == oldSelf.storage.storageClassName",
         "storage.storageClassName cannot change after creation"},
        {"has(self.auth) == has(oldSelf.auth)", "auth cannot be added or removed after creation"},
        {"!has(self.auth) || !has(oldSelf.auth) || self.auth == oldSelf.auth",
         "auth cannot change after creation"},
        {"!has(self.auth) || !has(self.auth.enabled) || !self.auth.enabled || "
         "(has(self.tls) && has(self.tls.client))",
         "auth.enabled needs tls.client: passwords must not be sent unencrypted"},
        {"!has(self.auth) || !has(self.auth.enabled) || !self.auth.enabled || "
         "has(self.auth.rootCredentialsSecretRef)",
         "auth.enabled needs auth.rootCredentialsSecretRef"},
        {"has(self.bootstrap) == has(oldSelf.bootstrap)",
         "bootstrap cannot be added or removed after creation"},
        {"!has(self.bootstrap) || !has(oldSelf.bootstrap) || self.bootstrap == oldSelf.bootstrap",
         "bootstrap cannot change after creation"},
        {"!(has(self.bootstrap) && has(self.bootstrap.restore) && "
         "self.storage.medium == 'Memory')",
         "bootstrap.restore cannot be combined with storage.medium Memory"},
    };
  }

  template <class S = EtcdClusterSpec>
  static auto describe() {
    return object(
        "The desired etcd cluster.", fields(TemplateOf::Cluster),
        Fields{
            defaulted("replicas", &S::replicas,
                      "Number of voting members; best an odd number. 0 pauses the cluster and "
                      "keeps its data.",
                      {{"minimum", 0}}),
            defaulted("progressDeadlineSeconds", &S::progress_deadline_seconds,
                      "Seconds after which an unfinished change is reported as failed.",
                      {{"minimum", 1}}),
            optional("tls", &S::tls, "TLS of the client and of the peer port. Fixed at creation."),
            optional("auth", &S::auth,
                     "Authentication of etcd's clients by user and password. Fixed at creation."),
            optional("bootstrap", &S::bootstrap,
                     "The data that a new cluster starts from. Fixed at creation.")},
        spec_rules());
  }
};

/// The part of the spec that the operator is working towards: later edits wait.
struct ObservedSpec : MemberTemplate {
  std::int32_t replicas = 0;
  bool operator==(const ObservedSpec&) const = default;

  template <class S = ObservedSpec>
  static auto describe() {
    return object(
        "The copy of the spec that the operator is applying. Later edits of the spec wait.",
        fields(TemplateOf::Status),
        Fields{required("replicas", &S::replicas, "Number of voting members.")});
  }
};

/// A member that the operator has decided to add, recorded before the API or etcd knows it.
struct PendingMember {
  std::int64_t sequence = 0;
  std::string name, peer_url;
  std::string since;         ///< RFC 3339: the time of the decision.
  std::string made_as = {};  ///< Hash of the spec from which its EtcdMember was created.
  bool operator==(const PendingMember&) const = default;

  template <class S = PendingMember>
  static auto describe() {
    return object("A member that is being added to the cluster.",
                  Fields{required("sequence", &S::sequence, "Its number, never used twice."),
                         required("name", &S::name, "Name of its EtcdMember."),
                         required("peerURL", &S::peer_url, "URL at which its peers reach it."),
                         required("since", &S::since, "When the operator decided to add it.",
                                  {{"format", "date-time"}}),
                         sparse("madeAs", &S::made_as,
                                "Hash of the spec from which its EtcdMember was created.")});
  }
};

/// A member as reported by etcd and its EtcdMember. Values that change often are coarse, so that
/// they cost few writes: the metrics have the exact numbers.
struct MemberReport {
  std::string name, member_id;
  std::string role;     ///< kLeader, kFollower or kLearner; empty: unknown.
  std::string version;  ///< As last reported by etcd.
  std::string db_size;  ///< Quantity; as last reported. Empty: never reported.
  bool lagging = false;
  std::string alarm;  ///< kNoSpace or kCorrupt; empty: no known alarm.
  bool operator==(const MemberReport&) const = default;

  template <class S = MemberReport>
  static auto describe() {
    return object(
        "One member of etcd.",
        Fields{required("name", &S::name,
                        "Name of its EtcdMember; without an EtcdMember, its "
                        "name in etcd."),
               sparse("memberID", &S::member_id, "etcd's id of the member, in hex."),
               sparse("role", &S::role,
                      "Leader, Follower or Learner. Absent: it does not answer, or etcd has no "
                      "quorum."),
               sparse("version", &S::version, "Version of etcd that it runs, or ran last."),
               sparse<Quantity>("dbSize", &S::db_size,
                                "Size of its database file when it last answered, in whole Mi."),
               sparse("lagging", &S::lagging,
                      "Whether it lacks more than 5000 entries of the raft log."),
               sparse("alarm", &S::alarm,
                      "NoSpace or Corrupt: an alarm that etcd has raised for the member and that "
                      "is not disarmed yet.")});
  }
};

/// How far a restore in place is. The last two are final.
enum class RestoreStage {
  Stopping,
  Restoring,
  Review,
  Committing,
  RollingBack,
  Committed,
  RolledBack
};
inline auto names(RestoreStage) {
  using enum RestoreStage;
  return std::array{std::pair{Stopping, "Stopping"},       std::pair{Restoring, "Restoring"},
                    std::pair{Review, "Review"},           std::pair{Committing, "Committing"},
                    std::pair{RollingBack, "RollingBack"}, std::pair{Committed, "Committed"},
                    std::pair{RolledBack, "RolledBack"}};
}
inline std::string to_string(RestoreStage stage) {
  for (const auto& [value, name] : names(stage))
    if (value == stage) return name;
  return "";
}

/// An EtcdMember from before a restore in place: it is dormant, and keeps its volume.
struct KeptMember {
  std::string name, uid;
  bool operator==(const KeptMember&) const = default;

  template <class S = KeptMember>
  static auto describe() {
    return object("A member from before the restore.",
                  Fields{required("name", &S::name, "Its EtcdMember."),
                         required("uid", &S::uid, "UID of that EtcdMember.")});
  }
};

/// A restore in place, and everything needed to roll it back. It stays when it is over, until the
/// next one.
struct RestoreRecord {
  std::string name, uid;  ///< The EtcdRestore.
  RestoreStage stage = RestoreStage::Stopping;
  RestoreSpec from;
  std::string cluster_id, cluster_token;  ///< Previous values of the status.
  std::vector<KeptMember> members;
  std::vector<PendingMember> pending_members;
  std::string run_id;         ///< spec.runId of the EtcdRestore.
  std::string founder;        ///< The member that restores; empty: not decided yet.
  bool auth_enabled = false;  ///< Previous value.
  bool operator==(const RestoreRecord&) const = default;

  bool over() const {
    return stage == RestoreStage::Committed || stage == RestoreStage::RolledBack;
  }
  bool keeps(const std::string& member_uid) const {
    for (const KeptMember& kept : members)
      if (kept.uid == member_uid) return true;
    return false;
  }

  template <class S = RestoreRecord>
  static auto describe() {
    return object(
        "The last restore in place.",
        Fields{required("name", &S::name, "Name of its EtcdRestore."),
               required("uid", &S::uid, "UID of its EtcdRestore."),
               required("stage", &S::stage, "How far it is."), required("from", &S::from, ""),
               sparse("clusterID", &S::cluster_id, "clusterID before the restore."),
               sparse("clusterToken", &S::cluster_token, "clusterToken before the restore."),
               sparse("members", &S::members,
                      "Members from before the restore. They are "
                      "dormant and keep their volumes."),
               sparse("pendingMembers", &S::pending_members,
                      "pendingMembers before the "
                      "restore."),
               sparse("runId", &S::run_id, "spec.runId of its EtcdRestore."),
               sparse("founder", &S::founder, "EtcdMember that starts from the snapshot."),
               sparse("authEnabled", &S::auth_enabled, "authEnabled before the restore.")});
  }
};

/// A committed restore in place. Its EtcdRestore may be deleted, and be applied again.
struct CommittedRestore {
  std::string name, uid;  ///< The EtcdRestore.
  std::string run_id;
  SnapshotLocation source;
  std::string checksum;
  bool operator==(const CommittedRestore&) const = default;

  template <class S = CommittedRestore>
  static auto describe() {
    return object(
        "A restore in place that was committed.",
        Fields{required("name", &S::name, "Name of its EtcdRestore."),
               required("uid", &S::uid, "UID of its EtcdRestore."),
               sparse("runId", &S::run_id, "spec.runId of its EtcdRestore."),
               required("source", &S::source, ""),
               sparse("checksum", &S::checksum, "sha256: and 64 hex digits, of the snapshot.")});
  }
};

/// The --max-learners of clusters that an earlier release may have grown: that release added so
/// many learners at once.
inline constexpr std::int32_t kManyLearners = 8;

/// The part of etcd's log that an earlier release may have written, as found at the first look of
/// this one.
struct OldLog {
  std::string cluster_id;         ///< 16 hex digits: the etcd cluster whose log it is.
  std::int64_t raft_index = 0;    ///< Its last entry.
  std::int64_t safe_above = 0;    ///< No member needs it once all have applied more than that.
  std::vector<std::string> pods;  ///< UIDs of the Pods that had the flag when it was dropped.
  bool operator==(const OldLog&) const = default;

  template <class S = OldLog>
  static auto describe() {
    return object(
        "The part of etcd's log for which members may need --max-learners: what an earlier release "
        "may have written.",
        Fields{required("clusterID", &S::cluster_id, "The etcd cluster whose log it is, in hex."),
               required("raftIndex", &S::raft_index,
                        "The last entry of that part. Written once, at the first look of this "
                        "release."),
               sparse("safeAbove", &S::safe_above,
                      "When every voter's raftAppliedIndex is above this one, no member needs that "
                      "part of the log any more, and maxLearners becomes 1. It follows from "
                      "raftIndex and --snapshot-count."),
               sparse("pods", &S::pods,
                      "UIDs of Pods that still had the flag when maxLearners became 1.")});
  }
};

struct EtcdClusterStatus {
  std::string phase;  ///< One of those in names.h; empty: no pass yet.
  std::int32_t ready_members = 0, broken_members = 0, updated_members = 0;
  std::string selector;
  std::string cluster_id;  ///< 16 hex digits; empty until the first member runs.
  std::string cluster_token;
  bool auth_enabled = false;
  std::optional<ObservedSpec> observed;
  std::optional<std::string> progress_deadline;  ///< RFC 3339
  std::vector<PendingMember> pending_members;
  std::int64_t last_sequence = 0;
  std::string leader, db_size;
  std::vector<MemberReport> members;
  std::optional<std::string> reported_at;  ///< RFC 3339: time of leader, db_size and members.
  std::optional<RestoreRecord> restore;
  std::vector<CommittedRestore> restores;  ///< The newest last.
  std::int64_t revision_floor = 0;
  std::int32_t max_learners = 0;  ///< kManyLearners or 1; 0: not decided yet.
  std::optional<OldLog> old_log;  ///< Only while max_learners is, or was, kManyLearners.
  std::vector<Condition> conditions;
  bool operator==(const EtcdClusterStatus&) const = default;

  template <class S = EtcdClusterStatus>
  static auto describe() {
    return object(
        "The last observed state of the cluster.",
        Fields{
            sparse("phase", &S::phase, "A summary of the conditions in one word."),
            always("readyMembers", &S::ready_members, "Members that are ready."),
            sparse("brokenMembers", &S::broken_members, "Members that lost their data."),
            sparse("updatedMembers", &S::updated_members,
                   "Members that were created from the current spec."),
            sparse("selector", &S::selector, "Label selector of the members' Pods."),
            sparse("clusterID", &S::cluster_id, "etcd's id of the cluster, in hex."),
            sparse("clusterToken", &S::cluster_token, "etcd's --initial-cluster-token."),
            sparse("authEnabled", &S::auth_enabled, "Whether authentication was turned on."),
            optional("observed", &S::observed, ""),
            optional("progressDeadline", &S::progress_deadline,
                     "When the current change will be reported as failed if it has not "
                     "finished.",
                     {{"format", "date-time"}}),
            sparse("pendingMembers", &S::pending_members,
                   "Members that are being added to the "
                   "cluster."),
            sparse("lastSequence", &S::last_sequence,
                   "Number of the newest member that the operator decided to add."),
            sparse("leader", &S::leader, "The leader; absent: unknown."),
            sparse<Quantity>("dbSize", &S::db_size, "Size of the largest member's database."),
            sparse("members", &S::members, "The members, as of reportedAt."),
            optional("reportedAt", &S::reported_at,
                     "When leader, dbSize and members were last written.",
                     {{"format", "date-time"}}),
            optional("restore", &S::restore, ""),
            sparse("restores", &S::restores,
                   "The last 16 restores in place that were committed: the same EtcdRestore, "
                   "applied again, does not restore again."),
            sparse("revisionFloor", &S::revision_floor,
                   "Clients may have seen revisions up to this one: a restore in place starts "
                   "above it. Written when a restore begins and when it is committed."),
            sparse(
                "maxLearners", &S::max_learners,
                "The --max-learners of new Pods with etcd 3.6 and later. 1, the default of etcd: "
                "the flag is not set, and the cluster can be handed back to the Go operator. 8: an "
                "earlier release, which could add several learners at once, may have grown the "
                "cluster. The log of such a cluster cannot be read without the flag: do not hand "
                "it back. oldLog says when it becomes 1."),
            optional("oldLog", &S::old_log, ""),
            sparse("conditions", &S::conditions, "")});
  }
};

struct EtcdCluster {
  static constexpr Resource resource{kGroup, kVersion, "etcdclusters", "EtcdCluster"};
  static constexpr Scale scale{".spec.replicas", ".status.readyMembers", ".status.selector"};
  static constexpr std::array columns{
      Column{"Version", "string", ".spec.version"},
      Column{"Replicas", "integer", ".spec.replicas"},
      Column{"Ready", "integer", ".status.readyMembers"},
      Column{"Status", "string", ".status.phase"},
      Column{"Leader", "string", ".status.leader"},
      Column{"DB", "string", ".status.dbSize"},
      Column{"Age", "date", ".metadata.creationTimestamp"},
      Column{"Cluster ID", "string", ".status.clusterID", 1},
      Column{"Updated", "integer", ".status.updatedMembers", 1},
  };

  ObjectMeta metadata;
  EtcdClusterSpec spec;
  EtcdClusterStatus status;
  bool operator==(const EtcdCluster&) const = default;

  /// The restore in place that is running; null without one.
  const RestoreRecord* restoring() const {
    return status.restore && !status.restore->over() ? &*status.restore : nullptr;
  }
  /// The source of its first member's data; nullopt: it starts empty.
  std::optional<RestoreSpec> founded_from() const {
    if (const RestoreRecord* record = restoring()) return record->from;
    return spec.bootstrap ? spec.bootstrap->restore : std::nullopt;
  }

  template <class S = EtcdCluster>
  static auto describe() {
    return object(
        "An etcd cluster.",
        Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
               sparse("status", &S::status, "")},
        // A cluster with a status is older than the rules and must stay writable.
        {{"has(self.status) || size(self.metadata.name) <= 48",
          "metadata.name must have at most 48 characters: the names of members and Services are "
          "made from it"},
         {"has(self.status) || self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
          "metadata.name must be a DNS-1035 label: lower-case letters, digits and '-', beginning "
          "with a letter, ending with a letter or digit"}});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdCluster>;
}  // namespace etcdop::api
