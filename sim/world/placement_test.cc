// Where a Pod may be placed, by what it asks for.
#include "sim/world/placement.h"

#include <gtest/gtest.h>

#include <memory>

#include "sim/world/parts.h"

namespace etcdop::sim {
namespace {

const Place kAll[] = {{"a1", "a"}, {"a2", "a"}, {"b1", "b"}, {"c1", "c"}};

/// A Pod of cluster db, with these fields of spec.
Json pod(const char* uid, const char* spec, const char* node = "") {
  json::object labels;
  labels[api::v1alpha2::kAppNameLabel] = "etcd";
  Json fields = json::parse(spec);
  if (*node) fields.as_object()["nodeName"] = node;
  return {{"metadata", {{"namespace", "prod"}, {"uid", uid}, {"labels", std::move(labels)}}},
          {"spec", std::move(fields)},
          {"status", {{"phase", "Running"}}}};
}
std::string places(const Json& of, const std::vector<Json>& others) {
  std::vector<ApiServer::Object> there;
  for (const Json& other : others) there.push_back(std::make_shared<const Json>(other));
  std::string out;
  for (const Place& node : kAll)
    if (may_be_placed(of, node, kAll, there)) out += (out.empty() ? "" : " ") + node.name;
  return out;
}

constexpr const char* kApartByZone = R"({"affinity": {"podAntiAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}}}]}}})";
constexpr const char* kEven = R"({"topologySpreadConstraints": [{
    "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "etcd"}}}]})";
constexpr const char* kEvenOfAll = R"({"topologySpreadConstraints": [{
    "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
    "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]})";
constexpr const char* kNotInA = R"({"affinity": {"nodeAffinity": {
    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
        "matchExpressions": [{"key": "topology.kubernetes.io/zone", "operator": "NotIn",
                              "values": ["a"]}]}]}}}})";

TEST(Placement, ByNodes) {
  EXPECT_EQ(places(pod("1", "{}"), {}), "a1 a2 b1 c1");
  EXPECT_EQ(places(pod("1", R"({"nodeSelector": {"kubernetes.io/hostname": "a2"}})"), {}), "a2");
  EXPECT_EQ(places(pod("1", R"({"nodeSelector": {"disk": "ssd"}})"), {}), "");
  EXPECT_EQ(places(pod("1", kNotInA), {}), "b1 c1");
}

TEST(Placement, ByAntiAffinity) {
  EXPECT_EQ(places(pod("1", kApartByZone), {pod("2", "{}", "a1")}), "b1 c1");
  EXPECT_EQ(places(pod("1", kApartByZone), {pod("2", "{}")}), "a1 a2 b1 c1") << "it has no node";
  EXPECT_EQ(places(pod("1", "{}"), {pod("2", kApartByZone, "a1")}), "b1 c1")
      << "the one that is there keeps others away";
  Json ended = pod("2", "{}", "a1"), elsewhere = pod("3", "{}", "b1");
  ended.at("status").as_object()["phase"] = "Failed";
  elsewhere.at("metadata").as_object()["namespace"] = "test";
  EXPECT_EQ(places(pod("1", kApartByZone), {ended, elsewhere}), "a1 a2 b1 c1");
}

TEST(Placement, BySpread) {
  const Json in_a = pod("2", "{}", "a1"), in_b = pod("3", "{}", "b1"), in_c = pod("4", "{}", "c1");
  EXPECT_EQ(places(pod("1", kEven), {in_a}), "b1 c1");
  EXPECT_EQ(places(pod("1", kEven), {in_a, in_b}), "c1");
  EXPECT_EQ(places(pod("1", kEven), {in_a, in_b, in_c}), "a1 a2 b1 c1");
  Json leaves = in_c;
  leaves.at("metadata").as_object()["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(places(pod("1", kEven), {in_a, in_b, leaves}), "c1");
  EXPECT_EQ(places(pod("1", kEvenOfAll), {in_a, in_b}), "a1 a2 b1 c1") << "it counts none";
}

TEST(Placement, ByRequests) {
  const char* const kNine = R"({"containers": [{"resources": {"requests": {"cpu": "9"}}}]})";
  const char* const kEight = R"({"containers": [{"resources": {"requests": {"cpu": "8000m"}}}]})";
  EXPECT_EQ(places(pod("1", kNine), {pod("2", kEight, "a1")}), "a2 b1 c1");
  EXPECT_EQ(places(pod("1", kEight), {pod("2", kEight, "a1")}), "a1 a2 b1 c1");
}

}  // namespace
}  // namespace etcdop::sim
