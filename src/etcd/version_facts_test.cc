#include "etcd/version_facts.h"

#include <gtest/gtest.h>

namespace etcdop::etcd {
namespace {

VersionFacts facts(const char* text) {
  const auto version = parse_version(text);
  EXPECT_TRUE(version) << text;
  return facts_of(version.value_or(Version{}));
}

TEST(Version, IsThreeNumbers) {
  EXPECT_EQ(parse_version("3.6.16"), (Version{3, 6, 16}));
  EXPECT_EQ(parse_version("0.0.0"), (Version{0, 0, 0}));
  EXPECT_EQ(to_string({3, 5, 0}), "3.5.0");
  EXPECT_LT((Version{3, 6, 9}), (Version{3, 6, 10})) << "not as text";
}

TEST(Version, IsNothingElse) {
  for (const char* text :
       {"", "3", "3.6", "3.6.", "3.6.16.1", "v3.6.16", "3.6.16-rc.0", "3.6.16+git", " 3.6.16",
        "3.6.16 ", "3.06.1", "3.6.+1", "3.6.-1", "3.6.99999", "..", "3.6.0x1", "3..6"})
    EXPECT_EQ(parse_version(text), std::nullopt) << text;
}

TEST(VersionFacts, ThreeMinorsAreSupported) {
  for (const char* text : {"3.5.0", "3.5.35", "3.6.0", "3.7.3"}) EXPECT_TRUE(facts(text).supported);
  for (const char* text : {"3.4.36", "2.6.1", "3.8.0", "4.6.0", "0.0.0"})
    EXPECT_FALSE(facts(text).supported) << text;
}

TEST(VersionFacts, AnUnsupportedVersionBehavesAsItsNearestNeighbour) {
  auto old = facts("3.5.0"), young = facts("3.7.3");
  old.supported = young.supported = false;
  EXPECT_EQ(facts("3.4.36"), old);
  EXPECT_EQ(facts("2.3.8"), old);
  EXPECT_EQ(facts("3.8.0"), young);
  EXPECT_EQ(facts("4.0.0"), young);
}

TEST(VersionFacts, EachBoundaryIsAtItsPatch) {
  struct Row {
    const char *before, *from;
    bool VersionFacts::* fact;
  };
  const Row rows[] = {
      {"3.5.35", "3.6.0", &VersionFacts::max_learners_flag},
      {"3.5.10", "3.5.11", &VersionFacts::livez_and_readyz},
      {"3.5.18", "3.5.19", &VersionFacts::readyz_fails_on_learners},
      {"3.5.28", "3.5.27", &VersionFacts::promote_on_leader_only_with_auth},
      {"3.6.6", "3.6.5", &VersionFacts::promote_on_leader_only_with_auth},
      {"3.7.0", "3.6.16", &VersionFacts::experimental_flags},
      {"3.5.35", "3.6.0", &VersionFacts::feature_gates},
  };
  for (const Row& row : rows) {
    EXPECT_FALSE(facts(row.before).*row.fact) << row.before;
    EXPECT_TRUE(facts(row.from).*row.fact) << row.from;
  }
  EXPECT_EQ(facts("3.5.29").member_add_wants, AddWants::AllVoters);
  EXPECT_EQ(facts("3.5.30").member_add_wants, AddWants::Quorum);
  EXPECT_EQ(facts("3.6.10").member_add_wants, AddWants::AllVoters);
  EXPECT_EQ(facts("3.6.11").member_add_wants, AddWants::Quorum);
  EXPECT_EQ(facts("3.7.0").member_add_wants, AddWants::Quorum);
  EXPECT_EQ(facts("3.5.27").status_answers, Answers::Anybody);
  EXPECT_EQ(facts("3.6.9").member_list_answers, Answers::Root);
  EXPECT_EQ(facts("3.6.10").member_list_answers, Answers::AnyUser);
  EXPECT_EQ(facts("3.6.16").auth_status_answers, Answers::Root);
  EXPECT_EQ(facts("3.7.0").auth_status_answers, Answers::Anybody);
  EXPECT_FALSE(facts("3.5.9").etcdutl_raises_revisions);
  EXPECT_TRUE(facts("3.5.10").etcdutl_raises_revisions);
  EXPECT_TRUE(facts("3.6.0").etcdutl_raises_revisions);
  EXPECT_EQ(facts("3.5.35").recommended_from_patch, 0);
  EXPECT_EQ(facts("3.6.16").recommended_from_patch, 4);
  EXPECT_EQ(facts("3.7.0").recommended_from_patch, 0);
  EXPECT_EQ(facts("3.5.35").snapshot_count_default, 100'000);
  EXPECT_EQ(facts("3.6.0").snapshot_count_default, 10'000);
}

}  // namespace
}  // namespace etcdop::etcd
