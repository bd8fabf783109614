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

/// Fields of steps that concern a member: of its object, and of etcd's list.
struct OfMember {
  using Fields = OfMember;
  std::string name, uid;
  std::string concerns() const { return name; }
  bool operator==(const OfMember&) const = default;

  template <class S = OfMember>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("uid", &S::uid));
  }
};
struct InEtcd {
  using Fields = InEtcd;
  std::string name;
  etcd::MemberId id;
  std::string concerns() const { return name; }
  bool operator==(const InEtcd&) const = default;

  template <class S = InEtcd>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("id", &S::id));
  }
};

/// Creates an EtcdMember that the reported status already records. Only the seed has its initial
/// cluster.
struct CreateMember {
  static constexpr StepTraits traits{"create-member", Asks::ApiServer, Effect::AtOnce};
  std::string name, peer_url;
  bool seed = false;
  std::string words() const { return (seed ? "create-seed " : "create-member ") + name; }
  std::string concerns() const { return name; }
  bool operator==(const CreateMember&) const = default;

  template <class S = CreateMember>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("peerURL", &S::peer_url),
                      api::sparse("seed", &S::seed));
  }
};
/// Gives the first member the spec of status.observed, while its etcd does not run and has never
/// answered. The member controller then replaces its Pod; its volume stays.
struct CorrectFounder : OfMember {
  static constexpr StepTraits traits{"correct-founder", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "correct-founder " + name; }
};
/// Gives the first member the version that it has started with. An edit reached its spec while its
/// Pod was on its way, and etcd of that version would not start on its data.
struct KeepVersion {
  static constexpr StepTraits traits{"keep-version", Asks::ApiServer, Effect::AtOnce};
  std::string name, uid, version;
  std::string words() const { return "keep-version " + name + " " + version; }
  std::string concerns() const { return name; }
  bool operator==(const KeepVersion&) const = default;

  template <class S = KeepVersion>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("uid", &S::uid),
                      api::sparse("version", &S::version));
  }
};
struct OfMembers {
  std::vector<OfMember> members;
  std::string concerns() const { return ""; }
  bool operator==(const OfMembers&) const = default;

  template <class S = OfMembers>
  static auto describe() {
    return api::value(api::sparse("members", &S::members));
  }

 protected:
  std::string words_with(std::string out) const {
    for (const OfMember& member : members) out += " " + member.name;
    return out;
  }
};
/// Becomes the owner of EtcdMembers without one, and before that of the cluster's other objects:
/// see remains.h.
struct AdoptMembers : OfMembers {
  static constexpr StepTraits traits{"adopt-members", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return words_with(traits.word); }
};
/// Gives EtcdMembers without an owner the label by which users find them.
struct LabelMembers : OfMembers {
  static constexpr StepTraits traits{"label-members", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return words_with(traits.word); }
};
struct AddLearner {
  static constexpr StepTraits traits{"add-learner", Asks::Etcd, Effect::AtOnce};
  std::string name, peer_url;
  std::string words() const { return "add-learner " + name; }
  std::string concerns() const { return name; }
  bool operator==(const AddLearner&) const = default;

  template <class S = AddLearner>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("peerURL", &S::peer_url));
  }
};
/// Writes this pass's member list into a joiner that has not started: from then on it may have a
/// Pod.
struct Publish {
  static constexpr StepTraits traits{"publish", Asks::ApiServer, Effect::AtOnce};
  std::string name, initial_cluster;
  std::string words() const { return "publish " + name; }
  std::string concerns() const { return name; }
  bool operator==(const Publish&) const = default;

  template <class S = Publish>
  static auto describe() {
    return api::value(api::sparse("name", &S::name),
                      api::sparse("initialCluster", &S::initial_cluster));
  }
};
struct Promote : InEtcd {
  static constexpr StepTraits traits{"promote", Asks::Etcd, Effect::AtOnce};
  std::string words() const { return "promote " + name; }
};
struct MoveLeader {
  static constexpr StepTraits traits{"move-leader", Asks::Etcd, Effect::AtOnce};
  std::string from, name;
  etcd::MemberId to;
  std::string words() const { return "move-leader " + from + " to " + name; }
  std::string concerns() const { return name; }
  bool operator==(const MoveLeader&) const = default;

  template <class S = MoveLeader>
  static auto describe() {
    return api::value(api::sparse("from", &S::from), api::sparse("name", &S::name),
                      api::sparse("to", &S::to));
  }
};
/// Deletes the EtcdMember; its finalizer keeps it until etcd has removed the member.
struct DeleteMember {
  static constexpr StepTraits traits{"delete-member", Asks::ApiServer, Effect::AtOnce};
  std::string name, uid;
  bool if_silent = false;  ///< Its Pod is asked for and its etcd dialled once more, right before.
  std::string words() const { return "delete-member " + name; }
  std::string concerns() const { return name; }
  bool operator==(const DeleteMember&) const = default;

  template <class S = DeleteMember>
  static auto describe() {
    return api::value(api::sparse("name", &S::name), api::sparse("uid", &S::uid),
                      api::sparse("ifSilent", &S::if_silent));
  }
};
struct RemoveFromEtcd : InEtcd {
  static constexpr StepTraits traits{"remove-from-etcd", Asks::Etcd, Effect::AtOnce};
  std::string words() const { return "remove-from-etcd " + name; }
};
/// Makes a member dormant: its Pod is deleted, its volume and its place in etcd stay.
struct PauseMember : OfMember {
  static constexpr StepTraits traits{"pause-member", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "pause-member " + name; }
};
struct WakeMember : OfMember {
  static constexpr StepTraits traits{"wake-member", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "wake-member " + name; }
};
/// Removes our finalizer: Pod and volume are deleted.
struct ReleaseMember : OfMember {
  static constexpr StepTraits traits{"release-member", Asks::ApiServer, Effect::AtOnce};
  std::string words() const { return "release-member " + name; }
};

/// Issues or renews a certificate and writes it into its Secret: see managed_secrets_of.
struct IssueCertificate {
  static constexpr StepTraits traits{"issue-certificate", Asks::ApiServer, Effect::Later};
  std::string secret;
  std::vector<std::string> names;  ///< Names that it is for.
  std::string words() const { return "issue-certificate " + secret; }
  std::string concerns() const { return ""; }
  bool operator==(const IssueCertificate&) const = default;

  template <class S = IssueCertificate>
  static auto describe() {
    return api::value(api::sparse("secret", &S::secret), api::sparse("names", &S::names));
  }
};
/// Becomes the owner of a Secret that was made for the cluster and has lost its owner.
struct OwnSecret {
  static constexpr StepTraits traits{"own-secret", Asks::ApiServer, Effect::Later};
  std::string secret;
  std::string words() const { return "own-secret " + secret; }
  std::string concerns() const { return ""; }
  bool operator==(const OwnSecret&) const = default;

  template <class S = OwnSecret>
  static auto describe() {
    return api::value(api::sparse("secret", &S::secret));
  }
};
/// Records root's password in a Secret of ours, before etcd gets it.
struct RecordPassword : WithoutFields {
  static constexpr StepTraits traits{"record-password", Asks::ApiServer, Effect::Later};
  std::string words() const { return traits.word; }
};
/// Creates the user root and enables authentication: from then on etcd answers only its users.
struct EnableAuth : WithoutFields {
  static constexpr StepTraits traits{"enable-auth", Asks::Etcd, Effect::Later};
  std::string words() const { return traits.word; }
};
/// Gives root the password that is recorded as the next one.
struct ChangePassword : WithoutFields {
  static constexpr StepTraits traits{"change-password", Asks::Etcd, Effect::Later};
  std::string words() const { return traits.word; }
};

/// At most one is carried out per pass; the next pass observes its effect.
using Step = OneStepOf<CreateMember, CorrectFounder, KeepVersion, AdoptMembers, LabelMembers,
                       AddLearner, Publish, Promote, MoveLeader, DeleteMember, RemoveFromEtcd,
                       PauseMember, WakeMember, ReleaseMember, IssueCertificate, OwnSecret,
                       RecordPassword, EnableAuth, ChangePassword>;

}  // namespace etcdop::cluster
