#include "operator/passes/json_delta.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(JsonDelta, LeadsFromOneValueToTheOtherAndSaysOnlyWhatDiffers) {
  struct Row {
    const char *from, *to, *delta, *because;
  };
  const Row rows[] = {
      {"1", "1", "{}", "equal values differ in nothing"},
      {"1", "2", "[2]", "a leaf is replaced"},
      {"null", "[]", "[[]]", "an empty list is a value, not an absence"},
      {R"({"a":1,"b":2})", R"({"a":1,"b":3})", R"({"b":[3]})", "only the field"},
      {R"({"a":1})", R"({"a":1,"b":null})", R"({"b":[null]})", "null is a value, too"},
      {R"({"a":1,"b":2})", R"({"a":1})", R"({"b":[]})", "a field that goes"},
      {R"({"a":{"b":{"c":1}}})", R"({"a":{"b":{"c":2}}})", R"({"a":{"b":{"c":[2]}}})", "deep"},
      {"[1,2,3]", "[1,5,3]", R"({"1":[5]})", "an element of a list that stays as long"},
      {"[1,2]", "[1,2,3]", "[[1,2,3]]", "a list of another length is replaced"},
      {R"({"a":[1]})", R"({"a":{"0":1}})", R"({"a":[{"0":1}]})", "a list is no object"},
      {R"([{"n":1},{"n":2}])", R"([{"n":1},{"n":3}])", R"({"1":{"n":[3]}})", "objects in lists"},
  };
  for (const Row& row : rows) {
    Json value = json::parse(row.from);
    const Json to = json::parse(row.to);
    const Json found = delta(value, to);
    EXPECT_EQ(found, json::parse(row.delta)) << row.because;
    EXPECT_TRUE(apply(value, found)) << row.because;
    EXPECT_EQ(value, to) << row.because;
  }
}

TEST(JsonDelta, IsRefusedWhereItDoesNotBelong) {
  const char* rows[][2] = {
      {"1", R"({"a":[1]})"},           {"[1]", R"({"1":[1]})"},        {"[1]", R"({"x":[1]})"},
      {"[1]", R"({"0":[]})"},          {R"({"a":1})", R"({"a":"b"})"}, {"1", "7"},
      {R"({})", R"({"a":{"b":[1]}})"},
  };
  for (const auto& [from, change] : rows) {
    Json value = json::parse(from);
    EXPECT_TRUE(apply(value, json::parse(change)).failed_with(Code::Invalid)) << change;
  }
}

}  // namespace
}  // namespace etcdop
