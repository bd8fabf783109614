// Jobs and their controller, as Kubernetes documents them.
#include "sim/api/jobs.h"

#include <gtest/gtest.h>

#include "sim/api/budgets.h"
#include "sim/api/objects.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

class Date final : public WallClock {
 public:
  WallTime wall_now() const override { return now; }
  WallTime now{std::chrono::seconds(1'800'000'000)};
};

const ObjectKey kKey{"prod", "nightly"};

class SimJobs : public ::testing::Test {
 protected:
  SimJobs() {
    server_.serve({.resource = kPods, .status = true, .graceful = true});
    server_.serve(job_kind());
  }
  Result<Json> create(const std::string& name, json::object spec) {
    spec["template"] =
        json::object{{"metadata", {{"labels", {{"own", "label"}}}}},
                     {"spec",
                      {{"restartPolicy", "Never"},
                       {"containers", json::array{json::object{{"name", "agent"}}}}}}};
    kube::Call call;
    call.verb = kube::Verb::Create;
    call.resource = kJobs;
    call.ns = kKey.ns;
    call.body = json::object{{"apiVersion", "batch/v1"},
                             {"kind", "Job"},
                             {"metadata", {{"name", name}}},
                             {"spec", std::move(spec)}};
    return server_.perform(call);
  }
  void make(json::object spec) {
    ASSERT_TRUE(create(kKey.name, std::move(spec)));
    jobs_.run();
  }
  void pass(std::chrono::seconds d) {
    date_.now = date_.now + d;
    jobs_.run();
  }
  /// Pods that have not ended.
  std::vector<ObjectKey> active() {
    std::vector<ObjectKey> out;
    for (const auto& pod : server_.look_all(kPods)) {
      const Json* const status = pod->as_object().if_contains("status");
      const std::string phase = status ? text_at(status->as_object(), "phase") : "";
      if (phase != "Succeeded" && phase != "Failed") out.push_back(key_of(*pod));
    }
    return out;
  }
  /// The running Pod ends.
  void end(int code, const char* condition = "") {
    ASSERT_EQ(active().size(), 1U);
    (void)server_.change(kPods, active()[0], [&](json::object& pod) {
      json::object state{{"exitCode", code}};
      pod["status"] = json::object{
          {"phase", code == 0 ? "Succeeded" : "Failed"},
          {"containerStatuses",
           json::array{
               json::object{{"name", "agent"}, {"state", {{"terminated", std::move(state)}}}}}},
          {"conditions", json::array{json::object{{"type", condition}, {"status", "True"}}}}};
    });
    jobs_.run();
  }
  /// "Failed/DeadlineExceeded", from the last condition; "" if none.
  std::string says() {
    const auto job = server_.look(kJobs, kKey);
    if (!job) return "gone";
    const Json* const status = job->as_object().if_contains("status");
    const Json* const all = status ? status->as_object().if_contains("conditions") : nullptr;
    if (!all) return "";
    const json::object& last = all->as_array().back().as_object();
    return text_at(last, "type") + "/" + text_at(last, "reason");
  }

  Date date_;
  std::vector<std::string> misuse_;
  ApiServer server_{date_, [this](const std::string& how) { misuse_.push_back(how); }};
  JobController jobs_{server_, date_};
};

TEST_F(SimJobs, APodBearsItsJobsNameAndIsOwnedByIt) {
  make({});
  ASSERT_EQ(active().size(), 1U);
  EXPECT_TRUE(active()[0].name.starts_with("nightly-"));
  const auto pod = server_.look(kPods, active()[0]), job = server_.look(kJobs, kKey);
  const json::object& labels = meta(*pod).at("labels").as_object();
  EXPECT_EQ(text_at(labels, "batch.kubernetes.io/job-name"), "nightly");
  EXPECT_EQ(text_at(labels, "batch.kubernetes.io/controller-uid"), text_at(meta(*job), "uid"));
  EXPECT_EQ(text_at(labels, "own"), "label");
  EXPECT_EQ(controller_of(*pod), text_at(meta(*job), "uid"));
  end(0);
  EXPECT_EQ(says(), "Complete/CompletionsReached");
  pass(1h);
  EXPECT_TRUE(active().empty()) << "once is enough";
}

TEST_F(SimJobs, ANameThatIsNoLabelIsRefused) {
  EXPECT_TRUE(create(std::string(63, 'a'), {}));
  EXPECT_TRUE(create(std::string(64, 'a'), {}).failed_with(Code::Invalid));
}

TEST_F(SimJobs, AFailedPodIsTriedAgainLaterAndLaterUntilTheLimit) {
  make({{"backoffLimit", 2}});
  for (const std::chrono::seconds pause : {10s, 20s}) {
    end(1);
    pass(pause - 1s);
    EXPECT_TRUE(active().empty());
    pass(1s);
    EXPECT_EQ(active().size(), 1U);
  }
  end(1);
  EXPECT_EQ(says(), "Failed/BackoffLimitExceeded");
}

TEST_F(SimJobs, ItsPolicyDecidesWhichFailuresCount) {
  const json::array rules{
      json::object{
          {"action", "FailJob"},
          {"onExitCodes", {{"containerName", "agent"}, {"operator", "In"}, {"values", {3}}}}},
      json::object{{"action", "Ignore"},
                   {"onPodConditions", json::array{json::object{{"type", "DisruptionTarget"}}}}}};
  make({{"backoffLimit", 0}, {"podFailurePolicy", {{"rules", rules}}}});
  for (int i = 0; i < 5; ++i) {
    end(137, "DisruptionTarget");
    EXPECT_EQ(says(), "");
    pass(1s);
  }
  end(3);
  EXPECT_EQ(says(), "Failed/PodFailurePolicy");
}

TEST_F(SimJobs, ADeadlineEndsThePodThatRuns) {
  make({{"activeDeadlineSeconds", 60}});
  pass(59s);
  EXPECT_EQ(says(), "");
  pass(1s);
  EXPECT_EQ(says(), "FailureTarget/DeadlineExceeded");
  EXPECT_TRUE(active().empty());
  pass(1s);
  EXPECT_EQ(says(), "Failed/DeadlineExceeded");
}

TEST_F(SimJobs, APodThatSomebodyDeletesHasFailed) {
  make({{"backoffLimit", 0}});
  (void)server_.remove(kPods, active()[0]);
  jobs_.run();
  EXPECT_EQ(says(), "Failed/BackoffLimitExceeded");
}

TEST_F(SimJobs, OneThatHasEndedIsDeletedInTimeAndItsPodsGoWithIt) {
  make({{"ttlSecondsAfterFinished", 600}});
  end(0);
  pass(599s);
  EXPECT_EQ(says(), "Complete/CompletionsReached");
  pass(1s);
  EXPECT_EQ(says(), "gone");
  (void)server_.collect_garbage();
  EXPECT_TRUE(server_.look_all(kPods).empty());
}

TEST_F(SimJobs, ToDeleteOneWithoutAWordAboutItsPodsIsMisuse) {
  make({});
  kube::Call call;
  call.verb = kube::Verb::Delete;
  call.resource = kJobs;
  call.ns = kKey.ns;
  call.name = kKey.name;
  EXPECT_TRUE(server_.perform(call));
  EXPECT_EQ(misuse_.size(), 1U);
}

}  // namespace
}  // namespace etcdop::sim
