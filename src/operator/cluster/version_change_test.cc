// Scenario 51, ST9, I14: the version changes that are accepted, by the members' versions.
#include "operator/cluster/version_change.h"

#include <gtest/gtest.h>

#include <sstream>

#include "operator/cluster/plan.h"

namespace etcdop::cluster {
namespace {

/// "3.5.35" answers; "-" before it: unreachable, but known from before; "?": unknown; "z": dormant;
/// "n": never started.
Observation of(const std::string& members, const std::string& observed, const std::string& wanted) {
  Observation seen;
  seen.cluster.metadata.name = "db";
  seen.cluster.spec.version = wanted;
  seen.cluster.status.cluster_id = "c1";
  if (!observed.empty()) seen.cluster.status.observed.emplace().version = observed;
  seen.linearizable = true;
  std::istringstream words(members);
  for (std::string word; words >> word;) {
    Seat& seat = seen.seats.emplace_back();
    seat.name = std::string(1, static_cast<char>('a' + seen.seats.size() - 1));
    const char mark = word[0];
    const std::string version = mark == '3' ? word : word.substr(1);
    if (mark != 'z') seat.listed = Seat::Listed{etcd::MemberId{7}, mark == 'n', mark != 'n'};
    if (mark == '3') seat.answer = Seat::Answer{version, etcd::MemberId{7}};
    if (mark == '?') continue;
    seat.object.emplace().dormant = mark == 'z';
    (mark == 'n' ? seat.object->spec_version : seat.object->version) = version;
  }
  return seen;
}

TEST(VersionChange, S51_Table) {
  struct Row {
    const char *members, *observed, *wanted, *why;  ///< Empty: it is accepted.
  };
  const Row rows[] = {
      {"", "", "3.4.34",
       "spec.version 3.4.34 is not an etcd that this release runs (3.5, 3.6, 3.7)"},
      {"", "", "3.8.0", "spec.version 3.8.0 is not an etcd that this release runs (3.5, 3.6, 3.7)"},
      {"", "", "3.5.1", ""},
      {"3.4.34", "3.4.34", "3.4.34", ""},  // Taken over: accepted.
      {"3.4.34", "3.4.34", "3.5.1", ""},
      {"3.6.15 3.6.15 3.6.15", "3.6.15", "3.6.16", ""},
      {"3.6.16 3.6.16 -3.6.16", "3.6.16", "3.6.15", ""},  // A patch may repair it.
      {"3.5.35 3.5.35 3.5.35", "3.5.35", "3.6.16", ""},
      {"3.6.16 3.6.16 3.6.16", "3.6.16", "3.7.3", ""},
      {"3.5.35 3.5.35 -3.5.35", "3.5.35", "3.6.16",
       "c is not healthy, and a change to the next minor needs all members healthy"},
      {"3.5.35 3.6.16", "3.6.16", "3.7.3", "a runs 3.5.35: go to 3.6 first"},
      {"3.5.35", "3.5.35", "3.7.3", "a runs 3.5.35: go to 3.6 first"},
      {"3.6.16 3.6.16", "3.6.16", "3.5.35",
       "a runs 3.6.16, and etcd takes no member of an older minor"},
      {"3.5.35 3.6.16", "3.6.16", "3.5.35", ""},  // Halfway, and back.
      {"-3.5.35 3.6.16", "3.6.16", "3.5.35", ""},
      {"3.5.26 3.5.25", "3.5.26", "3.6.16",
       "b runs 3.5.25, and 3.5 runs beside 3.6 only from 3.5.26 on"},
      {"3.5.26 3.5.26", "3.5.25", "3.6.4", ""},
      // K13: patches that no new cluster and no change may have; what runs goes on.
      {"3.5.26 3.5.26", "3.5.26", "3.6.3",
       "use 3.6.4 or a later patch: this one lacks a fix of upgrades (etcd PR 20387)"},
      {"", "", "3.6.0",
       "use 3.6.4 or a later patch: this one lacks a fix of upgrades (etcd PR 20387)"},
      {"3.6.2 3.6.2", "3.6.2", "3.6.2", ""},
      {"3.6.2 3.6.16", "3.6.16", "3.6.2", ""},  // The edit is taken back.
      {"3.6.2 3.6.2", "3.6.2", "3.6.16", ""},
      {"3.5.20 3.5.20", "3.5.20", "3.5.25", ""},  // Old patches of one minor run together.
      {"3.5.35 3.6.16", "3.6.16", "3.5.25",
       "b runs 3.6.16, and this patch is too old to run beside it"},
      {"3.6.16 n3.7.99", "3.7.99", "3.6.16", ""},  // A version that no registry has.
      {"3.6.16 n3.7.99", "3.7.99", "3.7.3", ""},
      {"3.6.16 ?", "3.6.15", "3.6.16", "the etcd version of b is unknown"},
      {"z3.5.35", "3.5.35", "3.6.16", ""},
      {"z3.5.25", "3.5.25", "3.6.16", "a runs 3.5.25, and 3.5 runs beside 3.6 only from 3.5.26 on"},
      {"", "3.5.35", "3.7.3", "the cluster runs 3.5.35: go to 3.6 first"},
      {"3.6.16", "", "3.5.35", "a runs 3.6.16, and etcd takes no member of an older minor"},
  };
  for (const Row& row : rows) {
    const std::string why = why_not_version(of(row.members, row.observed, row.wanted));
    const std::string lead = std::string("spec.version ") + row.wanted + ": ";
    EXPECT_EQ(why.starts_with(lead) ? why.substr(lead.size()) : why, row.why)
        << row.members << ", " << row.observed << " to " << row.wanted;
  }
}

/// Seed 1108: the target was accepted while the orphans still seemed to belong to another.
TEST(VersionChange, K17_ATargetFromBeforeTheFirstLookAtMembersIsCompared) {
  Observation seen = of("3.5.35 3.5.35", "3.6.3", "3.6.3");
  EXPECT_EQ(why_not_version(seen), "") << "it was compared when it was accepted";
  seen.cluster.status.cluster_id.clear();
  EXPECT_EQ(why_not_version(seen),
            "spec.version 3.6.3: use 3.6.4 or a later patch: this one lacks a fix of upgrades "
            "(etcd PR 20387)");
  seen.cluster.status.pending_members = {{1, "a", "", ""}};
  EXPECT_EQ(why_not_version(seen), "") << "the cluster made it";
  seen = of("3.4.34", "3.4.34", "3.4.34");
  seen.cluster.status.cluster_id.clear();
  EXPECT_EQ(why_not_version(seen), "") << "what the Go operator founds goes on";
}

/// Seed 6944: the version was edited while the request that creates the first member's Pod was on
/// its way. The Pod came all the same, with the version of before.
TEST(VersionChange, K4_NoMemberJoinsAFirstMemberThatStartedTwoMinorsBelowTheTarget) {
  for (const char* target : {"3.5.35", "3.6.16"})
    EXPECT_EQ(why_not_version(of("3.5.35", target, target)), "") << target;
  Observation seen = of("3.5.35", "3.7.3", "3.7.3");
  EXPECT_EQ(why_not_version(seen), "spec.version: etcd 3.7.3: a runs 3.5.35: go to 3.6 first");
  seen.cluster.spec.version = "3.6.16";
  EXPECT_EQ(why_not_version(seen), "") << "the way out that it names";
}

/// Seed 81902: the same, with a patch beside which the next minor does not run. A cluster that
/// already runs both goes on being repaired.
TEST(VersionChange, K4_NoMemberJoinsAFirstMemberWhosePatchIsTooOldForIt) {
  Observation seen = of("3.5.25", "3.6.16", "3.6.16");
  EXPECT_EQ(why_none_can_join(seen),
            "etcd 3.6.16: a runs 3.5.25, and 3.5 runs beside 3.6 only from 3.5.26 on");
  EXPECT_EQ(why_not_version(seen), "spec.version: " + why_none_can_join(seen));
  for (const char* way_out : {"3.5.25", "3.5.35"}) {
    seen.cluster.spec.version = way_out;
    EXPECT_EQ(why_not_version(seen), "") << way_out;
  }
  EXPECT_EQ(why_none_can_join(of("3.5.25 3.6.16", "3.6.16", "3.6.16")), "");
  EXPECT_EQ(why_none_can_join(of("3.5.25 3.5.25 -3.6.16", "3.6.16", "3.6.16")), "")
      << "it does not answer, and will be repaired";
}

/// Seed 3332: its EtcdMember had no owner and was deleted; a user then gave the others one.
TEST(VersionChange, K17_AJoinerWithoutEtcdMemberIsNotComparedBesideMembersThatWereFound) {
  Observation seen = of("3.5.35", "3.5.35", "3.5.35");
  seen.cluster.status.cluster_id.clear();
  seen.cluster.status.observed.reset();
  Seat& joiner = seen.seats.emplace_back();
  joiner.name = "gone";
  joiner.listed = MemberListed{{9}, true, false};
  EXPECT_EQ(why_not_version(seen), "");
}

TEST(VersionChange, TheNextMinorNeedsAQuorumThatAnswers) {
  Observation seen = of("3.5.35 3.5.35 3.5.35", "3.5.35", "3.6.16");
  seen.linearizable = false;
  EXPECT_EQ(why_not_version(seen),
            "spec.version 3.6.16: etcd does not answer with quorum, and a change to the next minor "
            "needs all members healthy");
}

TEST(VersionChange, WhatAMemberSaysItselfCounts) {
  Observation seen = of("3.5.35", "3.5.35", "3.6.16");
  seen.seats[0].object->version = "3.7.3";
  EXPECT_EQ(why_not_version(seen), "");
}

/// A recorded member may exist already: another operator may have created it.
TEST(VersionChange, WhoWasRecordedIsAsTheTargetWas) {
  Observation seen = of("", "3.5.35", "3.7.3");
  seen.cluster.status.cluster_id.clear();
  EXPECT_EQ(why_not_version(seen), "") << "nobody was";
  seen.cluster.status.pending_members = {{1, "x", "", ""}};
  EXPECT_EQ(why_not_version(seen), "spec.version 3.7.3: the cluster runs 3.5.35: go to 3.6 first");
}

}  // namespace
}  // namespace etcdop::cluster
