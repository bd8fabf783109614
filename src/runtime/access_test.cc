#include "runtime/access.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "sim/scheduler.h"
#include "test/support/memory_log.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;
using kube::Call;

/// The two reviews as the API server answers them; anything else fails the test.
class Judge final : public kube::Api {
 public:
  explicit Judge(Executor& executor) : executor_(executor) {}

  Result<Json> call(const Call& call) override {
    requests.emplace_back(call.resource.plural);
    if (auto slept = to_result(executor_.sleep(latency), "wait for the answer"); !slept)
      return slept.error();
    if (failing) return *failing;
    EXPECT_TRUE(call.verb == kube::Verb::Create && call.ns.empty() && call.name.empty());
    EXPECT_EQ(call.body.at("kind"), call.resource.kind);
    const json::object& spec = call.body.at("spec").as_object();
    json::object answer = call.body.as_object();
    if (call.resource == kube::TokenReview::resource) answer["status"] = about(spec);
    else if (call.resource == kube::SubjectAccessReview::resource) answer["status"] = right(spec);
    else ADD_FAILURE() << call.resource.plural;
    return Json(answer);
  }
  Result<Done> watch(const Call&, const std::function<bool(kube::WatchEvent)>&) override {
    ADD_FAILURE() << "nothing is watched";
    return Done{};
  }

  std::map<std::string, std::string> tokens{{"t-prometheus", "prometheus"}, {"t-other", "other"}};
  std::set<std::string> may{"prometheus"};
  std::optional<Error> failing;
  Duration latency{0};
  std::vector<std::string> requests;
  json::object asked;  ///< The spec of the last SubjectAccessReview.

 private:
  json::object about(const json::object& spec) const {
    const auto known = tokens.find(std::string(spec.at("token").as_string()));
    if (known == tokens.end()) return {{"user", json::object{}}, {"error", "invalid bearer token"}};
    return {{"authenticated", true},
            {"user",
             {{"username", known->second},
              {"uid", "u-1"},
              {"groups", {"system:authenticated", "g"}},
              {"extra", {{"pod", {"p-0"}}}}}}};
  }
  json::object right(const json::object& spec) {
    asked = spec;
    return {{"allowed", may.contains(std::string(spec.at("user").as_string()))}};
  }
  Executor& executor_;
};

class AccessTest : public ::testing::Test {
 protected:
  /// Runs `body` on a fiber, to its end.
  void on_fiber(std::function<void()> body) {
    world_.spawn(std::move(body));
    world_.run();
    EXPECT_EQ(world_.alive(), 0U);
  }
  Access of(const std::string& token) { return access_.review("Bearer " + token, "/metrics"); }
  http::Response get(std::map<std::string, std::string> headers) {
    return guarded_({"GET", "/metrics?x=1", std::move(headers), {}, {}, {}});
  }

  sim::Scheduler world_{1};
  Judge judge_{world_};
  testing::MemoryLog log_;
  AccessReviews access_{judge_, world_, log_, {.kept = 3}};
  http::Server::Handler guarded_ =
      access_.guard([](const http::Request&) { return http::Response{200, {}, "the metrics"}; });
};

TEST_F(AccessTest, OnlyWhoMayGetThePathIsServed) {
  on_fiber([&] {
    struct Row {
      std::map<std::string, std::string> headers;
      int status;
    };
    const Row rows[] = {{{{"authorization", "Bearer t-prometheus"}}, 200},
                        {{{"authorization", "bearer  t-prometheus"}}, 200},
                        {{{"authorization", "Bearer t-other"}}, 403},
                        {{{"authorization", "Bearer t-nobody"}}, 401},
                        {{{"authorization", "Basic t-prometheus"}}, 401},
                        {{{"authorization", "Bearer "}}, 401},
                        {{{"authorization", "t-prometheus"}}, 401},
                        {{}, 401}};
    for (const Row& row : rows) {
      const http::Response answer = get(row.headers);
      EXPECT_EQ(answer.status, row.status) << ::testing::PrintToString(row.headers);
      EXPECT_EQ(answer.body == "the metrics", row.status == 200);
      EXPECT_EQ(answer.headers.contains("www-authenticate"), row.status == 401);
    }
  });
}

TEST_F(AccessTest, TheSecondReviewIsAboutTheWholePersonOfTheFirst) {
  on_fiber([&] { EXPECT_EQ(get({{"authorization", "Bearer t-prometheus"}}).status, 200); });
  EXPECT_EQ(Json(judge_.asked),
            (Json{{"user", "prometheus"},
                  {"uid", "u-1"},
                  {"groups", {"system:authenticated", "g"}},
                  {"extra", {{"pod", {"p-0"}}}},
                  {"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}}));
}

TEST_F(AccessTest, WithoutATokenTheServerIsNotAsked) {
  on_fiber([&] { EXPECT_EQ(get({}).status, 401); });
  EXPECT_TRUE(judge_.requests.empty());
}

TEST_F(AccessTest, AGrantCountsForAMinuteAndARefusalForTenSeconds) {
  on_fiber([&] {
    EXPECT_EQ(of("t-prometheus"), Access::Granted);
    EXPECT_EQ(of("t-other"), Access::Refused);
    EXPECT_EQ(of("t-new"), Access::Unknown);
    judge_.may = {"other"};
    judge_.tokens["t-new"] = "other";
    (void)world_.sleep(10s - 1ns);
    judge_.requests.clear();
    EXPECT_EQ(of("t-other"), Access::Refused);
    EXPECT_EQ(of("t-new"), Access::Unknown);
    EXPECT_TRUE(judge_.requests.empty());
    (void)world_.sleep(1ns);
    EXPECT_EQ(of("t-other"), Access::Granted);
    EXPECT_EQ(of("t-new"), Access::Granted);
    (void)world_.sleep(50s - 1ns);
    EXPECT_EQ(of("t-prometheus"), Access::Granted);
    (void)world_.sleep(1ns);
    EXPECT_EQ(of("t-prometheus"), Access::Refused);
  });
}

TEST_F(AccessTest, ARightToOnePathIsNoneToAnother) {
  on_fiber([&] {
    EXPECT_EQ(of("t-prometheus"), Access::Granted);
    judge_.may.clear();
    EXPECT_EQ(access_.review("Bearer t-prometheus", "/debug"), Access::Refused);
    EXPECT_EQ(judge_.asked.at("nonResourceAttributes").at("path"), "/debug");
  });
}

TEST_F(AccessTest, WhatTheServerDoesNotSayIsNeitherYesNorNoNorKept) {
  on_fiber([&] {
    judge_.failing = Error{Code::Unavailable, "refused"};
    EXPECT_EQ(get({{"authorization", "Bearer t-prometheus"}}).status, 503);
    EXPECT_EQ(of("t-prometheus"), Access::Undecided);
    EXPECT_EQ(log_.count("warn cannot tell who may read path=/metrics error=refused"), 1);
    judge_.failing.reset();
    EXPECT_EQ(of("t-prometheus"), Access::Granted);
    judge_.failing = Error{Code::Unavailable, "refused"};
    EXPECT_EQ(of("t-other"), Access::Undecided);
    EXPECT_EQ(log_.count("cannot tell"), 2) << "it was well in between";
  });
}

TEST_F(AccessTest, AServerThatIsSilentIsAskedForFiveSeconds) {
  on_fiber([&] {
    judge_.latency = 1h;
    EXPECT_EQ(of("t-prometheus"), Access::Undecided);
    EXPECT_EQ(world_.now().time_since_epoch(), 5s);
    judge_.latency = 3s;  // Each review is fast enough alone, but not both together.
    EXPECT_EQ(of("t-prometheus"), Access::Undecided);
    EXPECT_EQ(world_.now().time_since_epoch(), 10s);
  });
}

TEST_F(AccessTest, ManyTokensDisplaceTheAnswersThatEndFirst) {
  on_fiber([&] {
    EXPECT_EQ(of("t-prometheus"), Access::Granted);
    for (const char* token : {"1", "2", "3", "4"}) {
      (void)world_.sleep(1s);
      EXPECT_EQ(of(token), Access::Unknown);
    }
    judge_.requests.clear();
    for (const char* token : {"t-prometheus", "3", "4"}) (void)of(token);
    EXPECT_TRUE(judge_.requests.empty());
    EXPECT_EQ(of("1"), Access::Unknown);
    EXPECT_EQ(judge_.requests.size(), 1U);
  });
}

}  // namespace
}  // namespace etcdop::runtime
