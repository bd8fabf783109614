#include "base/fnv.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

// Test vectors published by the algorithm's authors.
TEST(Fnv, IsAsPublished) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace etcdop
