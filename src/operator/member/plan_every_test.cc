// Every observation of a member, in the terms that the plan decides on: each one leads to a safe
// step.
#include <gtest/gtest.h>

#include <cstdio>

#include "api/v1alpha2/names.h"
#include "operator/member/objects.h"
#include "operator/member/plan.h"
#include "test/support/every.h"

namespace etcdop::member {
namespace {

namespace v1 = api::v1alpha2;

enum class Child { None, Ours, OursGoing, Foreign };

api::ObjectMeta child_of(Child child, const char* name) {
  api::ObjectMeta out;
  out.name = name;
  out.uid = std::string("uid-") + name;
  api::OwnerReference owner;
  owner.uid = child == Child::Foreign ? "somebody" : "m-1";
  owner.controller = true;
  out.owner_references = {owner};
  out.labels[v1::kClusterLabel] = "db";
  if (child == Child::OursGoing) out.deletion_timestamp = "t";
  return out;
}

struct World {
  Observation seen;
  Child pod, volume;
  std::string phase, says;  // The state of the Pod, and the list in its command.
};

World world_of(testing::Every& pick) {
  World out;
  v1::EtcdMember& m = out.seen.member;
  m.metadata.name = "db-x1";
  m.metadata.ns = "prod";
  m.metadata.uid = "m-1";
  m.spec.cluster_token = "prod-db-c-1";
  m.spec.version = "3.6.16";
  m.spec.cluster_name = "db";
  if (pick(2) == 0) m.metadata.finalizers = {v1::kMemberFinalizer};
  if (pick(2) == 1) m.metadata.deletion_timestamp = "t";
  m.spec.bootstrap = pick(2) == 1;
  if (m.spec.bootstrap && pick(2) == 1) m.spec.cluster_token = "prod-db-c-0";
  m.spec.dormant = pick(2) == 1;
  if (pick(2) == 0) m.spec.initial_cluster = "list";
  if (pick(2) == 1) m.status.member_id = "1";
  if (pick(2) == 1) m.status.pvc_name = "data-db-x1";
  m.status.is_voter = pick(2) == 1;
  if (pick(2) == 1) out.seen.tls.server.emplace().unread = "does not exist";
  if (const int restores = m.spec.bootstrap ? pick(3) : 0; restores > 0) {
    m.spec.restore.emplace();
    out.seen.has_image = restores == 1;
  }
  if (const int cluster = pick(3); cluster > 0) {
    out.seen.cluster.emplace().metadata.uid = "c-1";
    // A cluster takes the token of the members that a user gives it.
    out.seen.cluster->status.cluster_token = m.spec.cluster_token;
    if (cluster == 2) out.seen.cluster->status.cluster_id = "c1";
  }
  out.volume = static_cast<Child>(pick(4));
  if (out.volume != Child::None)
    out.seen.volume.emplace().metadata = child_of(out.volume, "data-db-x1");
  if (out.volume != Child::None && pick(2) == 1) out.seen.volume->status.phase = "Bound";
  out.pod = static_cast<Child>(pick(4));
  if (out.pod == Child::None) return out;
  kube::Pod& pod = out.seen.pod.emplace();
  pod.metadata = child_of(out.pod, "db-x1");
  out.phase = pod.status.phase = pick(2) == 0 ? "Running" : "Failed";
  out.says = pick(2) == 0 ? "list" : "older";
  if (pick(2) == 1) pod.metadata.labels[v1::kRoleLabel] = v1::kVoter;
  const int uid = pick(4);
  if (uid > 0) pod.metadata.labels[v1::kClusterUidLabel] = uid == 1 ? "c-1" : "c-0";
  out.seen.selected_by_other = uid == 3;
  kube::Container etcd;
  etcd.name = v1::kEtcdContainer;
  etcd.command = {"etcd", "--initial-cluster=" + out.says};
  pod.spec.containers = {etcd};
  return out;
}

/// The invariants of a step, whatever the plan's reasons are.
struct Judge {
  const World& world;
  const v1::EtcdMember& member = world.seen.member;
  bool has_finalizer() const { return !member.metadata.finalizers.empty(); }
  bool ever_had_data() const {
    return !member.status.member_id.empty() || !member.status.pvc_name.empty();
  }
  bool cluster() const { return world.seen.cluster.has_value(); }

  bool operator()(const NoStep&) const { return true; }
  bool operator()(const ReleaseFinalizer&) const {  // Otherwise the cluster removes it.
    return member.metadata.terminating() && has_finalizer() && !cluster();
  }
  bool operator()(const ReleaseUnborn&) const {  // I4, I5: a volume that was bound has a phase.
    return member.metadata.terminating() && has_finalizer() && cluster() && unborn();
  }
  bool operator()(const DeleteUnboundVolume&) const { return false; }  // All have their size.
  bool operator()(const AddFinalizer&) const {
    return !has_finalizer() && !member.metadata.terminating() && cluster();
  }
  bool operator()(const CreateVolume&) const {  // I5
    return world.volume == Child::None && !ever_had_data() && wanted();
  }
  bool operator()(const CreatePod& step) const {
    const bool founds = member.spec.bootstrap && member.status.member_id.empty() &&
                        member.spec.cluster_token == "prod-db-c-1" &&
                        world.seen.cluster->status.cluster_id.empty();  // I4
    return world.pod == Child::None && world.volume == Child::Ours && step.founds == founds &&
           wanted() && !world.seen.tls.server &&
           (!founds || !member.spec.restore || world.seen.has_image);
  }
  bool operator()(const DeletePod& step) const {  // I6
    const bool could_not_start =
        world.says == "older" && member.status.member_id.empty() && !member.spec.bootstrap;
    const bool useless = world.phase == "Failed" || could_not_start;
    const bool may_go = member.spec.dormant ? cluster() && has_finalizer() : useless && wanted();
    return world.pod == Child::Ours && step.uid == world.seen.pod->metadata.uid && may_go;
  }
  bool operator()(const MarkLeaving& step) const {
    return world.pod == Child::Ours && step.pod_uid == world.seen.pod->metadata.uid &&
           member.metadata.terminating() && cluster();
  }
  bool operator()(const LabelWithUid& step) const {
    const auto& labels = world.seen.pod->metadata.labels;
    const auto found = labels.find(v1::kClusterUidLabel);
    return world.pod == Child::Ours && step.pod_uid == world.seen.pod->metadata.uid && cluster() &&
           step.cluster_uid == world.seen.cluster->metadata.uid &&
           (found == labels.end() || (found->second == "c-0" && !world.seen.selected_by_other));
  }
  bool operator()(const AdoptVolume&) const { return false; }  // All here have owner and label.
  bool operator()(const AdoptPod&) const { return false; }
  bool operator()(const AdmitPod&) const { return false; }         // No Pod here waits.
  bool operator()(const SetInitialState&) const { return false; }  // No data here is in memory.
  bool operator()(const EndJoining&) const { return false; }
  bool operator()(const SetRole& step) const {  // I13
    return world.pod == Child::Ours && step.voter == member.status.is_voter;
  }
  /// No etcd of it can have run.
  bool unborn() const {
    const bool founds = member.spec.bootstrap && member.status.member_id.empty() &&
                        world.seen.cluster->status.cluster_id.empty();
    const bool bound = world.volume == Child::Ours || world.volume == Child::OursGoing
                           ? world.seen.volume->status.phase == "Bound"
                           : !member.status.pvc_name.empty();
    return founds && !bound;
  }
  bool wanted() const {
    return cluster() && has_finalizer() && !member.spec.dormant &&
           !member.spec.initial_cluster.empty();
  }
};

constexpr int kSample = 10'000;

TEST(MemberPlan, EveryObservationLeadsToASafeStep) {
  int worlds = 0, steps = 0;
  testing::Every pick(kSample);
  do {
    const World world = world_of(pick);
    const Step step = plan(world.seen).step;
    ++worlds;
    steps += std::holds_alternative<NoStep>(step) ? 0 : 1;
    ASSERT_TRUE(std::visit(Judge{world}, step)) << to_string(step) << " in world " << worlds;
  } while (pick.next());
  EXPECT_EQ(worlds,
            testing::kSanitized ? kSample : 256 * (1 + 2 * 3) * 3 * (1 + 3 * 2) * (1 + 3 * 8 * 4));
  EXPECT_GT(steps, worlds / 20);
  std::printf("%d observations, %d of them lead to a step\n", worlds, steps);
}

}  // namespace
}  // namespace etcdop::member
