// Each log line of the Go operator's operations guide, and when it is logged.
#include "operator/cluster/log_words.h"

#include <gtest/gtest.h>

namespace etcdop::cluster {
namespace {

struct Scene {
  Observation seen;
  Plan plan;
  std::string_view words() const { return words_before(seen, plan); }
};

Scene formed() {
  Scene out;
  out.plan.status.cluster_id = "c1";
  out.plan.status.observed.emplace().replicas = 3;
  out.seen.seats.emplace_back().object.emplace();
  return out;
}

TEST(LogWords, OfAFoundingCluster) {
  Scene s = formed();
  s.plan.step = CreateMember{"db-a", "u", true};
  EXPECT_EQ(s.words(), "bootstrapping single-node cluster");
  s.plan.step = CreateMember{"db-b", "u", false};
  EXPECT_EQ(s.words(), "");
  s.plan.step = NoStep{};
  EXPECT_EQ(s.words(), "");
  s.plan.status.cluster_id.clear();
  EXPECT_EQ(s.words(), "waiting for bootstrap member to form cluster");
  s.seen.seats.clear();
  EXPECT_EQ(s.words(), "");
  s.plan.status.observed->replicas = 0;
  EXPECT_EQ(s.words(), "cluster declared paused from the start; not bootstrapping");
}

TEST(LogWords, OfGrowing) {
  Scene s = formed();
  for (const Step& step : {Step(AddLearner{"db-x", "u"}), Step(Publish{"db-x", "l"})}) {
    s.plan.step = step;
    s.plan.status.pending_members.clear();
    EXPECT_EQ(s.words(), "completing pending scale-up member before further action");
    s.plan.status.pending_members = {{1, "db-x", "u", ""}};
    EXPECT_EQ(s.words(), "") << "it is ours";
  }
  s.plan.step = NoStep{};
  EXPECT_EQ(s.words(), "");
  s.plan.waiting_for = "joiners to start";
  EXPECT_EQ(s.words(), "waiting for existing members to become Ready before next scale-up step");
  s.plan.status.pending_members.clear();
  EXPECT_EQ(s.words(), "");
  s.plan.step = WakeMember{"db-a", "u"};
  EXPECT_EQ(s.words(), "waking dormant member");
}

TEST(LogWords, OfWhatWasDone) {
  const Result<Done> busy = Error{Code::Unavailable, "not in sync"}, lost = Error{Code::Lost, "?"};
  EXPECT_EQ(words_after(AddLearner{}, Done{}), "added member as learner");
  EXPECT_EQ(words_after(AddLearner{}, busy), "");
  EXPECT_EQ(words_after(Promote{}, Done{}), "promoted learner");
  EXPECT_EQ(words_after(Promote{}, busy), "learner not yet promotable; will retry");
  EXPECT_EQ(words_after(Promote{}, lost), "");
  EXPECT_EQ(words_after(NoStep{}, Done{}), "");
}

}  // namespace
}  // namespace etcdop::cluster
