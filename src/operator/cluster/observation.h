// The input of one pass over an EtcdCluster: read once, then only decided upon. A value; nothing
// here does I/O.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdrestore.h"
#include "base/wall_time.h"
#include "etcd/member.h"
#include "operator/credentials/passwords.h"
#include "operator/credentials/tls.h"
#include "operator/members/etcd_view.h"
#include "operator/passes/value_codecs.h"
#include "operator/pods/pod_policy.h"

namespace etcdop::cluster {

/// A member according to its EtcdMember.
struct SeatObject {
  std::string uid;
  bool terminating = false;
  bool seed = false;          ///< spec.bootstrap
  bool dormant = false;       ///< spec.dormant: it keeps its data and has no Pod.
  bool current = true;        ///< spec.clusterToken is the cluster's; false: from before a restore.
  bool has_finalizer = true;  ///< Ours.
  std::string initial_cluster;  ///< Empty: not published yet, so it has no Pod.
  std::string member_id;        ///< status.memberID; empty until it is known.
  bool orphan = false;          ///< It has no owner, and may be adopted: see remains.h.
  bool disowned = false;        ///< It is astray, and has no controller.
  bool astray = false;          ///< Its cluster runs, and it lacks its owner or its label.
  /// Its spec.tls encrypts other ports than the EtcdCluster's; only while that has no id.
  bool other_tls = false;
  bool other_medium = false;  ///< Its storage.medium, which cannot change, is not the cluster's.
  std::string token;          ///< spec.clusterToken; only before the cluster has an id.
  bool voter = false;         ///< status.isVoter: it has voted at some time.
  bool ready = false;         ///< Condition Ready.
  std::string reason;         ///< That condition's, while not ready.
  bool lost = false;          ///< Its data is gone, or it is given up.
  bool says_lost = false;     ///< Its volume exists; etcd said when it last ended that its data is
                              ///< lost or unreadable. The words may be of an earlier run.
  std::string joined_in;      ///< status.joinedIn
  bool removed = false;       ///< status.removed
  bool elsewhere = false;     ///< status.elsewhere
  bool unborn = false;        ///< Its etcd cannot ever have run (pods/founder.h).
  std::string version;        ///< status.version
  std::string spec_version;   ///< spec.version, of its Pods' image.
  std::string made_as;        ///< template_of its spec.
  std::string trouble;        ///< Why it is not ready, for users; may be empty.
  WallTime created;
  bool operator==(const SeatObject&) const = default;

  template <class S = SeatObject>
  static auto describe() {
    return api::value(
        api::sparse("uid", &S::uid), api::sparse("terminating", &S::terminating),
        api::sparse("seed", &S::seed), api::sparse("dormant", &S::dormant),
        api::sparse("current", &S::current), api::sparse("hasFinalizer", &S::has_finalizer),
        api::sparse("initialCluster", &S::initial_cluster), api::sparse("memberID", &S::member_id),
        api::sparse("orphan", &S::orphan), api::sparse("astray", &S::astray),
        api::sparse("disowned", &S::disowned), api::sparse("otherTLS", &S::other_tls),
        api::sparse("otherMedium", &S::other_medium), api::sparse("token", &S::token),
        api::sparse("voter", &S::voter), api::sparse("ready", &S::ready),
        api::sparse("reason", &S::reason), api::sparse("lost", &S::lost),
        api::sparse("saysLost", &S::says_lost), api::sparse("joinedIn", &S::joined_in),
        api::sparse("removed", &S::removed), api::sparse("elsewhere", &S::elsewhere),
        api::sparse("unborn", &S::unborn), api::sparse("version", &S::version),
        api::sparse("specVersion", &S::spec_version), api::sparse("madeAs", &S::made_as),
        api::sparse("trouble", &S::trouble), api::sparse("created", &S::created));
  }
};

/// A member according to its Pod.
struct SeatPod {
  std::string node;            ///< Empty until scheduled.
  bool many_learners = false;  ///< Its command carries --max-learners.
  bool founds = false;         ///< On an empty volume its etcd would found a cluster.
  bool restores = false;       ///< It must still restore a snapshot before etcd starts.
  bool may_join = false;       ///< On an empty volume in memory its etcd would join again.
  bool has_uid = false;        ///< Its label has the EtcdCluster's UID.
  bool has_role = false;       ///< Its label says that it votes.
  bool idle = false;           ///< Its etcd does not run, as the kubelet reported last.
  /// Fingerprints of the authorities that its etcd has read; empty: unknown, or not asked for.
  std::string client_authority = {}, peer_authority = {};
  std::string run = {};   ///< "<UID>/<restarts of etcd's container>", as last seen.
  std::string zone = {};  ///< Its node's, as the Pod's label has it; empty: unknown.
  /// Entries between two raft snapshots, and entries that a leader keeps for others, as its command
  /// says; 0: etcd's default.
  std::int64_t snapshot_count = 0, catch_up = 0;
  bool operator==(const SeatPod&) const = default;

  template <class S = SeatPod>
  static auto describe() {
    return api::value(api::sparse("node", &S::node), api::sparse("manyLearners", &S::many_learners),
                      api::sparse("founds", &S::founds), api::sparse("restores", &S::restores),
                      api::sparse("mayJoin", &S::may_join), api::sparse("hasUID", &S::has_uid),
                      api::sparse("hasRole", &S::has_role), api::sparse("idle", &S::idle),
                      api::sparse("clientAuthority", &S::client_authority),
                      api::sparse("peerAuthority", &S::peer_authority), api::sparse("run", &S::run),
                      api::sparse("zone", &S::zone),
                      api::sparse("snapshotCount", &S::snapshot_count),
                      api::sparse("catchUp", &S::catch_up));
  }
};

/// A hash of the member's keys and their history up to one revision. If two members were compacted
/// at the same revision and their hashes differ, their data differs.
struct SeatHash {
  std::uint64_t hash = 0;
  std::int64_t revision = 0, compacted = 0;
  bool operator==(const SeatHash&) const = default;

  template <class S = SeatHash>
  static auto describe() {
    return api::value(api::sparse("hash", &S::hash), api::sparse("revision", &S::revision),
                      api::sparse("compacted", &S::compacted));
  }
};

/// Serial numbers of the certificates that the member showed last; empty: none yet.
struct SeatShown {
  std::string client_port, peer_port;
  /// Seconds for which one of them has differed from its Secret's, or could not be seen.
  std::int64_t behind_s = 0;
  bool silent = false;  ///< A port showed none when asked last.
  bool operator==(const SeatShown&) const = default;

  template <class S = SeatShown>
  static auto describe() {
    return api::value(api::sparse("clientPort", &S::client_port),
                      api::sparse("peerPort", &S::peer_port), api::sparse("behind", &S::behind_s),
                      api::sparse("silent", &S::silent));
  }
};

/// One member, from its EtcdMember, its Pod and etcd's list. At least one of them knows it.
struct Seat {
  using Object = SeatObject;
  using Pod = SeatPod;
  using Listed = MemberListed;
  using Answer = MemberAnswer;
  using Hash = SeatHash;
  using Shown = SeatShown;
  /// Name of EtcdMember, Pod and etcd member; a foreign member's is from etcd or from its URL.
  std::string name;
  std::string peer_url;          ///< As etcd lists it, else as it is to be added.
  std::optional<Object> object;  ///< Absent for a foreign member.
  std::optional<Pod> pod;
  std::optional<Listed> listed;  ///< From a linearizable list of this pass; absent: none.
  std::optional<Answer> answer;
  std::optional<Hash> hash;  ///< Asked for only while a CORRUPT alarm is raised.
  /// Seconds in which this process, without a gap, has seen neither an answer nor a ready Pod; only
  /// with the annotation replace-unreachable-members-after.
  std::int64_t unreachable_s = 0;
  /// Likewise, seconds without an answer; without progress of a learner that lags; and with a Pod
  /// that no node can run, or that the API server refuses.
  std::int64_t silent_s = 0, stalled_s = 0, blocked_s = 0;
  bool receives_snapshot = false;  ///< Asked only about a learner without progress for too long.
  bool elsewhere = false;          ///< It answers as a member of another etcd cluster.
  /// Seconds for which this process, without a gap, has known that it is to be replaced.
  std::int64_t condemned_s = 0;
  Shown shown;
  bool operator==(const Seat&) const = default;

  template <class S = Seat>
  static auto describe() {
    return api::value(
        api::required("name", &S::name), api::sparse("peerURL", &S::peer_url),
        api::optional("object", &S::object), api::optional("pod", &S::pod),
        api::optional("listed", &S::listed), api::optional("answer", &S::answer),
        api::optional("hash", &S::hash), api::sparse("unreachable", &S::unreachable_s),
        api::sparse("condemned", &S::condemned_s), api::sparse("silentFor", &S::silent_s),
        api::sparse("stalledFor", &S::stalled_s), api::sparse("blockedFor", &S::blocked_s),
        api::sparse("receivesSnapshot", &S::receives_snapshot),
        api::sparse("elsewhere", &S::elsewhere), api::sparse("shown", &S::shown));
  }
};

/// The EtcdRestore that is under way or may begin, read from the API server in this pass.
struct RestoreSeen {
  std::string name, uid;
  bool gone = false;  ///< Or terminating.
  api::v1alpha2::RestoreDecision decision = api::v1alpha2::RestoreDecision::Check;
  api::v1alpha2::RestoreSpec from;  ///< Exactly what was checked.
  std::string run_id = {};          ///< Its spec.runId.
  bool operator==(const RestoreSeen&) const = default;

  template <class S = RestoreSeen>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::required("uid", &S::uid),
                      api::sparse("gone", &S::gone), api::sparse("decision", &S::decision),
                      api::required("from", &S::from), api::sparse("runId", &S::run_id));
  }
};

/// The state of an object that we make for the cluster. One that is not ours counts as Missing.
enum class Child { Missing, Drifted, AsMade };
inline auto names(Child) {
  return std::array{std::pair{Child::Missing, "Missing"}, std::pair{Child::Drifted, "Drifted"},
                    std::pair{Child::AsMade, "AsMade"}};
}

/// Labels of members' Pods in the selector of a Service, beside the label with the cluster's name.
struct SelectorKeys {
  bool uid = false;   ///< The EtcdCluster's UID.
  bool role = false;  ///< It votes; never in the headless Service, which names all members.
  bool operator==(const SelectorKeys&) const = default;

  template <class S = SelectorKeys>
  static auto describe() {
    return api::value(api::sparse("uid", &S::uid), api::sparse("role", &S::role));
  }
};

/// A Certificate of cert-manager.
struct CertificateChild {
  std::string name;
  Child state = Child::Missing;
  bool operator==(const CertificateChild&) const = default;

  template <class S = CertificateChild>
  static auto describe() {
    return api::value(api::required("name", &S::name), api::sparse("state", &S::state));
  }
};

struct Observation {
  WallTime now;
  api::v1alpha2::EtcdCluster cluster;
  std::vector<Seat> seats;  ///< Ordered by name.
  std::vector<Seat> kept;   ///< Members from before a restore in place, sorted; not asked.
  std::optional<RestoreSeen> restore;  ///< Absent: none, or unknown.
  /// Names that a new member may not have: those of any EtcdMember or Pod in the namespace,
  std::vector<std::string> taken_names;
  /// and of members, known or not, that have a volume there.
  std::vector<std::string> have_volumes;
  /// "EtcdMember db-a", "Pod db-a": with the cluster's label and of another owner; only while the
  /// cluster has no id. EtcdMembers that may be adopted have a seat instead.
  std::vector<std::string> stray_members;
  /// Volumes with the cluster's label that no EtcdMember of ours owns, in order; only while the
  /// cluster has no id.
  std::vector<std::string> stray_volumes;
  /// EtcdMembers that have lost their owner or label, and that etcd does not list; from the
  /// reconciler, those without an owner that no status mentions.
  std::vector<std::string> strangers;
  /// Pods without an owner and without an EtcdMember of their name, which the Services select.
  std::vector<std::string> stray_pods;
  std::optional<etcd::ClusterId> cluster_id;  ///< On which all members that answered agree.
  bool linearizable = false;  ///< `seats[].listed` is etcd's answer with quorum, of this pass.
  std::string etcd_error;     ///< Why not, if a member was asked.
  /// When a member last answered this process; only while none does, absent: none ever has.
  std::optional<WallTime> last_answer;
  /// The voters to which this process last asked etcd to move the leadership, and which may not
  /// have taken it.
  std::vector<std::string> tried_heirs;
  std::string failing_step;  ///< The last step, if the API server refused it or did not answer.
  std::vector<RaisedAlarm> alarms;  ///< etcd's list of alarms in this pass; needs `linearizable`.
  bool alarms_hidden = false;       ///< A member reported one, but etcd did not list them.
  /// Why the client Service, which does not exist, cannot be created; empty: it exists, or may
  /// soon.
  std::string service_refused;
  std::string rejected;                    ///< The last pass's refusal; empty: none worth a report.
  bool split = false;                      ///< Members answered with different cluster ids, or
                                           ///< have different tokens before the cluster has an id.
  std::int64_t replace_unreachable_s = 0;  ///< UnreachablePolicy::after_s,
  std::string policy_error;                ///< and its error.
  /// The number of other founded clusters, and of those among them that became unavailable lately
  /// (outage.h). Clusters of another namespace count as one. Counted only when a member is to be
  /// replaced.
  std::int64_t others = 0, others_unavailable = 0;
  Child client_service = Child::Missing, headless_service = Child::Missing;
  /// The keys that their selectors lack; a missing Service lacks all.
  SelectorKeys client_lacks, headless_lacks;
  /// Ready Pods that the budget counts as voters, and that belong to none of the members.
  std::int64_t stray_voters = 0;
  Child budget = Child::Missing;  ///< The PodDisruptionBudget; Drifted ignores its number.
  std::int64_t budget_min = 0;    ///< Its minAvailable.
  std::vector<CertificateChild> certificates;  ///< Wanted from cert-manager.
  bool cert_manager = false;                   ///< Its kinds are installed.
  std::string cluster_domain;                  ///< "cluster.local"
  PodPolicy pod_policy = PodPolicy::Any;       ///< For new and edited templates.
  std::string account_trouble;  ///< Why the template may not use its ServiceAccount; empty: it may.
  TlsSeen tls;
  AuthSeen auth;
  bool operator==(const Observation&) const = default;

  template <class S = Observation>
  static auto describe() {
    return api::value(
        api::required("now", &S::now), api::required("cluster", &S::cluster),
        api::sparse("seats", &S::seats), api::sparse("kept", &S::kept),
        api::optional("restore", &S::restore), api::sparse("takenNames", &S::taken_names),
        api::sparse("haveVolumes", &S::have_volumes),
        api::sparse("strayMembers", &S::stray_members),
        api::sparse("strayVolumes", &S::stray_volumes), api::sparse("strangers", &S::strangers),
        api::sparse("strayPods", &S::stray_pods), api::optional("clusterID", &S::cluster_id),
        api::sparse("linearizable", &S::linearizable), api::sparse("etcdError", &S::etcd_error),
        api::optional("lastAnswer", &S::last_answer), api::sparse("triedHeirs", &S::tried_heirs),
        api::sparse("failingStep", &S::failing_step), api::sparse("alarms", &S::alarms),
        api::sparse("alarmsHidden", &S::alarms_hidden), api::sparse("rejected", &S::rejected),
        api::sparse("serviceRefused", &S::service_refused), api::sparse("split", &S::split),
        api::sparse("replaceUnreachable", &S::replace_unreachable_s),
        api::sparse("policyError", &S::policy_error), api::sparse("others", &S::others),
        api::sparse("othersUnavailable", &S::others_unavailable),
        api::sparse("clientService", &S::client_service),
        api::sparse("headlessService", &S::headless_service),
        api::sparse("clientLacks", &S::client_lacks),
        api::sparse("headlessLacks", &S::headless_lacks),
        api::sparse("strayVoters", &S::stray_voters), api::sparse("budget", &S::budget),
        api::sparse("budgetMin", &S::budget_min), api::sparse("certificates", &S::certificates),
        api::sparse("certManager", &S::cert_manager),
        api::sparse("clusterDomain", &S::cluster_domain), api::sparse("podPolicy", &S::pod_policy),
        api::sparse("accountTrouble", &S::account_trouble), api::sparse("tls", &S::tls),
        api::sparse("auth", &S::auth));
  }
};

}  // namespace etcdop::cluster
