#include "agent/delete_snapshot.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/memory_log.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

/// Has several names, one of which cannot be removed.
class ListedNames final : public StoredSnapshot {
 public:
  ListedNames(Executor& executor, Names names) : executor_(executor), names_(std::move(names)) {}
  Result<Names> look() override {
    if (look_error_) return *look_error_;
    return names_;
  }
  Result<Done> remove(const std::string& name) override {
    if (name == stuck_) return Error{Code::Denied, name + ": read-only"};
    if (name == slow_)
      if (auto slept = to_result(executor_.sleep(1h), "DELETE"); !slept) return slept;
    std::erase(names_, name);
    removed_.push_back(name);
    return Done{};
  }
  std::string uri() const override { return "file:///data/nightly.db"; }
  Side side() const override { return Side::Folder; }

  std::string stuck_, slow_;
  std::optional<Error> look_error_;
  Names removed_;

 private:
  Executor& executor_;
  Names names_;
};

class DeleteSnapshotTest : public ::testing::Test {
 protected:
  AgentReport run(StoredSnapshot& stored, Duration cancel_after = 1h) {
    AgentReport out;
    const auto work = world_.spawn([&] { out = delete_snapshot(world_, log_, stored); });
    (void)world_.spawn([&] {
      (void)world_.sleep(cancel_after);
      work->cancel();
    });
    world_.run();
    return out;
  }
  sim::Scheduler world_{1};
  testing::MemoryLog log_;
};

TEST_F(DeleteSnapshotTest, AllGoesInItsOrderAndTheLogTellsIt) {
  ListedNames stored(world_, {"c", "a", "b"});
  const AgentReport report = run(stored);
  AgentReport wanted;
  wanted.uri = "file:///data/nightly.db";
  wanted.message = "removed c, a, b";
  EXPECT_EQ(report, wanted);
  EXPECT_EQ(stored.removed_, (Names{"c", "a", "b"}));
  EXPECT_EQ(log_.lines(),
            (Names{"info looking at what is stored uri=file:///data/nightly.db",
                   "info removed what=c", "info removed what=a", "info removed what=b"}));
  EXPECT_EQ(run(stored).message, "already gone");
}

TEST_F(DeleteSnapshotTest, NothingGoesThatComesAfterWhatCannotGo) {
  ListedNames stored(world_, {"manifest", "data", "uid"});
  stored.stuck_ = "data";
  const AgentReport report = run(stored);
  EXPECT_EQ(report.reason, "DestinationAccessDenied");
  EXPECT_EQ(report.message, "data: read-only");
  EXPECT_EQ(stored.removed_, Names{"manifest"});
  auto read = to_agent_report(to_text(report));
  ASSERT_TRUE(read) << "the operator can read it: " << read.error().message;
  EXPECT_EQ(*read, report);
}

TEST_F(DeleteSnapshotTest, NothingGoesWhereTheNameIsSomebodyElses) {
  ListedNames stored(world_, {"data"});
  stored.look_error_ = Error{Code::AlreadyExists, "it is another's"};
  EXPECT_EQ(run(stored).reason, "DestinationExists");
  EXPECT_EQ(stored.removed_, Names());
}

TEST_F(DeleteSnapshotTest, ItEndsInTimeAndWhenItIsAskedTo) {
  ListedNames stored(world_, {"manifest", "data"});
  stored.slow_ = "data";
  const Instant begin = world_.now();
  EXPECT_EQ(run(stored, 10s).reason, "DestinationFailed");
  EXPECT_EQ(world_.now() - begin, 10s);
  ListedNames slow(world_, {"data"});
  slow.slow_ = "data";
  AgentReport late;
  (void)world_.spawn([&] {
    const Instant start = world_.now();
    late = delete_snapshot(world_, log_, slow);
    EXPECT_EQ(world_.now() - start, kDeleteLimit);
  });
  world_.run();
  EXPECT_TRUE(late.failed());
  EXPECT_EQ(slow.removed_, Names());
}

}  // namespace
}  // namespace etcdop::agent
