#include "operator/passes/step.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

struct Base {
  static constexpr StepTraits traits{"a-step", Asks::Nothing, Effect::AtOnce};
  std::string words() const { return traits.word; }
};
template <class Fields>
struct Same : Fields, Base {};
template <class Fields>
struct More : Fields, Base {
  bool more = false;
};

TEST(CompleteStep, AddsNoFieldToThoseThatItSharesWithOthers) {
  EXPECT_TRUE((CompleteStep<Same<ByUid>> && CompleteStep<Same<ByAttempt>>));
  EXPECT_FALSE((CompleteStep<More<ByUid>> || CompleteStep<More<ByAttempt>>));
  EXPECT_FALSE(CompleteStep<More<WithoutFields>>) << "as large as without it";
}

}  // namespace
}  // namespace etcdop
