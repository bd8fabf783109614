// When a cluster needs --max-learners, as a table that you can check by hand.
#include "operator/cluster/learners.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

/// A voter that has applied so many entries. Its Pod has the flag.
Seat voter(const std::string& name, std::uint64_t applied) {
  Seat seat;
  seat.name = name;
  seat.object.emplace().uid = "uid-" + name;
  seat.pod = Seat::Pod{.node = "n", .many_learners = true, .run = "pod-" + name + "/0"};
  seat.listed = Seat::Listed{.id = {static_cast<std::uint64_t>(name[0])}, .started = true};
  seat.answer = Seat::Answer{"3.6.16", {}, applied, applied};
  return seat;
}

/// A cluster of an earlier release, at the first look of this one: its members have applied 700
/// entries.
Observation first_look() {
  Observation seen;
  seen.cluster.status.cluster_id = "00000000000000c1";
  seen.cluster_id = etcd::ClusterId{0xc1};
  seen.linearizable = true;
  for (const char* name : {"a", "b", "c"}) seen.seats.push_back(voter(name, 700));
  return seen;
}

v1::EtcdClusterStatus after(const Observation& seen) {
  v1::EtcdClusterStatus status = seen.cluster.status;
  note_learners(seen, status);
  return status;
}

/// The same cluster, in a later pass.
Observation later(Observation seen, std::uint64_t applied) {
  seen.cluster.status = after(seen);
  for (Seat& seat : seen.seats) seat.answer->applied = seat.answer->index = applied;
  return seen;
}

void run_without_flag(Observation& seen) {
  for (Seat& seat : seen.seats) seat.pod->many_learners = false;
}

/// 5,000 entries for joiners, 10,000 between two snapshots of 3.6, 1,000 for a batch.
constexpr std::uint64_t kSafe = 16'000;

TEST(Learners, K15_TheFirstLookRecordsWhereTheOldLogEnds) {
  Observation seen = first_look();
  seen.seats[1].answer->index = 702;  // The newest that any voter knows.
  const auto status = after(seen);
  EXPECT_EQ(status.max_learners, v1::kManyLearners);
  ASSERT_TRUE(status.old_log);
  EXPECT_EQ(status.old_log->cluster_id, "00000000000000c1");
  EXPECT_EQ(status.old_log->raft_index, 702);
  EXPECT_EQ(status.old_log->safe_above, kSafe);
  EXPECT_EQ(after(later(seen, 5000)).old_log, status.old_log) << "it is written once";
}

TEST(Learners, K15_OnlyAnswersOfAllVotersOfThisClusterTellWhereTheOldLogEnds) {
  const std::pair<const char*, std::function<void(Observation&)>> rows[] = {
      {"no list of this pass", [](auto& s) { s.linearizable = false; }},
      {"the leader may be silent", [](auto& s) { s.seats[0].answer.reset(); }},
      {"another etcd answers", [](auto& s) { s.cluster_id = etcd::ClusterId{0xc2}; }},
      {"no cluster is known", [](auto& s) { s.cluster_id.reset(); }},
      {"no index was told", [](auto& s) { s.seats[2].answer->index = 0; }},
      {"nothing is listed",
       [](auto& s) {
         for (auto& seat : s.seats) seat.listed.reset();
       }},
      {"two learners are in the list yet",
       [](auto& s) { s.seats[1].listed->learner = s.seats[2].listed->learner = true; }},
  };
  for (const auto& [why, edit] : rows) {
    Observation seen = first_look();
    edit(seen);
    EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << why;
    EXPECT_FALSE(after(seen).old_log) << why;
  }
}

TEST(Learners, K15_TheFlagIsDroppedWhenEveryVoterIsPastTheOldLog) {
  Observation seen = later(first_look(), kSafe);
  EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << "at it, not past it";
  seen = later(seen, kSafe + 1);
  const auto status = after(seen);
  EXPECT_EQ(status.max_learners, 1);
  EXPECT_EQ(status.old_log->pods, (std::vector<std::string>{"pod-a", "pod-b", "pod-c"}));
  const std::pair<const char*, std::function<void(Observation&)>> rows[] = {
      {"one lags", [](auto& s) { s.seats[2].answer->applied = kSafe; }},
      {"one is silent", [](auto& s) { s.seats[2].answer.reset(); }},
      {"no list of this pass", [](auto& s) { s.linearizable = false; }},
      {"one learns", [](auto& s) { s.seats[2].listed->learner = true; }},
      {"volumes of before a restore", [](auto& s) { s.kept.push_back(voter("k", 1)); }},
      {"its index is of another cluster",
       [](auto& s) { s.cluster.status.old_log->cluster_id = "00000000000000c2"; }},
  };
  for (const auto& [why, edit] : rows) {
    Observation other = seen;
    edit(other);
    EXPECT_EQ(after(other).max_learners, v1::kManyLearners) << why;
  }
}

TEST(Learners, K15_AfterARestoreTheOldLogIsThatOfTheRestoredEtcd) {
  Observation seen = later(first_look(), 20'000);
  seen.cluster.status.cluster_id = "00000000000000c2";
  seen.cluster_id = etcd::ClusterId{0xc2};
  for (Seat& seat : seen.seats) seat.answer->applied = seat.answer->index = 40'000;
  const auto status = after(seen);
  EXPECT_EQ(status.max_learners, v1::kManyLearners);
  EXPECT_EQ(status.old_log->cluster_id, "00000000000000c2");
  EXPECT_EQ(status.old_log->raft_index, 40'000);
}

/// Each is a number of entries after which a voter starts from a snapshot, and sends one.
TEST(Learners, K15_HowFarIsFarEnoughFollowsFromEachVotersFlags) {
  const struct {
    std::int64_t snapshot_count, catch_up;
    const char* version;
    std::uint64_t index;
    std::int64_t safe;
  } rows[] = {
      {0, 0, "3.6.16", 700, 16'000},      {0, 0, "3.7.3", 700, 16'000},
      {0, 0, "3.6.16", 50'000, 61'000},   {100, 0, "3.6.16", 700, 11'000},
      {20'000, 0, "3.6.16", 700, 26'000}, {20'000, 0, "3.6.16", 50'000, 71'000},
      {0, 30'000, "3.6.16", 700, 41'000}, {0, 0, "3.5.35", 700, 106'000},
  };
  for (const auto& row : rows) {
    Observation seen = first_look();
    for (Seat& seat : seen.seats) {
      seat.answer->index = row.index;
      seat.answer->version = row.version;
      seat.pod->snapshot_count = row.snapshot_count;
      seat.pod->catch_up = row.catch_up;
    }
    EXPECT_EQ(after(seen).old_log->safe_above, row.safe)
        << row.snapshot_count << " " << row.catch_up << " " << row.version << " " << row.index;
  }
  Observation seen = first_look();
  seen.seats[1].pod->snapshot_count = 20'000;
  EXPECT_EQ(after(seen).old_log->safe_above, 26'000) << "that of the slowest voter counts";
  seen.seats[0].pod->snapshot_count = std::numeric_limits<std::int64_t>::max();
  EXPECT_GT(after(seen).old_log->safe_above, 900'000'000'000) << "nothing overflows";
}

TEST(Learners, K15_PodsKeepTheFlagUntilTheyAreMadeAnewWithoutBringingItBack) {
  Observation seen = later(first_look(), kSafe + 1);
  seen = later(seen, kSafe + 9);
  ASSERT_EQ(seen.cluster.status.max_learners, 1);
  EXPECT_EQ(after(seen), seen.cluster.status) << "they run on";
  seen.seats[0].pod->run = "pod-a/3";
  EXPECT_EQ(after(seen), seen.cluster.status) << "its container started again";
  seen.seats[0].pod = Seat::Pod{.node = "n", .run = "pod-new/0"};
  EXPECT_EQ(after(seen), seen.cluster.status);
  seen.seats[0].pod->many_learners = true;
  const auto status = after(seen);
  EXPECT_EQ(status.max_learners, v1::kManyLearners) << "an earlier release has made a Pod since";
  EXPECT_EQ(status.old_log->raft_index, kSafe + 9) << "and may have added learners until now";
  EXPECT_TRUE(status.old_log->pods.empty());
}

TEST(Learners, K15_ThatTwoLearnersAreSeenBringsTheFlagBack) {
  Observation seen = later(first_look(), kSafe + 1);
  seen.cluster.status = after(seen);
  ASSERT_EQ(seen.cluster.status.max_learners, 1);
  seen.seats.push_back(voter("d", 1));
  seen.seats.push_back(voter("e", 1));
  for (const std::size_t i : {3U, 4U}) {
    seen.seats[i].listed->learner = true;
    seen.seats[i].object.reset();
    seen.seats[i].pod.reset();
  }
  EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << "a user adds them with etcdctl";
  EXPECT_FALSE(after(seen).old_log);
  seen.cluster.status = after(first_look());
  EXPECT_TRUE(seen.cluster.status.old_log);
  seen.seats[0].answer.reset();
  EXPECT_FALSE(after(seen).old_log) << "it did not end before them, whoever answers";
}

TEST(Learners, K15_AVersionThatTakesOneLearnerOnlyNeedsNoFlag) {
  Observation seen = first_look();
  run_without_flag(seen);
  for (Seat& seat : seen.seats) seat.answer->version = "3.5.35";
  EXPECT_EQ(after(seen).max_learners, 1);
  EXPECT_FALSE(after(seen).old_log);
  seen.seats[2].answer->version = "3.6.16";
  EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << "one that takes several";
  seen.seats[2].answer->version = "?";
  EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << "one that we cannot read";
}

TEST(Learners, K15_WhatThisReleaseFoundedHasNoOldLog) {
  Observation seen = first_look();
  run_without_flag(seen);
  seen.cluster.status.max_learners = 1;
  EXPECT_EQ(after(seen), seen.cluster.status);
  seen.seats[2].pod->many_learners = true;
  EXPECT_EQ(after(seen).max_learners, v1::kManyLearners) << "an earlier release has had it since";
  seen.seats[2].pod->founds = true;
  EXPECT_EQ(after(seen).max_learners, 1) << "such a Pod is made again before others join";
  seen.cluster.status = {};
  seen.seats.clear();
  EXPECT_EQ(after(seen), v1::EtcdClusterStatus{}) << "nothing was founded";
}

}  // namespace
}  // namespace etcdop::cluster
