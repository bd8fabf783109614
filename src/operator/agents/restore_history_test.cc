#include "operator/agents/restore_history.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::SnapshotLocation from(const std::string& file) {
  v1::SnapshotLocation out;
  out.pvc = v1::PvcLocation{.claim_name = "backups", .sub_path = file};
  return out;
}

v1::RestoreRecord record(const std::string& name, const std::string& uid, v1::RestoreStage stage) {
  v1::RestoreRecord out;
  out.name = name;
  out.uid = uid;
  out.stage = stage;
  out.from.source = from(name + ".db");
  out.from.checksum = "sha256:" + name;
  return out;
}

TEST(RestoreHistory, ACommitIsKnownByNameSourceAndRunId) {
  v1::EtcdClusterStatus status;
  const RestoreIdentity a{"a", from("a.db"), "", ""};
  EXPECT_FALSE(committed_before(status, a));
  status.restore = record("a", "1", v1::RestoreStage::Committed);
  ASSERT_TRUE(committed_before(status, a)) << "a release before this one kept no other record";
  EXPECT_EQ(committed_before(status, a)->checksum, "sha256:a");
  EXPECT_FALSE(committed_before(status, {"b", from("a.db"), "", ""})) << "another EtcdRestore";
  EXPECT_FALSE(committed_before(status, {"a", from("b.db"), "", ""})) << "another snapshot";
  EXPECT_TRUE(committed_before(status, {"a", from("b.db"), "", "sha256:a"})) << "it was moved";
  EXPECT_TRUE(committed_before(status, {"a", from("a.db"), "", "sha256:b"}))
      << "what is there now would take writes away, too";
  EXPECT_FALSE(committed_before(status, {"a", from("a.db"), "again", ""})) << "its user asks";
  RestoreIdentity other_keys = a;
  other_keys.source.encryption.emplace();
  EXPECT_TRUE(committed_before(status, other_keys)) << "only the way in has changed";
  EXPECT_TRUE(committed_as(status, "1"));
  EXPECT_FALSE(committed_as(status, "2"));
}

TEST(RestoreHistory, WhatWasTakenBackOrIsUnderWayIsNoCommit) {
  for (const v1::RestoreStage stage :
       {v1::RestoreStage::Stopping, v1::RestoreStage::Restoring, v1::RestoreStage::Review,
        v1::RestoreStage::RollingBack, v1::RestoreStage::RolledBack}) {
    v1::EtcdClusterStatus status;
    status.restore = record("a", "1", stage);
    EXPECT_FALSE(committed_before(status, {"a", from("a.db"), "", ""})) << to_string(stage);
    remember_commit(status);
    EXPECT_TRUE(status.restores.empty()) << to_string(stage);
  }
  v1::EtcdClusterStatus status;
  status.restore = record("a", "1", v1::RestoreStage::Committing);
  EXPECT_TRUE(committed_before(status, {"a", from("a.db"), "", ""})) << "there is no way back";
}

TEST(RestoreHistory, TheLastSixteenAreRememberedOnceEach) {
  v1::EtcdClusterStatus status;
  for (int i = 1; i <= 20; ++i) {
    const std::string n = std::to_string(i);
    status.restore = record("r" + n, n, v1::RestoreStage::Committed);
    remember_commit(status);
    remember_commit(status);
  }
  ASSERT_EQ(status.restores.size(), kCommitsKept);
  EXPECT_EQ(status.restores.front().name, "r5");
  EXPECT_EQ(status.restores.back().name, "r20");
  EXPECT_FALSE(committed_before(status, {"r4", from("r4.db"), "", ""}));
  EXPECT_TRUE(committed_before(status, {"r5", from("r5.db"), "", ""}));
}

}  // namespace
}  // namespace etcdop
