#include "api/crdgen/yaml.h"

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

namespace etcdop::crdgen {
namespace {

TEST(Yaml, LooksAsPeopleWriteIt) {
  const Json value = json::parse(R"({"a":{"b":[{"x":1,"path":".z"},"w",[]],"empty":{}},"t":true,
                                     "q":"true","size":"1Gi","p":"^a: b'$","e":""})");
  EXPECT_EQ(yaml(value),
            "a:\n"
            "  b:\n"
            "    - x: 1\n"
            "      path: .z\n"
            "    - w\n"
            "    - []\n"
            "  empty: {}\n"
            "t: true\n"
            "q: 'true'\n"
            "size: '1Gi'\n"
            "p: '^a: b''$'\n"
            "e: ''\n");
}

TEST(Yaml, ProseIsFoldedAndMeansTheSame) {
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word" + std::to_string(i) + " ";
  const std::string prose = words + "end";
  const std::string text = yaml(json::object{{"doc", prose}});
  EXPECT_EQ(text.find("doc: >-\n  word0 "), 0U);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100U);
    at = end + 1;
  }
  EXPECT_EQ(YAML::Load(text)["doc"].as<std::string>(), prose);
}

TEST(Yaml, EveryTextIsReadBackAsItWas) {
  const std::string wide(120, 'x');
  for (const std::string text :
       {"plain",     "",     " x",   "x ",   "a: b",   "a #b",        "#a",     "- a", "'",
        "\"",        "~",    "null", "No",   "1",      "1.5",         "+1",     ".5",  ".",
        ".inf",      ".NaN", "..",   "a\nb", "a\n\nb", "a\n\n\nb",    "a\n  b", "a\n", "\na",
        "tab\there", "a:",   "{a}",  "[a]",  "*a",     "&a",          "!a",     "%a",  "@a",
        "`a",        "|",    ">",    "<a",   "a'b",    "back\\slash", "a\tb\nc"}) {
    for (const std::string& whole :
         {text, wide + " " + text + " " + wide, wide + "  " + text + "\n" + wide}) {
      const Json value = json::object{{"k", json::array{json::object{{"v", whole}}, Json(whole)}}};
      const YAML::Node read = YAML::Load(yaml(value));
      EXPECT_EQ(read["k"][0]["v"].as<std::string>(), whole) << yaml(value);
      EXPECT_EQ(read["k"][1].as<std::string>(), whole) << yaml(value);
    }
  }
}

}  // namespace
}  // namespace etcdop::crdgen
