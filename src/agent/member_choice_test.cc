#include "agent/member_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace etcdop::agent {
namespace {

using etcd::Status;

/// Status of member `id`; member 1 leads.
Status status(std::uint64_t id) {
  Status out;
  out.header = {.cluster = {0xC1}, .member = {id}, .raft_term = 2};
  out.version = "3.6.16";
  out.leader = {1};
  out.raft_index = out.raft_applied_index = 10'000;
  return out;
}

template <class Change>
Status changed(std::uint64_t id, Change change) {
  Status out = status(id);
  change(out);
  return out;
}

TEST(MemberChoice, TakesWhoCanGiveASnapshotAndIsNeededLeast) {
  const Status leader = status(1), follower = status(2);
  const Status learner = changed(2, [](Status& s) { s.learner = true; });
  const Status lost = changed(2, [](Status& s) { s.leader = {0}; });
  // Every member reports an alarm, whichever member raised it.
  const auto tells = [](const char* words) { return [=](Status& s) { s.errors = {words}; }; };
  const auto of_2 = tells("memberID:2 alarm:CORRUPT ");
  const Status leader_tells = changed(1, of_2), corrupt = changed(2, of_2),
               third = changed(3, of_2);
  const Status unnamed = changed(2, tells("alarm:CORRUPT "));
  const Status full = changed(2, tells("memberID:2 alarm:NOSPACE "));
  const Status near = changed(3, [](Status& s) { s.raft_applied_index = 5'000; });
  const Status behind = changed(3, [](Status& s) { s.raft_applied_index = 4'999; });
  const Error down{Code::Unavailable, "connection refused"};
  const struct {
    std::vector<Result<Status>> seen;
    std::size_t chosen;
    const char* because;
  } rows[] = {
      {{leader}, 0, "there is no other"},
      {{leader, follower}, 1, "the leader has enough to do"},
      {{follower, leader}, 0, "whatever the order"},
      {{leader, learner}, 0, "learners may lack anything"},
      {{leader, lost}, 0, "it may be cut off"},
      {{leader_tells, corrupt, third}, 2, "the others' data are in no doubt"},
      {{leader, unnamed}, 0, "it may be its own"},
      {{leader, full}, 1, "full members give good snapshots"},
      {{leader, near}, 1, "it is not far behind"},
      {{leader, behind}, 0, "it is far behind"},
      {{leader, near, follower}, 2, "it has more"},
      {{down, leader, down}, 1, "the others do not answer"},
  };
  for (const auto& row : rows) {
    std::vector<Seen> seen;
    for (const Result<Status>& one : row.seen) seen.push_back({"db", one});
    auto chosen = choose(seen);
    ASSERT_TRUE(chosen) << row.because << ": " << chosen.error().message;
    EXPECT_EQ(*chosen, row.chosen) << row.because;
  }
}

TEST(MemberChoice, SaysOfEachWhyItIsNotFit) {
  const Error down{Code::Unavailable, "connection refused"};
  auto nobody = choose({{"db-0", down}, {"db-1", down}});
  ASSERT_TRUE(nobody.failed_with(Code::Unavailable));
  EXPECT_EQ(nobody.error().message, "db-0: connection refused; db-1: connection refused");

  const Error denied{Code::Denied, "TLS: not trusted"};
  EXPECT_TRUE(choose({{"db-0", denied}, {"db-1", denied}}).failed_with(Code::Denied));
  EXPECT_TRUE(choose({{"db-0", down}, {"db-1", denied}}).failed_with(Code::Unavailable))
      << "as while certificates are renewed";

  const Status lost = changed(2, [](Status& s) { s.leader = {0}; });
  auto unfit = choose({{"db-0", down}, {"db-1", lost}});
  ASSERT_TRUE(unfit.failed_with(Code::Conflict));
  EXPECT_EQ(unfit.error().message,
            "no member is fit: db-0: connection refused; db-1: knows no leader");

  const auto of_2 = [](Status& s) { s.errors = {"memberID:2 alarm:CORRUPT "}; };
  unfit = choose({{"db-0", changed(1, of_2)}, {"db-1", changed(2, of_2)}});
  ASSERT_TRUE(unfit.failed_with(Code::Conflict));
  EXPECT_EQ(unfit.error().message,
            "no member is fit: db-0: leads, and may be wrong itself: memberID:2 alarm:CORRUPT ; "
            "db-1: memberID:2 alarm:CORRUPT ");
}

TEST(MemberChoice, DoesNotMixClusters) {
  const Status other = changed(2, [](Status& s) { s.header.cluster = {0xC2}; });
  auto mixed = choose({{"db-0", status(1)}, {"db-1", other}});
  ASSERT_TRUE(mixed.failed_with(Code::Conflict));
  EXPECT_NE(mixed.error().message.find("00000000000000c1 and 00000000000000c2"), std::string::npos);
}

}  // namespace
}  // namespace etcdop::agent
