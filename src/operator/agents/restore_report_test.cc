#include "operator/agents/restore_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/agents/report_text.h"

namespace etcdop {
namespace {

RestoreReport restored() {
  RestoreReport report;
  report.uri = "s3://backups/prod/db.db";
  report.checksum = "sha256:" + std::string(64, 'a');
  report.etcd_version = "3.6.16";
  report.revision = 1'000'000'007;
  return report;
}

RestoreReport refused(const std::string& message) {
  RestoreReport report;
  report.reason = "SnapshotNewer";
  report.message = message;
  report.for_good = true;
  return report;
}

TEST(RestoreReport, IsOneLineOfJson) {
  EXPECT_EQ(to_text(restored()),
            "{\"uri\":\"s3://backups/prod/db.db\",\"checksum\":\"sha256:" + std::string(64, 'a') +
                "\",\"etcdVersion\":\"3.6.16\",\"revision\":1000000007}");
  EXPECT_EQ(to_text(refused("of\n3.7")),
            R"({"reason":"SnapshotNewer","message":"of\n3.7","forGood":true})");
}

TEST(RestoreReport, IsReadAsItWasWritten) {
  RestoreReport already, little = restored(), passing = refused("busy");
  already.already = true;
  little.etcd_version = "";
  little.revision = std::nullopt;
  passing.for_good = false;
  for (const RestoreReport& report : {restored(), already, little, passing, refused("newer")}) {
    auto read = to_restore_report(to_text(report));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, report);
  }
}

TEST(RestoreReport, CutsAMessageThatIsTooLong) {
  const std::string text = to_text(refused(std::string(6000, '"')));
  EXPECT_LE(text.size(), kAgentReportBytesMax);
  auto read = to_restore_report(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_GT(read->message.size(), 1000u);
  EXPECT_TRUE(read->message.ends_with("\"...")) << read->message;
}

TEST(RestoreReport, SkipsWhatItDoesNotKnow) {
  auto read = to_restore_report(R"({"reason":"SnapshotNewer","message":"m","forGood":true,"x":1})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, refused("m"));
}

TEST(RestoreReport, RefusesWhatNoAgentWrites) {
  const auto changed = [](auto change) {
    RestoreReport report = restored();
    change(report);
    return to_text(report);
  };
  const std::vector<std::string> wrong = {
      "",
      "null",
      "[]",
      "{}",
      "{",
      "restored",
      R"({"already":false})",
      R"({"reason":"no space"})",
      R"({"uri":7})",
      R"({"reason":"NoSpace","forGood":"yes"})",
      R"({"already":true,"revision":"7"})",
      changed([](RestoreReport& r) { r.uri = "http://elsewhere"; }),
      changed([](RestoreReport& r) { r.uri = "s3://a\nb"; }),
      changed([](RestoreReport& r) { r.checksum = ""; }),
      changed([](RestoreReport& r) { r.checksum = std::string(64, 'a'); })};
  for (const std::string& text : wrong)
    EXPECT_TRUE(to_restore_report(text).failed_with(Code::Corrupt)) << text;
}

}  // namespace
}  // namespace etcdop
