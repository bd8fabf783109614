#include "kube/typed.h"

#include <gtest/gtest.h>

namespace etcdop::kube {
namespace {

TEST(Typed, AnObjectIsKeptByAFinalizerOrAGracePeriod) {
  const auto kept = [](const char* text) { return is_kept(json::parse(text), "Pod"); };
  EXPECT_TRUE(kept(R"({"kind":"Pod","metadata":{"deletionTimestamp":"t",
                       "deletionGracePeriodSeconds":30}})"));
  EXPECT_TRUE(kept(R"({"kind":"Pod","metadata":{"deletionTimestamp":"t",
                       "deletionGracePeriodSeconds":0,"finalizers":["a"]}})"));
  EXPECT_FALSE(kept(R"({"kind":"Pod","metadata":{"deletionTimestamp":"t",
                        "deletionGracePeriodSeconds":0}})"))
      << "a Pod on no node";
  EXPECT_FALSE(kept(R"({"kind":"Pod","metadata":{}})")) << "as a Service is answered";
  EXPECT_FALSE(kept(R"({"kind":"Status","status":"Success","metadata":{}})"));
  EXPECT_FALSE(kept("null"));
}

}  // namespace
}  // namespace etcdop::kube
