#include "agent/manifest.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::agent {
namespace {

Manifest manifest() {
  AgentReport report;
  report.uri = "s3://backups/db.db";
  report.size_bytes = 20512;
  report.checksum = "sha256:" + std::string(64, '0');
  report.etcd_version = "3.6.16";
  report.cluster_id = "00000000000000c1";
  report.member_id = "00000000000000a1";
  report.revision = 7;
  return {.snapshot_name = "nightly",
          .snapshot_uid = "0b5c-1",
          .taken_at = {std::chrono::seconds(1'767'225'600)},
          .attempt = "1",
          .report = report};
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(Manifest, SaysAllThatTheReportSays) {
  EXPECT_EQ(to_text(manifest()),
            "{\"kind\":\"EtcdSnapshotManifest\",\"formatVersion\":1,\"snapshotName\":\"nightly\","
            "\"snapshotUID\":\"0b5c-1\",\"attempt\":\"1\",\"takenAt\":\"2026-01-01T00:00:00Z\","
            "\"uri\":\"s3://backups/db.db\",\"sizeBytes\":20512,\"checksum\":\"sha256:" +
                std::string(64, '0') +
                "\",\"etcdVersion\":\"3.6.16\",\"clusterID\":\"00000000000000c1\","
                "\"memberID\":\"00000000000000a1\",\"revision\":7}\n");
}

TEST(Manifest, IsReadAsItWasWritten) {
  auto read = to_manifest(to_text(manifest()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, manifest());
}

TEST(Manifest, RefusesWhatIsNone) {
  const std::string good = to_text(manifest());
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() / 2), std::string("{}"),
        replaced(good, "EtcdSnapshotManifest", "EtcdCluster"),
        replaced(good, "\"formatVersion\":1", "\"formatVersion\":2"),
        replaced(good, "\"snapshotUID\"", "\"uid\""), replaced(good, "2026-01-01", "yesterday"),
        replaced(good, "\"sizeBytes\":20512", "\"sizeBytes\":0"),
        replaced(good, "\"uri\"", "\"reason\":\"NoSpace\",\"uri\"")})
    EXPECT_TRUE(to_manifest(text).failed_with(Code::Corrupt)) << text;
}

}  // namespace
}  // namespace etcdop::agent
