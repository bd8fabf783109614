#include "operator/cluster/cluster_metrics.h"

#include <algorithm>
#include <optional>

#include "api/v1alpha2/names.h"
#include "operator/cluster/alarms.h"
#include "operator/cluster/census.h"
#include "operator/cluster/member_report.h"
#include "operator/cluster/outage.h"

namespace etcdop::cluster {
namespace {

using Cluster = ClusterMetrics::Cluster;
using Member = ClusterMetrics::Member;
using runtime::Metrics;

/// One gauge; nullopt: no series.
template <class T>
struct Gauge {
  const char *name, *help;
  std::optional<double> (*of)(const T&);
};

std::optional<double> number(auto value) { return static_cast<double>(value); }
/// For values that only an answer has.
std::optional<double> if_up(const Member& m, auto value) {
  return m.up ? number(value) : std::nullopt;
}

constexpr Gauge<Cluster> kOfClusters[] = {
    {"etcd_operator_cluster_wanted_members", "Voting members that the operator works towards.",
     [](const Cluster& c) { return number(c.wanted); }},
    {"etcd_operator_cluster_members", "EtcdMembers that exist.",
     [](const Cluster& c) { return number(c.members); }},
    {"etcd_operator_cluster_ready_members", "EtcdMembers that are ready.",
     [](const Cluster& c) { return number(c.ready); }},
    {"etcd_operator_cluster_voters", "Voters in etcd's list; absent without a quorum.",
     [](const Cluster& c) { return c.quorum ? number(c.voters) : std::nullopt; }},
    {"etcd_operator_cluster_has_quorum",
     "Whether etcd answered with a quorum: 1, else 0; absent while paused.",
     [](const Cluster& c) {
       return c.phase == api::v1alpha2::kPhasePaused ? std::nullopt : number(c.quorum);
     }},
    {"etcd_operator_cluster_replacement_held",
     "1: a member is not replaced yet, as many clusters became unavailable at once; else 0.",
     [](const Cluster& c) { return number(c.held); }},
    {"etcd_operator_cluster_quorum_seen_timestamp_seconds",
     "When this process last saw etcd answer with a quorum.",
     [](const Cluster& c) {
       const auto at = c.quorum_seen.since_epoch.count();
       return at > 0 ? number(at) : std::nullopt;
     }},
    {"etcd_operator_cluster_db_size_bytes", "Size of the largest member's database file.",
     [](const Cluster& c) {
       std::int64_t largest = 0;
       for (const Member& m : c.each) largest = std::max(largest, m.db_size);
       return largest > 0 ? number(largest) : std::nullopt;
     }},
};

constexpr Gauge<Member> kOfMembers[] = {
    {"etcd_operator_member_up", "Whether it answered: 1, else 0.",
     [](const Member& m) { return number(m.up); }},
    {"etcd_operator_member_is_leader", "Whether it leads: 1, else 0.",
     [](const Member& m) { return number(m.leads); }},
    {"etcd_operator_member_is_learner", "Whether it is a learner: 1, else 0.",
     [](const Member& m) { return number(m.learner); }},
    {"etcd_operator_member_db_size_bytes", "Size of its database file.",
     [](const Member& m) { return if_up(m, m.db_size); }},
    {"etcd_operator_member_db_in_use_bytes",
     "Part of its database file that is in use; a defragmentation frees the rest.",
     [](const Member& m) { return if_up(m, m.db_in_use); }},
    {"etcd_operator_member_raft_lag_entries",
     "Raft log entries that it is behind the furthest member.",
     [](const Member& m) { return if_up(m, m.lag); }},
};

Metrics::Labels labels_of(const api::ObjectKey& key) {
  return {{"namespace", key.ns}, {"name", key.name}};
}

Metrics::Labels with(Metrics::Labels labels, const char* key, const std::string& value) {
  labels[key] = value;
  return labels;
}

}  // namespace

void ClusterMetrics::saw(const Observation& seen, const api::v1alpha2::EtcdClusterStatus& status) {
  const Census census(seen);
  Cluster& out = clusters_[seen.cluster.metadata.key()];
  const auto has_object = [](const Seat& s) { return s.object.has_value(); };
  out.wanted = status.observed ? status.observed->replicas : seen.cluster.spec.replicas;
  out.members = std::ranges::count_if(seen.seats, has_object);
  out.ready = census.ready;
  out.voters = std::ssize(census.voters);
  out.quorum = seen.linearizable;
  if (out.quorum) out.quorum_seen = seen.now;
  out.held = !about_outage(with_verdicts(seen)).empty();
  out.phase = status.phase;
  out.restore_stage =
      status.restore && !status.restore->over() ? to_string(status.restore->stage) : "";
  if (knows_alarms(seen)) out.alarms.clear();
  for (const RaisedAlarm& alarm : seen.alarms) {
    const Seat* of = seat_of(seen, alarm.member);
    out.alarms.emplace_back(of ? of->name : to_hex(alarm.member),
                            alarm.kind == etcd::AlarmKind::Corrupt ? "CORRUPT" : "NOSPACE");
  }
  out.certificates.clear();
  for (const CertificateSeen* const certificate : all_of(seen.tls))
    if (!certificate->serial.empty())
      out.certificates.emplace_back(certificate->secret, certificate->until);
  out.each.clear();
  for (const Seat& seat : seen.seats) {
    Member& member = out.each.emplace_back();
    member.name = seat.name;
    member.up = seat.answer.has_value();
    member.leads = &seat == census.leader;
    member.learner = seat.listed && seat.listed->learner;
    if (!member.up) continue;
    member.db_size = seat.answer->db_size;
    member.db_in_use = seat.answer->db_in_use;
    member.lag = lag_of(seen, seat);
  }
}

void ClusterMetrics::show_in(Metrics& metrics) const {
  for (const Gauge<Cluster>& gauge : kOfClusters)
    metrics.gauges(gauge.name, gauge.help, [this, of = gauge.of](const Metrics::Line& line) {
      for (const auto& [key, cluster] : clusters_)
        if (const auto value = of(cluster)) line(labels_of(key), *value);
    });
  for (const Gauge<Member>& gauge : kOfMembers)
    metrics.gauges(gauge.name, gauge.help, [this, of = gauge.of](const Metrics::Line& line) {
      for (const auto& [key, cluster] : clusters_)
        for (const Member& member : cluster.each)
          if (const auto value = of(member))
            line(with(labels_of(key), "member", member.name), *value);
    });
  metrics.gauges("etcd_operator_member_alarm",
                 "Always 1: etcd's alarm of the label type is raised for the member.",
                 [this](const Metrics::Line& line) {
                   for (const auto& [key, cluster] : clusters_)
                     for (const auto& [member, type] : cluster.alarms)
                       line(with(with(labels_of(key), "member", member), "type", type), 1);
                 });
  metrics.gauges("etcd_operator_certificate_expiry_timestamp_seconds",
                 "When the certificate in that Secret ends.", [this](const Metrics::Line& line) {
                   for (const auto& [key, cluster] : clusters_)
                     for (const auto& [secret, until] : cluster.certificates)
                       line(with(labels_of(key), "secret", secret),
                            static_cast<double>(until.since_epoch.count()));
                 });
  metrics.gauges("etcd_operator_cluster_phase", "Always 1; the label phase is status.phase.",
                 [this](const Metrics::Line& line) {
                   for (const auto& [key, cluster] : clusters_)
                     line(with(labels_of(key), "phase", cluster.phase), 1);
                 });
  metrics.gauges("etcd_operator_cluster_restore",
                 "Always 1 during a restore in place, while no client reaches the cluster; the "
                 "label stage is status.restore.stage.",
                 [this](const Metrics::Line& line) {
                   for (const auto& [key, cluster] : clusters_)
                     if (!cluster.restore_stage.empty())
                       line(with(labels_of(key), "stage", cluster.restore_stage), 1);
                 });
}

}  // namespace etcdop::cluster
