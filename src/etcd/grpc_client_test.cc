#include "etcd/grpc_client.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "etcd/rpc.pb.h"
#include "sim/scheduler.h"

namespace etcdop::etcd {
namespace {

namespace pb = etcdserverpb;
using namespace std::chrono_literals;

constexpr Header kPeer{.cluster = {0xC1}, .member = {0xA1}, .raft_term = 7};
constexpr const char* kStatus = "/etcdserverpb.Maintenance/Status";
constexpr const char* kList = "/etcdserverpb.Cluster/MemberList";
constexpr const char* kAdd = "/etcdserverpb.Cluster/MemberAdd";
constexpr const char* kRemove = "/etcdserverpb.Cluster/MemberRemove";

template <class Answer>
Answer from_peer(Header header = kPeer) {
  Answer answer;
  answer.mutable_header()->set_cluster_id(header.cluster.value);
  answer.mutable_header()->set_member_id(header.member.value);
  answer.mutable_header()->set_raft_term(header.raft_term);
  return answer;
}

/// One member that says what the test put into it, and remembers what it was asked.
class Peer final : public Connections, public Connection {
 public:
  explicit Peer(Executor& executor) : executor_(executor) {
    answer(kStatus, from_peer<pb::StatusResponse>());
  }
  template <class Answer>
  void answer(const std::string& path, const Answer& answer) {
    answers_[path] = {0, answer.SerializeAsString()};
  }
  void refuse(const std::string& path, int status, const std::string& text) {
    answers_[path] = {status, text};
  }
  void stay_silent(const std::string& path) { answers_[path] = {-1, ""}; }
  void lose(const std::string& path) { answers_[path] = {-2, ""}; }
  Result<Done> can_be_reached = Done{};
  std::vector<std::string> asked;
  std::string question;  ///< The last one.

  Result<std::shared_ptr<Connection>> connection() override {
    if (!can_be_reached) return can_be_reached.error();
    return std::shared_ptr<Connection>(std::shared_ptr<void>(), this);  // Owned by the test.
  }
  Result<std::string> unary(std::string_view path, std::string_view request,
                            http::GrpcStatus& status) override {
    asked.emplace_back(path);
    question = request;
    const auto& [code, text] = answers_.at(std::string(path));
    if (code == -1) return to_result(executor_.sleep(1h), "call").error();
    if (code == -2) return Error{Code::Lost, "connection ended before the answer"};
    status = {code, text};
    if (code != 0) return Error{Code::Unavailable, "what the channel makes of it does not count"};
    return text;
  }

 private:
  Executor& executor_;
  std::map<std::string, std::pair<int, std::string>> answers_;
};

class GrpcClientTest : public testing::Test {
 protected:
  /// Runs `body` on a fiber until virtual time stands still.
  void run(std::function<void(Client&)> body, Endpoint where = ours()) {
    bool ended = false;
    (void)world_.spawn([&] {
      GrpcClient client(world_, std::shared_ptr<Connections>(std::shared_ptr<void>(), &peer_),
                        where);
      body(client);
      ended = true;
    });
    world_.run();
    EXPECT_TRUE(ended);
  }
  static Endpoint ours() {
    return {.address = "10.0.0.1",
            .server_name = {},
            .tls = false,
            .cluster = kPeer.cluster,
            .member = kPeer.member};
  }
  static Endpoint anybody() {
    return {.address = "10.0.0.1", .server_name = {}, .tls = false, .cluster = {}, .member = {}};
  }
  sim::Scheduler world_{1};
  Peer peer_{world_};
};

TEST_F(GrpcClientTest, ReadsEveryFieldOfStatus) {
  auto said = from_peer<pb::StatusResponse>();
  said.set_version("3.6.16");
  said.set_leader(0xB2);
  said.set_raftindex(12);
  said.set_raftappliedindex(11);
  said.set_dbsize(4096);
  said.set_dbsizeinuse(2048);
  said.set_islearner(true);
  said.add_errors("etcdserver: no leader");
  peer_.answer(kStatus, said);
  run([](Client& client) {
    auto status = client.status();
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, (Status{.header = kPeer,
                               .version = "3.6.16",
                               .leader = {0xB2},
                               .raft_index = 12,
                               .raft_applied_index = 11,
                               .db_size = 4096,
                               .db_size_in_use = 2048,
                               .learner = true,
                               .errors = {"etcdserver: no leader"}}));
  });
}

TEST_F(GrpcClientTest, ListsMembersInEtcdsOrder) {
  auto said = from_peer<pb::MemberListResponse>();
  auto* seed = said.add_members();
  seed->set_id(2);
  seed->set_name("prod-0");
  seed->add_peerurls("http://a:2380");
  seed->add_clienturls("http://a:2379");
  auto* learner = said.add_members();
  learner->set_id(1);
  learner->add_peerurls("http://b:2380");
  learner->set_islearner(true);
  peer_.answer(kList, said);
  for (const bool linearizable : {true, false}) {
    run([&](Client& client) {
      auto list = client.member_list(linearizable);
      ASSERT_TRUE(list);
      EXPECT_EQ(*list, (MemberList{kPeer,
                                   {{.id = {2},
                                     .name = "prod-0",
                                     .peer_urls = {"http://a:2380"},
                                     .client_urls = {"http://a:2379"},
                                     .learner = false},
                                    {.id = {1},
                                     .name = "",
                                     .peer_urls = {"http://b:2380"},
                                     .client_urls = {},
                                     .learner = true}}}));
    });
    pb::MemberListRequest asked;
    ASSERT_TRUE(asked.ParseFromString(peer_.question));
    EXPECT_EQ(asked.linearizable(), linearizable);
  }
}

TEST_F(GrpcClientTest, AddsALearnerNeverAVoter) {
  auto said = from_peer<pb::MemberAddResponse>();
  said.mutable_member()->set_id(0xD4);
  peer_.answer(kAdd, said);
  run([](Client& client) {
    auto id = client.add_learner("http://b:2380");
    ASSERT_TRUE(id);
    EXPECT_EQ(*id, MemberId{0xD4});
  });
  pb::MemberAddRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_TRUE(asked.islearner());
  ASSERT_EQ(asked.peerurls_size(), 1);
  EXPECT_EQ(asked.peerurls(0), "http://b:2380");
}

TEST_F(GrpcClientTest, EachChangeOfOneMemberHasItsPathAndId) {
  const std::pair<const char*, Result<Done> (Client::*)(MemberId)> calls[] = {
      {"/etcdserverpb.Cluster/MemberPromote", &Client::promote},
      {kRemove, &Client::remove},
      {"/etcdserverpb.Maintenance/MoveLeader", &Client::move_leader}};
  for (const auto& [path, change] : calls) {
    peer_.answer(path, from_peer<pb::MoveLeaderResponse>());
    run([&](Client& client) { EXPECT_TRUE((client.*change)({0xE5})) << path; });
    EXPECT_EQ(peer_.asked.back(), path);
    pb::MemberIdRequest asked;
    ASSERT_TRUE(asked.ParseFromString(peer_.question));
    EXPECT_EQ(asked.id(), 0xE5U);
  }
}

TEST_F(GrpcClientTest, MoveLeaderIsBelievedWithoutAHeader) {
  peer_.answer("/etcdserverpb.Maintenance/MoveLeader", pb::MoveLeaderResponse());
  run([](Client& client) { EXPECT_TRUE(client.move_leader({0xE5})); });
}

TEST_F(GrpcClientTest, ARefusalNamesCallAddressAndReason) {
  peer_.refuse(kRemove, 14, "etcdserver: unhealthy cluster");
  run([](Client& client) {
    EXPECT_EQ(
        client.remove({1}).error(),
        (Error{Code::Unavailable, "MemberRemove at 10.0.0.1: etcdserver: unhealthy cluster"}));
  });
}

TEST_F(GrpcClientTest, AnAnswerFromAnotherClusterOrMemberIsNotBelieved) {
  for (const Header stranger :
       {Header{{0xC2}, kPeer.member, 7}, Header{kPeer.cluster, {0xA2}, 7}}) {
    peer_.answer(kStatus, from_peer<pb::StatusResponse>(stranger));
    run([&](Client& client) {
      auto status = client.status();
      ASSERT_TRUE(status.failed_with(Code::Corrupt));
      for (const std::string& id : {to_hex(stranger.cluster), to_hex(stranger.member),
                                    to_hex(kPeer.cluster), to_hex(kPeer.member)})
        EXPECT_NE(status.error().message.find(id), std::string::npos) << status.error().message;
    });
    run([](Client& client) { EXPECT_TRUE(client.status()); }, anybody());
  }
}

TEST_F(GrpcClientTest, NothingIsWrittenToAStranger) {
  peer_.answer(kStatus, from_peer<pb::StatusResponse>({{0xC2}, {0xA1}, 7}));
  peer_.refuse(kRemove, 5, "etcdserver: member not found");
  run([](Client& client) {
    EXPECT_TRUE(client.remove({1}).failed_with(Code::Corrupt))
        << "NotFound would read as already removed";
  });
  EXPECT_EQ(peer_.asked, std::vector<std::string>{kStatus});
  run([](Client& client) { EXPECT_TRUE(client.status()); }, anybody());
  run([](Client& client) { EXPECT_TRUE(client.remove({1}).failed_with(Code::Corrupt)); });
  EXPECT_EQ(peer_.asked, (std::vector<std::string>{kStatus, kStatus})) << "it is known by now";
}

TEST_F(GrpcClientTest, AConnectionIsIdentifiedOnce) {
  peer_.answer(kRemove, from_peer<pb::MemberListResponse>());
  run([](Client& client) {
    EXPECT_TRUE(client.remove({1}));
    EXPECT_TRUE(client.remove({2}));
  });
  EXPECT_EQ(peer_.asked, (std::vector<std::string>{kStatus, kRemove, kRemove}));
  peer_.peer.reset();
  peer_.asked.clear();
  run([](Client& client) { EXPECT_TRUE(client.remove({1})); }, anybody());
  EXPECT_EQ(peer_.asked, std::vector<std::string>{kRemove}) << "nobody in particular is expected";
}

TEST_F(GrpcClientTest, AWriteWhoseAnswerWasLostIsNotSentAgain) {
  peer_.lose(kRemove);
  run([](Client& client) { EXPECT_TRUE(client.remove({1}).failed_with(Code::Lost)); });
  EXPECT_EQ(peer_.asked, (std::vector<std::string>{kStatus, kRemove}));
}

TEST_F(GrpcClientTest, AReadWhoseAnswerWasLostLeavesNothingToFindOut) {
  peer_.lose(kList);
  run([](Client& client) { EXPECT_TRUE(client.member_list(true).failed_with(Code::Unavailable)); });
}

TEST_F(GrpcClientTest, EachCallHasItsDeadline) {
  struct Row {
    const char* path;
    std::function<Code(Client&)> call;
    Duration limit;
    Code code;
  };
  const Row rows[] = {
      {kStatus, [](Client& c) { return c.status().error().code; }, 2s, Code::TimedOut},
      {kList, [](Client& c) { return c.member_list(true).error().code; }, 3s, Code::TimedOut},
      {kList, [](Client& c) { return c.member_list(false).error().code; }, 2s, Code::TimedOut},
      {kAdd, [](Client& c) { return c.add_learner("u").error().code; }, 7s, Code::TimedOut},
      {"/etcdserverpb.Cluster/MemberPromote", [](Client& c) { return c.promote({1}).error().code; },
       7s, Code::TimedOut},
      {kRemove, [](Client& c) { return c.remove({1}).error().code; }, 7s, Code::TimedOut},
      {"/etcdserverpb.Maintenance/MoveLeader",
       [](Client& c) { return c.move_leader({1}).error().code; }, 7s, Code::TimedOut},
      {kStatus, [](Client& c) { return c.remove({1}).error().code; }, 2s,
       Code::Unavailable},  // Only the question who is there was sent: it did not happen.
  };
  for (const Row& row : rows) {
    peer_.answer(kStatus, from_peer<pb::StatusResponse>());
    peer_.stay_silent(row.path);
    peer_.peer.reset();
    const Instant began = world_.now();
    run([&](Client& client) { EXPECT_EQ(row.call(client), row.code) << row.path; });
    EXPECT_EQ(world_.now() - began, row.limit) << row.path;
  }
}

TEST_F(GrpcClientTest, ACallersTighterDeadlineWins) {
  peer_.stay_silent(kStatus);
  run([&](Client& client) {
    const Within limit(world_, 100ms);
    EXPECT_TRUE(client.status().failed_with(Code::TimedOut));
  });
  EXPECT_EQ(world_.now().time_since_epoch(), 100ms);
}

TEST_F(GrpcClientTest, AMemberThatCannotBeReachedSaysSo) {
  peer_.can_be_reached = Error{Code::Unavailable, "dial: refused"};
  run([](Client& client) {
    EXPECT_EQ(client.status().error(),
              (Error{Code::Unavailable, "Status at 10.0.0.1: dial: refused"}));
  });
}

TEST_F(GrpcClientTest, ARemovedMembersIdIsTriedAgainLater) {
  peer_.refuse(kAdd, 5, "etcdserver: member not found");
  run([](Client& client) { EXPECT_TRUE(client.add_learner("u").failed_with(Code::Unavailable)); });
}

TEST_F(GrpcClientTest, AnImplausibleAnswerIsCorrupt) {
  auto list = from_peer<pb::MemberListResponse>();
  list.add_members()->set_id(1);
  list.add_members()->set_id(1);
  const auto twice = list;
  list.mutable_members(1)->set_id(0);
  const auto zero = list;
  for (int i = 0; i < 200; ++i) list.add_members()->set_id(std::uint64_t(i) + 2);
  list.mutable_members(1)->set_id(1000);
  const auto many = list;
  list = from_peer<pb::MemberListResponse>();
  list.add_members()->set_name(std::string(2 << 20, 'x'));
  list.mutable_members(0)->set_id(1);
  for (const auto& bad : {twice, zero, many, list}) {
    peer_.answer(kList, bad);
    run([](Client& client) { EXPECT_TRUE(client.member_list(true).failed_with(Code::Corrupt)); });
  }
  peer_.answer(kAdd, from_peer<pb::MemberAddResponse>());
  run([](Client& client) { EXPECT_TRUE(client.add_learner("u").failed_with(Code::Corrupt)); });
  pb::MemberAddRequest garbage;
  garbage.add_peerurls("a string where a header should be");
  peer_.answer(kStatus, garbage);
  run([](Client& client) { EXPECT_TRUE(client.status().failed_with(Code::Corrupt)); });
}

}  // namespace
}  // namespace etcdop::etcd
