// What to report and what to do next for one etcd cluster. Pure: same observation, same plan; no
// clock, no I/O.
//
// Growing and shrinking are design section 10 of the API contract: intent, EtcdMember, learner,
// published list, Pod, vote; and EtcdMember deleted, removed from etcd, confirmed by a linearizable
// list, finalizer off.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "operator/cluster/observation.h"

namespace etcdop::cluster {

struct NoStep {
  static constexpr const char* word = "none";
  bool operator==(const NoStep&) const = default;
};
/// Creates an EtcdMember that the status to be reported already records. The seed alone carries its
/// initial cluster.
struct CreateMember {
  static constexpr const char* word = "create-member";
  std::string name, peer_url;
  bool seed = false;
  bool operator==(const CreateMember&) const = default;

  template <class S = CreateMember>
  static auto describe() {
    return api::object(
        "Creates an EtcdMember.",
        api::Fields{api::sparse("name", &S::name, ""), api::sparse("peerURL", &S::peer_url, ""),
                    api::sparse("seed", &S::seed, "")});
  }
};
struct AddLearner {
  static constexpr const char* word = "add-learner";
  std::string name, peer_url;
  bool operator==(const AddLearner&) const = default;

  template <class S = AddLearner>
  static auto describe() {
    return api::object(
        "Adds a learner to etcd.",
        api::Fields{api::sparse("name", &S::name, ""), api::sparse("peerURL", &S::peer_url, "")});
  }
};
/// Writes the member list of this pass into a joiner that has not started: from then on it may have
/// a Pod.
struct Publish {
  static constexpr const char* word = "publish";
  std::string name, initial_cluster;
  bool operator==(const Publish&) const = default;

  template <class S = Publish>
  static auto describe() {
    return api::object("Publishes the member list.",
                       api::Fields{api::sparse("name", &S::name, ""),
                                   api::sparse("initialCluster", &S::initial_cluster, "")});
  }
};
struct Promote {
  static constexpr const char* word = "promote";
  std::string name;
  etcd::MemberId id;
  bool operator==(const Promote&) const = default;

  template <class S = Promote>
  static auto describe() {
    return api::object("Makes a learner vote.", api::Fields{api::sparse("name", &S::name, ""),
                                                            api::sparse("id", &S::id, "")});
  }
};
struct MoveLeader {
  static constexpr const char* word = "move-leader";
  std::string from, name;
  etcd::MemberId to;
  bool operator==(const MoveLeader&) const = default;

  template <class S = MoveLeader>
  static auto describe() {
    return api::object("Moves the leader.", api::Fields{api::sparse("from", &S::from, ""),
                                                        api::sparse("name", &S::name, ""),
                                                        api::sparse("to", &S::to, "")});
  }
};
/// Deletes the EtcdMember; it stays until it is out of etcd.
struct DeleteMember {
  static constexpr const char* word = "delete-member";
  std::string name, uid;
  bool operator==(const DeleteMember&) const = default;

  template <class S = DeleteMember>
  static auto describe() {
    return api::object("Deletes an EtcdMember.", api::Fields{api::sparse("name", &S::name, ""),
                                                             api::sparse("uid", &S::uid, "")});
  }
};
struct RemoveFromEtcd {
  static constexpr const char* word = "remove-from-etcd";
  std::string name;
  etcd::MemberId id;
  bool operator==(const RemoveFromEtcd&) const = default;

  template <class S = RemoveFromEtcd>
  static auto describe() {
    return api::object("Removes a member from etcd.", api::Fields{api::sparse("name", &S::name, ""),
                                                                  api::sparse("id", &S::id, "")});
  }
};
/// Puts the last member to sleep: its Pod goes, its volume and its place in etcd stay.
struct PauseMember {
  static constexpr const char* word = "pause-member";
  std::string name, uid;
  bool operator==(const PauseMember&) const = default;

  template <class S = PauseMember>
  static auto describe() {
    return api::object("Puts a member to sleep.", api::Fields{api::sparse("name", &S::name, ""),
                                                              api::sparse("uid", &S::uid, "")});
  }
};
struct WakeMember {
  static constexpr const char* word = "wake-member";
  std::string name, uid;
  bool operator==(const WakeMember&) const = default;

  template <class S = WakeMember>
  static auto describe() {
    return api::object("Wakes a member.", api::Fields{api::sparse("name", &S::name, ""),
                                                      api::sparse("uid", &S::uid, "")});
  }
};
/// Takes our finalizer off: Pod and volume go.
struct ReleaseMember {
  static constexpr const char* word = "release-member";
  std::string name, uid;
  bool operator==(const ReleaseMember&) const = default;

  template <class S = ReleaseMember>
  static auto describe() {
    return api::object("Takes the finalizer off.", api::Fields{api::sparse("name", &S::name, ""),
                                                               api::sparse("uid", &S::uid, "")});
  }
};

/// Makes a certificate, or makes it anew, and writes it into its Secret: see managed_secrets_of.
struct IssueCertificate {
  static constexpr const char* word = "issue-certificate";
  std::string secret;
  std::vector<std::string> names;  ///< That it is for.
  bool operator==(const IssueCertificate&) const = default;

  template <class S = IssueCertificate>
  static auto describe() {
    return api::object("Makes a certificate.", api::Fields{api::sparse("secret", &S::secret, ""),
                                                           api::sparse("names", &S::names, "")});
  }
};
/// Writes into a Secret of ours with what root logs in, before etcd is told.
struct RecordPassword {
  static constexpr const char* word = "record-password";
  bool operator==(const RecordPassword&) const = default;
};
/// Makes the user root, and from then on etcd answers only whom it knows.
struct EnableAuth {
  static constexpr const char* word = "enable-auth";
  bool operator==(const EnableAuth&) const = default;
};
/// Gives root the password that was recorded as its next one.
struct ChangePassword {
  static constexpr const char* word = "change-password";
  bool operator==(const ChangePassword&) const = default;
};

/// At most one is carried out per pass; the next pass observes its effect.
using Step = std::variant<NoStep, CreateMember, AddLearner, Publish, Promote, MoveLeader,
                          DeleteMember, RemoveFromEtcd, PauseMember, WakeMember, ReleaseMember,
                          IssueCertificate, RecordPassword, EnableAuth, ChangePassword>;

/// What etcd says of a member, for the status of its EtcdMember.
struct MemberFacts {
  std::string name, uid;
  std::string member_id, version;
  bool voter = false;
  bool operator==(const MemberFacts&) const = default;

  template <class S = MemberFacts>
  static auto describe() {
    return api::object(
        "What etcd says of a member.",
        api::Fields{api::sparse("name", &S::name, ""), api::sparse("uid", &S::uid, ""),
                    api::sparse("memberID", &S::member_id, ""),
                    api::sparse("version", &S::version, ""), api::sparse("voter", &S::voter, "")});
  }
};

struct Plan {
  api::v1alpha2::EtcdClusterStatus status;     ///< The whole status as it should be.
  std::vector<MemberFacts> facts;              ///< Of members whose status says otherwise.
  std::vector<std::string> make_certificates;  ///< Of cert-manager's; or to put right.
  bool make_headless_service = false, make_client_service = false;  ///< Or to put right.
  std::optional<std::int64_t> budget;  ///< minAvailable, if the budget is to be written.
  bool drop_budget = false;            ///< Nobody is left whom it could protect.
  Step step;
  std::string waiting_for;             ///< Why there is no step, for the log; empty: converged.
  std::chrono::milliseconds again{0};  ///< When to look again if no watch fires first.
  bool operator==(const Plan&) const = default;

  template <class S = Plan>
  static auto describe() {
    return api::object(
        "What one pass decided.",
        api::Fields{
            api::required("status", &S::status, ""), api::sparse("facts", &S::facts, ""),
            api::sparse("makeCertificates", &S::make_certificates, ""),
            api::sparse("makeHeadlessService", &S::make_headless_service, ""),
            api::sparse("makeClientService", &S::make_client_service, ""),
            api::optional("budget", &S::budget, ""), api::sparse("dropBudget", &S::drop_budget, ""),
            api::sparse("step", &S::step, ""), api::sparse("waitingFor", &S::waiting_for, ""),
            api::sparse("again", &S::again, "")});
  }
};

Plan plan(const Observation& seen);

/// What etcd says and the EtcdMembers' status does not, yet.
std::vector<MemberFacts> facts(const Observation& seen);

/// No member was ever recorded after the one that is there.
bool has_founder_only(const Observation& seen);

/// The first member is still the Pod that founded the cluster; the member controller makes another
/// in its place before anybody relies on it.
bool is_founding(const Observation& seen);

/// How long to wait between two looks: the longer the cluster has been on its way, the longer. 300
/// ms to 60 s.
std::chrono::milliseconds pace(const Observation& seen,
                               const api::v1alpha2::EtcdClusterStatus& status);

/// "add-learner db-x1y2z", as the log and the tests have it.
std::string to_string(const Step& step);

constexpr int quorum(int voters) { return voters / 2 + 1; }

/// "http://<member>.<cluster>.<namespace>.svc:2380", or https, as a new member of that name has it.
std::string peer_url(const api::v1alpha2::EtcdCluster&, const std::string& member);

}  // namespace etcdop::cluster
