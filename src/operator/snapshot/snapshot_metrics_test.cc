#include "operator/snapshot/snapshot_metrics.h"

#include <gtest/gtest.h>

#include "api/v1alpha2/names.h"

namespace etcdop::snapshot {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdSnapshot of(const std::string& name, const std::string& phase, const std::string& since) {
  v1::EtcdSnapshot out;
  out.metadata.name = name;
  out.metadata.ns = "prod";
  out.metadata.uid = name;
  out.spec.cluster_ref.name = name.substr(0, name.find('-'));
  out.status.phase = phase;
  if (!since.empty())
    out.status.conditions.push_back({v1::kReady, "True", v1::kSnapshotComplete, "", since, 1});
  return out;
}

TEST(SnapshotMetrics, CountByPhaseAndTellTheNewest) {
  kube::Store<v1::EtcdSnapshot> there([](const auto& one) { return one.metadata.key(); });
  runtime::Metrics metrics;
  show_in(metrics, there);
  EXPECT_EQ(metrics.text().find("\netcd_operator_snapshot"), std::string::npos) << "none is there";
  there.saw(of("db-1", v1::kSnapshotComplete, "1970-01-01T00:01:40Z"));
  there.saw(of("db-2", v1::kSnapshotComplete, "1970-01-01T00:01:30Z"));
  there.saw(of("db-3", v1::kSnapshotFailed, "1970-01-01T00:02:00Z"));
  there.saw(of("db-4", "", ""));
  there.saw(of("other-1", v1::kSnapshotStarted, ""));
  const std::string text = metrics.text();
  for (const char* line :
       {"etcd_operator_snapshot_last_stored_timestamp_seconds{name=\"db\",namespace=\"prod\"} 100",
        "etcd_operator_snapshots{name=\"db\",namespace=\"prod\",phase=\"Complete\"} 2",
        "etcd_operator_snapshots{name=\"db\",namespace=\"prod\",phase=\"Failed\"} 1",
        "etcd_operator_snapshots{name=\"db\",namespace=\"prod\",phase=\"Pending\"} 1",
        "etcd_operator_snapshots{name=\"other\",namespace=\"prod\",phase=\"Started\"} 1"})
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line << text;
  EXPECT_EQ(text.find("seconds{name=\"other\""), std::string::npos) << "nothing was stored";
}

}  // namespace
}  // namespace etcdop::snapshot
