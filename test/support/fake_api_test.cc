// Behaviour of the fake that tests may rely on: that of the real server, as design/semantics.md
// describes it.
#include "test/support/fake_api.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/scheduler.h"

namespace etcdop::testing {
namespace {

using namespace std::chrono_literals;
using kube::Call;
using kube::PatchType;
using kube::Verb;
using kube::WatchEvent;

constexpr Resource kThings{"example.org", "v1", "things", "Thing"};
constexpr Resource kPods{"", "v1", "pods", "Pod"};

struct World {
  sim::Scheduler time{1};
  std::vector<std::string> misuse;
  FakeApi api{time, [this](const std::string& how) { misuse.push_back(how); }};
  World() {
    api.serve({.resource = kThings, .status = true, .generation = true});
    api.serve({.resource = kPods, .status = true, .graceful = true});
  }
  Result<Json> create(const char* name, const char* more = "{}") {
    Json body = json::parse(more);
    body.as_object()["apiVersion"] = "example.org/v1";
    body.as_object()["kind"] = "Thing";
    body.as_object()["metadata"].emplace_object();
    body.at("metadata").as_object()["name"] = name;
    return api.call({Verb::Create, kThings, "ns", {}, {}, {}, {}, std::move(body)});
  }
  Result<Json> get(const char* name) {
    return api.call({Verb::Get, kThings, "ns", name, {}, {}, {}, {}});
  }
  Result<Json> patch(const char* name, const std::string& body, const char* subresource = "",
                     PatchType type = PatchType::Merge) {
    return api.call({Verb::Patch, kThings, "ns", name, subresource, type, {}, json::parse(body)});
  }
  Result<Json> remove(const char* name, const char* options = "{}") {
    return api.call({Verb::Delete, kThings, "ns", name, {}, {}, {}, json::parse(options)});
  }
};

std::string at(const Json& object, const char* pointer) {
  const Json* value = object.find_pointer(pointer, *std::make_unique<boost::system::error_code>());
  return value ? (value->is_string() ? std::string(value->as_string()) : json::serialize(*value))
               : "absent";
}
std::string version(const Json& object) { return at(object, "/metadata/resourceVersion"); }

TEST(FakeApi, CreatesAnObjectOnceWithIdentityAndWithoutStatus) {
  World w;
  auto made = w.create("a", R"({"spec":{"x":1},"status":{"y":2}})");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(at(*made, "/metadata/uid"), "absent");
  EXPECT_EQ(at(*made, "/metadata/creationTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(at(*made, "/metadata/generation"), "1");
  EXPECT_EQ(at(*made, "/metadata/namespace"), "ns");
  EXPECT_EQ(at(*made, "/status"), "absent");
  auto again = w.create("a");
  ASSERT_TRUE(again.failed_with(Code::AlreadyExists));
  EXPECT_EQ(again.error().message, "things.example.org \"a\" already exists");
  EXPECT_EQ(*w.get("a"), *made);
  EXPECT_TRUE(w.get("b").failed_with(Code::NotFound));
}

TEST(FakeApi, RefusesACreateThatTheServerRefuses) {
  World w;
  const auto create = [&](const char* body) {
    return w.api.call({Verb::Create, kThings, "ns", {}, {}, {}, {}, json::parse(body)});
  };
  for (const char* body :
       {R"({"apiVersion":"example.org/v1","kind":"Thing","metadata":{}})",
        R"({"apiVersion":"example.org/v1","kind":"Thing","metadata":{"name":"A_b"}})",
        R"({"apiVersion":"example.org/v1","kind":"Thing",)"
        R"("metadata":{"name":"a","namespace":"x"}})"})
    EXPECT_TRUE(create(body).failed_with(Code::Invalid)) << body;
  EXPECT_EQ(w.misuse.size(), 0U);
  for (const char* body :
       {R"({})", R"({"apiVersion":"example.org/v1","kind":"Other","metadata":{"name":"a"}})"})
    EXPECT_TRUE(create(body).failed_with(Code::Invalid)) << body;
  EXPECT_EQ(w.misuse.size(), 2U) << "no correct program does that";
  auto generated =
      create(R"({"apiVersion":"example.org/v1","kind":"Thing","metadata":{"generateName":"a-"}})");
  ASSERT_TRUE(generated);
  EXPECT_EQ(at(*generated, "/metadata/name").size(), 7U);
}

TEST(FakeApi, APatchThatChangesNothingMakesNoVersion) {
  World w;
  auto made = w.create("a", R"({"spec":{"x":1}})");
  auto same = w.patch("a", R"({"spec":{"x":1},"metadata":{"labels":{}}})");
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, *made);
}

TEST(FakeApi, SpecAndStatusAreWrittenApart) {
  World w;
  (void)w.create("a", R"({"spec":{"x":1}})");
  auto spec = w.patch("a", R"({"spec":{"x":2},"status":{"y":1}})");
  ASSERT_TRUE(spec);
  EXPECT_EQ(at(*spec, "/status"), "absent");
  EXPECT_EQ(at(*spec, "/metadata/generation"), "2");
  auto status = w.patch("a", R"({"spec":{"x":3},"status":{"y":1}})", "status");
  ASSERT_TRUE(status);
  EXPECT_EQ(at(*status, "/spec/x"), "2");
  EXPECT_EQ(at(*status, "/status/y"), "1");
  EXPECT_EQ(at(*status, "/metadata/generation"), "2");
  EXPECT_NE(version(*status), version(*spec));
}

TEST(FakeApi, PreconditionsHoldInEveryKindOfPatchAndInDeletes) {
  World w;
  auto made = w.create("a");
  const std::string old = version(*made), uid = at(*made, "/metadata/uid");
  ASSERT_TRUE(w.patch("a", R"({"metadata":{"uid":")" + uid + R"(","resourceVersion":")" + old +
                               R"("},"spec":{"x":1}})"));
  for (const char* sub : {"", "status"}) {
    EXPECT_TRUE(
        w.patch("a", R"({"metadata":{"resourceVersion":")" + old + R"("},"spec":{"x":2}})", sub)
            .failed_with(Code::Conflict));
  }
  EXPECT_TRUE(
      w.patch("a", R"({"metadata":{"uid":"other"},"spec":{"x":2}})").failed_with(Code::Conflict));
  EXPECT_TRUE(w.patch("a", R"({"metadata":{"uid":"other"},"status":{"x":2}})", "status"))
      << "the status sub-resource does not look at it";
  EXPECT_TRUE(w.patch("a",
                      R"([{"op":"test","path":"/metadata/resourceVersion","value":")" + old +
                          R"("},{"op":"add","path":"/spec/x","value":2}])",
                      "", PatchType::Json)
                  .failed_with(Code::Conflict));
  EXPECT_TRUE(w.remove("a", R"({"preconditions":{"uid":"other"}})").failed_with(Code::Conflict));
  EXPECT_EQ(at(*w.get("a"), "/spec/x"), "1");
  EXPECT_TRUE(w.remove("a", (R"({"preconditions":{"uid":")" + uid + R"("}})").c_str()));
  EXPECT_TRUE(w.remove("a").failed_with(Code::NotFound));
}

TEST(FakeApi, AnObjectWithFinalizersGoesWithTheLastOfThem) {
  World w;
  (void)w.create("a");
  (void)w.patch("a", R"({"metadata":{"finalizers":["x/y"]}})");
  ASSERT_TRUE(w.remove("a"));
  auto going = w.get("a");
  ASSERT_TRUE(going);
  EXPECT_EQ(at(*going, "/metadata/deletionTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(at(*going, "/metadata/generation"), "2");
  auto taken = w.create("a");
  ASSERT_TRUE(taken.failed_with(Code::AlreadyExists));
  EXPECT_TRUE(taken.error().message.starts_with("object is being deleted: "));
  EXPECT_TRUE(
      w.patch("a", R"({"metadata":{"finalizers":["x/y","z/z"]}})").failed_with(Code::Invalid));
  EXPECT_TRUE(w.patch("a", R"({"metadata":{"finalizers":null}})"));
  EXPECT_TRUE(w.get("a").failed_with(Code::NotFound));
}

TEST(FakeApi, APodStaysUntilItsKubeletEndsIt) {
  World w;
  const Json pod = w.api.put(
      kPods, {{"metadata", {{"name", "p"}, {"namespace", "ns"}}}, {"spec", {{"nodeName", "n"}}}});
  ASSERT_TRUE(w.api.call({Verb::Delete, kPods, "ns", "p", {}, {}, {}, {}}));
  EXPECT_NE(at(*w.api.find(kPods, {"ns", "p"}), "/metadata/deletionTimestamp"), "absent");
  EXPECT_TRUE(w.api.erase(kPods, {"ns", "p"}));
  EXPECT_EQ(w.api.find(kPods, {"ns", "p"}), std::nullopt);
}

TEST(FakeApi, ApplyCreatesMergesAndTakesAway) {
  World w;
  const auto apply = [&](const std::string& rest) {
    return w.patch("a", R"({"apiVersion":"example.org/v1","kind":"Thing",)" + rest + "}", "",
                   PatchType::Apply);
  };
  ASSERT_TRUE(apply(R"("spec":{"x":1,"y":1})"));
  (void)w.patch("a", R"({"spec":{"z":1}})");
  auto now = apply(R"("spec":{"x":1})");
  ASSERT_TRUE(now);
  EXPECT_EQ(json::serialize(now->at("spec")), R"({"x":1,"z":1})");
  EXPECT_EQ(version(*apply(R"("spec":{"x":1})")), version(*now)) << "nothing changed";
}

TEST(FakeApi, ListsPagesAndSelections) {
  World w;
  for (const char* name : {"c", "a", "b", "d"}) (void)w.create(name);
  (void)w.patch("b", R"({"metadata":{"labels":{"color":"red","size":"s"}}})");
  (void)w.patch("c", R"({"metadata":{"labels":{"color":"blue"}}})");
  const auto list = [&](std::map<std::string, std::string> query) {
    std::string names;
    for (;;) {
      auto page = w.api.call({Verb::List, kThings, {}, {}, {}, {}, query, {}});
      if (!page) return page.error().message;
      for (const Json& item : page->at("items").as_array()) names += at(item, "/metadata/name");
      const std::string next = at(*page, "/metadata/continue");
      if (next == "absent") return names;
      query["continue"] = next;
      names += "|";
    }
  };
  EXPECT_EQ(list({}), "abcd");
  EXPECT_EQ(list({{"limit", "3"}}), "abc|d");
  EXPECT_EQ(list({{"limit", "2"}}), "ab|cd");
  EXPECT_EQ(list({{"labelSelector", "color=red"}}), "b");
  EXPECT_EQ(list({{"labelSelector", "color!=red"}}), "acd");
  EXPECT_EQ(list({{"labelSelector", "color"}}), "bc");
  EXPECT_EQ(list({{"labelSelector", "!color"}}), "ad");
  EXPECT_EQ(list({{"labelSelector", "color in (red, blue),!size"}}), "c");
  EXPECT_EQ(list({{"labelSelector", "color notin (red)"}}), "acd");
  EXPECT_EQ(list({{"fieldSelector", "metadata.name=d"}}), "d");
  EXPECT_EQ(list({{"fieldSelector", "spec.x=d"}}), "field label not supported: spec.x=d");
}

std::string short_form(const WatchEvent& event) {
  const char* names[] = {"+", "~", "-", "bookmark"};
  std::string out = names[static_cast<int>(event.type)];
  if (event.type != WatchEvent::Type::Bookmark) out += at(event.object, "/metadata/name");
  return out + " ";
}

TEST(FakeApi, AWatchTellsWhatHappensToTheSelectionFromAVersionOn) {
  World w;
  (void)w.create("old");
  const std::string from = version(*w.create("a"));
  std::string trace;
  w.time.spawn([&] {
    const Call watch{Verb::Watch,
                     kThings,
                     "ns",
                     {},
                     {},
                     {},
                     {{"resourceVersion", from},
                      {"labelSelector", "on"},
                      {"allowWatchBookmarks", "true"},
                      {"timeoutSeconds", "90"}},
                     {}};
    EXPECT_TRUE(w.api.watch(watch, [&](const WatchEvent& event) {
      trace += short_form(event);
      return true;
    }));
    EXPECT_EQ(w.time.now(), Instant(90s)) << "the server ends a watch";
  });
  w.time.spawn([&] {
    (void)w.time.sleep(1s);
    (void)w.create("b");
    (void)w.patch("a", R"({"metadata":{"labels":{"on":"1"}}})");
    (void)w.patch("a", R"({"spec":{"x":1}})");
    (void)w.patch("a", R"({"spec":{"x":1}})");
    (void)w.time.sleep(1s);
    (void)w.patch("a", R"({"metadata":{"labels":null}})");
    (void)w.patch("b", R"({"metadata":{"labels":{"on":"1"}}})");
    (void)w.remove("b");
  });
  w.time.run();
  EXPECT_EQ(trace, "+a ~a -a +b -b bookmark bookmark ");
}

TEST(FakeApi, AWatchCanBeCutForgottenLeftAndCancelled) {
  World w;
  const std::string from = version(*w.create("a"));
  const auto watch = [&](const std::string& version_from, int events) {
    return w.api.watch(
        {Verb::Watch, kThings, {}, {}, {}, {}, {{"resourceVersion", version_from}}, {}},
        [&, left = events](const WatchEvent&) mutable { return --left > 0; });
  };
  w.time.spawn([&] {
    EXPECT_TRUE(watch("0", 1)) << "from 0 it begins with what is there";
    EXPECT_TRUE(watch(from, 100).failed_with(Code::Unavailable));
    EXPECT_TRUE(watch(from, 100).failed_with(Code::Expired));
    Within limit(w.time, 5s);
    EXPECT_TRUE(watch("0", 100).failed_with(Code::TimedOut));
  });
  w.time.spawn([&] {
    (void)w.time.sleep(1s);
    (void)w.create("b");
    EXPECT_EQ(w.api.watches(), 1U);
    w.api.forget_history();
    w.api.cut_watches(Error{Code::Unavailable, "cut"});
  });
  w.time.run();
  EXPECT_EQ(w.api.watches(), 0U);
}

TEST(FakeApi, FaultsComeBeforeOrAfterTheDeed) {
  World w;
  w.api.before([](const Call& call) {
    return call.verb == Verb::Create ? std::optional(Error{Code::Unavailable, "no"}) : std::nullopt;
  });
  EXPECT_TRUE(w.create("a").failed_with(Code::Unavailable));
  EXPECT_TRUE(w.get("a").failed_with(Code::NotFound));
  w.api.before({});
  w.api.after([](const Call&) { return std::optional(Error{Code::Lost, "no answer"}); });
  EXPECT_TRUE(w.create("a").failed_with(Code::Lost));
  w.api.after({});
  EXPECT_TRUE(w.get("a"));
  EXPECT_EQ(w.api.requests(), (std::vector<std::string>{"create things ns", "get things ns/a",
                                                        "create things ns", "get things ns/a"}));
}

TEST(FakeApi, CollectsWhatHasNoOwnerLeft) {
  World w;
  auto owner = w.create("owner");
  const auto owned_by = [](const std::string& uid) {
    return R"({"metadata":{"ownerReferences":[{"uid":")" + uid + R"("}]}})";
  };
  for (const char* name : {"child", "stranger", "held"}) (void)w.create(name);
  (void)w.patch("child", owned_by(at(*owner, "/metadata/uid")));
  (void)w.patch("held", owned_by(at(*w.get("child"), "/metadata/uid")));
  (void)w.patch("held", R"({"metadata":{"finalizers":["x/y"]}})");
  EXPECT_EQ(w.api.collect_garbage(), 0U);
  (void)w.remove("owner");
  (void)w.create("owner");  // Another one with that name owns nothing.
  EXPECT_EQ(w.api.collect_garbage(), 2U);
  EXPECT_TRUE(w.get("child").failed_with(Code::NotFound));
  EXPECT_NE(at(*w.get("held"), "/metadata/deletionTimestamp"), "absent");
  EXPECT_TRUE(w.get("stranger"));
}

TEST(FakeApi, WhatNoCorrectProgramAsksForFailsTheTest) {
  World w;
  constexpr Resource other{"", "v1", "secrets", "Secret"};
  w.api.grant({{kThings, "", {Verb::Get, Verb::List}}});
  const std::vector<Call> calls{
      {Verb::Get, other, "ns", "a", {}, {}, {}, {}},
      {Verb::Get, kThings, "ns", "", {}, {}, {}, {}},
      {Verb::Get, kThings, "", "a", {}, {}, {}, {}},
      {Verb::List, kThings, "", "a", {}, {}, {}, {}},
      {Verb::List, kThings, "", "", {}, {}, {{"labelSelecter", "a"}}, {}},
      {Verb::Patch, kThings, "ns", "a", {}, {}, {}, json::object()},
      {Verb::Get, kThings, "ns", "a", "scale", {}, {}, {}},
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_TRUE(w.api.call(calls[i]).failed_with(Code::Denied)) << i;
    EXPECT_EQ(w.misuse.size(), i + 1);
  }
  EXPECT_TRUE(w.get("a").failed_with(Code::NotFound));
  EXPECT_EQ(w.misuse.size(), calls.size());
}

}  // namespace
}  // namespace etcdop::testing
