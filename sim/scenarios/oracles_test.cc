// I17: the world finds words that are not so, and draws its faults by their names.
#include "sim/world/oracles.h"

#include <set>

#include "sim/scenarios/scenario.h"

namespace etcdop::sim {
namespace {

/// Three members at rest, under an operator whose reports can be lost.
class Oracle : public ::testing::Test {
 protected:
  void SetUp() override {
    (void)world.start_operator();
    world.create_cluster(kKey, 3);
    ASSERT_TRUE(world.run_until([&] { return world.missing().empty(); }, 10min)) << world.missing();
    world.run_for(10s);
  }
  /// From now on the API server takes no status of that kind.
  void silence(const api::Resource& kind) {
    world.life(0).passage().instead = [&kind](const kube::Call& call) {
      const bool status = call.resource == kind && call.subresource == "status";
      return status ? std::optional<Result<Json>>(Error{Code::Conflict, "somebody edited it"})
                    : std::nullopt;
    };
  }
  std::string fell() {
    const auto& what = world.checker().violation();
    return what ? what->invariant + ": " + what->what : "";
  }
  World world{{.seed = 7, .faults = {}, .keep_trace = false, .nodes = 3}};
};

TEST_F(Oracle, I17_ATruthIsNoViolation) {
  world.nodes().node_down(0, true);
  world.run_for(10min);
  EXPECT_EQ(fell(), "");
  world.nodes().node_down(0, false);
  world.run_for(5min);
  EXPECT_EQ(fell(), "");
}

TEST_F(Oracle, I17_MembersThatAreNotReadyAndACountThatSaysSoAreFound) {
  silence(v1::EtcdCluster::resource);
  for (std::size_t i = 0; i < 3; ++i) world.nodes().node_down(i, true);
  world.run_for(70s);
  EXPECT_NE(fell().find("I17: prod/db"), std::string::npos) << fell();
  EXPECT_NE(fell().find("says readyMembers 3, and 0 are ready"), std::string::npos) << fell();
}

TEST_F(Oracle, I17_AMemberThatIsSaidToServeIsFound) {
  silence(v1::EtcdMember::resource);
  world.nodes().node_down(0, true);
  world.nodes().node_down(1, true);
  world.nodes().node_down(2, true);
  world.run_for(70s);
  EXPECT_NE(fell().find("says Ready=True/PodReady, and it does not serve"), std::string::npos)
      << fell();
}

TEST_F(Oracle, I17_DataThatIsSaidToBeLostIsFound) {
  const api::ObjectKey member = world.members_of(kKey).front();
  silence(v1::EtcdMember::resource);
  (void)world.server().change(v1::EtcdMember::resource, member, [](json::object& object) {
    json::object& ready = object.at("status").at("conditions").as_array().at(0).as_object();
    ASSERT_EQ(ready.at("type"), "Ready");
    ready["status"] = "False";
    ready["reason"] = v1::kDataLost;
  });
  world.run_for(70s);
  // Either the word, or the deletion that follows from it.
  EXPECT_TRUE(fell().starts_with("I17: ")) << fell();
}

TEST_F(Oracle, I17_ATypeWithoutAnOracleIsFound) {
  (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& object) {
    json::array& all = object.at("status").at("conditions").as_array();
    json::object other = all.at(0).as_object();
    other["type"] = "Lucky";
    all.push_back(std::move(other));
  });
  world.run_for(2s);
  EXPECT_EQ(fell(), "I17: no oracle judges the condition Lucky");
}

TEST_F(Oracle, AnInternalErrorIsAViolation) {
  (void)world.server().change(v1::EtcdCluster::resource, kKey, [](json::object& object) {
    json::array& all = object.at("status").at("conditions").as_array();
    json::object other = all.at(0).as_object();
    other["type"] = v1::kInternalError;
    other["status"] = "True";
    other["message"] = "a check failed";
    all.push_back(std::move(other));
  });
  world.run_for(2s);
  EXPECT_EQ(fell(), "InternalError: prod/db: a check failed");
}

TEST(FaultsOfASeed, AreFewInSomeWorldsAndManyInOthers) {
  constexpr std::uint64_t kSeeds = 1600;
  std::size_t none = 0, few = 0, seeing = 0, many = 0;
  std::set<Fault> drawn;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto all = Faults::draw(seed).list();
    drawn.insert(all.begin(), all.end());
    none += all.empty();
    few += !all.empty() && all.size() <= 3;
    seeing += !all.empty() && std::ranges::none_of(all, hinders);
    many += all.size() > 20;
  }
  EXPECT_GT(none, kSeeds / 32);
  EXPECT_GT(few, kSeeds / 4);
  EXPECT_GT(seeing, kSeeds / 5);
  EXPECT_GT(many, kSeeds / 8);
  EXPECT_GE(drawn.size(), static_cast<std::size_t>(Fault::kCount) - 4) << "all but is_found()";
}

TEST(FaultsOfASeed, HinderOperatorsUntilTheyAreHealed) {
  auto all = Faults::parse("all");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->list().size(), static_cast<std::size_t>(Fault::kCount));
  EXPECT_TRUE(all->hinder());
  all->heal();
  EXPECT_FALSE(all->hinder());
}

}  // namespace
}  // namespace etcdop::sim
