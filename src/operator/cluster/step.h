// The steps of a plan for one etcd cluster. A new step is added here and carried out in act.cc; a
// step that lacks a trait of passes/step.h does not compile. Pure.
#pragma once
#include <string>
#include <vector>

#include "api/describe.h"
#include "etcd/member.h"
#include "operator/passes/step.h"
#include "operator/passes/value_codecs.h"

namespace etcdop::cluster {

/// Creates an EtcdMember that the reported status already records. Only the seed has its initial
/// cluster.
struct CreateMember {
  static constexpr const char* word = "create-member";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, peer_url;
  bool seed = false;
  std::string words() const { return (seed ? "create-seed " : "create-member ") + name; }
  std::string concerns() const { return name; }
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
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, peer_url;
  std::string words() const { return "add-learner " + name; }
  std::string concerns() const { return name; }
  bool operator==(const AddLearner&) const = default;

  template <class S = AddLearner>
  static auto describe() {
    return api::object(
        "Adds a learner to etcd.",
        api::Fields{api::sparse("name", &S::name, ""), api::sparse("peerURL", &S::peer_url, "")});
  }
};
/// Writes this pass's member list into a joiner that has not started: from then on it may have a
/// Pod.
struct Publish {
  static constexpr const char* word = "publish";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, initial_cluster;
  std::string words() const { return "publish " + name; }
  std::string concerns() const { return name; }
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
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name;
  etcd::MemberId id;
  std::string words() const { return "promote " + name; }
  std::string concerns() const { return name; }
  bool operator==(const Promote&) const = default;

  template <class S = Promote>
  static auto describe() {
    return api::object("Promotes a learner.", api::Fields{api::sparse("name", &S::name, ""),
                                                          api::sparse("id", &S::id, "")});
  }
};
struct MoveLeader {
  static constexpr const char* word = "move-leader";
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::AtOnce;
  std::string from, name;
  etcd::MemberId to;
  std::string words() const { return "move-leader " + from + " to " + name; }
  std::string concerns() const { return name; }
  bool operator==(const MoveLeader&) const = default;

  template <class S = MoveLeader>
  static auto describe() {
    return api::object("Moves the leader.", api::Fields{api::sparse("from", &S::from, ""),
                                                        api::sparse("name", &S::name, ""),
                                                        api::sparse("to", &S::to, "")});
  }
};
/// Deletes the EtcdMember; its finalizer keeps it until etcd has removed the member.
struct DeleteMember {
  static constexpr const char* word = "delete-member";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, uid;
  std::string words() const { return "delete-member " + name; }
  std::string concerns() const { return name; }
  bool operator==(const DeleteMember&) const = default;

  template <class S = DeleteMember>
  static auto describe() {
    return api::object("Deletes an EtcdMember.", api::Fields{api::sparse("name", &S::name, ""),
                                                             api::sparse("uid", &S::uid, "")});
  }
};
struct RemoveFromEtcd {
  static constexpr const char* word = "remove-from-etcd";
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name;
  etcd::MemberId id;
  std::string words() const { return "remove-from-etcd " + name; }
  std::string concerns() const { return name; }
  bool operator==(const RemoveFromEtcd&) const = default;

  template <class S = RemoveFromEtcd>
  static auto describe() {
    return api::object("Removes a member from etcd.", api::Fields{api::sparse("name", &S::name, ""),
                                                                  api::sparse("id", &S::id, "")});
  }
};
/// Makes a member dormant: its Pod is deleted, its volume and its place in etcd stay.
struct PauseMember {
  static constexpr const char* word = "pause-member";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, uid;
  std::string words() const { return "pause-member " + name; }
  std::string concerns() const { return name; }
  bool operator==(const PauseMember&) const = default;

  template <class S = PauseMember>
  static auto describe() {
    return api::object("Makes a member dormant.", api::Fields{api::sparse("name", &S::name, ""),
                                                              api::sparse("uid", &S::uid, "")});
  }
};
struct WakeMember {
  static constexpr const char* word = "wake-member";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, uid;
  std::string words() const { return "wake-member " + name; }
  std::string concerns() const { return name; }
  bool operator==(const WakeMember&) const = default;

  template <class S = WakeMember>
  static auto describe() {
    return api::object("Wakes a member.", api::Fields{api::sparse("name", &S::name, ""),
                                                      api::sparse("uid", &S::uid, "")});
  }
};
/// Removes our finalizer: Pod and volume are deleted.
struct ReleaseMember {
  static constexpr const char* word = "release-member";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::AtOnce;
  std::string name, uid;
  std::string words() const { return "release-member " + name; }
  std::string concerns() const { return name; }
  bool operator==(const ReleaseMember&) const = default;

  template <class S = ReleaseMember>
  static auto describe() {
    return api::object("Takes the finalizer off.", api::Fields{api::sparse("name", &S::name, ""),
                                                               api::sparse("uid", &S::uid, "")});
  }
};

/// Issues or renews a certificate and writes it into its Secret: see managed_secrets_of.
struct IssueCertificate {
  static constexpr const char* word = "issue-certificate";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::Later;
  std::string secret;
  std::vector<std::string> names;  ///< Names that it is for.
  std::string words() const { return "issue-certificate " + secret; }
  std::string concerns() const { return ""; }
  bool operator==(const IssueCertificate&) const = default;

  template <class S = IssueCertificate>
  static auto describe() {
    return api::object("Makes a certificate.", api::Fields{api::sparse("secret", &S::secret, ""),
                                                           api::sparse("names", &S::names, "")});
  }
};
/// Records root's password in a Secret of ours, before etcd gets it.
struct RecordPassword {
  static constexpr const char* word = "record-password";
  static constexpr Asks asks = Asks::ApiServer;
  static constexpr Effect effect = Effect::Later;
  std::string words() const { return word; }
  std::string concerns() const { return ""; }
  bool operator==(const RecordPassword&) const = default;
};
/// Creates the user root and enables authentication: from then on etcd answers only its users.
struct EnableAuth {
  static constexpr const char* word = "enable-auth";
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::Later;
  std::string words() const { return word; }
  std::string concerns() const { return ""; }
  bool operator==(const EnableAuth&) const = default;
};
/// Gives root the password that is recorded as the next one.
struct ChangePassword {
  static constexpr const char* word = "change-password";
  static constexpr Asks asks = Asks::Etcd;
  static constexpr Effect effect = Effect::Later;
  std::string words() const { return word; }
  std::string concerns() const { return ""; }
  bool operator==(const ChangePassword&) const = default;
};

/// At most one is carried out per pass; the next pass observes its effect.
using Step = OneStepOf<CreateMember, AddLearner, Publish, Promote, MoveLeader, DeleteMember,
                       RemoveFromEtcd, PauseMember, WakeMember, ReleaseMember, IssueCertificate,
                       RecordPassword, EnableAuth, ChangePassword>;

}  // namespace etcdop::cluster
