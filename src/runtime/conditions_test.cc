#include "runtime/conditions.h"

#include <gtest/gtest.h>

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;
constexpr WallTime kThen{1000s}, kLater{2000s};

TEST(Conditions, TheTimeChangesOnlyWithTheStatus) {
  std::vector<api::Condition> all;
  set_condition(all, {"Ready", "False", "Waiting", "for a Pod"}, 1, kThen);
  set_condition(all, {"Ready", "False", "Waiting", "for etcd"}, 2, kLater);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].message, "for etcd");
  EXPECT_EQ(all[0].observed_generation, 2);
  EXPECT_EQ(all[0].last_transition_time, to_rfc3339(kThen));
  set_condition(all, {"Ready", "True", "Serves", ""}, 2, kLater);
  EXPECT_EQ(all[0].last_transition_time, to_rfc3339(kLater));
}

TEST(Conditions, EachTypeHasItsPlace) {
  std::vector<api::Condition> all;
  set_condition(all, {"A", "True", "R", ""}, 1, kThen);
  set_condition(all, {"B", "True", "R", ""}, 1, kThen);
  EXPECT_EQ(find_condition(all, "B"), &all[1]);
  EXPECT_EQ(find_condition(all, "C"), nullptr);
}

TEST(Conditions, N1_AMessageIsUtf8AndFitsTheSchema) {
  std::vector<api::Condition> all;
  set_condition(all, {"Ready", "False", "Foreign", "etcd says \xFF"}, 1, kThen);
  EXPECT_EQ(all[0].message, "etcd says \xEF\xBF\xBD");
  set_condition(all, {"Ready", "False", "Foreign", std::string(1 << 20, 'x')}, 1, kThen);
  EXPECT_EQ(all[0].message, std::string(kMessageBytesMax - 3, 'x') + "...");
}

}  // namespace
}  // namespace etcdop::runtime
