#include "operator/passes/status_patch.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

TEST(StatusPatch, NamesWhatChangedAndWhatIsGone) {
  struct Row {
    const char *before, *after, *patch;
  };
  const Row rows[] = {
      {R"({"a":1})", R"({"a":1})", R"({})"},
      {R"({"a":1,"b":2})", R"({"a":3,"c":4})", R"({"a":3,"c":4,"b":null})"},
      {R"({"o":{"x":1,"y":2}})", R"({"o":{"x":1}})", R"({"o":{"y":null}})"},
      {R"({"o":{"r":{"cpu":"1"}}})", R"({"o":{}})", R"({"o":{"r":null}})"},
      {R"({"o":{"x":1}})", R"({"o":{"x":1,"n":{"z":1}}})", R"({"o":{"n":{"z":1}}})"},
      {R"({"l":[1,2]})", R"({"l":[2]})", R"({"l":[2]})"},
      {R"({"o":{"x":1}})", R"({"o":7})", R"({"o":7})"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Json(status_patch(json::parse(row.before), json::parse(row.after))),
              json::parse(row.patch))
        << row.before << " to " << row.after;
}

}  // namespace
}  // namespace etcdop
