// A recording has the whole observation, and replay runs today's plan on it.
#include "operator/replay.h"

#include <gtest/gtest.h>

#include "operator/cluster/plan.h"
#include "operator/member/plan.h"
#include "operator/snapshot/plan.h"
#include "test/support/seeded_random.h"

namespace etcdop {
namespace {

/// Any value of any described type: each field is random.
class Any {
 public:
  explicit Any(std::uint64_t seed) : random_(seed) {}

  template <class T>
  T make() {
    T out{};
    fill(out);
    return out;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_.next() % n; }

  void fill(std::string& out) {
    constexpr const char* kSome[] = {"", "a", "db-0", "1Gi", "\"\\\n\t", "\u00fc", "null"};
    out = kSome[below(std::size(kSome))];
  }
  void fill(bool& out) { out = below(2) == 1; }
  void fill(std::int32_t& out) { out = static_cast<std::int32_t>(random_.next()); }
  void fill(std::int64_t& out) { out = static_cast<std::int64_t>(random_.next()); }
  void fill(std::uint64_t& out) { out = below(2) == 1 ? random_.next() : below(100); }
  void fill(WallTime& out) { out.since_epoch = std::chrono::seconds(below(4'000'000'000)); }
  void fill(std::chrono::milliseconds& out) { out = std::chrono::milliseconds(below(100'000)); }
  void fill(Json& out) { out = {{"a", json::array{below(9), nullptr, "x"}}, {"b", 0.5}}; }
  template <class Tag>
  void fill(etcd::Id<Tag>& out) {
    out.value = random_.next();
  }
  template <class T>
  void fill(std::optional<T>& out) {
    if (below(2) == 1) fill(out.emplace());
  }
  template <class T>
  void fill(std::vector<T>& out) {
    for (std::uint64_t left = below(3); left > 0; --left) out.push_back(make<T>());
  }
  template <class T>
  void fill(std::map<std::string, T>& out) {
    for (std::uint64_t left = below(3); left > 0; --left) out[make<std::string>()] = make<T>();
  }
  template <class... T>
  void fill(std::variant<T...>& out) {
    const std::uint64_t nth = below(sizeof...(T));
    std::uint64_t i = 0;
    ((i++ == nth ? void(out = make<T>()) : void()), ...);
  }
  template <api::Named E>
  void fill(E& out) {
    const auto all = names(E{});
    out = all[below(all.size())].first;
  }
  template <class T>
    requires api::Described<T> || std::is_empty_v<T>
  void fill(T& out) {
    if constexpr (api::Described<T>)
      api::for_each_field<T>([&](const auto& field) { fill(out.*field.at); });
  }

  testing::SeededRandom random_;
};

template <class T>
void expect_round_trips(const char* what) {
  constexpr std::uint64_t kSeeds = 500;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const T value = Any(seed).make<T>();
    T back;
    const auto read = api::decode(json::parse(serialize(api::encode(value))), back, what);
    ASSERT_TRUE(read) << seed << ": " << read.error().message;
    ASSERT_EQ(serialize(api::encode(back)), serialize(api::encode(value))) << what << seed;
    ASSERT_TRUE(back == value) << what << seed;
  }
}

TEST(Replay, WhatIsSeenAndPlannedIsWrittenWithoutLoss) {
  expect_round_trips<cluster::Observation>("cluster::Observation");
  expect_round_trips<cluster::Plan>("cluster::Plan");
  expect_round_trips<member::Observation>("member::Observation");
  expect_round_trips<member::Plan>("member::Plan");
  expect_round_trips<snapshot::Observation>("snapshot::Observation");
  expect_round_trips<snapshot::Plan>("snapshot::Plan");
}

cluster::Observation new_cluster() {
  cluster::Observation seen;
  seen.now = {std::chrono::seconds(1795233378)};
  seen.cluster.metadata.name = "db";
  seen.cluster.metadata.ns = "prod";
  seen.cluster.metadata.uid = "u-1";
  seen.cluster.spec.version = "3.6.16";
  return seen;
}

template <class Observation>
FlightReader::Pair recorded(const char* kind, const Observation& seen) {
  FlightRecorder recorder;
  recorder.record(kind, {"prod", "db"}, seen.now, api::encode(seen), api::encode(plan(seen)));
  std::string line = recorder.text();
  auto pair = FlightReader().read(line.substr(0, line.size() - 1));
  EXPECT_TRUE(pair) << line;
  return pair ? *pair : FlightReader::Pair();
}

TEST(Replay, TheSamePlanIsTheSame) {
  auto of_cluster = replay(recorded("EtcdCluster", new_cluster()));
  ASSERT_TRUE(of_cluster) << of_cluster.error().message;
  EXPECT_EQ(of_cluster->step, to_string(cluster::plan(new_cluster()).step));
  EXPECT_TRUE(of_cluster->step.starts_with("create-seed")) << of_cluster->step;
  EXPECT_TRUE(of_cluster->differences.empty()) << of_cluster->differences[0];

  member::Observation member;
  member.member.metadata.name = "db-1";
  auto of_member = replay(recorded("EtcdMember", member));
  ASSERT_TRUE(of_member) << of_member.error().message;
  EXPECT_TRUE(of_member->differences.empty()) << of_member->differences[0];

  snapshot::Observation snapshot;
  snapshot.snapshot.status.phase = api::v1alpha2::kSnapshotStarted;
  snapshot.cluster.emplace();
  snapshot.endpoints = {"http://db-a.db.prod.svc:2379"};
  auto of_snapshot = replay(recorded("EtcdSnapshot", snapshot));
  ASSERT_TRUE(of_snapshot) << of_snapshot.error().message;
  EXPECT_EQ(of_snapshot->step, "create-job, attempt 1");
  EXPECT_TRUE(of_snapshot->differences.empty()) << of_snapshot->differences[0];
}

TEST(Replay, AnotherPlanIsSaidFieldByFieldAndConditionsByTheirType) {
  FlightReader::Pair pair = recorded("EtcdCluster", new_cluster());
  json::object& plan = pair.plan.as_object();
  plan["step"] = {{"delete-member", {{"name", "db-1"}, {"uid", "u-7"}}}};
  plan["waitingFor"] = "the moon";
  json::array& conditions = plan["status"].as_object()["conditions"].as_array();
  ASSERT_FALSE(conditions.empty());
  const std::string reason(conditions[0].at("reason").as_string()),
      type(conditions[0].at("type").as_string());
  conditions[0].as_object()["reason"] = "Moonlight";
  conditions.insert(conditions.begin(), json::object{{"type", "Tide"}, {"status", "High"}});
  auto replayed = replay(pair);
  ASSERT_TRUE(replayed);
  std::string all;
  for (const std::string& line : replayed->differences) all += line + "\n";
  const std::string wanted[] = {
      "plan.step.delete-member: was {\"name\":\"db-1\",\"uid\":\"u-7\"}, is not set\n",
      "plan.step.create-member: was not set, is {\"name\":",
      "plan.waitingFor: was \"the moon\", is not set\n",
      "plan.status.conditions.Tide: was {\"type\":\"Tide\",\"status\":\"High\"}, is not set\n",
      "plan.status.conditions." + type + ".reason: was \"Moonlight\", is \"" + reason + "\"\n",
  };
  for (const std::string& line : wanted) EXPECT_NE(all.find(line), all.npos) << line << all;
  EXPECT_EQ(replayed->differences.size(), std::size(wanted)) << all;
}

TEST(Replay, WhatCannotBeReadNamesTheField) {
  FlightReader::Pair pair = recorded("EtcdCluster", new_cluster());
  pair.observation.as_object()["now"] = "yesterday";
  EXPECT_NE(replay(pair).error().message.find("observation.now: expected a time"),
            std::string::npos);
  pair.observation.as_object().erase("now");
  EXPECT_EQ(replay(pair).error().message, "observation.now: is required");
  pair.kind = "Secret";
  EXPECT_NE(replay(pair).error().message.find("\"Secret\" has no plan"), std::string::npos);
}

}  // namespace
}  // namespace etcdop
