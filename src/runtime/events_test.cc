// Tests which Events are written, in virtual time.
#include "runtime/events.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/memory_log.h"
#include "test/support/seeded_random.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::runtime {
namespace {

using namespace std::chrono_literals;
using kube::Call;

class Events : public ::testing::Test {
 protected:
  Events() {
    api.serve({.resource = kube::Event::resource});
    api.grant(event_permissions());
    api.latency(10ms);
    events.start();
  }
  ~Events() override {
    time.spawn([this] { events.stop(); });
    time.run();
  }
  static Event event_of(const std::string& reason, const std::string& object = "db") {
    return {.regarding = {kube::Pod::resource, {"prod", object}, "u-" + object},
            .related = std::nullopt,
            .warning = false,
            .reason = reason,
            .action = "Reconcile",
            .note = "a note"};
  }
  void after(Duration d) { time.run_until(time.now() + d); }
  std::vector<kube::Event> all() {
    std::vector<kube::Event> out;
    for (const auto& object : api.all(kube::Event::resource)) {
      out.emplace_back();
      EXPECT_TRUE(api::decode(object, out.back(), "Event"));
    }
    return out;
  }

  sim::Scheduler time{1};
  testing::SeededRandom random{1};
  testing::VirtualWallClock wall{time};
  testing::MemoryLog log;
  testing::FakeApi api{time};
  EventRecorder events{api, time, wall, random, log, "op-1"};
};

TEST_F(Events, OneIsWrittenForEachThatHappened) {
  events.record(event_of("InitialSnapshot"));
  events.record(event_of("Reconciled"));
  after(1s);
  ASSERT_EQ(all().size(), 2U);
  EXPECT_EQ(api.requests("create events"), 2);
}

TEST_F(Events, SayWhoWhatAndWhen) {
  Event lost = event_of("QuorumLost");
  lost.warning = true;
  lost.related = Event::Object{kube::Service::resource, {"prod", "db-client"}, ""};
  events.record(lost);
  after(1s);
  const auto objects = api.all(kube::Event::resource);
  ASSERT_EQ(objects.size(), 1U);
  json::object event = objects.front().as_object();
  EXPECT_TRUE(event["metadata"].at("name").as_string().starts_with("db."));
  event.erase("metadata");
  EXPECT_EQ(Json(event), json::parse(R"({"apiVersion": "events.k8s.io/v1", "kind": "Event",
    "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Warning", "reason": "QuorumLost",
    "action": "Reconcile", "note": "a note", "reportingController": "etcd-operator",
    "reportingInstance": "op-1",
    "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": "prod", "name": "db",
                  "uid": "u-db"},
    "related": {"apiVersion": "v1", "kind": "Service", "namespace": "prod",
                "name": "db-client"}})"));
}

TEST_F(Events, WhatHappensAgainIsCountedOnceAMinute) {
  for (int i = 0; i < 10; ++i) {
    events.record(event_of("QuorumLost"));
    after(15s);
  }
  EXPECT_EQ(api.requests("create events"), 1);
  EXPECT_EQ(api.requests("patch events"), 2);
  after(1min);
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all()[0].series->count, 10);
  EXPECT_EQ(all()[0].series->last_observed_time, "2026-01-01T00:02:15.000000Z");
  api.forget_requests();
  after(1h);
  EXPECT_EQ(api.requests().size(), 0U) << "at rest nothing is written";
}

TEST_F(Events, WhatHappensAgainMuchLaterIsAnotherOne) {
  events.record(event_of("QuorumLost"));
  after(EventRecorder::kSeriesEnds);
  events.record(event_of("QuorumLost"));
  after(1s);
  EXPECT_EQ(all().size(), 2U);
}

TEST_F(Events, OtherObjectsReasonsOrMembersAreOtherSeries) {
  events.record(event_of("QuorumLost"));
  events.record(event_of("QuorumLost", "other"));
  events.record(event_of("SplitBrain"));
  Event member = event_of("QuorumLost");
  member.related = Event::Object{kube::Pod::resource, {"prod", "db-0"}, ""};
  events.record(member);
  after(1s);
  EXPECT_EQ(all().size(), 4U);
}

TEST_F(Events, ALostAnswerMakesNoSecondOne) {
  int lost = 1;
  api.after([&](const Call&) -> std::optional<Error> {
    if (lost-- > 0) return Error{Code::Lost, "connection cut"};
    return std::nullopt;
  });
  events.record(event_of("QuorumLost"));
  events.record(event_of("SplitBrain"));
  after(1min);
  EXPECT_EQ(all().size(), 2U);
  EXPECT_EQ(events.lost(), 0U);
}

TEST_F(Events, WaitForAServerThatIsAway) {
  bool away = true;
  api.before([&](const Call&) -> std::optional<Error> {
    if (away) return Error{Code::Unavailable, "connection refused"};
    return std::nullopt;
  });
  for (int i = 0; i < 3; ++i) events.record(event_of("Reason" + std::to_string(i)));
  after(1min);
  EXPECT_LE(api.requests().size(), 7U) << "one try in ten seconds, whatever waits";
  away = false;
  after(11s);
  EXPECT_EQ(all().size(), 3U);
  EXPECT_EQ(all()[0].event_time, "2026-01-01T00:00:00.000000Z") << "when it happened";
}

TEST_F(Events, AreLostWhenItStaysAway) {
  api.before([&](const Call&) { return Error{Code::Unavailable, "connection refused"}; });
  events.record(event_of("QuorumLost"));
  after(EventRecorder::kKeep + 1min);
  EXPECT_EQ(events.lost(), 1U);
  api.forget_requests();
  after(1h);
  EXPECT_EQ(api.requests().size(), 0U);
}

TEST_F(Events, WhatIsRefusedIsNotTriedAgainAndSaidOnce) {
  api.before([&](const Call&) { return Error{Code::Denied, "events is forbidden"}; });
  for (int i = 0; i < 3; ++i) events.record(event_of("Reason" + std::to_string(i)));
  after(1min);
  EXPECT_EQ(api.requests().size(), 3U);
  EXPECT_EQ(events.lost(), 3U);
  EXPECT_EQ(log.lines().size(), 1U);
}

TEST_F(Events, ThoseThatWaitAreBounded) {
  api.before([&](const Call&) { return Error{Code::Unavailable, "connection refused"}; });
  for (int i = 0; i < 1000; ++i) events.record(event_of("QuorumLost", std::to_string(i)));
  EXPECT_EQ(events.lost(), 1000 - EventRecorder::kPendingMax);
}

TEST_F(Events, AnEventThatTheServerHasForgottenIsMadeAnewNextTime) {
  events.record(event_of("QuorumLost"));
  after(1s);
  ASSERT_EQ(all().size(), 1U);
  (void)api.erase(kube::Event::resource, all()[0].metadata.key());
  events.record(event_of("QuorumLost"));
  after(2min);
  EXPECT_EQ(all().size(), 0U);
  events.record(event_of("QuorumLost"));
  after(1s);
  EXPECT_EQ(all().size(), 1U);
}

TEST_F(Events, NothingIsWrittenOnceStopped) {
  events.record(event_of("QuorumLost"));
  time.spawn([this] { events.stop(); });
  after(1s);
  api.forget_requests();
  events.record(event_of("SplitBrain"));
  after(1h);
  EXPECT_EQ(api.requests().size(), 0U);
}

TEST_F(Events, ALongNoteIsCutBetweenCharacters) {
  Event wordy = event_of("QuorumLost");
  wordy.note = std::string(1020, 'x') + "\xC3\xA9t\xC3\xA9";  // The limit cuts a letter.
  events.record(wordy);
  after(1s);
  EXPECT_EQ(all()[0].note, std::string(1020, 'x') + "...");
}

}  // namespace
}  // namespace etcdop::runtime
