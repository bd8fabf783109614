#include "operator/agents/verify_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

VerifyReport verified() {
  VerifyReport report;
  report.uri = "s3://backups/prod/db.db";
  report.checksum = "sha256:" + std::string(64, 'a');
  report.etcd_version = "3.6.16";
  report.revision = 7;
  report.compact_revision = -1;
  report.hash_kv = 4'000'000'000;
  report.keys = 3;
  report.hash_compared = true;
  report.duration_seconds = 12;
  return report;
}

VerifyReport differs(const std::string& message) {
  VerifyReport report;
  report.reason = "SnapshotDiffers";
  report.message = message;
  report.for_good = true;
  return report;
}

TEST(VerifyReport, IsOneLineOfJson) {
  EXPECT_EQ(to_text(verified()),
            "{\"uri\":\"s3://backups/prod/db.db\",\"checksum\":\"sha256:" + std::string(64, 'a') +
                "\",\"etcdVersion\":\"3.6.16\",\"revision\":7,\"compactRevision\":-1,\"hashKV\":"
                "4000000000,\"keys\":3,\"hashCompared\":true,\"durationSeconds\":12}");
  EXPECT_EQ(to_text(differs("3\n4")),
            R"({"reason":"SnapshotDiffers","message":"3\n4","forGood":true})");
}

TEST(VerifyReport, IsReadAsItWasWritten) {
  VerifyReport little = verified(), known = differs("keys"), passing = differs("busy");
  little.compact_revision = little.hash_kv = little.keys = little.duration_seconds = std::nullopt;
  little.hash_compared = false;
  little.digest_compared = true;
  known.uri = little.uri;
  known.keys = 2;
  passing.for_good = false;
  for (const VerifyReport& report : {verified(), little, known, passing}) {
    auto read = to_verify_report(to_text(report));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, report);
  }
}

TEST(VerifyReport, CutsAMessageThatIsTooLong) {
  const std::string text = to_text(differs(std::string(6000, '"')));
  EXPECT_LE(text.size(), kAgentReportBytesMax);
  auto read = to_verify_report(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->message.ends_with("\"...")) << read->message;
}

TEST(VerifyReport, RefusesWhatNoAgentWrites) {
  const auto changed = [](auto change) {
    VerifyReport report = verified();
    change(report);
    return to_text(report);
  };
  const std::vector<std::string> wrong = {
      "",
      "null",
      "{}",
      "verified",
      R"({"reason":"no space"})",
      R"({"reason":"NoSpace","forGood":"yes"})",
      changed([](VerifyReport& r) { r.uri = "http://elsewhere"; }),
      changed([](VerifyReport& r) { r.checksum = "sha256:"; }),
      changed([](VerifyReport& r) { r.revision.reset(); })};
  for (const std::string& text : wrong)
    EXPECT_TRUE(to_verify_report(text).failed_with(Code::Corrupt)) << text;
}

}  // namespace
}  // namespace etcdop
