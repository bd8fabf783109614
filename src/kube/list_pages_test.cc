#include "kube/list_pages.h"

#include <gtest/gtest.h>

#include <deque>

#include "kube/core_types.h"
#include "kube/typed.h"

namespace etcdop::kube {
namespace {

/// Answers calls with the queued answers of a test, and records the calls.
class ScriptedApi final : public Api {
 public:
  Result<Json> call(const Call& call) override {
    const auto token = call.query.find("continue");
    seen.push_back(token == call.query.end() ? "-" : token->second);
    limits.push_back(call.query.at("limit"));
    if (answers.empty()) return Error{Code::NotFound, "no more answers"};
    auto answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }
  Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>&) override {
    return Done{};
  }
  std::deque<Result<Json>> answers;
  std::vector<std::string> seen, limits;
};

Json page(std::initializer_list<const char*> names, const char* version, const char* next) {
  json::array items;
  for (const char* name : names) items.emplace_back(json::object{{"metadata", {{"name", name}}}});
  return {{"metadata", {{"resourceVersion", version}, {"continue", next}}}, {"items", items}};
}

Result<std::string> list_names(Api& api, std::string& names) {
  Call call;
  call.verb = Verb::List;
  call.resource = Pod::resource;
  return list_pages(
      api, call, [&] { names += "|"; },
      [&](const Json& item) { names += item.at("metadata").at("name").as_string(); });
}

TEST(ListPages, AllPagesAreOneList) {
  ScriptedApi api;
  api.answers = {page({"a", "b"}, "7", "t1"), page({"c"}, "7", "t2"), page({}, "7", "")};
  std::string names;
  auto version = list_names(api, names);
  ASSERT_TRUE(version);
  EXPECT_EQ(*version, "7");
  EXPECT_EQ(names, "|abc");
  EXPECT_EQ(api.seen, (std::vector<std::string>{"-", "t1", "t2"}));
  EXPECT_EQ(api.limits, (std::vector<std::string>{"200", "200", "200"}));
}

/// A server from which one large object arrives within the time of a call, but no more.
class SlowApi final : public Api {
 public:
  Result<Json> call(const Call&) override { return Error{Code::Invalid, "not called"}; }
  Result<Json> list(const Call& call, const std::function<void(const Json&)>& item) override {
    const auto token = call.query.find("continue");
    const int from = token == call.query.end() ? 0 : std::stoi(token->second);
    const int limit = std::stoi(call.query.at("limit"));
    limits += call.query.at("limit") + " ";
    if (arrives) item(json::object{{"metadata", {{"name", std::to_string(from)}}}});
    if (limit > fits) return Error{Code::TimedOut, "no time"};
    const std::string next = from == 2 ? "" : std::to_string(from + 1);
    return Json{{"metadata", {{"resourceVersion", "7"}, {"continue", next}}}, {"items", nullptr}};
  }
  Result<Done> watch(const Call&, const std::function<bool(WatchEvent)>&) override {
    return Done{};
  }
  int fits = 1;
  bool arrives = true;
  std::string limits;
};

TEST(ListPages, N4_PagesOfLargeObjectsShrinkUntilTheyArriveInTime) {
  SlowApi api;
  std::string names;
  auto version = list_names(api, names);
  ASSERT_TRUE(version) << version.error().message;
  EXPECT_EQ(*version, "7");
  EXPECT_EQ(api.limits, "200 50 12 3 1 1 1 ");
  EXPECT_EQ(names, "|0|0|0|0|012") << "each attempt begins again";
  api.fits = 0;
  EXPECT_TRUE(list_names(api, names).failed_with(Code::TimedOut));
  api.arrives = false;
  api.limits.clear();
  EXPECT_TRUE(list_names(api, names).failed_with(Code::TimedOut));
  EXPECT_EQ(api.limits, "200 ") << "a server that says nothing sends no large objects";
}

TEST(ListPages, AStateForgottenInTheMiddleIsListedAnewOnce) {
  ScriptedApi api;
  const Error expired{Code::Expired, "too old"};
  api.answers = {page({"a"}, "7", "t1"), expired, page({"b"}, "9", "t2"), page({"c"}, "9", "")};
  std::string names;
  EXPECT_EQ(*list_names(api, names), "9");
  EXPECT_EQ(names, "|a|bc");
  api.answers = {page({"a"}, "7", "t1"), expired, page({"b"}, "9", "t2"), expired};
  EXPECT_TRUE(list_names(api, names).failed_with(Code::Expired));
  api.answers = {expired};
  EXPECT_TRUE(list_names(api, names).failed_with(Code::Expired)) << "not in the middle";
}

TEST(ListPages, WhatIsNoListIsCorrupt) {
  for (const char* text : {"[]", "{}", R"({"metadata":{}})", R"({"items":[]})",
                           R"({"metadata":[],"items":[]})", R"({"metadata":{},"items":{}})"}) {
    ScriptedApi api;
    api.answers = {json::parse(text)};
    std::string names;
    EXPECT_TRUE(list_names(api, names).failed_with(Code::Corrupt)) << text;
  }
  ScriptedApi api;
  api.answers = {json::parse(R"({"metadata":{"resourceVersion":"1"},"items":null})")};
  std::string names;
  EXPECT_TRUE(list_names(api, names)) << "Go writes an empty list so";
}

TEST(ListPages, AServerThatNeverEndsIsCorrupt) {
  ScriptedApi api;
  for (int i = 0; i < 2001; ++i) api.answers.emplace_back(page({}, "7", "t"));
  std::string names;
  EXPECT_TRUE(list_names(api, names).failed_with(Code::Corrupt));
  EXPECT_EQ(api.seen.size(), 2000U);
}

TEST(ListPages, TypedListsReadEveryObject) {
  ScriptedApi api;
  api.answers = {page({"a"}, "7", "t1"), page({"b"}, "7", "")};
  auto pods = list<Pod>(api, "prod", "app=etcd");
  ASSERT_TRUE(pods);
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ((*pods)[1].metadata.name, "b");
  api.answers = {
      json::parse(R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":7}}]})")};
  auto unreadable = list<Pod>(api, "", "");
  ASSERT_TRUE(unreadable.failed_with(Code::Corrupt));
  EXPECT_EQ(unreadable.error().message, "Pod.metadata.name: expected a string, got int64");
}

/// A neighbour's large or odd objects cost neither memory nor the list.
TEST(ListPages, N4_OnlyWantedObjectsAreDecoded) {
  ScriptedApi api;
  api.answers = {json::parse(R"({"metadata":{"resourceVersion":"1"},"items":[
                      {"metadata":{"name":"a"},"spec":{"nodeName":"n1"}},
                      {"metadata":{"name":7},"spec":{"nodeName":"n2"}},
                      {"metadata":{"name":"c"},"spec":{"nodeName":["n1"]}}, 7]})")};
  auto pods = list<Pod>(api, "", "",
                        [](const Json& pod) { return text_at(pod, "/spec/nodeName") == "n1"; });
  ASSERT_TRUE(pods);
  ASSERT_EQ(pods->size(), 1U);
  EXPECT_EQ(pods->front().metadata.name, "a");
}

}  // namespace
}  // namespace etcdop::kube
