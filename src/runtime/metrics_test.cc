// The Prometheus text, and the names of the counted metrics.
#include "runtime/metrics.h"

#include <gtest/gtest.h>

#include "sim/scheduler.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;

TEST(Metrics, AreWrittenInThePrometheusTextFormat) {
  Metrics metrics;
  metrics.counter("b_total", "Things.", {{"kind", "a\"b\\c\nd"}}).add(2);
  metrics.counter("b_total", "Things.").add();
  metrics.gauge("a_bytes", "One line,\nno two.").set(12345678901);
  auto& times = metrics.histogram("c_seconds", "Times.", {0.1, 1}, {{"x", "y"}});
  for (const double t : {0.05, 0.1, 0.5, 7.25}) times.observe(t);
  EXPECT_EQ(metrics.text(),
            "# HELP a_bytes One line,\\nno two.\n"
            "# TYPE a_bytes gauge\n"
            "a_bytes 12345678901\n"
            "# HELP b_total Things.\n"
            "# TYPE b_total counter\n"
            "b_total 1\n"
            "b_total{kind=\"a\\\"b\\\\c\\nd\"} 2\n"
            "# HELP c_seconds Times.\n"
            "# TYPE c_seconds histogram\n"
            "c_seconds_bucket{le=\"0.1\",x=\"y\"} 2\n"
            "c_seconds_bucket{le=\"1\",x=\"y\"} 3\n"
            "c_seconds_bucket{le=\"+Inf\",x=\"y\"} 4\n"
            "c_seconds_sum{x=\"y\"} 7.9\n"
            "c_seconds_count{x=\"y\"} 4\n");
}

TEST(Metrics, WhatIsForgottenIsNoLongerShown) {
  Metrics metrics;
  metrics.gauge("g", "h", {{"cluster", "a"}, {"member", "1"}});
  metrics.gauge("g", "h", {{"cluster", "b"}, {"member", "1"}});
  metrics.gauge("only", "h", {{"cluster", "a"}});
  metrics.forget({{"cluster", "a"}});
  EXPECT_EQ(metrics.text(), "# HELP g h\n# TYPE g gauge\ng{cluster=\"b\",member=\"1\"} 0\n");
}

TEST(Metrics, AreRefreshedBeforeTheyAreShown) {
  Metrics metrics;
  int asked = 0;
  metrics.on_scrape([&, g = &metrics.gauge("g", "h")] { g->set(++asked); });
  EXPECT_NE(metrics.text().find("\ng 1\n"), std::string::npos);
  EXPECT_NE(metrics.text().find("\ng 2\n"), std::string::npos);
}

TEST(Metrics, LinesOfManyThingsAreMadeWhenTheyAreAskedFor) {
  Metrics metrics;
  std::map<std::string, double> things;
  metrics.gauges("g", "h", [&](const Metrics::Line& line) {
    for (const auto& [name, value] : things) line({{"name", name}}, value);
  });
  EXPECT_EQ(metrics.text(), "");
  things = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(metrics.text(), "# HELP g h\n# TYPE g gauge\ng{name=\"a\"} 1\ng{name=\"b\"} 2\n");
}

TEST(Metrics, ANameWithTwoMeaningsIsABug) {
  Metrics metrics;
  metrics.gauge("g", "h");
  EXPECT_THROW(metrics.histogram("g", "h", {}), CheckFailed);
  EXPECT_THROW(metrics.gauges("g", "h", [](const auto&) {}), CheckFailed);
  EXPECT_THROW(metrics.counter("count", "h"), CheckFailed);
}

TEST(Metrics, CountPassesAndTheQueueUnderTheNamesThatUsersKnow) {
  Metrics metrics;
  sim::Scheduler time(1);
  testing::SeededRandom random(1);
  testing::MemoryLog log;
  Controller::Options options;
  options.name = "etcdcluster";
  int pass = 0;
  Controller controller(time, random, log, measured(metrics, std::move(options)),
                        [&](const ObjectKey&) -> Result<Requeue> {
                          (void)time.sleep(2s);
                          switch (++pass) {
                            case 1: return Error{Code::Unavailable, "no"};
                            case 2: return Requeue{1s};
                            default: return Requeue{};
                          }
                        });
  measure(metrics, controller);
  controller.queue().add({"ns", "a"});
  controller.start();
  time.spawn([&] {
    (void)time.sleep(1s);
    EXPECT_NE(metrics.text().find("active_workers{controller=\"etcdcluster\"} 1\n"),
              std::string::npos);
    (void)time.sleep(1min);
    (void)controller.stop();
  });
  time.run();
  const std::string text = metrics.text();
  for (const char* line :
       {"controller_runtime_reconcile_total{controller=\"etcdcluster\",result=\"error\"} 1\n",
        "controller_runtime_reconcile_total{controller=\"etcdcluster\",result=\"requeue_after\"} "
        "1\n",
        "controller_runtime_reconcile_total{controller=\"etcdcluster\",result=\"success\"} 1\n",
        "controller_runtime_reconcile_errors_total{controller=\"etcdcluster\"} 1\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"etcdcluster\",le=\"1\"} 0\n",
        "controller_runtime_reconcile_time_seconds_bucket{controller=\"etcdcluster\",le=\"2.5\"} "
        "3\n",
        "controller_runtime_max_concurrent_reconciles{controller=\"etcdcluster\"} 64\n",
        "controller_runtime_active_workers{controller=\"etcdcluster\"} 0\n",
        "workqueue_queue_duration_seconds_count{controller=\"etcdcluster\",name=\"etcdcluster\"} "
        "3\n",
        "workqueue_queue_duration_seconds_bucket{controller=\"etcdcluster\",le=\"1e-08\",name="
        "\"etcdcluster\"} 3\n",
        "workqueue_work_duration_seconds_sum{controller=\"etcdcluster\",name=\"etcdcluster\"} 6\n",
        "workqueue_depth{controller=\"etcdcluster\",name=\"etcdcluster\"} 0\n",
        "workqueue_adds_total{controller=\"etcdcluster\",name=\"etcdcluster\"} 3\n",
        "workqueue_retries_total{controller=\"etcdcluster\",name=\"etcdcluster\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "is not in\n" << text;
}

TEST(Metrics, CountRequestsByCodeAndMethod) {
  Metrics metrics;
  const auto count = count_requests(metrics, "10.0.0.1:6443");
  constexpr api::Resource pods{"", "v1", "pods", "Pod"};
  count(kube::Verb::Watch, pods, 200);
  count(kube::Verb::List, pods, 200);
  count(kube::Verb::Patch, pods, 0);
  const std::string text = metrics.text();
  EXPECT_NE(text.find("rest_client_requests_total{code=\"200\",host=\"10.0.0.1:6443\",method="
                      "\"GET\"} 2\n"),
            std::string::npos);
  EXPECT_NE(text.find("rest_client_requests_total{code=\"<error>\",host=\"10.0.0.1:6443\",method="
                      "\"PATCH\"} 1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace etcdop::runtime
