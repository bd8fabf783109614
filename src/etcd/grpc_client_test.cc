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
constexpr const char* kAlarm = "/etcdserverpb.Maintenance/Alarm";
constexpr const char* kRange = "/etcdserverpb.KV/Range";
constexpr const char* kHash = "/etcdserverpb.Maintenance/HashKV";
constexpr const char* kSnapshot = "/etcdserverpb.Maintenance/Snapshot";
constexpr const char* kAuthenticate = "/etcdserverpb.Auth/Authenticate";
constexpr const char* kDefragment = "/etcdserverpb.Maintenance/Defragment";
constexpr const char* kRemove = "/etcdserverpb.Cluster/MemberRemove";

template <class Answer>
Answer from_peer(Header header = kPeer) {
  Answer answer;
  answer.mutable_header()->set_cluster_id(header.cluster.value);
  answer.mutable_header()->set_member_id(header.member.value);
  answer.mutable_header()->set_raft_term(header.raft_term);
  return answer;
}

/// One member that gives the answers that the test has set, and records the requests.
class Peer final : public Connections, public Connection {
 public:
  explicit Peer(Executor& executor) : executor_(executor) {
    answer(kStatus, from_peer<pb::StatusResponse>());
  }
  template <class Answer>
  void answer(const std::string& path, const Answer& answer) {
    answers_[path] = {0, answer.SerializeAsString()};
  }
  void answer_bytes(const std::string& path, std::string bytes) {
    answers_[path] = {0, std::move(bytes)};
  }
  void refuse(const std::string& path, int status, const std::string& text) {
    answers_[path] = {status, text};
  }
  void stay_silent(const std::string& path) { answers_[path] = {-1, ""}; }
  void lose(const std::string& path) { answers_[path] = {-2, ""}; }
  Result<Done> can_be_reached = Done{};
  std::vector<std::string> asked;
  std::string question;  ///< The last request.
  Secret token;          ///< The token of that request.

  Result<std::shared_ptr<Connection>> connection() override {
    if (!can_be_reached) return can_be_reached.error();
    return std::shared_ptr<Connection>(std::shared_ptr<void>(), this);  // Owned by the test.
  }
  Result<std::string> unary(const Question& asks, http::GrpcStatus& status) override {
    asked.emplace_back(asks.path);
    question = asks.message;
    token = asks.token;
    const auto& [code, text] = answers_.at(std::string(asks.path));
    if (code == -1) return to_result(executor_.sleep(1h), "call").error();
    if (code == -2) return Error{Code::Lost, "connection ended before the answer"};
    status = {code, text};
    if (code != 0) return Error{Code::Unavailable, "what the channel makes of it does not count"};
    if (text.size() > asks.answer_max) return Error{Code::Corrupt, "over the limit"};
    return text;
  }
  Result<Done> stream(const Question& asks, const http::GrpcChannel::Sink& sink,
                      http::GrpcStatus& status) override {
    asked.emplace_back(asks.path);
    token = asks.token;
    silence_max = asks.silence_max;
    for (const std::string& blob : pieces) {
      pb::SnapshotResponse piece;
      piece.set_blob(blob);
      if (!sink(piece.SerializeAsString())) return Done{};
    }
    status = stream_ends;
    if (status.code != 0) return Error{Code::Lost, "what the channel makes of it does not count"};
    return Done{};
  }
  std::vector<std::string> pieces;
  http::GrpcStatus stream_ends{.code = 0, .message = {}};
  Duration silence_max{};  ///< From the last stream.

 private:
  Executor& executor_;
  std::map<std::string, std::pair<int, std::string>> answers_;
};

class GrpcClientTest : public testing::Test {
 protected:
  /// Runs `body` on a fiber until no event is left.
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
    return {
        .address = "10.0.0.1", .server_name = {}, .cluster = kPeer.cluster, .member = kPeer.member};
  }
  static Endpoint anybody() {
    return {.address = "10.0.0.1", .server_name = {}, .cluster = {}, .member = {}};
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
  for (const auto how : {Read::Linearizable, Read::Serializable}) {
    run([&](Client& client) {
      auto list = client.member_list(how);
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
    EXPECT_EQ(asked.linearizable(), how == Read::Linearizable);
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
    peer_.answer(path, from_peer<pb::HeaderResponse>());
    run([&](Client& client) { EXPECT_TRUE((client.*change)({0xE5})) << path; });
    EXPECT_EQ(peer_.asked.back(), path);
    pb::MemberIdRequest asked;
    ASSERT_TRUE(asked.ParseFromString(peer_.question));
    EXPECT_EQ(asked.id(), 0xE5U);
  }
}

TEST_F(GrpcClientTest, AnAnswerThatEtcdSendsWithoutAHeaderIsBelieved) {
  peer_.answer("/etcdserverpb.Maintenance/MoveLeader", pb::HeaderResponse());
  peer_.answer(kDefragment, pb::HeaderResponse());
  run([](Client& client) {
    EXPECT_TRUE(client.move_leader({0xE5}));
    EXPECT_TRUE(client.defragment());
  });
  EXPECT_EQ(peer_.asked.back(), kDefragment);
}

TEST_F(GrpcClientTest, ListsAlarmsByMemberAndKind) {
  auto said = from_peer<pb::AlarmResponse>();
  for (const auto kind : {pb::NOSPACE, pb::CORRUPT}) {
    auto* one = said.add_alarms();
    one->set_memberid(0xA0 + std::uint64_t(kind));
    one->set_alarm(kind);
  }
  peer_.answer(kAlarm, said);
  run([](Client& client) {
    auto alarms = client.alarms();
    ASSERT_TRUE(alarms);
    EXPECT_EQ(*alarms, (std::vector<Alarm>{{.kind = AlarmKind::NoSpace, .member = {0xA1}},
                                           {.kind = AlarmKind::Corrupt, .member = {0xA2}}}));
  });
  pb::AlarmRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_EQ(asked.action(), pb::AlarmRequest::GET);
  EXPECT_EQ(asked.alarm(), pb::NONE) << "of every kind";
}

TEST_F(GrpcClientTest, DisarmsOneAlarmOfOneMember) {
  peer_.answer(kAlarm, from_peer<pb::AlarmResponse>());
  run([](Client& client) {
    EXPECT_TRUE(client.disarm({.kind = AlarmKind::Corrupt, .member = {0xA1}}));
  });
  pb::AlarmRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_EQ(asked.action(), pb::AlarmRequest::DEACTIVATE);
  EXPECT_EQ(asked.alarm(), pb::CORRUPT);
  EXPECT_EQ(asked.memberid(), 0xA1U);
}

TEST_F(GrpcClientTest, HashesUpToARevision) {
  auto said = from_peer<pb::HashKVResponse>();
  said.mutable_header()->set_revision(9);
  said.set_hash(77);
  said.set_compact_revision(-1);
  peer_.answer(kHash, said);
  run([](Client& client) {
    auto hash = client.hash_kv(5);
    ASSERT_TRUE(hash);
    EXPECT_EQ(*hash, (KeyHash{.hash = 77, .revision = 9, .compacted = -1}));
  });
  pb::HashKVRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_EQ(asked.revision(), 5);
}

TEST_F(GrpcClientTest, ReadsKeysOfARevision) {
  auto said = from_peer<pb::RangeResponse>();
  said.set_count(5);
  said.set_more(true);
  auto* one = said.add_kvs();
  one->set_key("k");
  one->set_value("v");
  one->set_create_revision(2);
  one->set_mod_revision(4);
  one->set_version(3);
  peer_.answer(kRange, said);
  run([](Client& client) {
    auto page = client.keys({.from = "j", .revision = 6, .limit = 10});
    ASSERT_TRUE(page);
    const KeyValue kept{.key = "k", .value = "v", .created = 2, .modified = 4, .version = 3};
    EXPECT_EQ(page->keys, std::vector{kept});
    EXPECT_EQ(page->count, 5);
    EXPECT_TRUE(page->more);
  });
  pb::RangeRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_EQ(asked.key(), "j");
  EXPECT_EQ(asked.range_end(), std::string(1, '\0'));
  EXPECT_EQ(asked.revision(), 6);
  EXPECT_EQ(asked.limit(), 10);
  EXPECT_TRUE(asked.serializable()) << "of this member, with or without a quorum";
  EXPECT_FALSE(asked.count_only());
}

TEST_F(GrpcClientTest, CountsKeysWithoutReadingThem) {
  auto said = from_peer<pb::RangeResponse>();
  said.set_count(5);
  peer_.answer(kRange, said);
  run([](Client& client) { EXPECT_EQ(client.keys({.revision = 6, .limit = 0})->count, 5); });
  pb::RangeRequest asked;
  ASSERT_TRUE(asked.ParseFromString(peer_.question));
  EXPECT_TRUE(asked.count_only());
  EXPECT_EQ(asked.key(), std::string(1, '\0')) << "from the first on";
}

TEST_F(GrpcClientTest, APageOfKeysMustNotBeTooLargeButOneKeyMayBe) {
  auto said = from_peer<pb::RangeResponse>();
  said.add_kvs()->set_value(std::string(5 << 20, 'v'));
  peer_.answer(kRange, said);
  run([](Client& client) {
    EXPECT_TRUE(client.keys({.limit = 2}).failed_with(Code::Corrupt));
    EXPECT_TRUE(client.keys({.limit = 1}));
  });
}

/// The sha256 of 512 letters "x".
std::string sum_of_xs() {
  constexpr std::string_view kHex =
      "64164443bb63e338ef1cfdb12a57117cd1212270cc935a798f6e8a665cdf4659";
  std::string bytes;
  for (std::size_t i = 0; i < kHex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(kHex.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST_F(GrpcClientTest, ASnapshotComesInPiecesAndIsWhatItsSumSays) {
  peer_.pieces = {std::string(300, 'x'), std::string(212, 'x'), sum_of_xs()};
  run([](Client& client) {
    std::string file;
    auto taken = client.snapshot([&](std::string_view piece) {
      file += piece;
      return Result<Done>(Done{});
    });
    ASSERT_TRUE(taken) << taken.error().message;
    EXPECT_EQ(taken->size_bytes, 544U);
    EXPECT_EQ(taken->checksum,
              "sha256:895866222bffe769096117a9d98a9637e92afda7ce23c14ff60e74753e655eee");
    EXPECT_EQ(file.size(), 544U) << "with the sum, as etcdutl wants it";
  });
  EXPECT_EQ(peer_.silence_max, 1min) << "a node that dies says nothing";
  EXPECT_EQ(peer_.asked, (std::vector<std::string>{kStatus, kSnapshot}));
}

TEST_F(GrpcClientTest, ASnapshotThatIsNotWhole) {
  const auto fails = [&](Code code, const std::string& text) {
    run([&](Client& client) {
      auto taken = client.snapshot([](std::string_view) { return Result<Done>(Done{}); });
      ASSERT_TRUE(taken.failed_with(code)) << text;
      EXPECT_EQ(taken.error().message, "Snapshot at 10.0.0.1: " + text);
    });
  };
  peer_.pieces = {std::string(511, 'x') + "y", sum_of_xs()};
  fails(Code::Corrupt, "the snapshot does not have its sha256");
  peer_.pieces = {std::string(512, 'x')};
  fails(Code::Corrupt, "512 bytes, which end with no sha256");
  peer_.pieces = {};
  fails(Code::Corrupt, "0 bytes, which end with no sha256");
  peer_.stream_ends = {.code = 2, .message = "auth: user name is empty"};
  fails(Code::Denied, "auth: user name is empty");
  peer_.stream_ends = {.code = -1, .message = {}};
  fails(Code::Unavailable, "what the channel makes of it does not count");
  peer_.answer(kStatus, from_peer<pb::StatusResponse>({{0xC2}, {0xA1}, 7}));
  peer_.peer.reset();
  peer_.asked.clear();
  run([](Client& client) {
    auto taken = client.snapshot([](std::string_view) { return Result<Done>(Done{}); });
    EXPECT_TRUE(taken.failed_with(Code::Corrupt));
  });
  EXPECT_EQ(peer_.asked, std::vector<std::string>{kStatus}) << "of a stranger";
}

TEST_F(GrpcClientTest, WhoCannotTakeMoreOfASnapshotEndsIt) {
  peer_.pieces = {std::string(512, 'x'), sum_of_xs()};
  run([](Client& client) {
    int pieces = 0;
    auto taken = client.snapshot([&](std::string_view) {
      ++pieces;
      return Result<Done>(Error{Code::Invalid, "disk full"});
    });
    ASSERT_TRUE(taken.failed_with(Code::Invalid));
    EXPECT_EQ(taken.error().message, "Snapshot at 10.0.0.1: disk full");
    EXPECT_EQ(pieces, 1);
  });
}

TEST_F(GrpcClientTest, UsersAndRolesAreNamedAsAsked) {
  peer_.answer("/etcdserverpb.Auth/UserAdd", from_peer<pb::HeaderResponse>());
  peer_.answer("/etcdserverpb.Auth/UserGrantRole", from_peer<pb::HeaderResponse>());
  peer_.answer("/etcdserverpb.Auth/AuthEnable", from_peer<pb::HeaderResponse>());
  auto status = from_peer<pb::AuthStatusResponse>();
  status.set_enabled(true);
  status.set_authrevision(4);
  peer_.answer("/etcdserverpb.Auth/AuthStatus", status);
  run([&](Client& client) {
    EXPECT_TRUE(client.user_add("root", Secret("pass")));
    pb::AuthUserAddRequest user;
    ASSERT_TRUE(user.ParseFromString(peer_.question));
    EXPECT_EQ(user.name() + " " + user.password(), "root pass");
    EXPECT_TRUE(client.user_grant_role("bob", "root"));
    pb::AuthUserGrantRoleRequest grant;
    ASSERT_TRUE(grant.ParseFromString(peer_.question));
    EXPECT_EQ(grant.user() + " " + grant.role(), "bob root");
    EXPECT_TRUE(client.auth_enable());
    auto on = client.auth_status();
    ASSERT_TRUE(on);
    EXPECT_EQ(*on, (AuthStatus{.enabled = true, .revision = 4}));
  });
}

TEST_F(GrpcClientTest, ATokenGoesWithEachCallFromThenOn) {
  auto said = from_peer<pb::AuthenticateResponse>();
  said.set_token("abc.7");
  peer_.answer(kAuthenticate, said);
  peer_.answer(kRemove, from_peer<pb::MemberListResponse>());
  run([&](Client& client) {
    auto token = client.authenticate("root", Secret("pass"));
    ASSERT_TRUE(token);
    EXPECT_TRUE(peer_.token.empty());
    EXPECT_EQ(peer_.asked, std::vector<std::string>{kAuthenticate})
        << "nobody says who he is before";
    client.use_token(*token);
    EXPECT_TRUE(client.remove({1}));
    EXPECT_EQ(peer_.token.reveal(), "abc.7");
    client.use_token({});
    EXPECT_TRUE(client.remove({1}));
    EXPECT_TRUE(peer_.token.empty());
  });
  peer_.answer(kAuthenticate, from_peer<pb::AuthenticateResponse>());
  run([](Client& client) {
    EXPECT_TRUE(client.authenticate("root", Secret("pass")).failed_with(Code::Corrupt));
  });
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
  run([](Client& client) {
    EXPECT_TRUE(client.member_list(Read::Linearizable).failed_with(Code::Unavailable));
  });
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
      {kList, [](Client& c) { return c.member_list(Read::Linearizable).error().code; }, 3s,
       Code::TimedOut},
      {kList, [](Client& c) { return c.member_list(Read::Serializable).error().code; }, 2s,
       Code::TimedOut},
      {kAdd, [](Client& c) { return c.add_learner("u").error().code; }, 7s, Code::TimedOut},
      {"/etcdserverpb.Cluster/MemberPromote", [](Client& c) { return c.promote({1}).error().code; },
       7s, Code::TimedOut},
      {kRemove, [](Client& c) { return c.remove({1}).error().code; }, 7s, Code::TimedOut},
      {"/etcdserverpb.Maintenance/MoveLeader",
       [](Client& c) { return c.move_leader({1}).error().code; }, 7s, Code::TimedOut},
      {kAlarm, [](Client& c) { return c.alarms().error().code; }, 3s, Code::TimedOut},
      {kAlarm, [](Client& c) { return c.disarm({}).error().code; }, 7s, Code::TimedOut},
      {kHash, [](Client& c) { return c.hash_kv(0).error().code; }, 2min, Code::TimedOut},
      {kAuthenticate, [](Client& c) { return c.authenticate("u", Secret("p")).error().code; }, 7s,
       Code::TimedOut},
      {kDefragment, [](Client& c) { return c.defragment().error().code; }, 2min, Code::TimedOut},
      {kStatus, [](Client& c) { return c.remove({1}).error().code; }, 2s,
       Code::Unavailable},  // Only identify()'s Status was sent: the write did not happen.
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
    run([](Client& client) {
      EXPECT_TRUE(client.member_list(Read::Linearizable).failed_with(Code::Corrupt));
    });
  }
  peer_.answer(kAdd, from_peer<pb::MemberAddResponse>());
  run([](Client& client) { EXPECT_TRUE(client.add_learner("u").failed_with(Code::Corrupt)); });
  auto alarms = from_peer<pb::AlarmResponse>();
  alarms.add_alarms()->set_alarm(pb::AlarmType(9));
  peer_.answer(kAlarm, alarms);
  run([](Client& client) { EXPECT_TRUE(client.alarms().failed_with(Code::Corrupt)); });
  pb::MemberAddRequest garbage;
  garbage.add_peerurls("a string where a header should be");
  peer_.answer(kStatus, garbage);
  run([](Client& client) { EXPECT_TRUE(client.status().failed_with(Code::Corrupt)); });
}

TEST_F(GrpcClientTest, N1_NoAnswerBringsInTextThatIsNotUtf8OrLong) {
  auto list = from_peer<pb::MemberListResponse>();
  list.add_members()->set_id(1);
  list.mutable_members(0)->set_name("#");
  std::string bytes = list.SerializeAsString();
  bytes[bytes.find('#')] = '\xFF';
  peer_.answer_bytes(kList, std::move(bytes));
  run([](Client& client) {
    EXPECT_TRUE(client.member_list(Read::Linearizable).failed_with(Code::Corrupt));
  });
  auto status = from_peer<pb::StatusResponse>();
  status.set_version(std::string(65, '3'));
  peer_.answer(kStatus, status);
  run([](Client& client) { EXPECT_TRUE(client.status().failed_with(Code::Corrupt)); });
}

}  // namespace
}  // namespace etcdop::etcd
