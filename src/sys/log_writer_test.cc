#include "sys/log_writer.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/secret.h"

namespace etcdop {
namespace {

struct Lines {
  std::string text;
  LogWriter writer;
  explicit Lines(bool json, Level level = Level::Info)
      : writer({json, level, [this](std::string_view line) { text += line; }}) {}
};

TEST(LogWriter, ALineIsOneJsonDocument) {
  Lines lines(true);
  lines.writer.info("planned", {{"cluster", "prod/db"}, {"members", 3}, {"done", true}});
  const Json line = json::parse(lines.text);
  EXPECT_EQ(line.at("level"), "info");
  EXPECT_EQ(line.at("msg"), "planned");
  EXPECT_EQ(line.at("cluster"), "prod/db");
  EXPECT_EQ(line.at("members"), 3);
  EXPECT_EQ(line.at("done"), true);
  EXPECT_EQ(line.at("ts").as_string().size(), std::string("2026-11-21T03:56:18.123Z").size());
}

TEST(LogWriter, HostileTextStaysInsideItsValue) {
  Lines lines(true);
  const std::string hostile =
      "a\"b\n{\"level\":\"error\"}\xff\xc0\xaf{}%v" + std::string(100'000, 'x');
  lines.writer.info("m", {{"error", hostile}});
  EXPECT_EQ(std::count(lines.text.begin(), lines.text.end(), '\n'), 1);
  const Json line = json::parse(lines.text);
  EXPECT_EQ(line.at("level"), "info");
  EXPECT_EQ(line.at("error").as_string().subview(0, 7), "a\"b\n{\"l");
  EXPECT_LT(lines.text.size(), 10'000U);
}

TEST(LogWriter, WhatIsBelowTheLevelIsDropped) {
  Lines lines(true, Level::Warn);
  lines.writer.debug("d");
  lines.writer.info("i");
  EXPECT_EQ(lines.text, "");
  lines.writer.warn("w");
  lines.writer.error("e");
  EXPECT_EQ(std::count(lines.text.begin(), lines.text.end(), '\n'), 2);
}

TEST(LogWriter, TheConsoleIsForPeople) {
  Lines lines(false);
  lines.writer.info("planned", {{"step", "promote x"}});
  EXPECT_NE(lines.text.find("info"), std::string::npos);
  EXPECT_NE(lines.text.find("planned  step=\"promote x\""), std::string::npos);
}

TEST(Secret, HasNoWayIntoALog) {
  EXPECT_FALSE((std::is_convertible_v<Secret, LogValue>));
  EXPECT_FALSE((std::is_constructible_v<LogValue, Secret>));
  EXPECT_FALSE((std::is_convertible_v<Secret, std::string>));
}

}  // namespace
}  // namespace etcdop
