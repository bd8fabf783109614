// Codec, schema and walks, tested on small structs of this file.
#include "api/describe.h"

#include <gtest/gtest.h>

#include <array>

#include "api/meta.h"

namespace etcdop::api {
namespace {

enum class Colour { Red, Green };
auto names(Colour) {
  return std::array{std::pair{Colour::Red, "red"}, std::pair{Colour::Green, "Green"}};
}

struct Inside {
  std::string label = "x";
  std::optional<std::int64_t> weight;
  bool operator==(const Inside&) const = default;
  template <class S = Inside>
  static auto describe() {
    return object("Inside.", Fields{defaulted("label", &S::label, "A label."),
                                    optional("weight", &S::weight, "", {{"minimum", 1}})});
  }
};

struct Thing {
  std::string name, size = "1Gi";
  std::int32_t count = 3;
  bool on = false;
  Colour colour = Colour::Green;
  Inside inside;
  std::optional<Inside> maybe;
  std::vector<Inside> list;
  std::map<std::string, std::string> labels;
  std::optional<Json> raw;
  std::int32_t shown = 0;
  bool operator==(const Thing&) const = default;
  template <class S = Thing>
  static auto describe() {
    return object("Thing.",
                  Fields{required("name", &S::name, ""), defaulted<Quantity>("size", &S::size, ""),
                         defaulted("count", &S::count, ""), sparse("on", &S::on, ""),
                         defaulted("colour", &S::colour, ""), defaulted("inside", &S::inside, ""),
                         optional("maybe", &S::maybe, "Perhaps."), sparse("list", &S::list, ""),
                         sparse("labels", &S::labels, ""),
                         optional("raw", &S::raw, "", {{"$ref", "Affinity"}}),
                         always("shown", &S::shown, "")},
                  {{"self.count > 0", "count must be positive"}});
  }
};

std::string fault_of(const char* text) {
  Thing thing;
  const auto ok = decode(json::parse(text), thing, "Thing");
  return ok ? "" : ok.error().message;
}

TEST(Codec, EveryKindOfFieldSurvivesTheWayThereAndBack) {
  Thing thing;
  thing.name = "n";
  thing.size = "5Gi";
  thing.count = 7;
  thing.on = true;
  thing.colour = Colour::Red;
  thing.inside.weight = std::int64_t{1} << 40;
  thing.maybe = Inside{"in", {}};
  thing.list = {Inside{"a", 1}, Inside{"b", 2}};
  thing.labels = {{"k", "v"}};
  thing.raw = json::parse(R"({"deep":[1,{"x":null}]})");
  Thing back;
  back.labels = {{"left", "over"}};
  ASSERT_TRUE(decode(encode(thing), back, "Thing"));
  EXPECT_EQ(back, thing);
}

TEST(Codec, OnlyWhatSaysSomethingIsEncoded) {
  EXPECT_EQ(
      serialize(encode(Thing{})),
      R"({"name":"","size":"1Gi","count":3,"colour":"Green","inside":{"label":"x"},"shown":0})");
}

TEST(Codec, AbsentAndNullMeanTheInitialiserAndUnknownFieldsAreIgnored) {
  Thing thing;
  thing.count = 99;
  ASSERT_TRUE(decode(json::parse(R"({"name":"n","size":null,"later":{"x":1}})"), thing, "Thing"));
  EXPECT_EQ(thing.count, 3);
  EXPECT_EQ(thing.size, "1Gi");
}

TEST(Codec, AQuantityMayBeANumberOnTheWire) {
  Thing thing;
  ASSERT_TRUE(decode(json::parse(R"({"name":"n","size":1073741824})"), thing, "Thing"));
  EXPECT_EQ(thing.size, "1073741824");
  EXPECT_EQ(encode(thing).at("size"), "1073741824");
}

TEST(Codec, AnErrorNamesThePathAndWhatWasExpected) {
  EXPECT_EQ(fault_of(R"({})"), "Thing.name: is required");
  EXPECT_EQ(fault_of(R"([])"), "Thing: expected an object, got array");
  EXPECT_EQ(fault_of(R"({"name":5})"), "Thing.name: expected a string, got int64");
  EXPECT_EQ(fault_of(R"({"name":"n","count":4294967296})"),
            "Thing.count: expected an integer of 32 bits, got 4294967296");
  EXPECT_EQ(fault_of(R"({"name":"n","count":1.5})"),
            "Thing.count: expected an integer of 32 bits, got 1.5E0");
  EXPECT_EQ(fault_of(R"({"name":"n","on":"yes"})"), "Thing.on: expected true or false, got string");
  EXPECT_EQ(fault_of(R"({"name":"n","size":[]})"),
            "Thing.size: expected a quantity such as \"1Gi\", got array");
  EXPECT_EQ(fault_of(R"({"name":"n","colour":"blue"})"),
            "Thing.colour: expected one of \"red\", \"Green\", got \"blue\"");
  EXPECT_EQ(fault_of(R"({"name":"n","list":[{},{"weight":"x"}]})"),
            "Thing.list[1].weight: expected an integer of 64 bits, got string");
  EXPECT_EQ(fault_of(R"({"name":"n","labels":{"a":true}})"),
            "Thing.labels[a]: expected a string, got bool");
  EXPECT_EQ(fault_of(R"({"name":"n","maybe":{"label":{}}})"),
            "Thing.maybe.label: expected a string, got object");
}

TEST(Schema, SaysWhatTheDescriptionSays) {
  const Json s = schema<Thing>();
  EXPECT_EQ(s.at("required"), json::parse(R"(["name"])"));
  EXPECT_EQ(s.at("x-kubernetes-validations"),
            json::parse(R"([{"rule":"self.count > 0","message":"count must be positive"}])"));
  const Json& p = s.at("properties");
  EXPECT_EQ(p.at("count"), json::parse(R"({"type":"integer","format":"int32","default":3})"));
  EXPECT_EQ(p.at("colour"),
            json::parse(R"({"type":"string","enum":["red","Green"],"default":"Green"})"));
  EXPECT_EQ(p.at("size").at("x-kubernetes-int-or-string"), true);
  EXPECT_FALSE(p.at("size").as_object().contains("type"));
  EXPECT_EQ(p.at("inside").at("default"), json::parse(R"({"label":"x"})"));
  EXPECT_EQ(p.at("inside").at("description"), "Inside.");
  EXPECT_EQ(p.at("maybe").at("description"), "Perhaps.");
  EXPECT_EQ(p.at("maybe").at("properties").at("weight"),
            json::parse(R"({"type":"integer","format":"int64","minimum":1})"));
  EXPECT_EQ(p.at("list").at("items").at("description"), "Inside.");
  EXPECT_EQ(p.at("labels"),
            json::parse(R"({"type":"object","additionalProperties":{"type":"string"}})"));
  EXPECT_EQ(p.at("raw"), json::parse(R"({"$ref":"Affinity"})"));
  EXPECT_FALSE(p.at("shown").as_object().contains("default"));
}

TEST(Leaves, AreThePathsOfWhatCanBeSet) {
  EXPECT_EQ(leaves<Thing>(),
            (std::vector<std::string>{"name", "size", "count", "on", "colour", "inside.label",
                                      "inside.weight", "maybe.label", "maybe.weight", "list",
                                      "labels", "raw", "shown"}));
}

TEST(Leaves, OnlyWhatIsNotAsTheDefaultsMakeItDiffers) {
  using Paths = std::vector<std::string>;
  Thing thing;
  EXPECT_EQ(differs_from_default(thing), Paths{});
  thing.maybe.emplace();
  EXPECT_EQ(differs_from_default(thing), Paths{"maybe"}) << "an object that is there, though empty";
  thing.maybe->weight = 0;
  thing.inside.label = "";
  thing.raw = json::object{};
  thing.list.resize(1);
  EXPECT_EQ(differs_from_default(thing), (Paths{"inside.label", "maybe.weight", "list", "raw"}));
}

TEST(Meta, AnObjectMetaIsReadFromWhatTheServerSends) {
  ObjectMeta meta;
  ASSERT_TRUE(decode(json::parse(R"({"name":"a","namespace":"b","uid":"u","resourceVersion":"12",
      "generation":4,"managedFields":[{}],"deletionTimestamp":"2026-11-21T03:56:18Z",
      "ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"x","controller":true}]})"),
                     meta, "metadata"));
  EXPECT_EQ(meta.key(), (ObjectKey{"b", "a"}));
  EXPECT_TRUE(meta.terminating());
  ASSERT_NE(meta.controller(), nullptr);
  EXPECT_EQ(meta.controller()->uid, "x");
}

TEST(Resource, IsTheSameByItsWordsWhereverTheyLie) {
  const std::string group = "g", plural = "pods";
  EXPECT_EQ((Resource{group.c_str(), "v1", plural.c_str(), "Pod"}),
            (Resource{"g", "v1", "pods", "Pod"}));
  EXPECT_FALSE((Resource{"g", "v1", "pods", "Pod"} == Resource{"g", "v2", "pods", "Pod"}));
}

}  // namespace
}  // namespace etcdop::api
