// The status of the members, and which of its changes are worth a write.
#include "operator/cluster/member_report.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "api/v1alpha2/names.h"
#include "operator/cluster/plan.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
constexpr std::int64_t kMi = 1 << 20;

/// Three members, a leads; all have 30 Mi and the same log.
Observation three() {
  Observation seen;
  seen.now = kNow;
  seen.cluster.metadata.name = "db";
  seen.linearizable = true;
  for (const char* name : {"a", "b", "c"}) {
    Seat& seat = seen.seats.emplace_back();
    seat.name = name;
    seat.object.emplace();
    seat.object->version = "3.6.16";
    seat.listed = Seat::Listed{{seen.seats.size()}, false, true};
    seat.answer = Seat::Answer{"3.6.16", {1}, 70'000, 70'000, 30 * kMi - 1, kMi};
  }
  return seen;
}

/// The observation of a later pass, after a report.
Observation later(Observation seen, std::chrono::seconds by) {
  report_members(seen, seen.cluster.status);
  seen.now = seen.now + by;
  return seen;
}

v1::EtcdClusterStatus reported(const Observation& seen) {
  v1::EtcdClusterStatus status = seen.cluster.status;
  report_members(seen, status);
  return status;
}

/// "a Leader 3.6.16 30Mi, ..."
std::string text(const std::vector<v1::MemberReport>& members) {
  std::string out;
  for (const v1::MemberReport& m : members) {
    out += out.empty() ? "" : ", ";
    out += m.name;
    for (const std::string& word : {m.role, m.version, m.db_size})
      out += " " + (word.empty() ? "-" : word);
    if (m.lagging) out += " lagging";
  }
  return out;
}

using Edit = std::function<void(Observation&)>;

TEST(MemberReport, Table) {
  struct Row {
    const char* because;
    Edit edit;
    const char* says;
  };
  const Row rows[] = {
      {"sizes are rounded up", [](auto&) {},
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c Follower 3.6.16 30Mi"},
      {"", [](auto& o) { o.seats[2].listed->learner = true; },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c Learner 3.6.16 30Mi"},
      {"who does not answer has the version that it told last",
       [](auto& o) { o.seats[1].answer.reset(); },
       "a Leader 3.6.16 30Mi, b - 3.6.16 -, c Follower 3.6.16 30Mi"},
      {"without a quorum nobody is anything",
       [](auto& o) {
         o.linearizable = false;
         o.seats[2].answer->applied = 1;
       },
       "a - 3.6.16 30Mi, b - 3.6.16 30Mi, c - 3.6.16 30Mi"},
      {"a candidate", [](auto& o) { o.seats[1].answer->leader = {}; },
       "a Leader 3.6.16 30Mi, b - 3.6.16 30Mi, c Follower 3.6.16 30Mi"},
      {"one that has not heard that it is deposed",
       [](auto& o) { o.seats[2].answer->leader = o.seats[2].listed->id; },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c - 3.6.16 30Mi"},
      {"one that is put to sleep", [](auto& o) { o.seats[0].object->dormant = true; },
       "a - 3.6.16 30Mi, b Follower 3.6.16 30Mi, c Follower 3.6.16 30Mi"},
      {"as many as etcd keeps for those that lag",
       [](auto& o) { o.seats[1].answer->applied = 65'000; },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c Follower 3.6.16 30Mi"},
      {"one more", [](auto& o) { o.seats[1].answer->applied = 64'999; },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi lagging, c Follower 3.6.16 30Mi"},
      {"a member that etcd has and nobody made",
       [](auto& o) {
         o.seats[2].object.reset();
         o.seats[2].answer.reset();
       },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c - - -"},
      {"one that etcd does not have yet",
       [](auto& o) {
         o.seats[2].object = Seat::Object();
         o.seats[2].listed.reset();
         o.seats[2].answer.reset();
       },
       "a Leader 3.6.16 30Mi, b Follower 3.6.16 30Mi, c - - -"},
  };
  for (const Row& row : rows) {
    Observation seen = three();
    row.edit(seen);
    EXPECT_EQ(text(reported(seen).members), row.says) << row.because;
  }
}

TEST(MemberReport, SaysWhoLeadsAndHowLargeTheLargestIs) {
  Observation seen = three();
  seen.seats[1].answer->db_size = 2048 * kMi;
  const v1::EtcdClusterStatus status = reported(seen);
  EXPECT_EQ(status.leader, "a");
  EXPECT_EQ(status.db_size, "2048Mi");
  EXPECT_EQ(status.members[1].member_id, "0000000000000002");
  EXPECT_EQ(status.reported_at, to_rfc3339(kNow));
  seen.seats[0].object->dormant = true;
  EXPECT_EQ(reported(seen).leader, "");
  seen.seats[0].object->dormant = false;
  seen.linearizable = false;
  EXPECT_EQ(reported(seen).leader, "");
}

TEST(MemberReport, WhatAMemberToldLastStaysUntilThereIsAnother) {
  Observation seen = later(three(), 1h);
  seen.seats[1].answer.reset();
  EXPECT_EQ(text({reported(seen).members[1]}), "b - 3.6.16 30Mi");
  seen.seats[1].listed->id = {9};
  EXPECT_EQ(text({reported(seen).members[1]}), "b - 3.6.16 -");
}

/// I9: no write at rest, and under a lasting change at most one a minute.
TEST(MemberReport, IsWrittenByItselfOnlyIfItIsOldAndSaysSomethingElse) {
  struct Row {
    const char* because;
    std::chrono::seconds age;
    Edit edit;
    bool written;
  };
  const auto grown_to = [](std::int64_t bytes) {
    return [bytes](Observation& o) { o.seats[1].answer->db_size = bytes; };
  };
  const Edit other_leader = [](Observation& o) {
    for (Seat& seat : o.seats) seat.answer->leader = {2};
  };
  const auto lags_by = [](std::uint64_t entries) {
    return [entries](Observation& o) { o.seats[1].answer->applied -= entries; };
  };
  const Row rows[] = {
      {"nothing new", 24h, [](auto&) {}, false},
      {"young", 60s, other_leader, false},
      {"a minute has passed", 61s, other_leader, true},
      {"silence", 61s, [](auto& o) { o.seats[1].answer.reset(); }, true},
      {"a version", 61s, [](auto& o) { o.seats[1].answer->version = "3.6.17"; }, true},
      {"one more", 61s, [](auto& o) { o.seats.emplace_back().name = "d"; }, true},
      {"a few entries are nothing", 24h, lags_by(5000), false},
      {"many are", 61s, lags_by(5001), true},
      {"grown by a tenth", 24h, grown_to(33 * kMi), false},
      {"by more", 300s, grown_to(34 * kMi), true},
      {"which has time", 299s, grown_to(34 * kMi), false},
      {"the first of them", 300s, [](auto& o) { o.seats[0].answer->db_size = 34 * kMi; }, true},
      {"shrunk", 300s, grown_to(26 * kMi), true},
      {"a little", 24h, grown_to(27 * kMi), false},
      {"the date went back", -1s, other_leader, true},
      {"and nothing else", -1s, [](auto&) {}, false},
  };
  for (const Row& row : rows) {
    Observation seen = later(three(), row.age);
    row.edit(seen);
    const v1::EtcdClusterStatus status = reported(seen);
    EXPECT_EQ(!(status == seen.cluster.status), row.written) << row.because << " " << row.age;
    EXPECT_EQ(status.reported_at == to_rfc3339(seen.now), row.written) << row.because;
  }
  Observation small = three();
  for (Seat& seat : small.seats) seat.answer->db_size = kMi;
  small = later(small, 24h);
  small.seats[0].answer->db_size = 2 * kMi;
  EXPECT_TRUE(reported(small) == small.cluster.status) << "one Mi is nothing, whatever part it is";
}

TEST(MemberReport, IsWrittenWithWhateverIsWrittenAnyway) {
  Observation seen = later(three(), 1s);
  seen.seats[0].answer->db_size = 31 * kMi;
  v1::EtcdClusterStatus status = seen.cluster.status;
  status.ready_members = 3;
  report_members(seen, status);
  EXPECT_EQ(status.db_size, "31Mi");
  EXPECT_EQ(status.reported_at, to_rfc3339(seen.now));
}

TEST(MemberReport, WhoLaggedHasCaughtUpWhenItIsLevelNearly) {
  Observation seen = three();
  seen.seats[1].answer->applied -= 6000;
  seen = later(seen, 1h);
  const auto lags = [&](std::uint64_t entries) {
    seen.seats[1].answer->applied = 70'000 - entries;
    return reported(seen).members[1].lagging;
  };
  EXPECT_TRUE(lags(1001));
  EXPECT_FALSE(lags(1000));
}

TEST(MemberReport, APhaseForEachTurnOfACluster) {
  struct Row {
    const char* conditions;  ///< Available, Degraded, Progressing.
    const char* phase;
  };
  const Row rows[] = {
      {"", "Creating"},
      {"- - True/InitialSnapshot", "Creating"},
      {"- - True/WaitingForSeed", "Creating"},
      {"True/ClusterDiscovered True/MembersUnhealthy True/InitialSnapshot", "Creating"},
      {"- - False/NotImplemented", "Refused"},
      {"- - False/UnsupportedVersion", "Refused"},
      {"- - False/CertificateMissing", "Refused"},
      {"- - False/UnsupportedFlag", "Refused"},
      {"- - False/PodTemplateConflict", "Refused"},
      {"False/BootstrapFailed - False/BootstrapFailed", "Failed"},
      {"True/QuorumHealthy False/QuorumHealthy False/Reconciled", "Ready"},
      {"True/QuorumHealthy False/QuorumHealthy True/SpecChanged", "Progressing"},
      {"True/QuorumAvailable True/MembersUnhealthy True/MemberReplacing", "Progressing"},
      {"True/QuorumAvailable True/ForeignMember True/MemberReplacing", "Degraded"},
      {"True/QuorumAvailable True/MembersUnhealthy False/Reconciled", "Degraded"},
      {"True/QuorumAvailable True/MembersUnhealthy False/DeadlineExceeded", "Degraded"},
      {"True/QuorumHealthy False/QuorumHealthy False/DeadlineExceeded", "Stalled"},
      {"True/QuorumHealthy False/QuorumHealthy False/NotImplemented", "Refused"},
      {"True/QuorumHealthy False/QuorumHealthy False/UnsupportedVersion", "Refused"},
      {"False/Paused False/Paused False/Paused", "Paused"},
      {"False/QuorumLost True/QuorumLost True/MemberReplacing", "QuorumLost"},
      {"False/DataLost True/DataLost False/Reconciled", "DataLost"},
      {"Unknown/SplitBrain True/SplitBrain False/Reconciled", "SplitBrain"},
      {"Unknown/ClusterUnreachable True/QuorumLost False/Reconciled", "Unreachable"},
      {"False/SomethingNew True/SomethingNew False/Reconciled", "Unreachable"},
  };
  for (const Row& row : rows) {
    std::vector<api::Condition> conditions;
    std::istringstream words(row.conditions);
    for (const char* type : {v1::kAvailable, v1::kDegraded, v1::kProgressing}) {
      std::string word;
      words >> word;
      if (const auto slash = word.find('/'); slash != std::string::npos)
        runtime::set_condition(conditions,
                               {type, word.substr(0, slash), word.substr(slash + 1), ""}, 1, kNow);
    }
    EXPECT_EQ(phase_of(conditions), row.phase) << row.conditions;
  }
}

TEST(MemberReport, IsPartOfEachPlan) {
  Observation none;
  none.now = kNow;
  none.cluster.spec.version = "2.3.8";
  EXPECT_EQ(plan(none).status.phase, "Refused");
  Observation seen = three();
  seen.cluster.spec.version = "3.6.16";
  EXPECT_EQ(plan(seen).status.phase, "Creating");
  EXPECT_EQ(plan(seen).status.leader, "a");
}

TEST(MemberReport, F3_OnlyWhatWasMeasuredWaitsForAnotherChange) {
  struct Row {
    const char* patch;
    bool waits;
  };
  const Row rows[] = {
      {R"({"reportedAt":"t"})", true},
      {R"({"reportedAt":"t","leader":"a","dbSize":"1Mi","members":[]})", true},
      {R"({"reportedAt":"t","phase":"Ready"})", false},
      {R"({"members":[{"attempts":1}]})", false},  // An EtcdDefrag's.
      {R"({})", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(has_only_measurements(json::parse(row.patch).as_object()), row.waits) << row.patch;
}

}  // namespace
}  // namespace etcdop::cluster
