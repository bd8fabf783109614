#include "etcd/pool.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "etcd/rpc.pb.h"
#include "sim/pipe.h"
#include "sim/scheduler.h"
#include "test/support/grpc_server.h"

namespace etcdop::etcd {
namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;
using testing::GrpcReply;

GrpcReply status_of(std::uint64_t member) {
  pb::StatusResponse status;
  status.mutable_header()->set_cluster_id(0xC1);
  status.mutable_header()->set_member_id(member);
  return {.text = status.SerializeAsString()};
}

/// Members at addresses "1", "2", …; their member ids are these numbers.
class PoolTest : public ::testing::Test {
 protected:
  void run(std::function<void()> body) {
    bool ended = false;
    (void)world_.spawn([&] {
      body();
      ended = true;
    });
    world_.run();
    EXPECT_TRUE(ended);
    EXPECT_EQ(world_.alive(), 0U) << "a fiber that nothing will ever wake";
  }
  /// Connects to a member of this simulation.
  Result<std::unique_ptr<Stream>> dial(const Endpoint& to) {
    dialled_.push_back(to);
    if (auto slept = to_result(world_.sleep(dial_takes_), "connect"); !slept) return slept.error();
    if (!reachable_) return Error{Code::Unavailable, "refused"};
    auto [here, there] = sim::pipe(world_);
    std::shared_ptr<Stream> server = std::move(there);
    servers_[to.address] = server;
    testing::serve_grpc(world_, server,
                        [this, id = std::stoull(to.address)](const auto&, const auto&) {
                          ++served_;
                          if (answer_takes_ != Duration::zero()) (void)world_.sleep(answer_takes_);
                          GrpcReply reply = status_of(id);
                          reply.stays_silent = silent_;
                          return reply;
                        });
    return std::move(here);
  }
  static Endpoint at(const std::string& address) {
    return {.address = address, .server_name = {}, .cluster = {}, .member = {}};
  }

  sim::Scheduler world_{1};
  std::vector<Endpoint> dialled_;
  std::map<std::string, std::shared_ptr<Stream>> servers_;
  Duration dial_takes_ = 10ms, answer_takes_ = 0s;
  bool reachable_ = true, silent_ = false;
  int served_ = 0;
  Pool pool_{world_, [this](const Endpoint& to) { return dial(to); }, {.connections = 3}};
};

TEST_F(PoolTest, DialsOnTheFirstCallAndKeepsTheConnection) {
  run([&] {
    const auto client = pool_.at(at("1"));
    EXPECT_TRUE(dialled_.empty());
    EXPECT_TRUE(client->status());
    EXPECT_TRUE(client->status());
    EXPECT_TRUE(pool_.at(at("1"))->status()) << "another client, the same connection";
    EXPECT_EQ(dialled_.size(), 1U);
    EXPECT_EQ(pool_.open(), 1U);
  });
}

TEST_F(PoolTest, AddressServerNameAndTlsTellConnectionsApart) {
  run([&] {
    auto named = at("1"), secure = at("1"), expected = at("1");
    named.server_name = "prod-0.prod.ns.svc";
    secure.tls = std::make_shared<const TlsClient::Options>();
    expected.cluster = ClusterId{0xC1};
    expected.member = MemberId{1};
    for (const auto& where : {at("1"), named, secure, expected})
      EXPECT_TRUE(pool_.at(where)->status());
    EXPECT_EQ(dialled_, (std::vector<Endpoint>{at("1"), named, secure}))
        << "who must answer is not part of the place";
  });
}

TEST_F(PoolTest, WhoMustAnswerIsCheckedForEachClient) {
  run([&] {
    auto other = at("1");
    other.member = MemberId{2};
    EXPECT_TRUE(pool_.at(at("1"))->status());
    EXPECT_TRUE(pool_.at(other)->status().failed_with(Code::Corrupt));
    EXPECT_EQ(dialled_.size(), 1U);
  });
}

TEST_F(PoolTest, CallsSideBySideShareOneDial) {
  int answers = 0;
  for (int i = 0; i < 5; ++i)
    (void)world_.spawn([&] { answers += bool(pool_.at(at("1"))->status()); });
  world_.run();
  EXPECT_EQ(answers, 5);
  EXPECT_EQ(dialled_.size(), 1U);
}

TEST_F(PoolTest, ACancelledCallerLeavesTheDialToTheOthers) {
  dial_takes_ = 1s;
  bool answered = false;
  const auto first = world_.spawn([&] {
    EXPECT_TRUE(pool_.at(at("1"))->status().failed_with(Code::Cancelled));
    EXPECT_EQ(world_.now().time_since_epoch(), 500ms);
  });
  (void)world_.spawn([&] { answered = bool(pool_.at(at("1"))->status()); });
  (void)world_.spawn([&] {
    (void)world_.sleep(500ms);
    first->cancel();
  });
  (void)world_.spawn([&] {
    const Within limit(world_, 200ms);
    EXPECT_TRUE(pool_.at(at("1"))->status().failed_with(Code::Unavailable)) << "nothing was sent";
  });
  world_.run();
  EXPECT_TRUE(answered);
  EXPECT_EQ(dialled_.size(), 1U);
}

TEST_F(PoolTest, ABlackHoleIsPaidOnce) {
  dial_takes_ = 1h;
  run([&] {
    const auto client = pool_.at(at("1"));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(client->status().failed_with(Code::Unavailable));
    EXPECT_EQ(world_.now().time_since_epoch(), 2s);
    EXPECT_EQ(dialled_.size(), 1U);
    (void)world_.sleep(4s);
    dial_takes_ = 10ms;
    EXPECT_TRUE(client->status()) << "and then it is tried again";
  });
}

TEST_F(PoolTest, AMemberThatJustStartsIsFoundSoon) {
  reachable_ = false;
  run([&] {
    const auto client = pool_.at(at("1"));
    EXPECT_EQ(client->status().error(), (Error{Code::Unavailable, "Status at 1: dial: refused"}));
    EXPECT_TRUE(client->status().failed_with(Code::Unavailable));
    EXPECT_EQ(dialled_.size(), 1U);
    reachable_ = true;
    (void)world_.sleep(100ms);
    EXPECT_TRUE(client->status());
  });
}

TEST_F(PoolTest, AConnectionThatEndedIsReplacedByTheNextCall) {
  run([&] {
    const auto client = pool_.at(at("1"));
    EXPECT_TRUE(client->status());
    servers_["1"]->close();
    (void)world_.sleep(1ms);
    EXPECT_TRUE(client->status());
    EXPECT_EQ(dialled_.size(), 2U);
    EXPECT_EQ(pool_.open(), 1U);
  });
}

TEST_F(PoolTest, ASilentConnectionIsNotUsedAgain) {
  run([&] {
    const auto client = pool_.at(at("1"));
    EXPECT_TRUE(client->status());
    (void)world_.sleep(1s);
    silent_ = true;
    EXPECT_TRUE(client->status().failed_with(Code::TimedOut));
    silent_ = false;
    EXPECT_TRUE(client->status());
    EXPECT_EQ(dialled_.size(), 2U);
  });
}

TEST_F(PoolTest, AConnectionThatAnswersOthersIsNotSilent) {
  run([&] {
    const auto client = pool_.at(at("1"));
    EXPECT_TRUE(client->status());
    silent_ = true;
    const auto slow =
        world_.spawn([&] { EXPECT_TRUE(client->status().failed_with(Code::TimedOut)); });
    (void)world_.sleep(1s);
    silent_ = false;
    EXPECT_TRUE(client->status());
    (void)slow->join();
    EXPECT_TRUE(client->status());
    EXPECT_EQ(dialled_.size(), 1U);
  });
}

TEST_F(PoolTest, AnIdleConnectionIsClosed) {
  run([&] {
    const auto used = pool_.at(at("1"));
    EXPECT_TRUE(used->status());
    EXPECT_TRUE(pool_.at(at("2"))->status());
    (void)world_.sleep(4min);
    EXPECT_TRUE(used->status());
    (void)world_.sleep(61s);
    EXPECT_EQ(pool_.open(), 1U) << "only the other one was idle for five minutes";
    (void)world_.sleep(4min);
    EXPECT_EQ(pool_.open(), 0U);
    EXPECT_TRUE(used->status());
    EXPECT_EQ(dialled_.size(), 3U);
  });
}

TEST_F(PoolTest, OfManyConnectionsFewStayUnused) {
  Pool pool(world_, [this](const Endpoint& to) { return dial(to); }, {.unused = 2});
  run([&] {
    for (const char* address : {"1", "2"}) EXPECT_TRUE(pool.at(at(address))->status());
    (void)world_.sleep(1min);
    EXPECT_EQ(pool.open(), 2U);
    for (const char* address : {"3", "4"}) EXPECT_TRUE(pool.at(at(address))->status());
    EXPECT_TRUE(pool.at(at("1"))->status());
    (void)world_.sleep(1ms);
    EXPECT_EQ(pool.open(), 3U) << "those that were not used for a second are closed at once";
    (void)world_.sleep(1s);
    EXPECT_EQ(pool.open(), 2U);
    dialled_.clear();
    for (const char* address : {"1", "4"}) EXPECT_TRUE(pool.at(at(address))->status());
    EXPECT_TRUE(dialled_.empty()) << "those that were used last are kept";
    (void)world_.sleep(4min);
    EXPECT_EQ(pool.open(), 2U);
    pool.close();
  });
}

TEST_F(PoolTest, TheLongestUnusedGivesWayWhenAllPlacesAreTaken) {
  run([&] {
    for (const char* address : {"1", "2", "3"}) EXPECT_TRUE(pool_.at(at(address))->status());
    EXPECT_TRUE(pool_.at(at("1"))->status());
    EXPECT_TRUE(pool_.at(at("4"))->status());
    EXPECT_EQ(pool_.open(), 3U);
    dialled_.clear();
    EXPECT_TRUE(pool_.at(at("1"))->status());
    EXPECT_TRUE(pool_.at(at("3"))->status());
    EXPECT_TRUE(dialled_.empty());
    EXPECT_TRUE(pool_.at(at("2"))->status());
    EXPECT_EQ(dialled_, std::vector<Endpoint>{at("2")});
  });
}

TEST_F(PoolTest, AConnectionInUseDoesNotGiveWay) {
  answer_takes_ = 1s;
  int answers = 0;
  for (const char* address : {"1", "2", "3"})
    (void)world_.spawn([&, address] { answers += bool(pool_.at(at(address))->status()); });
  run([&] {
    (void)world_.sleep(500ms);
    auto fourth = pool_.at(at("4"))->status();
    EXPECT_TRUE(fourth.failed_with(Code::Unavailable));
    (void)world_.sleep(1s);
    answer_takes_ = 0s;
    EXPECT_TRUE(pool_.at(at("4"))->status());
  });
  EXPECT_EQ(answers, 3);
}

TEST_F(PoolTest, ClosingEndsDialsAndLetsNobodyIn) {
  dial_takes_ = 1s;
  std::vector<Code> codes;
  const auto call = [&](const char* address) {
    (void)world_.spawn([&, address] {
      auto status = pool_.at(at(address))->status();
      codes.push_back(status ? Code::Corrupt : status.error().code);
    });
  };
  run([&] {
    silent_ = true;
    call("1");
    (void)world_.sleep(1500ms);
    call("2");  // Is dialing when the pool closes; the first call waits for its answer.
    (void)world_.sleep(100ms);
    pool_.close();
    EXPECT_EQ(world_.now().time_since_epoch(), 1600ms);
    EXPECT_EQ(pool_.open(), 0U);
    EXPECT_TRUE(pool_.at(at("3"))->status().failed_with(Code::Unavailable));
  });
  EXPECT_EQ(codes, (std::vector{Code::Unavailable, Code::TimedOut}));
}

TEST_F(PoolTest, ADialThatSucceedsAfterTheEndIsNotKept) {
  run([&] {
    Pool pool(world_, [this](const Endpoint& to) {
      const Shield deaf(world_, 1s);
      return dial(to);
    });
    dial_takes_ = 100ms;
    (void)world_.spawn(
        [&pool] { EXPECT_TRUE(pool.at(at("1"))->status().failed_with(Code::Unavailable)); });
    (void)world_.sleep(50ms);
    pool.close();
    EXPECT_EQ(world_.now().time_since_epoch(), 100ms) << "until the dial has ended";
    EXPECT_EQ(pool.open(), 0U);
    (void)world_.sleep(1s);
    EXPECT_EQ(served_, 0);
  });
}

TEST_F(PoolTest, ClientsMayOutliveThePool) {
  run([&] {
    std::shared_ptr<Client> client;
    {
      Pool pool(world_, [this](const Endpoint& to) { return dial(to); });
      client = pool.at(at("1"));
      EXPECT_TRUE(client->status());
    }
    EXPECT_TRUE(client->status().failed_with(Code::Unavailable));
  });
}

TEST_F(PoolTest, TheServersTextReachesTheMapping) {
  run([&] {
    Pool pool(world_, [this](const Endpoint&) -> Result<std::unique_ptr<Stream>> {
      auto [here, there] = sim::pipe(world_);
      testing::serve_grpc(world_, std::move(there), [](const auto&, const auto&) {
        return GrpcReply{
            .status = 9,
            .text = "etcdserver: can only promote a learner member which is in sync with leader"};
      });
      return std::move(here);
    });
    EXPECT_TRUE(pool.at(at("1"))->promote({1}).failed_with(Code::Conflict));
  });
}

}  // namespace
}  // namespace etcdop::etcd
