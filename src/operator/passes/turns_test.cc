// Snapshots and defragmentations of one cluster: their order, and that they never wait in a circle.
#include "operator/passes/turns.h"

#include <gtest/gtest.h>

#include "test/support/every.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdSnapshot snapshot(const char* phase, int second, const char* name = "s") {
  v1::EtcdSnapshot out;
  out.metadata.name = name;
  out.metadata.ns = "prod";
  out.metadata.uid = name;
  out.metadata.creation_timestamp = "2026-11-21T03:56:0" + std::to_string(second) + "Z";
  out.spec.cluster_ref.name = "db";
  out.status.phase = phase;
  return out;
}

v1::EtcdDefrag run(const char* phase, int second, const char* reason = "") {
  v1::EtcdDefrag out;
  out.metadata.name = "d";
  out.metadata.ns = "prod";
  out.metadata.uid = "d";
  out.metadata.creation_timestamp = "2026-11-21T03:56:0" + std::to_string(second) + "Z";
  out.spec.cluster_ref.name = "db";
  out.status.phase = phase;
  if (*reason != '\0')
    out.status.conditions.push_back({v1::kDefragChecked, "False", reason, "", "", 0});
  return out;
}

/// "s d": the snapshot before the run, and the run before the snapshot; "-": none.
std::string turns(const v1::EtcdSnapshot& a, const v1::EtcdDefrag& b,
                  std::chrono::seconds later = std::chrono::seconds(0)) {
  Stores stores;
  stores.snapshots.saw(a);
  stores.defrags.saw(b);
  const auto or_nobody = [](const std::string& name) { return name.empty() ? "-" : name; };
  const WallTime now = *from_rfc3339("2026-11-21T03:56:05Z") + later;
  return or_nobody(snapshot_before(stores, b, now)) + " " + or_nobody(run_before(stores, a));
}

TEST(Turns, WhoGoesFirst) {
  constexpr const char* kLine = v1::kSnapshotFirst;
  EXPECT_EQ(turns(snapshot("Started", 5), run("Pending", 1)), "s -") << "it is under way";
  EXPECT_EQ(turns(snapshot("Started", 5), run("Pending", 1, kLine)), "s d")
      << "were it not Started";
  EXPECT_EQ(turns(snapshot("Started", 5), run("Running", 1)), "s d") << "the run waits";
  EXPECT_EQ(turns(snapshot("Pending", 1), run("Running", 5)), "- d") << "the snapshot waits";
  EXPECT_EQ(turns(snapshot("Pending", 1), run("Pending", 5)), "s -") << "the older one";
  EXPECT_EQ(turns(snapshot("Pending", 5), run("Pending", 5)), "s -") << "of the same age";
  EXPECT_EQ(turns(snapshot("Pending", 5), run("Pending", 1)), "- -") << "whoever comes";
  EXPECT_EQ(turns(snapshot("Pending", 5), run("Pending", 1, kLine)), "- d")
      << "younger ones do not pass who stands in line";
  EXPECT_EQ(turns(snapshot("Pending", 5), run("Pending", 1, v1::kClusterNotHealthy)), "- -")
      << "for what is ill a snapshot need not be";
  EXPECT_EQ(turns(snapshot("Pending", 5), run("Pending", 5), kPendingMax), "- -")
      << "nobody looks after it";
  EXPECT_EQ(turns(snapshot("Started", 5), run("Pending", 5), kPendingMax), "s -");
}

TEST(Turns, WhatHasEndedOrIsGoingOrIsOfAnotherClusterIsNotWaitedFor) {
  EXPECT_EQ(turns(snapshot("Complete", 1), run("Complete", 1)), "- -");
  EXPECT_EQ(turns(snapshot("Failed", 1), run("Failed", 1)), "- -");
  v1::EtcdSnapshot leaving = snapshot("Started", 1);
  leaving.metadata.deletion_timestamp = "t";
  v1::EtcdDefrag going = run("Running", 1);
  going.metadata.deletion_timestamp = "t";
  EXPECT_EQ(turns(leaving, going), "- -");
  v1::EtcdDefrag other = run("Running", 1);
  other.spec.cluster_ref.name = "other";
  EXPECT_EQ(turns(snapshot("Started", 1), other), "- -");
}

/// At least one of a run and a snapshot that has not begun need not wait.
TEST(Turns, NobodyWaitsInACircle) {
  testing::Every pick;
  do {
    const v1::EtcdSnapshot a = snapshot(pick(2) == 0 ? "" : "Pending", pick(3));
    constexpr const char* kPhases[] = {"", "Pending", "Running"};
    constexpr const char* kReasons[] = {"", v1::kSnapshotFirst, v1::kClusterNotHealthy};
    const char* phase = kPhases[pick(3)];
    const v1::EtcdDefrag b = run(phase, pick(3), kReasons[pick(3)]);
    ASSERT_NE(turns(a, b), "s d") << a.status.phase << " " << phase;
  } while (pick.next());
}

}  // namespace
}  // namespace etcdop
