#include "operator/agents/agent_report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace etcdop {
namespace {

AgentReport success() {
  AgentReport report;
  report.uri = "s3://backups/prod/db.db";
  report.size_bytes = 20512;
  report.checksum = "sha256:" + std::string(64, 'a');
  report.etcd_version = "3.6.16";
  report.cluster_id = "00000000000000c1";
  report.member_id = "00000000000000a1";
  report.revision = 7;
  report.compact_revision = -1;
  report.hash_kv = 4294967295;
  report.keys = 3;
  report.auth_enabled = false;
  return report;
}

AgentReport failure(const std::string& message) {
  AgentReport report;
  report.reason = "NoSpace";
  report.message = message;
  return report;
}

TEST(AgentReport, IsOneLineOfJson) {
  EXPECT_EQ(to_text(success()),
            "{\"uri\":\"s3://backups/prod/db.db\",\"sizeBytes\":20512,\"checksum\":\"sha256:" +
                std::string(64, 'a') +
                "\",\"etcdVersion\":\"3.6.16\",\"clusterID\":\"00000000000000c1\","
                "\"memberID\":\"00000000000000a1\",\"revision\":7,\"compactRevision\":-1,"
                "\"hashKV\":4294967295,\"keys\":3,\"authEnabled\":false}");
  EXPECT_EQ(to_text(failure("no\nspace")), R"({"reason":"NoSpace","message":"no\nspace"})");
}

TEST(AgentReport, IsReadAsItWasWritten) {
  AgentReport little = success();
  little.revision = little.compact_revision = little.hash_kv = little.keys = std::nullopt;
  little.auth_enabled = std::nullopt;
  for (const AgentReport& report : {success(), little, failure("the volume is full")}) {
    auto read = to_agent_report(to_text(report));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, report);
  }
}

TEST(AgentReport, AMessageThatQuotesAnyBytesCanBeRead) {
  auto read = to_agent_report(to_text(failure("etcd said \xC8\xFF.")));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->message, "etcd said \xEF\xBF\xBD\xEF\xBF\xBD.");
  EXPECT_EQ(read->reason, "NoSpace");
  const std::string text = to_text(failure(std::string(5000, '\x80')));
  EXPECT_LE(text.size(), kAgentReportBytesMax);
  EXPECT_TRUE(to_agent_report(text));
}

TEST(AgentReport, CutsAMessageThatIsTooLong) {
  for (const std::string& piece : {std::string("a"), std::string("\""), std::string("\xC3\xA9")}) {
    std::string message;
    while (message.size() < 6000) message += piece;
    const std::string text = to_text(failure(message));
    EXPECT_LE(text.size(), kAgentReportBytesMax);
    auto read = to_agent_report(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_GT(read->message.size(), 1000u);
    EXPECT_TRUE(read->message.ends_with("...")) << read->message;
  }
}

TEST(AgentReport, SkipsWhatItDoesNotKnow) {
  auto read = to_agent_report(R"({"reason":"NoSpace","message":"full","since":1})");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, failure("full"));
}

TEST(AgentReport, RefusesWhatNoAgentWrites) {
  const auto changed = [](auto change) {
    AgentReport report = success();
    change(report);
    return to_text(report);
  };
  const std::vector<std::string> wrong = {
      "",
      "null",
      "[]",
      "{}",
      "{",
      "snapshot uploaded",
      R"({"reason":"no space"})",
      R"({"uri":7})",
      R"({"reason":"NoSpace","sizeBytes":"7"})",
      changed([](AgentReport& r) { r.uri = "http://elsewhere"; }),
      changed([](AgentReport& r) { r.uri = "s3://a\nb"; }),
      changed([](AgentReport& r) { r.size_bytes = 0; }),
      changed([](AgentReport& r) { r.size_bytes = -1; }),
      changed([](AgentReport& r) { r.checksum = "sha256:" + std::string(64, 'g'); }),
      changed([](AgentReport& r) { r.checksum = std::string(64, 'a'); }),
      changed([](AgentReport& r) { r.cluster_id = "c1"; }),
      changed([](AgentReport& r) { r.member_id = ""; })};
  for (const std::string& text : wrong)
    EXPECT_TRUE(to_agent_report(text).failed_with(Code::Corrupt)) << text;
}

}  // namespace
}  // namespace etcdop
