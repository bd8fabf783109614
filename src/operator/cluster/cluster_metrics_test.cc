// The scraped text, after passes over clusters.
#include "operator/cluster/cluster_metrics.h"

#include <gtest/gtest.h>

#include <sstream>

#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;
using namespace std::chrono_literals;

/// a leads, b learns, c does not answer.
Observation seen_of(const std::string& name) {
  Observation seen;
  seen.now = WallTime{1795233378s};
  seen.cluster.metadata.ns = "prod";
  seen.cluster.metadata.name = name;
  seen.cluster.spec.replicas = 3;
  seen.linearizable = true;
  for (const char* member : {"a", "b", "c"}) {
    Seat& seat = seen.seats.emplace_back();
    seat.name = member;
    seat.object.emplace();
    seat.listed = Seat::Listed{{seen.seats.size()}, false, true};
    seat.answer = Seat::Answer{"3.6.16", {1}, 90, 100, 2048, 1024};
  }
  seen.seats[0].answer->applied = 100;
  seen.seats[0].object->ready = true;
  seen.seats[1].listed->learner = true;
  seen.seats[1].answer->db_size = 4096;
  seen.seats[2].answer.reset();
  return seen;
}

v1::EtcdClusterStatus status_of(const char* phase) {
  v1::EtcdClusterStatus status;
  status.phase = phase;
  return status;
}

struct Scraped {
  ClusterMetrics clusters;
  runtime::Metrics metrics;
  Scraped() { clusters.show_in(metrics); }
  /// "cluster_voters{name="x",...} 2" of each line, without comments.
  std::string lines(const std::string& with = "") {
    std::string out;
    std::istringstream text(metrics.text());
    for (std::string line; std::getline(text, line);)
      if (line[0] != '#' && line.find(with) != std::string::npos) out += line.substr(14) + "\n";
    return out;
  }
};

TEST(ClusterMetrics, K2_AReplacementThatWaitsForAnOutageToEndIsMeasured) {
  Scraped it;
  Observation seen = seen_of("db");
  seen.others = seen.others_unavailable = 3;
  seen.seats[2].object.emplace().lost = true;
  it.clusters.saw(seen, status_of(v1::kPhaseDegraded));
  EXPECT_EQ(it.lines("replacement_held"),
            "cluster_replacement_held{name=\"db\",namespace=\"prod\"} 1\n");
}

TEST(ClusterMetrics, AreWhatThePassSaw) {
  Scraped it;
  it.clusters.saw(seen_of("db"), status_of(v1::kPhaseProgressing));
  EXPECT_EQ(it.lines(), R"(cluster_db_size_bytes{name="db",namespace="prod"} 4096
cluster_has_quorum{name="db",namespace="prod"} 1
cluster_members{name="db",namespace="prod"} 3
cluster_phase{name="db",namespace="prod",phase="Progressing"} 1
cluster_quorum_seen_timestamp_seconds{name="db",namespace="prod"} 1795233378
cluster_ready_members{name="db",namespace="prod"} 1
cluster_replacement_held{name="db",namespace="prod"} 0
cluster_voters{name="db",namespace="prod"} 2
cluster_wanted_members{name="db",namespace="prod"} 3
member_db_in_use_bytes{member="a",name="db",namespace="prod"} 1024
member_db_in_use_bytes{member="b",name="db",namespace="prod"} 1024
member_db_size_bytes{member="a",name="db",namespace="prod"} 2048
member_db_size_bytes{member="b",name="db",namespace="prod"} 4096
member_is_leader{member="a",name="db",namespace="prod"} 1
member_is_leader{member="b",name="db",namespace="prod"} 0
member_is_leader{member="c",name="db",namespace="prod"} 0
member_is_learner{member="a",name="db",namespace="prod"} 0
member_is_learner{member="b",name="db",namespace="prod"} 1
member_is_learner{member="c",name="db",namespace="prod"} 0
member_raft_lag_entries{member="a",name="db",namespace="prod"} 0
member_raft_lag_entries{member="b",name="db",namespace="prod"} 10
member_up{member="a",name="db",namespace="prod"} 1
member_up{member="b",name="db",namespace="prod"} 1
member_up{member="c",name="db",namespace="prod"} 0
)");
}

TEST(ClusterMetrics, ARestoreInPlaceIsThereWhileItLasts) {
  Scraped it;
  v1::EtcdClusterStatus status = status_of(v1::kPhaseProgressing);
  it.clusters.saw(seen_of("db"), status);
  EXPECT_EQ(it.lines("restore"), "");
  status.restore.emplace().stage = v1::RestoreStage::Review;
  it.clusters.saw(seen_of("db"), status);
  EXPECT_EQ(it.lines("restore"),
            "cluster_restore{name=\"db\",namespace=\"prod\",stage=\"Review\"} 1\n");
  status.restore->stage = v1::RestoreStage::Committed;
  it.clusters.saw(seen_of("db"), status);
  EXPECT_EQ(it.lines("restore"), "");
}

TEST(ClusterMetrics, AlarmsAreThereUntilEtcdSaysThatTheyAreNot) {
  Scraped it;
  Observation seen = seen_of("db");
  seen.alarms = {{{9}, etcd::AlarmKind::Corrupt}, {{1}, etcd::AlarmKind::NoSpace}};
  it.clusters.saw(seen, status_of(v1::kPhaseCorrupt));
  const std::string raised =
      "member_alarm{member=\"0000000000000009\",name=\"db\",namespace=\"prod\",type=\"CORRUPT\"} "
      "1\n"
      "member_alarm{member=\"a\",name=\"db\",namespace=\"prod\",type=\"NOSPACE\"} 1\n";
  EXPECT_EQ(it.lines("member_alarm"), raised);
  seen.alarms.clear();
  seen.alarms_hidden = true;
  it.clusters.saw(seen, status_of(v1::kPhaseCorrupt));
  EXPECT_EQ(it.lines("member_alarm"), raised);
  seen.alarms_hidden = false;
  it.clusters.saw(seen, status_of(v1::kPhaseReady));
  EXPECT_EQ(it.lines("member_alarm"), "");
}

TEST(ClusterMetrics, WhatIsNotKnownHasNoLine) {
  Scraped it;
  Observation seen = seen_of("db");
  it.clusters.saw(seen, status_of(v1::kPhaseReady));
  seen.now = seen.now + 60s;
  seen.linearizable = false;
  for (Seat& seat : seen.seats) {
    seat.listed.reset();
    seat.answer.reset();
  }
  it.clusters.saw(seen, status_of(v1::kPhaseUnreachable));
  EXPECT_EQ(it.lines("cluster_voters") + it.lines("db_size") + it.lines("raft_lag"), "");
  EXPECT_EQ(it.lines("has_quorum"), "cluster_has_quorum{name=\"db\",namespace=\"prod\"} 0\n");
  EXPECT_NE(it.lines("quorum_seen").find(" 1795233378\n"), std::string::npos) << "as long as that";
  it.clusters.saw(seen, status_of(v1::kPhasePaused));
  EXPECT_EQ(it.lines("has_quorum"), "") << "nobody wants one";
}

TEST(ClusterMetrics, WhoIsGoneHasNoLines) {
  Scraped it;
  it.clusters.saw(seen_of("db"), status_of(v1::kPhaseReady));
  Observation other = seen_of("other");
  it.clusters.saw(other, status_of(v1::kPhaseReady));
  other.seats.pop_back();
  it.clusters.saw(other, status_of(v1::kPhaseReady));
  EXPECT_EQ(it.lines("member=\"c\",name=\"other\""), "");
  EXPECT_NE(it.lines("member=\"c\",name=\"db\""), "");
  it.clusters.gone({"prod", "other"});
  EXPECT_EQ(it.lines("other"), "");
  EXPECT_NE(it.lines("name=\"db\""), "");
  it.clusters.gone({"prod", "db"});
  EXPECT_EQ(it.metrics.text(), "");
}

}  // namespace
}  // namespace etcdop::cluster
