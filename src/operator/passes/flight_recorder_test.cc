#include "operator/passes/flight_recorder.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

namespace etcdop {
namespace {

const api::ObjectKey kDb{"prod", "db"};

WallTime at(int second) { return {std::chrono::seconds(1795233378 + second)}; }

Json seen(int second, int ready, int applied = 0, const std::string& pad = "") {
  return {{"now", to_rfc3339(at(second))},
          {"ready", ready},
          {"pad", pad},
          {"seats", json::array{{{"name", "a"}, {"answer", {{"applied", applied}}}}}}};
}

Json planned(const char* step, int again = 0) { return {{"step", step}, {"again", again}}; }

std::vector<FlightReader::Pair> read(const std::string& text) {
  std::vector<FlightReader::Pair> out;
  FlightReader reader;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    auto pair = reader.read(line);
    EXPECT_TRUE(pair) << pair.error().message;
    if (pair) out.push_back(std::move(*pair));
  }
  return out;
}

TEST(FlightRecorder, GivesBackEachPairFromTheNewestOn) {
  FlightRecorder recorder;
  for (int i = 0; i < 5; ++i)
    recorder.record("EtcdCluster", kDb, at(i), seen(i, i), planned(i % 2 == 0 ? "add" : "none"));
  recorder.record("EtcdMember", {"prod", "db-1"}, at(9), seen(9, 0), planned("create-pod"));
  const auto pairs = read(recorder.text());
  ASSERT_EQ(pairs.size(), 6U);
  for (int i = 0; i < 5; ++i) {
    const auto& pair = pairs[static_cast<std::size_t>(4 - i)];
    EXPECT_EQ(pair.kind, "EtcdCluster");
    EXPECT_EQ(pair.object, "prod/db");
    EXPECT_EQ(pair.observation, seen(i, i));
    EXPECT_EQ(pair.plan, planned(i % 2 == 0 ? "add" : "none"));
    EXPECT_EQ(pair.until, to_rfc3339(at(i)));
  }
  EXPECT_EQ(pairs[5].kind, "EtcdMember");
}

TEST(FlightRecorder, CountsPassesThatDifferInTimeAndRaftIndexOnly) {
  FlightRecorder recorder;
  recorder.record("EtcdCluster", kDb, at(0), seen(0, 3, 100), planned("none", 300));
  const std::size_t bytes = recorder.bytes();
  for (int i = 1; i < 1000; ++i)
    recorder.record("EtcdCluster", kDb, at(i), seen(i, 3, 100 + i), planned("none", 300 + i));
  EXPECT_EQ(recorder.bytes(), bytes) << "at rest nothing grows";
  auto pairs = read(recorder.text());
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].times, 1000);
  EXPECT_EQ(pairs[0].until, to_rfc3339(at(999)));
  EXPECT_EQ(pairs[0].observation, seen(0, 3, 100)) << "with the plan that was made from it";

  recorder.record("EtcdCluster", kDb, at(1000), seen(1000, 3), planned("add"));
  EXPECT_EQ(read(recorder.text()).size(), 2U) << "another plan is news";
}

TEST(FlightRecorder, KeepsSoManyPairsOfAnObjectAndSoManyBytes) {
  FlightRecorder recorder({.pairs = 10, .object_bytes = 64 << 10, .total_bytes = 1 << 20});
  for (int i = 0; i < 1000; ++i)
    recorder.record("EtcdCluster", kDb, at(i), seen(i, i), planned("none"));
  const auto pairs = read(recorder.text());
  ASSERT_EQ(pairs.size(), 10U);
  EXPECT_EQ(pairs.back().observation, seen(990, 990));

  FlightRecorder narrow({.pairs = 1000, .object_bytes = 4000, .total_bytes = 1 << 20});
  for (int i = 0; i < 1000; ++i)
    narrow.record("EtcdCluster", kDb, at(i), seen(i, i), planned("none"));
  EXPECT_LT(narrow.bytes(), 4500U);
  EXPECT_GT(read(narrow.text()).size(), 10U);
  narrow.record("EtcdCluster", kDb, at(0), seen(0, 1, 0, std::string(5000, 'x')), planned("none"));
  EXPECT_EQ(narrow.text(), "") << "what is too large is not kept, nor what hung on it";
  narrow.record("EtcdCluster", kDb, at(0), seen(0, 2), planned("none"));
  EXPECT_EQ(read(narrow.text()).size(), 1U);
}

/// A failed recording ends neither the pass nor the process.
TEST(FlightRecorder, N1_WhatIsNoUtf8OrNoObjectCostsNoMoreThanWhatWasKeptOfThatObject) {
  FlightRecorder recorder;
  const api::ObjectKey other{"prod", "other"};
  recorder.record("EtcdCluster", other, at(0), seen(0, 3), planned("none"));
  recorder.record("EtcdCluster", kDb, at(0), seen(0, 1), planned("none"));
  recorder.record("EtcdCluster", kDb, at(1), seen(1, 2, 0, "a\xFF"), planned("none"));
  recorder.record("EtcdCluster", kDb, at(2), seen(2, 3), planned("none"));
  recorder.record("EtcdCluster", kDb, at(3), seen(3, 4), planned("none"));
  EXPECT_EQ(read(recorder.text()).size(), 3U) << "the two after it, and the other's";
  recorder.record("EtcdCluster", kDb, at(4), json::array{}, planned("none"));
  const auto pairs = read(recorder.text());
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].object, "prod/other");
  recorder.record("EtcdCluster", kDb, at(5), seen(5, 6), planned("none"));
  EXPECT_EQ(read(recorder.text()).size(), 2U);
}

TEST(FlightRecorder, TellsTheLastPairOfAnObject) {
  FlightRecorder recorder;
  EXPECT_EQ(recorder.newest("EtcdCluster", kDb), "");
  recorder.record("EtcdCluster", kDb, at(0), seen(0, 1), planned("none"));
  recorder.record("EtcdCluster", kDb, at(1), seen(1, 2), planned("add"));
  EXPECT_EQ(json::parse(recorder.newest("EtcdCluster", kDb)),
            (json::object{{"observation", seen(1, 2)}, {"plan", planned("add")}}));
}

TEST(FlightRecorder, TheOldestOfAllGoesWhenAllOfThemAreTooLarge) {
  FlightRecorder recorder({.pairs = 256, .object_bytes = 64 << 10, .total_bytes = 40'000});
  const std::string pad(1000, 'x');
  for (int i = 0; i < 100; ++i)
    recorder.record("EtcdCluster", {"prod", "db-" + std::to_string(i)}, at(i),
                    seen(i, i, 0, i < 50 ? pad : ""), planned("none"));
  EXPECT_LE(recorder.bytes(), 40'000U);
  const auto last = [&] {
    const auto pairs = read(recorder.text());
    return pairs.empty() ? "" : pairs.back().object;
  };
  EXPECT_EQ(last(), "prod/db-99");
  const std::string before = recorder.text();
  for (int i = 0; i < 50; ++i)
    recorder.record("EtcdCluster", {"prod", "db-" + std::to_string(i)}, at(200),
                    seen(200, i, 0, pad), planned("none"));
  EXPECT_EQ(recorder.text(), before) << "what is as it was does not push out what has changed";
}

TEST(FlightRecorder, WhatIsGoneMakesRoomForOthersAndLeavesNothing) {
  FlightRecorder recorder({.pairs = 256, .object_bytes = 64 << 10, .total_bytes = 10'000});
  for (int i = 0; i < 10'000; ++i) {
    const api::ObjectKey key{"prod", "db-" + std::to_string(i)};
    recorder.record("EtcdMember", key, at(i), seen(i, i), planned("none"));
    recorder.gone("EtcdMember", key);
  }
  EXPECT_LE(recorder.bytes(), 10'000U);
  EXPECT_GT(read(recorder.text()).size(), 10U);
}

TEST(FlightRecorder, LeavesAnnotationsOut) {
  FlightRecorder recorder;
  Json observation = seen(0, 1);
  observation.as_object()["cluster"] = {
      {"metadata", {{"name", "db"}, {"annotations", {{"token", "hunter2"}}}}}};
  recorder.record("EtcdCluster", kDb, at(0), observation, planned("none"));
  const std::string text = recorder.text();
  EXPECT_EQ(text.find("hunter2"), text.npos);
  EXPECT_NE(text.find("\"name\":\"db\""), text.npos);
}

TEST(FlightReader, SaysWhatIsWrongWithALine) {
  const char* rows[][2] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {R"({"kind":"EtcdCluster"})", "neither pair nor before"},
      {R"({"kind":"EtcdCluster","pair":{"plan":{}}})", "no observation"},
      {R"({"kind":"EtcdCluster","before":{"plan":[{}]}})", "does not precede"},
  };
  for (const auto& [line, wrong] : rows) {
    FlightReader reader;
    const auto pair = reader.read(line);
    ASSERT_TRUE(pair.failed_with(Code::Invalid)) << line;
    EXPECT_NE(pair.error().message.find(wrong), std::string::npos) << pair.error().message;
  }
  FlightReader reader;
  ASSERT_TRUE(reader.read(R"({"kind":"A","object":"b/c","pair":{"observation":{},"plan":{}}})"));
  EXPECT_FALSE(reader.read(R"({"kind":"A","object":"b/d","before":{}})")) << "of another object";
  EXPECT_FALSE(reader.read(R"({"kind":"A","object":"b/c","before":{"plan":{"x":{"y":[1]}}}})"));
}

}  // namespace
}  // namespace etcdop
