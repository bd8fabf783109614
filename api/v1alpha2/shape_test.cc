// Tests which flags of etcd are the operator's own.
#include "api/v1alpha2/shape.h"

#include <gtest/gtest.h>

namespace etcdop::api::v1alpha2 {
namespace {

TEST(ExtraArgs, NamesAndBeginningsTellTheOperatorsOwnFlags) {
  for (const char* own : {"name", "initial-cluster", "listen-metrics-urls", "discovery",
                          "discovery-srv", "peer-auto-tls", "client-cert-auth", "snapshot-count"})
    EXPECT_TRUE(is_own_flag(own)) << own;
  for (const char* free : {"max-request-bytes", "names", "log-level", "metrics", "election-timeout",
                           "experimental-initial-corrupt-check", ""})
    EXPECT_FALSE(is_own_flag(free)) << free;
}

/// The advice of docs/user/tls.md.
TEST(ExtraArgs, N9_PeersNeedNotBeLookedUpInReverse) {
  for (const char* free :
       {"peer-skip-client-san-verification", "experimental-peer-skip-client-san-verification"})
    EXPECT_FALSE(is_own_flag(free)) << free;
}

TEST(ExtraArgs, TheRuleHasEachOfThem) {
  const std::string rule = extra_args_rules().at(1).cel;
  for (const std::string_view own : kOwnFlags) EXPECT_NE(rule.find(own), std::string::npos) << own;
  for (const std::string_view prefix : kOwnFlagPrefixes)
    EXPECT_NE(rule.find(prefix), std::string::npos) << prefix;
  for (const std::string_view free : kUsersFlags)
    EXPECT_NE(rule.find(free), std::string::npos) << free;
}

}  // namespace
}  // namespace etcdop::api::v1alpha2
