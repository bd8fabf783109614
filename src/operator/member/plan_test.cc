// The member's plan as a table, the Pod to the letter, and the status.
#include "operator/member/plan.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"
#include "operator/member/objects.h"
#include "operator/pods/member_name.h"
#include "runtime/conditions.h"

namespace etcdop::member {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

api::OwnerReference owner(const char* kind, const char* name, const char* uid) {
  return {"etcd-operator.cozystack.io/v1alpha2", kind, name, uid, true, true};
}

v1::EtcdMember member() {
  v1::EtcdMember m;
  m.metadata.name = "db-x1";
  m.metadata.ns = "prod";
  m.metadata.uid = "m-1";
  m.metadata.finalizers = {v1::kMemberFinalizer};
  m.metadata.owner_references = {owner("EtcdCluster", "db", "c-1")};
  m.spec.cluster_name = "db";
  m.spec.version = "3.6.16";
  m.spec.initial_cluster = "db-x1=http://db-x1.db.prod.svc:2380";
  m.spec.cluster_token = "prod-db-c-1";
  return m;
}

kube::Pod running_pod(const std::string& list) {
  kube::Pod pod;
  pod.metadata.name = "db-x1";
  pod.metadata.uid = "p-1";
  pod.metadata.labels = {{v1::kClusterLabel, "db"}, {v1::kClusterUidLabel, "c-1"}};
  pod.metadata.owner_references = {owner("EtcdMember", "db-x1", "m-1")};
  kube::Container etcd;
  etcd.name = "etcd";
  etcd.command = {"etcd", "--initial-cluster=" + list};
  pod.spec.containers = {etcd};
  pod.status.phase = "Running";
  return pod;
}

kube::PersistentVolumeClaim volume_of(const char* member_uid) {
  kube::PersistentVolumeClaim claim;
  claim.metadata.name = "data-db-x1";
  claim.metadata.labels[v1::kClusterLabel] = "db";
  claim.metadata.owner_references = {owner("EtcdMember", "db-x1", member_uid)};
  return claim;
}

/// A joiner whose list is published, with volume and Pod.
Observation whole() {
  Observation seen;
  seen.now = WallTime{1795233378s};
  seen.member = member();
  seen.cluster.emplace();
  seen.cluster->metadata.uid = "c-1";
  seen.cluster->status.cluster_token = seen.member.spec.cluster_token;
  seen.volume = volume_of("m-1");
  seen.pod = running_pod(seen.member.spec.initial_cluster);
  return seen;
}

/// A user took the owner away from the volume, under the member's Pod.
void lose_owner_of_volume(Observation& o) {
  o.volume->metadata.owner_references.clear();
  o.volume->metadata.uid = "v-1";
  o.volume->metadata.creation_timestamp = "2026-11-20T10:00:00Z";
  o.pod->metadata.creation_timestamp = "2026-11-20T10:00:00Z";
  o.pod->spec.node_name = "node-1";
  o.member.status.pvc_name = "data-db-x1";
}

/// The first member of a cluster that knows its id and has recorded that many members.
void founded(Observation& o, int recorded) {
  o.cluster->metadata.name = "db";
  o.cluster->status.cluster_id = "c1";
  o.cluster->status.last_sequence = recorded;
  o.member.metadata.name = member_name("db", "c-1", 1);
  o.member.spec.bootstrap = true;
  o.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=new");
}

/// The same, whose spec was edited since its Pod was created; the version that runs there.
void founded_and_edited(Observation& o, const char* runs) {
  founded(o, 1);
  o.member.metadata.generation = 2;
  o.member.status.version = runs;
}

/// The first member of a cluster that starts from a snapshot.
void restores(Observation& o) {
  v1::S3Location& s3 = o.member.spec.restore.emplace().source.s3.emplace();
  s3.bucket = "b";
  s3.key = "db.db";
  o.member.spec.bootstrap = true;
  o.has_image = true;
}

/// The status of the container that restores.
kube::ContainerStatus& restoring(Observation& o) {
  o.pod->spec.init_containers = {{v1::kInstallToolsContainer, {}}, {v1::kRestoreContainer, {}}};
  o.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=new");
  o.pod->status.phase = "Pending";
  kube::ContainerStatus tools, restore;
  tools.name = v1::kInstallToolsContainer;
  tools.state.terminated.emplace();
  restore.name = v1::kRestoreContainer;
  o.pod->status.init_container_statuses = {tools, restore};
  return o.pod->status.init_container_statuses[1];
}

TEST(MemberPlan, I17_AVolumeWithoutOwnerIsTakenBackIfItIsTheOneThatThePodUses) {
  struct Row {
    void (*edit)(Observation&);
    const char* because;
  };
  Observation seen = whole();
  lose_owner_of_volume(seen);
  Plan p = plan(seen);
  EXPECT_EQ(p.step, Step(AdoptVolume{{"v-1"}}));
  EXPECT_NE(runtime::find_condition(p.status.conditions, v1::kReady)->reason, v1::kVolumeConflict);
  const Row rows[] = {
      {[](auto& o) { o.pod.reset(); }, "nothing shows that the volume is the same"},
      {[](auto& o) { o.pod->metadata.deletion_timestamp = "t"; }, "its Pod ends"},
      {[](auto& o) { o.pod->spec.node_name.clear(); }, "its Pod uses no volume yet"},
      {[](auto& o) { o.pod->metadata.owner_references.clear(); }, "the Pod is not ours"},
      {[](auto& o) { o.volume->metadata.creation_timestamp = "2026-11-20T10:00:01Z"; },
       "it is younger than the Pod"},
      {[](auto& o) { o.volume->metadata.creation_timestamp = ""; }, "its age is unknown"},
      {[](auto& o) { o.volume->metadata.deletion_timestamp = "t"; }, "it goes"},
      {[](auto& o) { o.member.status.pvc_name = ""; }, "it was never the member's"},
      {[](auto& o) { o.volume = volume_of("other"); }, "it is another owner's"},
  };
  for (const Row& row : rows) {
    seen = whole();
    lose_owner_of_volume(seen);
    row.edit(seen);
    p = plan(seen);
    EXPECT_EQ(to_string(p.step), "none") << row.because;
    EXPECT_EQ(runtime::find_condition(p.status.conditions, v1::kReady)->reason, v1::kVolumeConflict)
        << row.because;
  }
}

/// A backup tool created it again without its status, and a user made an EtcdCluster its owner that
/// has members of another etcd.
TEST(MemberPlan, I17_ThatAMemberMayBeOfAnotherEtcdIsTold) {
  Observation seen = whole();
  seen.pod.reset();
  seen.member.status = {};
  seen.cluster->status.cluster_token = "prod-db-c-0";
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  const auto* told = runtime::find_condition(p.status.conditions, v1::kReady);
  ASSERT_NE(told, nullptr);
  EXPECT_NE(told->message.find("a member of its etcd: see SplitBrain"), std::string::npos);
}

/// Seed 392: the voter's volume is on the node that the joiner has, and members must be apart.
TEST(MemberPlan, K1_AJoinerThatCannotStartLeavesItsNodeToAVoterThatFindsNone) {
  Observation seen = whole();
  seen.makes_room_for = "db-x0";
  EXPECT_EQ(to_string(plan(seen).step),
            "delete-pod: a voter finds no place, and this cannot start yet");
  seen.pod.reset();
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_EQ(runtime::find_condition(p.status.conditions, v1::kReady)->message,
            "the Pod is created when db-x0, which has etcd's data, has found a place");
  seen.makes_room_for = "";
  EXPECT_EQ(to_string(plan(seen).step), "create-pod existing");
  const std::function<void(Observation&)> edits[] = {
      [](auto& o) { o.member.status.member_id = "1"; },
      [](auto& o) { o.member.spec.storage.medium = v1::Medium::Memory; },
      [](auto& o) { o.member.spec.bootstrap = true; },
  };
  for (const auto& edit : edits) {
    seen = whole();
    seen.makes_room_for = "db-x0";
    edit(seen);
    EXPECT_EQ(to_string(plan(seen).step).find("delete-pod: a voter"), std::string::npos);
  }
}

/// Etcd may list it as a voter: then another member replaces it.
TEST(MemberPlan, I6_AnEtcdMemberWithoutAnOwnerGetsNoNewPlaceForData) {
  const auto step_of = [](const v1::Medium medium, bool is_owned, bool has_place) {
    Observation seen = whole();
    seen.member.spec.storage.medium = medium;
    if (!is_owned) seen.member.metadata.owner_references.clear();
    if (medium == v1::Medium::Memory) seen.volume.reset();
    if (!has_place || medium != v1::Medium::Memory) seen.pod.reset();
    if (!has_place) seen.volume.reset();
    return to_string(plan(seen).step);
  };
  const v1::Medium volumes{};
  EXPECT_EQ(step_of(volumes, true, false), "create-volume");
  EXPECT_EQ(step_of(volumes, false, false), "none");
  EXPECT_EQ(step_of(volumes, false, true), "create-pod existing") << "it has its data";
  EXPECT_EQ(step_of(v1::Medium::Memory, true, false), "create-pod existing");
  EXPECT_EQ(step_of(v1::Medium::Memory, false, false), "none");
}

/// Seed 550: the Services did not lead to the Pod, and all conditions said that all was well.
TEST(MemberPlan, K17_APodWithTheLabelOfAnotherClusterGetsItsOwnAgain) {
  Observation seen = whole();
  seen.pod->metadata.uid = "p-1";
  seen.pod->metadata.labels[v1::kClusterLabel] = "edited";
  EXPECT_EQ(plan(seen).step, Step(AdoptPod{{"p-1"}}));
  seen.pod->metadata.deletion_timestamp = "t";
  EXPECT_EQ(to_string(plan(seen).step), "none") << "it goes";
  EXPECT_EQ(to_string(plan(whole()).step), "none");
}

/// Seed 910: no Service led to the Pod. It is not lost: the API server was asked for it. One on a
/// volume gets the label when it is created in vain.
TEST(MemberPlan, K17_APodInMemoryWithoutItsLabelGetsItAgain) {
  Observation seen = whole();
  seen.member.spec.storage.medium = v1::Medium::Memory;
  seen.member.status.member_id = "1";
  seen.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=existing");
  seen.member.status.pod_uid = "p-1";
  seen.volume.reset();
  EXPECT_EQ(to_string(plan(seen).step), "none");
  seen.pod->metadata.labels.erase(v1::kClusterLabel);
  EXPECT_EQ(plan(seen).step, Step(AdoptPod{{"p-1"}}));
}

/// Without the label nothing tells of the volume when the EtcdCluster comes back without a status.
TEST(MemberPlan, K14_AVolumeThatLostItsLabelGetsItAgain) {
  struct Row {
    void (*edit)(Observation&);
    const char* step;
    const char* because;
  };
  const Row rows[] = {
      {[](auto& o) { o.volume->metadata.labels.clear(); }, "adopt-volume", "it was removed"},
      {[](auto& o) { o.volume->metadata.labels[v1::kClusterLabel] = "edited"; }, "adopt-volume",
       "it names another cluster"},
      {[](auto& o) {
         o.volume->metadata.labels.clear();
         o.pod.reset();
       },
       "create-pod existing", "the Pod does not wait for it"},
      {[](auto& o) {
         o.volume->metadata.labels.clear();
         o.volume->metadata.deletion_timestamp = "t";
       },
       "none", "it goes"},
      {[](auto& o) {
         o.volume->metadata.labels.clear();
         o.cluster.reset();
       },
       "none", "as recover.md says: it was left by an earlier EtcdCluster"},
      {[](auto& o) {
         o.volume = volume_of("other");
         o.volume->metadata.labels.clear();
       },
       "none", "it is another owner's"},
  };
  for (const Row& row : rows) {
    Observation seen = whole();
    row.edit(seen);
    EXPECT_EQ(to_string(plan(seen).step), row.step) << row.because;
  }
}

/// Seed 1099: the member was removed, and its Pod stayed without an owner, for ever.
TEST(MemberPlan, K17_APodThatLostItsOwnerIsTakenBackAlsoByAMemberThatGoes) {
  const std::function<void(Observation&)> edits[] = {
      [](auto&) {},
      [](auto& o) { o.member.metadata.deletion_timestamp = "t"; },
      [](auto& o) {
        o.member.metadata.deletion_timestamp = "t";
        o.member.status.removed = true;
      },
      [](auto& o) {
        o.member.metadata.deletion_timestamp = "t";
        o.cluster.reset();
      },
      [](auto& o) {
        o.member.spec.storage.medium = v1::Medium::Memory;
        o.pod->status.phase = "Failed";
      },
      [](auto& o) { o.member.spec.dormant = true; },
  };
  for (std::size_t i = 0; i < std::size(edits); ++i) {
    Observation seen = whole();
    seen.member.status.pod_uid = "p-1";
    seen.pod->metadata.owner_references.clear();
    edits[i](seen);
    EXPECT_EQ(plan(seen).step, Step(AdoptPod{{"p-1"}})) << i;
    seen.pod->metadata.uid = "p-2";
    EXPECT_NE(plan(seen).step, Step(AdoptPod{{"p-2"}})) << i << ": it may be anybody's";
  }
}

TEST(MemberPlan, Table) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* step;
    const char* because;
  };
  // The first member of a restore in place, in a cluster that was adopted with its token.
  const auto adopted = [](Observation& o, v1::RestoreStage stage) {
    o.pod.reset();
    o.member.spec.bootstrap = true;
    o.member.spec.cluster_token = o.cluster->status.cluster_token = "prod-db-r-1";
    o.cluster->status.restore.emplace().stage = stage;
  };
  const Row rows[] = {
      {[](auto&) {}, "none", "all is there"},
      {[](auto& o) {
         o.pod.reset();
         o.volume.reset();
       },
       "create-volume", ""},
      {[](auto& o) { o.pod.reset(); }, "create-pod existing", "a lost Pod comes back"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.bootstrap = true;
       },
       "create-pod new", "the seed founds the cluster"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.bootstrap = true;
         o.member.spec.cluster_token = o.cluster->status.cluster_token = "prod-db-c-0";
       },
       "create-pod existing", "I4, seed 144575: of an earlier EtcdCluster, created again"},
      {[&](auto& o) { adopted(o, v1::RestoreStage::Restoring); }, "create-pod new",
       "a restore in place of a cluster that was adopted with its token"},
      {[&](auto& o) { adopted(o, v1::RestoreStage::RolledBack); }, "create-pod existing",
       "I4: that restore is over"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.cluster_token = "prod-db-c-0";
       },
       "none", "I9: a user gave the EtcdCluster members of two etcds"},
      {[](auto& o) {
         o.pod.reset();
         o.cluster->status.cluster_id = "c1";
         o.member.spec.cluster_token = "prod-db-c-0";
       },
       "create-pod existing", "the cluster knows its etcd"},
      {[](auto& o) { o.member.spec.cluster_token = "prod-db-c-0"; }, "none",
       "one that has its Pod is left as it is"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.bootstrap = true;
         o.cluster->status.cluster_id = "c1";
       },
       "create-pod existing", "I4: founded once"},
      {[](auto& o) {
         o.pod.reset();
         o.member.spec.bootstrap = true;
         o.member.status.member_id = "1";
       },
       "create-pod existing", "I4: it has a data directory"},
      {[](auto& o) {
         o.pod.reset();
         o.volume.reset();
         o.member.status.pvc_name = "data-db-x1";
       },
       "none", "I5: a member that lost its data is never refilled"},
      {[](auto& o) {
         o.pod.reset();
         o.volume.reset();
         o.member.status.member_id = "1";
       },
       "none", "I5: nor one whose volume nobody wrote down"},
      {[](auto& o) {
         o.pod.reset();
         o.member.status.member_id = "1";
         o.member.spec.restore.emplace().source.s3.emplace().endpoint = "https://s3";
       },
       "create-pod existing", "it was restored long ago"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
       },
       "create-pod new", "its snapshot is restored in the Pod that founds"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
         o.cluster->status.cluster_id = "c1";
       },
       "create-pod existing", "I4: etcd has answered, what it was restored from is the past"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
         o.has_image = false;
       },
       "none", "nobody could restore it"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
         o.credentials_fault = "Secret s3 does not exist";
       },
       "none", "nor without what its store asks for"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
         o.has_image = false;
         o.credentials_fault = "Secret s3 does not exist";
         o.cluster->status.cluster_id = "c1";
       },
       "create-pod existing", "which a cluster that was restored does not need"},
      {[](auto& o) {
         o.pod.reset();
         restores(o);
         o.member.spec.storage.medium = v1::Medium::Memory;
       },
       "none", "I4: with each start of its node it would be restored anew"},
      {[](auto& o) {
         restores(o);
         restoring(o).restart_count = 9;
       },
       "none", "however often it fails, its Pod founds the cluster"},
      {[](auto& o) {
         restores(o);
         o.pod->metadata.deletion_timestamp = "t";
         o.member.metadata.deletion_timestamp = "t";
         o.cluster.reset();
       },
       "release-finalizer", "S37: nobody waits for a snapshot of a cluster that goes"},
      {[](auto& o) { o.pod->spec.containers[0].command = {"etcd"}; }, "none",
       "an adopted member's Pod has its list elsewhere"},
      {[](auto& o) {
         o.pod.reset();
         o.volume = volume_of("other");
       },
       "none", "I6: somebody else's volume"},
      {[](auto& o) {
         o.pod.reset();
         o.volume->metadata.deletion_timestamp = "t";
       },
       "none", "the volume is going"},
      {[](auto& o) { o.volume->metadata.deletion_timestamp = "t"; }, "none",
       "a Pod that runs is left running"},
      {[](auto& o) {
         o.member.spec.initial_cluster = "";
         o.pod.reset();
         o.volume.reset();
       },
       "none", "not published yet"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.pod.reset();
       },
       "none", "paused"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->spec.replicas = 0;
       },
       "delete-pod: the cluster is paused", ""},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->spec.replicas = 0;
         o.pod->metadata.owner_references = {owner("EtcdMember", "db-x1", "m-0")};
       },
       "none", "it is somebody else's"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->spec.replicas = 0;
         o.pod->metadata.deletion_timestamp = "t";
       },
       "none", "it is going"},
      {[](auto& o) { o.member.spec.dormant = true; }, "none", "it is about to be woken"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review;
       },
       "none", "I1, seed 504829: a user made it dormant, and it has the restored data"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review;
         o.cluster->status.restore->members = {{"db-x1", "m-1"}};
       },
       "delete-pod: the cluster goes back to a snapshot", "of the earlier etcd"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.member.metadata.deletion_timestamp = "t";
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::Review;
       },
       "delete-pod: the cluster goes back to a snapshot", "another one restores again"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->spec.replicas = 0;
         o.others_awake = true;
       },
       "none", "I1: a user made it dormant before it is the last one"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::RollingBack;
       },
       "delete-pod: the cluster goes back to a snapshot", "the restored one"},
      {[](auto& o) { founded(o, 1); }, "delete-pod: the cluster has been founded",
       "on an empty volume it would found it again"},
      {[](auto& o) { founded_and_edited(o, ""); }, "none",
       "K4: the spec was edited meanwhile, and the version that runs is not known yet"},
      {[](auto& o) { founded_and_edited(o, "3.7.3"); }, "none",
       "K4: 3.6 does not start on its data: the cluster writes the version back"},
      {[](auto& o) { founded_and_edited(o, "3.6.4+build"); },
       "delete-pod: the cluster has been founded", "K4: nothing is known of such a version"},
      {[](auto& o) { founded_and_edited(o, "3.5.35"); }, "delete-pod: the cluster has been founded",
       "K4: 3.6 goes on with data of 3.5"},
      {[](auto& o) {
         founded(o, 1);
         o.member.status.member_id = "1";
         o.member.status.version = "3.7.3";
         o.pod.reset();
       },
       "none", "K4: its Pod was evicted before the version was written back"},
      {[](auto& o) {
         founded(o, 2);
         o.member.status.member_id = "1";
         o.member.status.version = "3.7.3";
         o.pod.reset();
       },
       "create-pod existing", "it is not the only one any more"},
      {[](auto& o) { founded(o, 2); }, "none", "others were recorded since"},
      {[](auto& o) {
         founded(o, 1);
         o.cluster->status.cluster_id = "";
       },
       "none", "it has not answered yet"},
      {[](auto& o) {
         founded(o, 1);
         o.pod->spec.containers[0].command.back() = "--initial-cluster-state=existing";
       },
       "none", "it is the second one"},
      {[](auto& o) {
         founded(o, 1);
         o.member.metadata.name = "db-other";
       },
       "none", "another operator made this cluster"},
      {[](auto& o) { o.pod = running_pod("older"); },
       "delete-pod: etcd's members changed before it started", ""},
      {[](auto& o) {
         o.pod = running_pod("older");
         o.member.status.member_id = "1";
       },
       "none", "one that has started ignores the list"},
      {[](auto& o) {
         o.pod = running_pod("older");
         o.member.spec.bootstrap = true;
       },
       "none", "the seed's list is its own"},
      {[](auto& o) { o.pod->status.phase = "Failed"; }, "delete-pod: it has ended", "evicted"},
      {[](auto& o) { o.pod->status.phase = "Succeeded"; }, "delete-pod: it has ended", ""},
      {[](auto& o) { o.outdated = true; },
       "delete-pod: etcd cannot run with the command line and image of this Pod", "K16"},
      {[](auto& o) {
         o.outdated = true;
         o.member.spec.storage.medium = v1::Medium::Memory;
         o.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=existing");
         o.member.status.pod_uid = "p-1";
         o.volume.reset();
       },
       "none", "K16: its data would go with it"},
      {[](auto& o) {
         o.pod->status.phase = "Failed";
         o.pod->metadata.deletion_timestamp = "t";
       },
       "none", ""},
      {[](auto& o) {
         o.pod->metadata.owner_references = {owner("EtcdMember", "db-x1", "m-0")};
         o.pod->status.phase = "Failed";
       },
       "none", "I6: the Pod of an earlier member of that name"},
      {[](auto& o) { o.member.status.is_voter = true; }, "set-role voter", ""},
      {[](auto& o) {
         o.member.status.is_voter = true;
         o.pod->metadata.labels[v1::kRoleLabel] = "voter";
       },
       "none", ""},
      {[](auto& o) { o.pod->metadata.labels[v1::kRoleLabel] = "voter"; }, "set-role none", "I13"},
      {[](auto& o) { o.pod->metadata.labels[v1::kRoleLabel] = "learner"; }, "none",
       "whatever is not a voter is none"},
      {[](auto& o) { o.pod->metadata.labels.erase(v1::kClusterUidLabel); }, "label-with-uid c-1",
       "K17: the Go operator's Pod"},
      {[](auto& o) { o.pod->metadata.labels[v1::kClusterUidLabel] = "c-0"; }, "label-with-uid c-1",
       "K17: of an EtcdCluster that was deleted"},
      {[](auto& o) {
         o.pod->metadata.labels[v1::kClusterUidLabel] = "c-0";
         o.selected_by_other = true;
       },
       "none", "K17: the key leaves the selector first"},
      {[](auto& o) {
         o.pod->metadata.labels.erase(v1::kClusterUidLabel);
         o.member.status.is_voter = true;
       },
       "set-role voter", "K17: the label comes last"},
      {[](auto& o) {
         o.pod->metadata.labels.erase(v1::kClusterUidLabel);
         o.member.metadata.deletion_timestamp = "t";
         o.pod->metadata.labels[v1::kLeavingLabel] = "true";
       },
       "label-with-uid c-1", "K17: it is still an endpoint"},
      {[](auto& o) {
         o.pod->metadata.labels.erase(v1::kClusterUidLabel);
         o.pod->metadata.owner_references = {owner("EtcdMember", "db-x1", "m-0")};
       },
       "none", "I6: the Pod of an earlier member of that name"},
      {[](auto& o) {
         o.pod->metadata.labels.erase(v1::kClusterUidLabel);
         o.pod->metadata.deletion_timestamp = "t";
       },
       "none", "it ends"},
      {[](auto& o) {
         o.pod->metadata.labels.erase(v1::kClusterUidLabel);
         o.cluster.reset();
       },
       "none", "K17: an orphan belongs to no EtcdCluster"},
      {[](auto& o) {
         o.tls.server.emplace().unread = "does not exist";
         o.pod.reset();
       },
       "none", "better no Pod than one without its TLS"},
      {[](auto& o) {
         o.tls.peer.emplace().names = {"*.db.prod.svc"};
         o.tls.peer->until = o.now;
         o.pod.reset();
       },
       "create-pod existing", ""},
      {[](auto& o) { o.member.metadata.finalizers.clear(); }, "add-finalizer",
       "as the Go operator leaves its members"},
      {[](auto& o) {
         o.member.metadata.finalizers.clear();
         o.member.metadata.deletion_timestamp = "t";
       },
       "none", "too late for a finalizer"},
      {[](auto& o) {
         o.cluster.reset();
         o.member.metadata.finalizers = {"somebody/else"};
         o.member.metadata.deletion_timestamp = "t";
       },
       "none", "others' finalizers are others'"},
      {[](auto& o) { o.member.metadata.deletion_timestamp = "t"; }, "mark-leaving",
       "its node is free for who takes its place"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.pod->metadata.labels[v1::kLeavingLabel] = "true";
       },
       "none", "etcd has it still: it goes on serving"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.member.status.removed = true;
       },
       "delete-pod: etcd has removed the member", "K1: its place is for its replacement"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.member.status.removed = true;
         o.pod.reset();
       },
       "none", "K1: and no other Pod is made on its volume"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.member.status.removed = true;
         o.pod->metadata.owner_references[0].uid = "other";
       },
       "none", "I6"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.pod->metadata.labels[v1::kLeavingLabel] = "true";
         o.member.status.removed = true;
         o.member.spec.storage.medium = v1::Medium::Memory;
         o.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=existing");
         o.member.status.pod_uid = "p-1";
         o.volume.reset();
       },
       "none", "K1: the Pod is its volume, and waits as one does"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.member.status.removed = true;
         o.member.spec.storage.medium = v1::Medium::Memory;
         o.member.status.pod_uid = "p-1";
         o.pod->status.phase = "Failed";
         o.volume.reset();
       },
       "delete-pod: etcd has removed the member", "K1: unless its data is lost"},
      {[](auto& o) { o.member.status.removed = true; }, "none", "K1: only if it is being deleted"},
      {[](auto& o) {
         o.member.status.is_voter = true;
         o.member.status.elsewhere = true;
         o.pod->metadata.labels[v1::kRoleLabel] = "voter";
       },
       "set-role none", "K5: no client is led to another etcd"},
      {[](auto& o) {
         o.member.status.is_voter = true;
         o.member.status.elsewhere = true;
         o.pod->metadata.labels[v1::kClusterUidLabel] = "c-1";
       },
       "label-with-uid none", "K5: nor a peer"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.pod->metadata.deletion_timestamp = "t";
       },
       "none", "it goes by itself"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.pod->metadata.owner_references[0].uid = "other";
       },
       "none", "I6: somebody else's Pod"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.volume.reset();
         o.member.status.pvc_name = "data-db-x1";
       },
       "mark-leaving", "its data is gone, and its Pod still holds a place"},
      {[](auto& o) {
         o.member.metadata.deletion_timestamp = "t";
         o.pod.reset();
       },
       "create-pod existing", "it votes until its replacement does"},
      {[](auto& o) { o.cluster.reset(); }, "none", "the garbage collector will come"},
      {[](auto& o) {
         o.cluster.reset();
         o.member.metadata.deletion_timestamp = "t";
       },
       "release-finalizer", "the cluster is gone: etcd need not be asked"},
      {[](auto& o) {
         o.cluster.reset();
         o.member.metadata.deletion_timestamp = "t";
         o.beside_orphans = true;
       },
       "none", "K17: its etcd runs on, and it may have a vote there"},
  };
  for (const Row& row : rows) {
    Observation seen = whole();
    row.edit(seen);
    EXPECT_EQ(to_string(plan(seen).step), row.step) << &row - rows << ": " << row.because;
  }
}

/// The first member of a cluster without an id, whose Pod has no node.
Observation unborn() {
  Observation seen = whole();
  seen.member.spec.bootstrap = true;
  seen.member.spec.storage.size = "1Gi";
  seen.member.metadata.generation = 2;
  seen.member.status.pvc_name = "data-db-x1";
  seen.volume->status.phase = "Pending";
  seen.volume->spec.resources.requests["storage"] = "1024Mi";
  seen.pod->status.phase = "Pending";
  seen.pod->metadata.annotations[v1::kMadeFromAnnotation] = "2";
  seen.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=new");
  return seen;
}

TEST(MemberPlan, K4_AFirstMemberIsMendedOnItsVolumeAndLetGoIfItNeverRan) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* step;
    const char* because;
  };
  const auto deleted = [](Observation& o) { o.member.metadata.deletion_timestamp = "t"; };
  const auto corrected = [](Observation& o) { o.member.metadata.generation = 3; };
  const auto bound = [](Observation& o) { o.volume->status.phase = "Bound"; };
  const auto in_memory = [](Observation& o) {
    o.member.spec.storage.medium = v1::Medium::Memory;
    o.member.status.pod_uid = "p-1";
    o.volume.reset();
  };
  constexpr const char* kAnew = "delete-pod: the spec was corrected before etcd started";
  const Row rows[] = {
      {[](auto&) {}, "none", "it waits for a node"},
      // A corrected spec.
      {corrected, kAnew, ""},
      {[&](auto& o) {
         corrected(o);
         bound(o);
       },
       kAnew, "what etcd may have written stays"},
      {[&](auto& o) {
         corrected(o);
         o.pod->metadata.annotations.clear();
       },
       kAnew, "a Pod of an earlier release"},
      {[&](auto& o) {
         corrected(o);
         o.member.spec.cluster_token = o.cluster->status.cluster_token = "prod-db-c-0";
         o.pod->spec.containers[0].command.back() = "--initial-cluster-state=existing";
       },
       kAnew, "seed 335483: an earlier EtcdCluster made it, so its Pod does not found"},
      {[](auto& o) {
         o.member.metadata.generation = 1;
         o.pod->metadata.annotations.clear();
       },
       "none", "whose spec was not edited"},
      {[&](auto& o) {
         corrected(o);
         o.pod->spec.node_name = "n";
         o.pod->status.container_statuses.resize(1);
         o.pod->status.container_statuses[0].name = "etcd";
         o.pod->status.container_statuses[0].state.running.emplace();
       },
       "none", "its etcd runs"},
      {[&](auto& o) {
         corrected(o);
         o.cluster->status.cluster_id = "c1";
       },
       "none", "it has founded the cluster"},
      {[&](auto& o) {
         corrected(o);
         in_memory(o);
       },
       kAnew, "no node ever had its memory"},
      {[&](auto& o) {
         corrected(o);
         in_memory(o);
         o.pod->spec.node_name = "n";
       },
       "none", "its data would go with its Pod"},
      {[](auto& o) {
         o.pod.reset();
         o.volume->spec.resources.requests["storage"] = "1Ei";
       },
       "delete-unbound-volume", "a size that no storage has"},
      {[&](auto& o) {
         o.pod.reset();
         o.volume->spec.resources.requests["storage"] = "1Ei";
         bound(o);
       },
       "create-pod new", "it was there after all"},
      {[](auto& o) { o.volume->spec.resources.requests["storage"] = "1Ei"; }, "none",
       "first its Pod goes"},
      // Its EtcdMember is deleted.
      {deleted, "release-unborn", "its volume was never bound"},
      {[&](auto& o) {
         deleted(o);
         bound(o);
       },
       "mark-leaving", "it may have run: it stays"},
      {[&](auto& o) {
         deleted(o);
         o.pod.reset();
       },
       "release-unborn", ""},
      {[&](auto& o) {
         deleted(o);
         bound(o);
         o.pod.reset();
       },
       "create-pod new", "with its volume it founds the same cluster"},
      {[&](auto& o) {
         deleted(o);
         o.pod.reset();
         o.volume.reset();
       },
       "none", "nobody knows what was on its volume"},
      {[&](auto& o) {
         deleted(o);
         o.pod.reset();
         o.volume.reset();
         o.member.status.pvc_name.clear();
       },
       "release-unborn", "it never had one"},
      {[&](auto& o) {
         deleted(o);
         o.cluster->status.cluster_id = "c1";
       },
       "mark-leaving", "it has founded the cluster"},
      {[&](auto& o) {
         deleted(o);
         o.cluster->status.restore.emplace();
       },
       "mark-leaving", "the restore in place decides"},
      {[&](auto& o) {
         deleted(o);
         in_memory(o);
       },
       "release-unborn", ""},
      {[&](auto& o) {
         deleted(o);
         in_memory(o);
         o.pod->spec.node_name = "n";
       },
       "mark-leaving", "it may have run"},
  };
  for (const Row& row : rows) {
    Observation seen = unborn();
    row.edit(seen);
    EXPECT_EQ(to_string(plan(seen).step), row.step) << &row - rows << ": " << row.because;
  }
}

TEST(MemberPlan, K4_TheVolumeOfAFirstMemberIsRecordedBeforeAnyEtcdCanRunOnIt) {
  Observation seen = unborn();
  seen.pod.reset();
  seen.member.status = {};
  const Plan first = plan(seen);
  EXPECT_EQ(to_string(first.step), "create-pod new");
  EXPECT_EQ(first.status.pvc_name, "data-db-x1");
  seen.volume->metadata.deletion_timestamp = "t";  // A user deletes it.
  seen.member.status.pvc_name = "data-db-x1";
  seen.pod = unborn().pod;
  EXPECT_EQ(plan(seen).status.pvc_name, "") << "no Pod can start on it: it may be made again";
  seen.volume->status.phase = "Bound";
  EXPECT_EQ(plan(seen).status.pvc_name, "data-db-x1") << "and this one not";
}

/// Its only Pod is recorded, and runs.
Observation in_memory() {
  Observation seen = whole();
  seen.volume.reset();
  seen.member.spec.storage.medium = v1::Medium::Memory;
  seen.member.status.pod_uid = "p-1";
  seen.member.status.member_id = "1";
  seen.pod->spec.containers[0].command.emplace_back("--initial-cluster-state=existing");
  return seen;
}

TEST(MemberPlan, S50_OfDataInMemoryThereIsOnePodAndNeverASecond) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* step;
    const char* because;
  };
  const auto is_new = [](Observation& o) {
    o.member.status = {};
    o.pod->spec.scheduling_gates = {{v1::kRecordGate}};
  };
  // The annotation of a first member's Pod, whose command has no state.
  const auto say = [](Observation& o, const char* state) {
    o.pod->spec.containers[0].command = {"etcd", "--initial-cluster=list"};
    o.pod->metadata.annotations[v1::kInitialStateAnnotation] = state;
  };
  const auto begins = [](Observation& o) {
    o.cluster->status.cluster_id.clear();
    o.member.status.member_id.clear();
    o.member.spec.bootstrap = true;
  };
  const Row rows[] = {
      {[](auto&) {}, "none", "all is there"},
      {[&](auto& o) {
         is_new(o);
         o.pod.reset();
       },
       "create-pod existing", "it never had one"},
      {is_new, "admit-pod", "this pass records it"},
      {[&](auto& o) {
         is_new(o);
         o.pod->spec.scheduling_gates = {{"somebody/else"}};
       },
       "none", "others' gates are others'"},
      {[](auto& o) { o.pod.reset(); }, "none", "lost: it is replaced, never refilled"},
      {[](auto& o) {
         o.pod.reset();
         o.member.status.member_id.clear();
       },
       "none", "nobody knows whether it had begun"},
      {[](auto& o) {
         o.pod.reset();
         o.member.status.pod_uid.clear();
       },
       "none", "as one that slept"},
      {[&](auto& o) {
         o.pod->metadata.uid = "p-2";
         o.pod->spec.scheduling_gates = {{v1::kRecordGate}};
       },
       "none", "another one is never admitted"},
      {[](auto& o) { o.pod->status.phase = "Failed"; }, "none", "evicted: replaced"},
      {[](auto& o) { o.pod->metadata.deletion_timestamp = "t"; }, "none", "it may serve still"},
      {[](auto& o) { o.member.spec.dormant = true; }, "none", "it would not sleep, but end"},
      {[](auto& o) { o.member.status.is_voter = true; }, "set-role voter", ""},
      {[&](auto& o) {
         founded(o, 1);
         o.member.status.member_id.clear();
         say(o, "new");
       },
       "set-initial-state existing", "its Pod stays"},
      {[](auto& o) {
         founded(o, 1);
         o.pod->spec.containers[0].command = {"etcd", "--initial-cluster=list"};
       },
       "set-initial-state existing", "somebody took the annotation away: etcd's default is new"},
      {[&](auto& o) {
         founded(o, 1);
         say(o, "existing");
       },
       "none", "it is told already"},
      {[&](auto& o) {
         founded(o, 2);
         say(o, "edited");
       },
       "set-initial-state existing", "a user edited it later: no etcd starts with it"},
      {[&](auto& o) {
         begins(o);
         say(o, "edited");
       },
       "set-initial-state new", "before it founded"},
      {[&](auto& o) {
         begins(o);
         o.member.spec.cluster_token = "prod-db-c-0";
         say(o, "new");
       },
       "set-initial-state existing", "I4, seed 144575: an earlier EtcdCluster has founded with it"},
      {[&](auto& o) {
         begins(o);
         say(o, "existing");
       },
       "none", "it may have founded: it is never told to found once more"},
      {[](auto& o) {
         founded(o, 2);
         o.pod->spec.containers[0].command = {"etcd", "--initial-cluster=list",
                                              "--initial-cluster-state=new"};
       },
       "none", "another operator's Pod: an annotation would change nothing"},
      {[](auto& o) {
         o.pod->metadata.annotations[v1::kInitialClusterAnnotation] = o.member.spec.initial_cluster;
       },
       "end-joining", "it has started"},
      {[](auto& o) {
         o.member.status.member_id.clear();
         o.pod->metadata.annotations[v1::kInitialClusterAnnotation] = o.member.spec.initial_cluster;
       },
       "none", "it has yet to start"},
      {[](auto& o) {
         o.member.status.member_id.clear();
         o.pod->spec.containers[0].command = {"etcd"};
         o.pod->metadata.annotations[v1::kInitialClusterAnnotation] = "another=list";
       },
       "delete-pod: etcd's members changed before it started", ""},
  };
  for (const Row& row : rows) {
    Observation seen = in_memory();
    row.edit(seen);
    EXPECT_EQ(to_string(plan(seen).step), row.step) << &row - rows << ": " << row.because;
  }
}

TEST(MemberPlan, S50_AMemberWhosePodIsGoneSaysThatItsDataIs) {
  const std::function<void(Observation&)> losses[] = {
      [](auto& o) { o.pod.reset(); },
      [](auto& o) { o.pod->metadata.uid = "p-2"; },
      [](auto& o) { o.pod->status.phase = "Failed"; },
  };
  for (const auto& lose : losses) {
    Observation seen = in_memory();
    lose(seen);
    const Plan p = plan(seen);
    const auto* ready = runtime::find_condition(p.status.conditions, v1::kReady);
    ASSERT_TRUE(ready);
    EXPECT_EQ(ready->reason, v1::kDataLost);
    EXPECT_EQ(ready->message, "the Pod db-x1 is gone, and the data with it");
    EXPECT_EQ(p.status.pod_uid, "p-1") << "no other is recorded, ever";
    EXPECT_EQ(p.status.pod_name, "") << "as the Go operator counts what is broken";
  }
  Observation first = in_memory();
  first.member.status = {};
  EXPECT_EQ(plan(first).status.pod_uid, "p-1");
}

const api::Condition& ready(const Plan& p) {
  static const api::Condition none;
  const auto* found = runtime::find_condition(p.status.conditions, v1::kReady);
  return found ? *found : none;
}

void say(kube::Pod& pod, const char* type, const char* status, const char* reason = "") {
  kube::PodCondition condition;
  condition.type = type;
  condition.status = status;
  condition.reason = reason;
  condition.message = "said so";
  pod.status.conditions.push_back(condition);
}
void make_ready(kube::Pod& pod) {
  say(pod, "PodScheduled", "True");
  say(pod, "Ready", "True");
}

void wait_for(kube::Pod& pod, const char* reason) {
  kube::ContainerStatus etcd;
  etcd.name = "etcd";
  etcd.state.waiting.emplace();
  etcd.state.waiting->reason = reason;
  pod.status.container_statuses = {etcd};
}

/// Its etcd ended with an error, again and again, after these words.
void crash(kube::Pod& pod, const char* words) {
  wait_for(pod, "CrashLoopBackOff");
  pod.status.container_statuses[0].last_state.terminated = {1, "Error", words};
}

constexpr const char* kNoLog = "error validating peerURLs {}: member count is unequal";

TEST(MemberStatus, TellsWhyAMemberIsNotReady) {
  struct Row {
    std::function<void(Observation&)> edit;
    const char* reason;
    const char* message;
  };
  const Row rows[] = {
      {[](auto&) {}, v1::kPodNotReady, "pod phase: Running"},
      {[](auto& o) { make_ready(*o.pod); }, v1::kDiscoveringMemberId, "waiting for memberID"},
      {[](auto& o) {
         make_ready(*o.pod);
         o.member.status.member_id = "1";
       },
       v1::kPodReady, "the member serves"},
      {[](auto& o) {  // K5, I17: it serves, and not for this cluster.
         make_ready(*o.pod);
         o.member.status.member_id = "1";
         o.member.status.elsewhere = true;
       },
       v1::kSplitBrain, "etcd answers as a member of another etcd cluster"},
      {[](auto& o) { wait_for(*o.pod, "ErrImagePull"); }, v1::kImagePullFailed,
       "the etcd image of version 3.6.16 cannot be pulled"},
      {[](auto& o) { wait_for(*o.pod, "ImagePullBackOff"); }, v1::kImagePullFailed,
       "the etcd image of version 3.6.16 cannot be pulled"},
      {[](auto& o) { wait_for(*o.pod, "InvalidImageName"); }, v1::kImagePullFailed,
       "the etcd image of version 3.6.16 cannot be pulled"},
      {[](auto& o) { wait_for(*o.pod, "CreateContainerConfigError"); }, v1::kPodRejected,
       "the etcd container cannot be created: "},
      {[](auto& o) { wait_for(*o.pod, "CreateContainerError"); }, v1::kPodRejected,
       "the etcd container cannot be created: "},
      {[](auto& o) { wait_for(*o.pod, "ContainerCreating"); }, v1::kPodNotReady,
       "pod phase: Running"},
      {[](auto& o) {
         wait_for(*o.pod, "");
         o.pod->status.container_statuses[0].state.waiting.reset();
         say(*o.pod, "Ready", "False");
       },
       v1::kPodNotReady, "pod phase: Running"},
      {[](auto& o) {
         wait_for(*o.pod, "CrashLoopBackOff");
         o.pod->status.container_statuses[0].name = "sidecar";
       },
       v1::kPodNotReady, "pod phase: Running"},
      {[](auto& o) {
         say(*o.pod, "Ready", "True");
         o.member.status.member_id = "1";
         o.pod->metadata.deletion_timestamp = "t";
       },
       v1::kPodNotReady, "pod phase: Running"},  // It ends in a moment.
      {[](auto& o) { say(*o.pod, "PodScheduled", "False", "Unschedulable"); }, v1::kUnschedulable,
       "no node can run the Pod: said so"},
      {[](auto& o) { say(*o.pod, "PodScheduled", "False", "SchedulingGated"); }, v1::kPodNotReady,
       "pod phase: Running"},
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->spec.replicas = 0;
       },
       v1::kPaused, "the cluster is paused"},
      {[](auto& o) { o.member.spec.dormant = true; }, v1::kPodNotReady,
       "pod phase: Running"},  // Seed 209191: it keeps its Pod, and is not paused.
      {[](auto& o) {
         o.member.spec.dormant = true;
         o.cluster->status.restore.emplace().stage = v1::RestoreStage::Stopping;
       },
       v1::kPaused, "the cluster goes back to a snapshot"},
      {[](auto& o) { o.member.spec.initial_cluster = ""; }, v1::kPodNotReady,
       "waiting to be added to etcd"},
      {[](auto& o) {
         o.member.spec.storage.medium = v1::Medium::Memory;
         o.member.status.member_id = "1";
         o.volume.reset();
       },
       v1::kPodNotReady, "pod phase: Running"},  // It never had a volume.
      {[](auto& o) { wait_for(*o.pod, "CrashLoopBackOff"); }, v1::kCrashLooping,
       "etcd exits repeatedly: see kubectl logs db-x1"},
      {[](auto& o) {
         wait_for(*o.pod, "CrashLoopBackOff");
         o.pod->status.container_statuses[0].last_state.terminated = {1, "Error", kNoLog};
         o.member.status.member_id = "1";
       },
       v1::kDataLost, "etcd says that its data is gone: see kubectl logs --previous db-x1"},
      {[](auto& o) {
         wait_for(*o.pod, "CrashLoopBackOff");
         o.pod->status.container_statuses[0].last_state.terminated = {1, "Error", kNoLog};
       },
       v1::kCrashLooping,  // It is new, and its list is old.
       "etcd exits repeatedly, last with exit code 1 (Error): see kubectl logs --previous db-x1"},
      {[](auto& o) {  // K6
         wait_for(*o.pod, "CrashLoopBackOff");
         o.pod->status.container_statuses[0].last_state.terminated = {137, "OOMKilled", ""};
       },
       v1::kCrashLooping,
       "etcd exits repeatedly, last with exit code 137 (OOMKilled): it needs more memory than its "
       "limit; raise spec.resources.limits.memory"},
      {[](auto& o) {  // K6: the kubelet's admission
         o.pod->status.phase = "Failed";
         o.pod->status.reason = "SysctlForbidden";
         o.pod->status.message = "forbidden sysctl: \"kernel.x\" not allowlisted";
       },
       v1::kPodFailed,
       "Pod db-x1 failed: SysctlForbidden: forbidden sysctl: \"kernel.x\" not allowlisted"},
      {[](auto& o) {  // K6: the next one waits
         o.pod.reset();
         o.failed = "SysctlForbidden: no";
       },
       v1::kPodFailed, "Pod db-x1 failed: SysctlForbidden: no"},
      {[](auto& o) {
         o.pod->status.phase = "Pending";
         o.failed = "SysctlForbidden: no";
       },
       v1::kPodFailed, "Pod db-x1 failed: SysctlForbidden: no"},
      {[](auto& o) {
         o.pod->status.phase = "Failed";
         o.member.spec.storage.medium = v1::Medium::Memory;
         o.member.status.pod_uid = o.pod->metadata.uid;
         o.pod->status.reason = "Evicted";
         o.volume.reset();
       },
       v1::kDataLost, "the Pod db-x1 is gone, and the data with it; the Pod failed: Evicted"},
      {[](auto& o) {
         wait_for(*o.pod, "");
         o.pod->status.container_statuses[0].state.waiting.reset();
         o.pod->status.container_statuses[0].state.terminated = {1, "Error", "walpb: crc mismatch"};
       },
       v1::kDataCorrupt,
       "etcd says that it cannot read its data: see kubectl logs --previous db-x1"},
      {[](auto& o) {
         wait_for(*o.pod, "");
         o.pod->status.container_statuses[0].state.waiting.reset();
         o.pod->status.container_statuses[0].last_state.terminated = {1, "Error",
                                                                      "walpb: crc mismatch"};
         say(*o.pod, "Ready", "True");
         o.member.status.member_id = "1";
       },
       v1::kPodReady, "the member serves"},  // Now it does.
      {[](auto& o) {
         o.pod.reset();
         o.rejected = "exceeded quota: q";
       },
       v1::kPodRejected, "exceeded quota: q"},
      {[](auto& o) {  // K8: the Pod's label cannot be written.
         make_ready(*o.pod);
         o.member.status.member_id = "1";
         o.rejected = "label Pod db-x1: failed calling webhook";
       },
       v1::kPodReady, "the member serves; label Pod db-x1: failed calling webhook"},
      {[](auto& o) {
         o.pod.reset();
         o.volume.reset();
         o.member.status.pvc_name = "data-db-x1";
       },
       v1::kDataLost, "the volume data-db-x1 is gone, and the data with it"},
      {[](auto& o) {
         o.tls.server.emplace() = {.secret = "db-server-tls", .unread = "does not exist"};
         o.pod.reset();
         o.volume.reset();
       },
       v1::kCertificateMissing,
       "Secret db-server-tls does not exist; the operator creates no Pod until this is fixed"},
      {[](auto& o) {
         o.tls.peer.emplace() = {.secret = "own", .names = {"db.prod.svc"}, .until = o.now};
         o.pod.reset();
       },
       v1::kCertificateInvalid,
       "Secret own: tls.crt is not for db-x1.db.prod.svc (its names are: db.prod.svc); the "
       "operator creates no Pod until this is fixed"},
      {[](auto& o) {  // I17: a full disk, in etcd's words
         crash(*o.pod, "write /var/lib/etcd/member/wal/0.tmp: no space left on device");
       },
       v1::kCrashLooping,
       "etcd exits repeatedly, last with exit code 1 (Error): no space is left on its volume; "
       "make the volume larger"},
      {[](auto& o) {  // Seed 379: so do 3.6 and later say it
         crash(*o.pod, "cannot validate schema: version \"3.7.0\" is not supported");
       },
       v1::kCrashLooping,
       "etcd exits repeatedly, last with exit code 1 (Error): a newer minor version has written "
       "its data; set spec.version to that version"},
      {[](auto& o) {  // Seed 304: a first member ran once as a newer version
         crash(*o.pod,
               "invalid downgrade; server version is lower than determined cluster version");
       },
       v1::kCrashLooping,
       "etcd exits repeatedly, last with exit code 1 (Error): a newer minor version has written "
       "its data; set spec.version to that version"},
      {[](auto& o) {
         o.volume->metadata.owner_references.clear();
         o.pod.reset();
       },
       v1::kVolumeConflict,
       "PersistentVolumeClaim data-db-x1 has no owner; to use its data, make this EtcdMember its "
       "owner: see VolumeConflict in docs/user/operations.md"},
      {[](auto& o) { o.volume = volume_of("other"); }, v1::kVolumeConflict,
       "PersistentVolumeClaim data-db-x1 has another owner"},
      {[](auto& o) { o.pod->metadata.owner_references.clear(); }, v1::kPodConflict,
       "Pod db-x1 has no owner; make this EtcdMember its owner: see PodConflict in "
       "docs/user/operations.md"},
      {[](auto& o) { o.pod->metadata.owner_references[0].uid = "other"; }, v1::kPodConflict,
       "Pod db-x1 has another owner"},
  };
  for (const Row& row : rows) {
    Observation seen = whole();
    row.edit(seen);
    const Plan p = plan(seen);
    EXPECT_EQ(ready(p).reason, row.reason);
    EXPECT_EQ(ready(p).message, row.message);
    const bool serves = row.reason == std::string_view(v1::kPodReady);
    EXPECT_EQ(ready(p).status, serves ? "True" : "False") << row.reason;
    EXPECT_EQ(p.again, serves ? 60s : 10s) << "what is young is looked at again";
  }
}

/// Its leader is unreachable, so it is not ready; its words from before its first start remain.
TEST(MemberStatus, WhatEtcdSaidLongAgoIsNoLossOfAMemberThatRuns) {
  Observation seen = whole();
  seen.member.status.member_id = "1";
  wait_for(*seen.pod, "CrashLoopBackOff");
  kube::ContainerStatus& etcd = seen.pod->status.container_statuses[0];
  etcd.last_state.terminated = {1, "Error", kNoLog};
  const Plan waiting = plan(seen);
  EXPECT_EQ(ready(waiting).reason, v1::kDataLost);

  etcd.state.waiting.reset();
  EXPECT_EQ(ready(plan(seen)).reason, v1::kPodNotReady);
  seen.member.status = waiting.status;
  EXPECT_EQ(ready(plan(seen)).reason, v1::kDataLost) << "each try to start would be told";
}

/// A joiner's first etcd ended before its DNS name existed; the second has joined. The kubelet is
/// late: it still reports the first.
TEST(MemberStatus, K18_WordsFromBeforeItJoinedAreNoLoss) {
  Observation seen = whole();
  seen.member.status.member_id = "1";
  wait_for(*seen.pod, "");
  kube::ContainerStatus& etcd = seen.pod->status.container_statuses[0];
  etcd.state.waiting.reset();
  etcd.state.terminated = {1, "Error", kNoLog};
  EXPECT_EQ(ready(plan(seen)).reason, v1::kDataLost) << "a member of before has lost its data";
  const std::string uid = seen.pod->metadata.uid;
  seen.member.status.joined_in = uid + "/0";
  EXPECT_EQ(ready(plan(seen)).reason, v1::kPodNotReady);
  etcd.restart_count = 1;
  EXPECT_EQ(ready(plan(seen)).reason, v1::kDataLost) << "the run after the one that joined";
  etcd.restart_count = 0;
  etcd.last_state.terminated = etcd.state.terminated;
  etcd.state.terminated.reset();
  etcd.state.waiting.emplace().reason = "CrashLoopBackOff";
  EXPECT_EQ(ready(plan(seen)).reason, v1::kCrashLooping) << "the end of run 0 again";
  for (const std::string& other : {std::string("other/7"), uid + "/x", uid + "x/7"}) {
    seen.member.status.joined_in = other;
    EXPECT_EQ(ready(plan(seen)).reason, v1::kDataLost) << "another Pod: " << other;
  }
}

/// Otherwise Available and readyMembers would change twice for each end of its container.
TEST(MemberStatus, K6_AMemberThatRestartsOftenCountsOnlyAfterAMinute) {
  Observation seen = whole();
  make_ready(*seen.pod);
  seen.member.status.member_id = "1";
  seen.member.status.is_voter = true;
  wait_for(*seen.pod, "");
  kube::ContainerStatus& etcd = seen.pod->status.container_statuses[0];
  etcd.state.waiting.reset();
  etcd.state.running.emplace().started_at = to_rfc3339(seen.now + -10s);
  etcd.last_state.terminated = {137, "OOMKilled", "", to_rfc3339(seen.now + -310s)};
  etcd.restart_count = 2;
  const auto ready_for = [&](std::chrono::seconds time) {
    for (kube::PodCondition& c : seen.pod->status.conditions)
      if (c.type == "Ready") c.last_transition_time = to_rfc3339(seen.now + -time);
    return ready(plan(seen));
  };
  EXPECT_EQ(ready_for(59s).reason, v1::kCrashLooping);
  EXPECT_EQ(ready_for(59s).message,
            "etcd restarted twice within five minutes, last with exit code 137 (OOMKilled): it "
            "needs more memory than its limit; raise spec.resources.limits.memory");
  EXPECT_EQ(ready_for(60s).reason, v1::kPodReady);
  EXPECT_EQ(ready_for(-60s).reason, v1::kPodReady) << "a clock that is wrong holds up nothing";
  etcd.restart_count = 1;
  EXPECT_EQ(ready_for(1s).reason, v1::kPodReady) << "one restart";
  etcd.restart_count = 2;
  etcd.last_state.terminated->started_at = to_rfc3339(seen.now + -311s);
  EXPECT_EQ(ready_for(1s).reason, v1::kPodReady) << "the restarts are far apart";
  etcd.last_state.terminated->started_at = to_rfc3339(seen.now + -310s);
  seen.member.status.is_voter = false;
  EXPECT_EQ(ready_for(1s).reason, v1::kPodReady) << "a joiner is not slowed down";
}

TEST(MemberStatus, ANewMemberIsNotReportedBeforeThereIsSomethingToTell) {
  Observation seen = whole();
  seen.pod.reset();
  seen.volume.reset();
  EXPECT_TRUE(plan(seen).status.conditions.empty());
  seen.member.status.conditions = plan(whole()).status.conditions;
  EXPECT_EQ(ready(plan(seen)).message, "pod phase: Running") << "it may be a moment";
  seen.now = seen.now + 10s;
  EXPECT_EQ(ready(plan(seen)).message, "the Pod does not exist yet")
      << "one that had a Pod has lost it";
  EXPECT_EQ(ready(plan(seen)).status, "False");
}

TEST(MemberStatus, WhatPassesInAYoungPodIsNotToldEachTime) {
  Observation seen = whole();
  seen.pod->status.phase = "Pending";
  seen.member.status = plan(seen).status;
  seen.pod->status.phase = "Running";
  EXPECT_EQ(ready(plan(seen)).message, "pod phase: Pending");
  seen.now = seen.now + 10s;
  EXPECT_EQ(ready(plan(seen)).message, "pod phase: Running");
  seen.now = seen.now + -9s;
  wait_for(*seen.pod, "ErrImagePull");
  EXPECT_EQ(ready(plan(seen)).reason, v1::kImagePullFailed) << "trouble is told at once";
}

TEST(MemberStatus, K13_TheSchedulersWordsChangeOnceAMinute) {
  Observation seen = whole();
  const auto says = [&](const char* words) {
    seen.pod->status.conditions.clear();
    say(*seen.pod, "PodScheduled", "False", "Unschedulable");
    seen.pod->status.conditions.back().message = words;
    seen.member.status = plan(seen).status;
    return ready(plan(seen)).message;
  };
  seen.now = seen.now + 10s;
  EXPECT_EQ(says("0/3 nodes are available: 3 Insufficient cpu."),
            "no node can run the Pod: Insufficient cpu");
  seen.words_s = 59;
  EXPECT_EQ(says("0/4 nodes are available: 4 Too many pods."),
            "no node can run the Pod: Insufficient cpu");
  seen.words_s = 60;
  EXPECT_EQ(says("0/4 nodes are available: 4 Too many pods."),
            "no node can run the Pod: Too many pods");
  seen.words_s = 0;
  wait_for(*seen.pod, "ErrImagePull");
  seen.member.status = plan(seen).status;
  EXPECT_EQ(ready(plan(seen)).reason, v1::kImagePullFailed) << "another problem is told at once";
}

TEST(MemberStatus, ANodeMayTakeAMomentToBeFound) {
  Observation seen = whole();
  seen.member.status = plan(seen).status;
  say(*seen.pod, "PodScheduled", "False", "Unschedulable");
  EXPECT_EQ(ready(plan(seen)).reason, v1::kPodNotReady) << "until its volume is bound";
  seen.member.status.conditions[0].last_transition_time = "never";
  EXPECT_EQ(ready(plan(seen)).reason, v1::kUnschedulable);
}

TEST(MemberStatus, OneThatServedAndDoesNotIsToldAtOnce) {
  Observation seen = whole();
  make_ready(*seen.pod);
  seen.member.status = plan(seen).status;
  seen.pod->status.conditions.clear();
  EXPECT_EQ(ready(plan(seen)).reason, v1::kPodNotReady);
}

TEST(MemberStatus, ItsVersionIsToldWithItsReadiness) {
  Observation seen = whole();
  seen.member.status.version = "3.6.16";
  const auto drifted = [&] {
    const auto status = plan(seen).status;
    const auto* found = runtime::find_condition(status.conditions, v1::kVersionDrifted);
    return found ? found->status + " " + found->reason : "";
  };
  EXPECT_EQ(drifted(), "");
  make_ready(*seen.pod);
  seen.member.status.member_id = "1";
  seen.member.status.version = "";
  EXPECT_EQ(drifted(), "") << "not before etcd has told it";
  seen.member.status.version = "3.6.16";
  EXPECT_EQ(drifted(), "False VersionMatched");
  seen.member.status = plan(seen).status;
  seen.pod->status.conditions.clear();
  EXPECT_EQ(drifted(), "False VersionMatched") << "once told it is kept true";
}

TEST(MemberStatus, NamesPodAndVolumeAndVersion) {
  Observation seen = whole();
  seen.member.status.version = "3.5.35";
  const Plan p = plan(seen);
  EXPECT_EQ(p.status.pod_name, "db-x1");
  EXPECT_EQ(p.status.pod_uid, "p-1");
  EXPECT_EQ(p.status.pvc_name, "data-db-x1");
  EXPECT_EQ(p.status.selector,
            "etcd-operator.cozystack.io/cluster=db,app.kubernetes.io/component=db-x1");
  EXPECT_EQ(p.status.replicas, 1) << "kubectl scale and autoscalers read it";
  const auto* drifted = runtime::find_condition(p.status.conditions, v1::kVersionDrifted);
  ASSERT_NE(drifted, nullptr);
  EXPECT_EQ(drifted->status, "True");
  EXPECT_EQ(drifted->reason, v1::kVersionMismatch);
}

std::string flags(const Json& pod) {
  std::string out;
  for (const Json& word : pod.at("spec").at("containers").at(0).at("command").as_array())
    out += std::string(word.as_string()) + "\n";
  return out;
}

TEST(MemberObjects, ThePodIsTheContractsToTheLetter) {
  const Json made = *pod(member(), {.founds = true}, {});
  EXPECT_EQ(
      flags(made),
      "etcd\n--name=db-x1\n--data-dir=/var/lib/etcd\n--listen-peer-urls=http://0.0.0.0:2380\n"
      "--listen-client-urls=http://0.0.0.0:2379\n--advertise-client-urls=http://"
      "db-x1.db.prod.svc:2379\n"
      "--initial-advertise-peer-urls=http://db-x1.db.prod.svc:2380\n"
      "--initial-cluster=db-x1=http://db-x1.db.prod.svc:2380\n--initial-cluster-token=prod-db-c-1\n"
      "--initial-cluster-state=new\n--listen-metrics-urls=http://0.0.0.0:2381\n");
  const Json& spec = made.at("spec");
  EXPECT_EQ(spec.at("hostname"), "db-x1");
  EXPECT_EQ(spec.at("subdomain"), "db");
  EXPECT_EQ(spec.at("automountServiceAccountToken"), false);
  EXPECT_EQ(spec.at("volumes").at(0).at("persistentVolumeClaim").at("claimName"), "data-db-x1");
  EXPECT_EQ(spec.at("volumes").at(1).at("name"), "tmp");
  EXPECT_EQ(spec.at("securityContext").at("runAsUser"), 65532);
  const Json& etcd = spec.at("containers").at(0);
  EXPECT_EQ(etcd.at("image"), "quay.io/coreos/etcd:v3.6.16");
  EXPECT_EQ(etcd.at("securityContext").at("readOnlyRootFilesystem"), true);
  EXPECT_EQ(etcd.at("readinessProbe").at("httpGet").at("path"), "/readyz");
  EXPECT_EQ(etcd.at("startupProbe").at("httpGet").at("path"), "/livez");
  EXPECT_EQ(etcd.at("resources").at("requests").at("memory"), "128Mi");
  EXPECT_EQ(made.at("metadata").at("ownerReferences").at(0).at("uid"), "m-1");
}

/// A member that an operator started without the flag must be able to start and to join.
TEST(MemberObjects, K15_TheLearnersFlagIsForClustersThatMayHaveHadSeveral) {
  EXPECT_EQ(flags(*pod(member(), {}, {})).find("--max-learners"), std::string::npos);
  EXPECT_NE(flags(*pod(member(), {.many_learners = true}, {})).find("--max-learners=8\n"),
            std::string::npos);
}

TEST(MemberObjects, EachEtcdGetsTheFlagsAndProbesItKnows) {
  v1::EtcdMember m = member();
  m.spec.version = "3.5.35";
  EXPECT_EQ(flags(*pod(m, {.many_learners = true}, {})).find("--max-learners"), std::string::npos)
      << "it has no such flag";
  m.spec.version = "3.5.9";
  const Json old = *pod(m, {}, {});
  EXPECT_EQ(old.at("spec").at("containers").at(0).at("readinessProbe").at("httpGet").at("path"),
            "/health");
  m.spec.version = "3.4.1";
  EXPECT_TRUE(pod(m, {}, {}).failed_with(Code::Invalid));
}

TEST(MemberObjects, ResourcesAndVolumeFollowTheSpec) {
  v1::EtcdMember m = member();
  m.spec.resources = json::parse(R"({"limits":{"memory":"1Gi"}})");
  EXPECT_EQ(pod(m, {}, {})->at("spec").at("containers").at(0).at("resources"), *m.spec.resources);
  m.spec.storage.size = "7Gi";
  EXPECT_EQ(volume(m).at("spec").at("resources").at("requests").at("storage"), "7Gi");
  EXPECT_FALSE(volume(m).at("spec").as_object().contains("storageClassName"));
  m.spec.storage.storage_class_name = "";
  EXPECT_EQ(volume(m).at("spec").at("storageClassName"), "")
      << "empty means: no dynamic provisioning";
}

/// Seed 11915: its Pod was evicted, and nothing is said of an EtcdMember without an owner.
TEST(MemberPlan, I17_AnOrphanWhosePodDoesNotServeIsNotCalledReady) {
  Observation seen = whole();
  make_ready(*seen.pod);
  seen.member.status.member_id = "1";
  seen.member.status = plan(seen).status;
  const auto ready = [&] {
    return runtime::find_condition(plan(seen).status.conditions, v1::kReady)->status;
  };
  ASSERT_EQ(ready(), "True");
  seen.cluster.reset();
  seen.member.metadata.owner_references.clear();
  EXPECT_EQ(ready(), "True");
  seen.pod->status.conditions.clear();
  EXPECT_EQ(ready(), "False") << "seed 34812: it hangs";
  seen.member.status = plan(seen).status;
  make_ready(*seen.pod);
  EXPECT_EQ(ready(), "True") << "it goes on";
  seen.member.status = plan(seen).status;
  seen.pod.reset();
  EXPECT_EQ(ready(), "False");
  seen.member.metadata.owner_references = {owner("EtcdCluster", "db", "c-1")};
  EXPECT_EQ(ready(), "True") << "it goes with its EtcdCluster";
}

/// Seed 71687: its new Pod was refused by the kubelet after the EtcdCluster had gone.
TEST(MemberPlan, I17_WhyThePodOfAnOrphanFailedIsTold) {
  Observation seen = whole();
  seen.member.status.member_id = "1";
  seen.member.status = plan(seen).status;
  seen.cluster.reset();
  seen.member.metadata.owner_references.clear();
  const auto ready = [&] {
    return *runtime::find_condition(plan(seen).status.conditions, v1::kReady);
  };
  ASSERT_EQ(ready().message, "pod phase: Running");
  seen.pod->status.phase = "Failed";
  seen.pod->status.reason = "OutOfpods";
  EXPECT_EQ(ready().reason, v1::kPodFailed);
  EXPECT_EQ(ready().message,
            "Pod db-x1 failed: OutOfpods, and without an EtcdCluster as the owner of this "
            "EtcdMember the operator creates no other one");
  seen.member.status = plan(seen).status;
  EXPECT_EQ(plan(seen).status, seen.member.status) << "once";
  for (api::Condition& c : seen.member.status.conditions)
    if (c.type == v1::kReady) c.reason = v1::kDataLost;
  EXPECT_EQ(ready().reason, v1::kDataLost) << "which says more";
}

}  // namespace
}  // namespace etcdop::member
