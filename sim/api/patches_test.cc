// The three ways to change an object, by example.
#include "sim/api/patches.h"

#include "sim/api/fields.h"

#include <gtest/gtest.h>

namespace etcdop::sim {
namespace {

Json parse(const char* text) { return json::parse(text); }

TEST(MergePatch, FollowsTheExamplesOfItsRfc) {
  struct Row {
    const char *target, *patch, *result;
  };
  for (const Row& row :
       {Row{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        Row{R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        Row{R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        Row{R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
        Row{R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
        Row{R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        Row{R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
        Row{R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}}) {
    Json target = parse(row.target);
    merge_patch(target, parse(row.patch));
    EXPECT_EQ(target, parse(row.result)) << row.target << " + " << row.patch;
  }
}

TEST(JsonPatch, DoesWhatItsOperationsSay) {
  struct Row {
    const char *target, *patch, *result;
  };
  for (const Row& row :
       {Row{R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
        Row{R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
        Row{R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
        Row{R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
        Row{R"({"x/y":{"~":1}})", R"([{"op":"replace","path":"/x~1y/~0","value":2}])",
            R"({"x/y":{"~":2}})"},
        Row{R"({"a":{"b":[1]}})",
            R"([{"op":"test","path":"/a/b","value":[1]},{"op":"remove","path":"/a"}])", R"({})"}}) {
    auto result = json_patch(parse(row.target), parse(row.patch));
    ASSERT_TRUE(result) << row.patch << ": " << result.error().message;
    EXPECT_EQ(*result, parse(row.result)) << row.patch;
  }
}

TEST(JsonPatch, TellsAFailedTestFromAPatchThatCannotBe) {
  const Json target = parse(R"({"a":1,"l":[1]})");
  for (const char* patch :
       {R"([{"op":"test","path":"/a","value":2}])", R"([{"op":"test","path":"/b","value":2}])",
        R"([{"op":"add","path":"/x/y","value":1}])", R"([{"op":"remove","path":"/x"}])",
        R"([{"op":"replace","path":"/x","value":1}])", R"([{"op":"add","path":"/l/2","value":1}])"})
    EXPECT_TRUE(json_patch(target, parse(patch)).failed_with(Code::Conflict)) << patch;
  for (const char* patch :
       {R"({"a":1})", R"([{"op":"add"}])", R"([{"op":"add","path":"/b"}])",
        R"([{"op":"move","path":"/a","from":"/l"}])", R"([{"op":"remove","path":"a"}])"})
    EXPECT_TRUE(json_patch(target, parse(patch)).failed_with(Code::Invalid)) << patch;
}

TEST(ApplyPatch, TakesAwayWhatWasAppliedAndIsLeftOut) {
  FieldManagers managers;
  Json target = parse(R"({"spec":{"ours":1,"theirs":2},"metadata":{"finalizers":["x"]}})");
  note_update(managers, "them", nullptr, target);
  auto done = apply(managers, "us", true, target, parse(R"({"spec":{"ours":1},"gone":{"x":1}})"));
  ASSERT_TRUE(done);
  note_update(managers, "them", *done, *done);
  (void)apply(managers, "them too", true, *done, parse(R"({"spec":{"ours":1}})"));
  done = apply(managers, "us", true, *done,
               parse(R"({"spec":{"new":3},"metadata":{"finalizers":["y","x"]}})"));
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, parse(R"({"spec":{"ours":1,"theirs":2,"new":3},)"
                         R"("metadata":{"finalizers":["y","x"]}})"))
      << "two others own it, too; the order is that of who applies";
}

TEST(ApplyPatch, TakesFromOthersOnlyByForce) {
  FieldManagers managers;
  const Json before = parse(R"({"spec":{"a":1,"b":1}})"), wish = parse(R"({"spec":{"a":2}})");
  note_update(managers, "\"them\" using v1", nullptr, before);
  const FieldManagers untouched = managers;
  FieldManagers tried = managers;
  auto refused = apply(tried, "us", false, before, wish);
  ASSERT_TRUE(refused.failed_with(Code::Conflict));
  EXPECT_EQ(refused.error().message,
            "Apply failed with 1 conflict: conflict with \"them\" using v1: .spec.a");
  auto done = apply(managers, "us", true, before, wish);
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, parse(R"({"spec":{"a":2,"b":1}})"));
  done = apply(managers, "us", false, *done, parse("{}"));
  ASSERT_TRUE(done);
  EXPECT_EQ(*done, parse(R"({"spec":{"b":1}})")) << "it was ours alone";
}

}  // namespace
}  // namespace etcdop::sim
