#include "sim/world/page.h"

#include <gtest/gtest.h>

#include <string>

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

RunOutcome outcome() {
  RunOutcome out;
  out.seed = 7;
  out.lasted = 60s;
  out.violation = Checker::Violation{"I8", "2 voters <wanted 3>", Instant(50s)};
  out.trace = {{Instant(10s), "fault", "node-1 dies"},
               {Instant(20s), "op-1", "says: planned step=<add-learner>"}};
  out.states = {{Instant(0s), "db", "db-1", "starting"},
                {Instant(5s), "db", "db-1", "leader"},
                {Instant(30s), "db", "db-1", ""}};
  return out;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Page, DrawsWhatEachWasUntilItWasSomethingElseOrGone) {
  const std::string html = page(outcome());
  EXPECT_EQ(count(html, "<title>db-1: starting, 0.0 to 5.0 s</title>"), 1U);
  EXPECT_EQ(count(html, "<title>db-1: leader, 5.0 to 30.0 s</title>"), 1U);
}

TEST(Page, MarksLeadToTheirLines) {
  const std::string html = page(outcome());
  EXPECT_EQ(count(html, "href=\"#l0\""), 1U);
  EXPECT_EQ(count(html, "id=\"l0\""), 1U);
  EXPECT_EQ(count(html, "href=\"#l1\""), 1U);
}

TEST(Page, SaysWhatFellAndQuotesWhatItDidNotWrite) {
  const std::string html = page(outcome());
  EXPECT_EQ(count(html, "I8 at"), 1U);
  EXPECT_GE(count(html, "2 voters &lt;wanted 3&gt;"), 2U);  // Above, and at its time.
  EXPECT_EQ(count(html, "<wanted 3>"), 0U);
  EXPECT_EQ(count(html, "<add-learner>"), 0U);
}

TEST(Page, AsksNothingOfTheNetwork) { EXPECT_EQ(count(page(outcome()), "http"), 0U); }

}  // namespace
}  // namespace etcdop::sim
