#include "kube/object_text.h"

#include <gtest/gtest.h>

#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "kube/reflector.h"

namespace etcdop::kube {
namespace {

/// A value of that many nested maps.
std::string nested(std::size_t maps) {
  std::string out;
  for (std::size_t i = 0; i < maps; ++i) out += R"({"a}]\"":[)";
  out += "1";
  for (std::size_t i = 0; i < maps; ++i) out += "]}";
  return out;
}

std::string cluster(const std::string& name, const std::string& inner) {
  return R"({"metadata":{"namespace":"ns","name":")" + name +
         R"(","uid":"u","resourceVersion":"7"},"spec":{"version":"3.6.16","podTemplate":{"spec":)" +
         inner + R"(}},"status":{"clusterID":"c"}})";
}

std::string with_status(const std::string& inner) {
  return R"({"metadata":{"namespace":"ns","name":"deep"},"spec":{"version":"3.6.16"},)" +
         std::string(R"("status":{"observed":)") + inner + "}}";
}

bool reads(const Json& object) {
  api::v1alpha2::EtcdCluster out;
  return bool(api::decode(object, out, "EtcdCluster"));
}

TEST(ObjectText, WhatIsNestedTooDeeplyIsOneUnreadableObjectOfAList) {
  for (const std::size_t maps : {20U, 100U, 5000U, 100'000U}) {
    const std::string list = R"({"metadata":{"resourceVersion":"9"},"items":[)" +
                             cluster("a", "{}") + "," + with_status(nested(maps)) + "," +
                             cluster("b", R"({"x":["}",{"y":"]"}]})") + "]}";
    boost::system::error_code wrong;
    const Json parsed = parse_objects(list, 2, wrong);
    ASSERT_FALSE(wrong) << maps << ": " << wrong.message();
    const json::array& items = parsed.at("items").as_array();
    ASSERT_EQ(items.size(), 3U);
    EXPECT_TRUE(reads(items[0]));
    EXPECT_EQ(replaced_field(items[1]), "status is nested more than 38 levels deep");
    EXPECT_FALSE(reads(items[1])) << "nobody may take it for an object without a status";
    EXPECT_EQ(replaced_field(items[0]), "");
    EXPECT_EQ(items[1].at("spec").at("version"), "3.6.16");
    EXPECT_EQ(to_string(identity_of(items[1]).key), "ns/deep");
    EXPECT_TRUE(reads(items[2]));
    EXPECT_EQ(items[2].at("spec").at("podTemplate").at("spec"),
              json::parse(R"({"x":["}",{"y":"]"}]})"));
    EXPECT_EQ(parsed.at("metadata").at("resourceVersion"), "9");
  }
}

/// The server records which manager has set which field, nested as deeply as the fields, and a
/// little more.
TEST(ObjectText, WhoAnObjectIsStaysKnownHoweverDeeplyItsManagedFieldsAreNested) {
  for (const std::size_t maps : {10U, 60U, 5000U}) {
    const std::string object =
        R"({"metadata":{"name":"a","managedFields":[{"manager":"m","fieldsV1":)" + nested(maps) +
        R"(}],"namespace":"ns","uid":"u","resourceVersion":"7"},)" +
        R"("spec":{"version":"3.6.16"}})";
    boost::system::error_code wrong;
    const Json parsed = parse_objects(R"({"type":"MODIFIED","object":)" + object + "}", 1, wrong);
    ASSERT_FALSE(wrong) << maps;
    const Json& out = parsed.at("object");
    EXPECT_TRUE(reads(out)) << maps;
    EXPECT_EQ(to_string(identity_of(out).key), "ns/a");
    EXPECT_EQ(out.at("metadata").at("resourceVersion"), "7");
    EXPECT_EQ(replaced_field(out), "");
  }
}

/// The limit does not depend on the form: an object that can be listed can be watched.
TEST(ObjectText, TheLimitIsTheSameForAnObjectAnEventAndAList) {
  // The object, spec, podTemplate and its spec are four.
  const auto object = [](std::size_t depth) {
    std::string inner = "1";
    for (std::size_t i = 4; i <= depth; ++i) inner = "[" + inner + "]";
    return cluster("a", R"({"x":)" + inner + "}");
  };
  for (const std::size_t level : {0U, 1U, 2U}) {
    const auto parsed = [&](std::size_t depth) {
      std::string text = object(depth);
      if (level == 1) text = R"({"type":"ADDED","object":)" + text + "}";
      if (level == 2) text = R"({"items":[)" + text + "]}";
      boost::system::error_code wrong;
      const Json out = parse_objects(text, level, wrong);
      EXPECT_FALSE(wrong);
      return level == 0 ? out : level == 1 ? out.at("object") : out.at("items").at(0);
    };
    const auto is_kept = [&](std::size_t depth) {
      return !is_too_deep(parsed(depth).at("spec").at("podTemplate").at("spec"));
    };
    EXPECT_TRUE(is_kept(kObjectDepthMax - 1)) << level;
    EXPECT_FALSE(is_kept(kObjectDepthMax + 1)) << level;
  }
}

/// Users may nest it as they like. The cluster that has it goes on as it was.
TEST(ObjectText, N3_APodTemplateThatIsTooDeepLeavesTheRestOfTheSpec) {
  for (const std::size_t maps : {20U, 100U, 100'000U}) {
    boost::system::error_code wrong;
    const Json whole = parse_objects(
        R"({"metadata":{"name":"a"},"spec":{"version":"3.6.16","podTemplate":{"metadata":)" +
            std::string(R"({"labels":{"a":"b"}},"spec":{"x":)") + nested(maps) +
            R"(,"y":1}},"replicas":3},"status":{"clusterID":"c"}})",
        0, wrong);
    ASSERT_FALSE(wrong) << wrong.message();
    api::v1alpha2::EtcdCluster out;
    ASSERT_TRUE(api::decode(whole, out, "EtcdCluster")) << whole;
    EXPECT_EQ(replaced_field(whole), "");
    EXPECT_EQ(out.spec.replicas, 3);
    EXPECT_EQ(out.status.cluster_id, "c");
    ASSERT_TRUE(out.spec.pod_template && out.spec.pod_template->spec);
    EXPECT_TRUE(is_too_deep(*out.spec.pod_template->spec));
    EXPECT_EQ(out.spec.pod_template->metadata->labels.at("a"), "b");
  }
}

/// Other fields of the spec, before and after it, are not taken for it.
TEST(ObjectText, N3_AnotherFieldThatIsTooDeepMakesTheSpecUnreadable) {
  for (const char* const form :
       {R"({"podTemplate":{"spec":{}},"affinity":#})",
        R"({"affinity":#,"podTemplate":{"spec":{}}})",
        R"({"podTemplate":{"spec":{},"metadata":#}})", R"({"other":{"podTemplate":{"spec":#}}})"}) {
    std::string spec = form;
    spec.replace(spec.find('#'), 1, nested(100));
    boost::system::error_code wrong;
    const Json whole = parse_objects(R"({"metadata":{"name":"a"},"spec":)" + spec + "}", 0, wrong);
    ASSERT_FALSE(wrong) << form;
    EXPECT_EQ(replaced_field(whole), "spec is nested more than 38 levels deep") << form;
  }
}

/// Users may make it as long as they like, likewise.
/// Found by the fuzzer of podTemplate.
TEST(ObjectText, N3_AColonWithoutANameAfterWhatIsTooDeepIsNoJson) {
  const std::string deep(kObjectDepthMax + 2, '['), ends(kObjectDepthMax + 2, ']');
  const std::string text =
      R"({"a":{")" + std::string(100, 'x') + R"(":1,"b":)" + deep + ends + "}:1}";
  boost::system::error_code wrong;
  (void)parse_objects(text, 0, wrong);
  EXPECT_TRUE(wrong);
}

/// Found by the fuzzer of podTemplate.
TEST(ObjectText, N3_AListWithoutANameAfterManagedFieldsIsNoJson) {
  const std::string deep(kObjectDepthMax + 2, '['), ends(kObjectDepthMax + 2, ']');
  boost::system::error_code wrong;
  const Json read =
      parse_objects(R"({"a":)" + deep + ends + R"(,"metadata":{"managedFields":"x",[[)", 0, wrong);
  EXPECT_TRUE(wrong) << read;
}

TEST(ObjectText, N4_APodTemplateThatIsTooLongLeavesTheRestOfTheSpec) {
  const std::string large(kFieldBytesMax, 'x');
  for (const std::string& inner :
       {"\"" + large + "\"", R"({"x":")" + large + "\"}", "{\"" + large + "\":1}",
        R"({"x":[{"y":[")" + large + "\"]}]}"}) {
    boost::system::error_code wrong;
    const Json whole =
        parse_objects(R"({"metadata":{"name":"a"},"spec":{"podTemplate":{"spec":)" + inner +
                          R"(,"metadata":{"labels":{"a":"b"}}},"version":"3.6.16","replicas":3}})",
                      0, wrong);
    ASSERT_FALSE(wrong) << wrong.message();
    api::v1alpha2::EtcdCluster out;
    ASSERT_TRUE(api::decode(whole, out, "EtcdCluster"));
    EXPECT_EQ(out.spec.replicas, 3);
    EXPECT_TRUE(is_too_long(*out.spec.pod_template->spec));
    EXPECT_EQ(out.spec.pod_template->metadata->labels.at("a"), "b");
  }
}

TEST(ObjectText, N4_AnotherFieldThatIsTooLongMakesTheObjectUnreadableAndLeavesItsName) {
  const std::string large = "\"" + std::string(kFieldBytesMax, 'x') + "\"";
  const auto read = [](const std::string& text) {
    boost::system::error_code wrong;
    Json out = parse_objects(text, 0, wrong);
    EXPECT_FALSE(wrong) << wrong.message();
    return out;
  };
  const Json spec = read(R"({"spec":{"affinity":)" + large + R"(},"metadata":{"name":"a"}})");
  EXPECT_EQ(replaced_field(spec), "spec has more than 786432 bytes");
  EXPECT_EQ(identity_of(spec).key.name, "a");
  const Json noted =
      read(R"({"metadata":{"annotations":{"x":)" + large + R"(},"name":"a"},"spec":{}})");
  EXPECT_FALSE(reads(noted));
  EXPECT_EQ(identity_of(noted).key.name, "a");
  std::string many = R"({"metadata":{"name":"a"})";
  for (int i = 0; i < 40; ++i)
    many += ",\"f" + std::to_string(i) + "\":\"" + std::string(kFieldBytesMax / 2, 'x') + '"';
  EXPECT_LT(serialize(read(many + "}")).size(), 4U << 20);
}

TEST(ObjectText, WhatIsNoJsonIsToldAsThat) {
  for (const std::string text : {"", "{", "[1,]", "\xFF", R"({"items":[)"}) {
    boost::system::error_code wrong;
    (void)parse_objects(text, 2, wrong);
    EXPECT_TRUE(wrong) << text;
  }
  boost::system::error_code wrong;
  (void)parse_objects(std::string(100, '['), 2, wrong);
  EXPECT_TRUE(wrong) << "there is no field that could be left out";
}

/// The API server writes the fields of a list in another order for custom resources than for Pods.
TEST(ObjectText, N4_TheItemsOfAListMayStandAnywhere) {
  const auto read = [](const std::string& text) {
    std::string out;
    const ListText::Item item = [&](const Json& object) { out += serialize(object); };
    ListText list(item);
    EXPECT_TRUE(list.take(text));
    auto rest = list.result();
    return out + " of " + (rest ? serialize(*rest) : rest.error().message);
  };
  const std::string items = R"("items":[{"a":[1,2]},{"b":{}}])", kind = R"("kind":"L")",
                    metadata = R"("metadata":{"resourceVersion":"9"})";
  EXPECT_EQ(read("{" + kind + "," + items + "," + metadata + "}\n"),
            R"({"a":[1,2]}{"b":{}} of {"kind":"L","items":[],"metadata":{"resourceVersion":"9"}})");
  EXPECT_EQ(read("{" + items + "," + kind + "}"),
            R"({"a":[1,2]}{"b":{}} of {"items":[],"kind":"L"})");
  EXPECT_EQ(read("{" + kind + "," + items + "}"),
            R"({"a":[1,2]}{"b":{}} of {"kind":"L","items":[]})");
  EXPECT_EQ(read(R"({"items":[],"kind":"L"})"), R"( of {"items":[],"kind":"L"})");
}

}  // namespace
}  // namespace etcdop::kube
