#include "operator/passes/metadata.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

Json with(api::v1alpha2::AdditionalMetadata additional, const char* before) {
  json::object out = json::parse(before).as_object();
  add_metadata(out, additional);
  return out;
}

TEST(AdditionalMetadata, IsAddedToWhatIsThere) {
  EXPECT_EQ(with({.labels = {{"team", "a"}}, .annotations = {{"note", "b"}}},
                 R"({"name": "x", "labels": {"app": "etcd"}})"),
            json::parse(R"({"name": "x", "labels": {"app": "etcd", "team": "a"},
                            "annotations": {"note": "b"}})"));
}

TEST(AdditionalMetadata, ChangesNothingThatIsThere) {
  EXPECT_EQ(
      with({.labels = {{"app", "mine"}}, .annotations = {}}, R"({"labels": {"app": "etcd"}})"),
      json::parse(R"({"labels": {"app": "etcd"}})"));
}

TEST(AdditionalMetadata, OurOwnPrefixIsOurs) {
  const char* role = "etcd-operator.cozystack.io/role";
  EXPECT_EQ(with({.labels = {{role, "voter"}}, .annotations = {{role, "voter"}}}, "{}"),
            json::parse("{}"));
}

TEST(AdditionalMetadata, NoneIsNone) {
  json::object out;
  add_metadata(out, std::nullopt);
  EXPECT_EQ(out, json::object());
}

}  // namespace
}  // namespace etcdop
