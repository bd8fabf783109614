#include "agent/take_snapshot.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/memory_log.h"
#include "test/support/unscripted_etcd.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using etcd::Status;

const std::string kData = "keys and values";
const std::string kSum = "sha256:41e52f9b31a346a894b86ed7d033a6fa2d199b06f43e40319fdf701cad966373";

/// A member, and its faults.
struct Script {
  Result<Status> status = Error{Code::Unavailable, "connection refused"};
  std::optional<Error> list, hash, snapshot, count, page;
  int hash_fails = 0;  ///< Number of failures before it answers.
  Duration page_takes{}, stream_takes = 2s;
  bool auth = false;                 ///< Answers only clients with a token.
  bool forgets = false;              ///< Forgets its first token.
  bool forgets_at_snapshot = false;  ///< Forgets its token when the stream has ended.
  int passwords = 0, snapshots = 0, hashes = 0;
  etcd::Endpoint asked_as = {};  ///< The endpoint of the snapshot.
};

class Member final : public testing::UnscriptedEtcd {
 public:
  Member(Executor& executor, Script& script, etcd::Endpoint endpoint)
      : executor_(executor), script_(script), endpoint_(std::move(endpoint)) {}
  Result<Status> status() override {
    if (auto refused = refusal()) return *refused;
    return script_.status;
  }
  Result<etcd::MemberList> member_list(etcd::Read how) override {
    EXPECT_EQ(how, etcd::Read::Linearizable);
    if (script_.list) return *script_.list;
    return etcd::MemberList{};
  }
  Result<etcd::KeyHash> hash_kv(std::int64_t) override {
    ++script_.hashes;
    if (script_.hash) return *script_.hash;
    if (script_.hashes <= script_.hash_fails) return Error{Code::Lost, "connection closed"};
    return etcd::KeyHash{.hash = 11, .revision = 7, .compacted = 3};
  }
  Result<etcd::KeyPage> keys(const etcd::KeyQuestion& asked) override {
    EXPECT_EQ(asked.revision, 7) << "what the hash is of";
    EXPECT_EQ(script_.snapshots, 1) << "the stream comes first";
    if (auto refused = refusal()) return *refused;
    if (auto took = to_result(executor_.sleep(script_.page_takes), "Range"); !took)
      return took.error();
    const std::optional<Error>& error = asked.limit == 0 ? script_.count : script_.page;
    if (error) return *error;
    return etcd::KeyPage{.keys = {}, .count = 2, .more = false};
  }
  Result<etcd::AuthStatus> auth_status() override { return etcd::AuthStatus{.enabled = false}; }
  Result<Secret> authenticate(const std::string& name, const Secret& password) override {
    ++script_.passwords;
    EXPECT_FALSE(endpoint_.token) << "some etcds refuse who comes with a bad one";
    if (!script_.auth) return Error{Code::Invalid, "etcdserver: authentication is not enabled"};
    const bool bad = script_.forgets && script_.passwords == 1;
    const std::string token = bad ? "forgotten" : "token" + std::to_string(script_.snapshots);
    if (name == "root" && password == Secret("right")) return Secret(token);
    return Error{Code::Denied, "etcdserver: authentication failed, invalid user ID or password"};
  }
  Result<etcd::WholeSnapshot> snapshot(const etcd::SnapshotSink& sink) override {
    ++script_.snapshots;
    script_.asked_as = endpoint_;
    for (const std::string& piece : {kData.substr(0, 5), kData.substr(5)}) {
      const Woken woken = executor_.sleep(script_.stream_takes / 2);
      if (auto slept = to_result(woken, "Snapshot"); !slept) return slept.error();
      if (auto taken = sink(piece); !taken) return taken.error();
    }
    if (script_.snapshot) return *script_.snapshot;
    Digest sum(Digest::Kind::Sha256);
    sum.add(kData);
    return etcd::WholeSnapshot{.size_bytes = kData.size(), .checksum = "sha256:" + sum.hex()};
  }

 private:
  std::optional<Error> refusal() const {
    const int oldest = script_.forgets_at_snapshot ? script_.snapshots : 0;
    bool known = false;
    for (int at = oldest; at <= script_.snapshots; ++at)
      known |= endpoint_.token && *endpoint_.token == Secret("token" + std::to_string(at));
    if (script_.auth && endpoint_.token && !known)
      return Error{Code::Denied, "etcdserver: invalid auth token"};
    if (script_.auth && !known) return Error{Code::Denied, "etcdserver: user name is empty"};
    return std::nullopt;
  }
  Executor& executor_;
  Script& script_;
  const etcd::Endpoint endpoint_;
};

/// Keeps the data in memory, and fails where the test says.
struct MemoryDestination final : Destination {
  Result<std::optional<AgentReport>> look() override {
    if (fails_at == "look") return failure;
    return known;
  }
  Result<Done> begin(std::uint64_t bytes) override {
    expected = bytes;
    return at("begin");
  }
  Result<Done> write(std::string_view piece) override {
    data += piece;
    return at("write");
  }
  Result<Done> finish(Manifest whole) override {
    if (executor) {
      const Woken woken = executor->sleep(finish_takes);
      if (auto slept = to_result(woken, "CompleteMultipartUpload"); !slept) return slept;
    }
    auto finished = at("finish");
    if (finished) manifest = std::move(whole);
    return finished;
  }
  void abandon() override { abandoned = true; }
  std::string uri() const override { return "file:///db.db"; }
  Side side() const override { return Side::Folder; }
  Result<Done> at(const std::string& step) const {
    if (fails_at == step) return failure;
    return Done{};
  }

  std::optional<AgentReport> known;
  std::string fails_at;
  Error failure{Code::Unavailable, "no space left on device"};
  std::uint64_t expected = 0;
  std::string data;
  std::optional<Manifest> manifest;
  bool abandoned = false;
  Executor* executor = nullptr;  ///< Null: it finishes at once.
  Duration finish_takes{};
};

class TakeSnapshotTest : public ::testing::Test, private etcd::Clients {
 public:  // Tables of failures change it, too.
  TakeSnapshotTest() {
    task_.name = "nightly";
    task_.uid = "uid-1";
    task_.etcd.hosts = {"db-0", "db-1"};
    for (const std::uint64_t id : {1u, 2u})
      members_["db-" + std::to_string(id - 1)].status = up(id);
  }
  /// Member 1 leads.
  static Status up(std::uint64_t id) {
    Status status;
    status.header = {.cluster = {0xC1}, .member = {id}, .raft_term = 2};
    status.version = "3.6.16";
    status.leader = {1};
    status.raft_index = status.raft_applied_index = 100;
    status.db_size = 4096;
    return status;
  }
  AgentReport take(const std::function<void(Fiber&)>& meanwhile = {}) {
    AgentReport report;
    (void)world_.spawn([&] {
      const auto work = world_.spawn([&] {
        report = take_snapshot(task_, {.executor = world_,
                                       .clock = clock_,
                                       .log = log_,
                                       .clients = *this,
                                       .destination = destination_,
                                       .tls = nullptr,
                                       .sealing = sealing_ ? &*sealing_ : nullptr});
      });
      if (meanwhile) meanwhile(*work);
      (void)work->join();
    });
    world_.run();
    EXPECT_EQ(world_.alive(), 0u);
    if (report.failed()) { EXPECT_FALSE(destination_.manifest); }
    return report;
  }
  etcd::Clients& clients() { return *this; }
  void authentication(bool on) {
    task_.etcd.username = "root";
    task_.etcd.password = Secret("right");
    for (auto& [host, script] : members_) script.auth = on;
  }

  sim::Scheduler world_{1};
  testing::VirtualWallClock clock_{world_};
  testing::MemoryLog log_;
  SnapshotTask task_;
  std::map<std::string, Script> members_;
  MemoryDestination destination_;
  std::optional<Sealing> sealing_;

 private:
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint& endpoint) override {
    EXPECT_EQ(endpoint.address, endpoint.server_name);
    return std::make_shared<Member>(world_, members_.at(endpoint.address), endpoint);
  }
};

TEST_F(TakeSnapshotTest, StoresWhatAFollowerGivesAndReportsIt) {
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(destination_.data, kData);
  EXPECT_EQ(destination_.expected, 4096u);
  EXPECT_FALSE(destination_.abandoned);
  EXPECT_EQ(report.uri, "file:///db.db");
  EXPECT_EQ(report.size_bytes, static_cast<std::int64_t>(kData.size()));
  EXPECT_EQ(report.checksum, kSum);
  EXPECT_EQ(report.etcd_version, "3.6.16");
  EXPECT_EQ(report.cluster_id, "00000000000000c1");
  EXPECT_EQ(report.member_id, "0000000000000002");
  EXPECT_EQ(report.revision, 7);
  EXPECT_EQ(report.compact_revision, 3);
  EXPECT_EQ(report.hash_kv, 11);
  EXPECT_EQ(report.keys, 2);
  EXPECT_EQ(report.digest,
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(report.auth_enabled, false);
  ASSERT_TRUE(destination_.manifest);
  EXPECT_EQ(destination_.manifest->report, report);
  EXPECT_EQ(destination_.manifest->snapshot_name, "nightly");
  EXPECT_EQ(destination_.manifest->snapshot_uid, "uid-1");
  EXPECT_EQ(destination_.manifest->taken_at, clock_.wall_now() + -2s) << "when it began";
  const Script& follower = members_["db-1"];
  EXPECT_EQ(follower.asked_as.cluster, etcd::ClusterId{0xC1}) << "nobody else may answer";
  EXPECT_EQ(follower.asked_as.member, etcd::MemberId{2});
}

TEST_F(TakeSnapshotTest, WithAKeyWhatIsStoredIsSealed) {
  sealing_ = Sealing{*to_sealing_key(Secret(std::string(32, 'k'))), std::string(32, 's')};
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_TRUE(is_sealed(destination_.data));
  EXPECT_EQ(destination_.data.find(kData), std::string::npos);
  EXPECT_EQ(report.key_id, sealing_->key.id);
  EXPECT_EQ(report.size_bytes, static_cast<std::int64_t>(destination_.data.size()));
  EXPECT_NE(report.checksum, kSum) << "of the stored bytes";
  std::string plain;
  Opener opener({{sealing_->key.id, sealing_->key.key}}, [&](std::string_view bytes) {
    plain += bytes;
    return Done{};
  });
  EXPECT_TRUE(opener.add(destination_.data));
  EXPECT_TRUE(opener.end());
  EXPECT_EQ(plain, kData);
}

TEST_F(TakeSnapshotTest, SealedOrNotADestinationThatIsFullIsTheReason) {
  sealing_ = Sealing{*to_sealing_key(Secret(std::string(32, 'k'))), std::string(32, 's')};
  destination_.fails_at = "write";
  EXPECT_EQ(take().reason, "NoSpace");
  EXPECT_TRUE(destination_.abandoned);
}

TEST_F(TakeSnapshotTest, AServiceMayLeadToAnyMember) {
  task_.etcd.hosts = {"db-0"};
  EXPECT_FALSE(take().failed());
  EXPECT_EQ(members_["db-0"].asked_as.member, std::nullopt);
}

TEST_F(TakeSnapshotTest, WhatIsStoredAlreadyIsTheResult) {
  AgentReport known;
  known.uri = "file:///db.db";
  destination_.known = known;
  EXPECT_EQ(take(), known);
  EXPECT_EQ(members_["db-1"].snapshots, 0);
}

TEST_F(TakeSnapshotTest, WhatEtcdDoesNotTellIsLeftOut) {
  members_["db-1"].hash = Error{Code::Unavailable, "busy"};
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(members_["db-1"].hashes, 3);
  EXPECT_EQ(report.revision, std::nullopt);
  EXPECT_EQ(report.hash_kv, std::nullopt);
}

TEST_F(TakeSnapshotTest, AHashThatWasLostIsAskedForAgain) {
  members_["db-1"].hash_fails = 2;
  const AgentReport report = take();
  EXPECT_EQ(report.hash_kv, 11);
  EXPECT_NE(report.digest, "");
}

TEST_F(TakeSnapshotTest, WithoutAHashADigestProvesIt) {
  Script& member = members_["db-1"];
  Status with_revision = up(2);
  with_revision.revision = 7;
  member.status = with_revision;
  member.hash = Error{Code::Invalid, "not implemented"};
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(member.hashes, 1) << "again would not help";
  EXPECT_EQ(report.hash_kv, std::nullopt);
  EXPECT_EQ(report.revision, 7);
  EXPECT_EQ(report.keys, 2);
  EXPECT_NE(report.digest, "");
}

TEST_F(TakeSnapshotTest, ReadingKeysLeavesTimeToFinish) {
  destination_.executor = &world_;
  destination_.finish_takes = 3min;
  for (const auto& [stream, keys] : {std::pair{18min, true}, std::pair{21min, false}}) {
    Script& member = members_["db-1"];
    member = Script();
    member.status = up(2);
    member.stream_takes = stream;
    member.page_takes = 50s;
    const AgentReport report = take();
    EXPECT_FALSE(report.failed()) << report.message;
    EXPECT_EQ(report.keys.has_value(), keys);
    EXPECT_EQ(report.digest, "");
    EXPECT_FALSE(destination_.abandoned);
  }
}

TEST_F(TakeSnapshotTest, ASnapshotIsGoodWithoutADigest) {
  Script& member = members_["db-1"];
  const Error compacted{Code::Invalid, "mvcc: required revision has been compacted"};
  member.page = compacted;
  AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.keys, 2);
  EXPECT_EQ(report.digest, "");
  EXPECT_EQ(log_.count("no digest of the keys"), 1);
  member.snapshots = 0;
  member.count = compacted;
  destination_ = MemoryDestination();
  report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.keys, std::nullopt);
  member.snapshots = 0;
  member.count.reset();
  member.page_takes = 4min;
  report = take();
  EXPECT_FALSE(report.failed()) << "the time for it has a limit: " << report.message;
  EXPECT_EQ(report.keys, 2);
  EXPECT_EQ(report.digest, "");
}

TEST_F(TakeSnapshotTest, WaitsForAMemberThatIsFit) {
  for (auto& [host, script] : members_) script.status = Error{Code::Unavailable, "starting"};
  const AgentReport report = take([&](Fiber&) {
    (void)world_.sleep(5s);
    members_["db-0"].status = up(1);
  });
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(members_["db-0"].snapshots, 1);
}

TEST_F(TakeSnapshotTest, NobodyButOneGetsThePassword) {
  authentication(true);
  members_["db-0"].status = Error{Code::Unavailable, "connection refused"};
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.auth_enabled, true);
  EXPECT_EQ(members_["db-0"].passwords + members_["db-1"].passwords, 1);
}

TEST_F(TakeSnapshotTest, LogsInAgainWhereATokenWasForgotten) {
  authentication(true);
  task_.etcd.hosts = {"db-0"};
  members_["db-0"].forgets = true;
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(members_["db-0"].passwords, 2);
}

TEST_F(TakeSnapshotTest, LogsInAgainWhereATokenWasForgottenWhileTheSnapshotCame) {
  authentication(true);
  members_["db-1"].forgets_at_snapshot = true;
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.keys, 2);
  EXPECT_NE(report.digest, "");
  EXPECT_EQ(members_["db-1"].passwords, 1) << "the first one went to db-0";
}

TEST_F(TakeSnapshotTest, ACertificateThatIsRenewedIsWaitedFor) {
  for (auto& [host, script] : members_) script.status = Error{Code::Denied, "TLS: expired"};
  const AgentReport report = take([&](Fiber&) {
    (void)world_.sleep(3s);
    members_["db-1"].status = up(2);
  });
  EXPECT_FALSE(report.failed()) << report.message;
}

TEST_F(TakeSnapshotTest, APasswordIsNotNeededWhereNobodyIsAsked) {
  authentication(false);
  const AgentReport report = take();
  EXPECT_FALSE(report.failed()) << report.message;
  EXPECT_EQ(report.auth_enabled, false);
}

TEST_F(TakeSnapshotTest, SaysWhyItFailed) {
  using Spoil = std::function<void(TakeSnapshotTest&)>;
  const auto each = [](auto change) {
    return [change](TakeSnapshotTest& t) {
      for (auto& [host, script] : t.members_) change(script);
    };
  };
  const auto fails_at = [](const char* step) {
    return [step](TakeSnapshotTest& t) { t.destination_.fails_at = step; };
  };
  const Error down{Code::Unavailable, "connection refused"};
  const Error no_quorum{Code::TimedOut, "etcdserver: request timed out"};
  const Error broken{Code::Corrupt, "the snapshot does not have its sha256"};
  const Error ended{Code::Unavailable, "connection closed"};
  const Error untrusted{Code::Denied, "TLS: not trusted"};
  const struct {
    const char* what;
    Spoil spoil;
    const char* reason;
  } rows[] = {
      {"all are down", each([&](Script& s) { s.status = down; }), "EtcdUnreachable"},
      {"TLS", each([&](Script& s) { s.status = untrusted; }), "EtcdCredentialsRejected"},
      {"no leader", each([](Script& s) {
         s.status = [] {
           Status status = up(1);
           status.leader = {0};
           return status;
         }();
       }),
       "EtcdUnhealthy"},
      {"no quorum", each([&](Script& s) { s.list = no_quorum; }), "EtcdUnhealthy"},
      {"no password", each([](Script& s) { s.auth = true; }), "EtcdCredentialsRejected"},
      {"a wrong password",
       [](TakeSnapshotTest& t) {
         t.authentication(true);
         t.task_.etcd.password = Secret("do-not-tell");
       },
       "EtcdCredentialsRejected"},
      {"a wrong sum", each([&](Script& s) { s.snapshot = broken; }), "SnapshotBroken"},
      {"a stream that ends", each([&](Script& s) { s.snapshot = ended; }), "EtcdUnreachable"},
      {"look", fails_at("look"), "NoSpace"},
      {"begin", fails_at("begin"), "NoSpace"},
      {"write", fails_at("write"), "NoSpace"},
      {"finish", fails_at("finish"), "NoSpace"},
  };
  for (const auto& row : rows) {
    destination_ = MemoryDestination();
    task_.etcd.username.clear();
    task_.etcd.password = Secret();
    members_.clear();
    for (const std::uint64_t id : {1u, 2u})
      members_["db-" + std::to_string(id - 1)].status = up(id);
    row.spoil(*this);
    const AgentReport report = take();
    EXPECT_EQ(report.reason, row.reason) << row.what << ": " << report.message;
    EXPECT_EQ(to_text(report).find("do-not-tell"), std::string::npos);
    EXPECT_EQ(report.uri, "") << row.what;
    const int snapshots = members_["db-0"].snapshots + members_["db-1"].snapshots;
    EXPECT_EQ(destination_.abandoned, snapshots > 0 || destination_.fails_at == "begin")
        << row.what;
  }
}

TEST_F(TakeSnapshotTest, EndsAtItsDeadlineWhateverIsSlow) {
  const Instant begin = world_.now();
  struct Slow final : Destination {
    Executor& executor;
    explicit Slow(Executor& e) : executor(e) {}
    Result<std::optional<AgentReport>> look() override { return std::optional<AgentReport>(); }
    Result<Done> begin(std::uint64_t) override { return Done{}; }
    Result<Done> write(std::string_view) override {
      return to_result(executor.sleep(24h), "UploadPart");
    }
    Result<Done> finish(Manifest) override { return Done{}; }
    void abandon() override { abandoned = true; }
    std::string uri() const override { return "s3://b/k"; }
    Side side() const override { return Side::Store; }
    bool abandoned = false;
  } slow(world_);
  AgentReport report;
  (void)world_.spawn([&] {
    report = take_snapshot(task_, {.executor = world_,
                                   .clock = clock_,
                                   .log = log_,
                                   .clients = clients(),
                                   .destination = slow});
  });
  world_.run();
  EXPECT_EQ(report.reason, "DestinationUnreachable");
  EXPECT_TRUE(slow.abandoned);
  EXPECT_EQ(world_.now() - begin, kTakeLimit);
}

TEST_F(TakeSnapshotTest, CancelledItCleansUp) {
  const AgentReport report = take([&](Fiber& work) {
    (void)world_.sleep(500ms);
    work.cancel();
  });
  EXPECT_EQ(report.reason, "DestinationFailed");
  EXPECT_EQ(report.message, "it was asked to end");
  EXPECT_TRUE(destination_.abandoned);
}

TEST_F(TakeSnapshotTest, CancelledBeforeItHasAMemberItSaysTheSame) {
  for (auto& [host, script] : members_) script.status = Error{Code::Unavailable, "starting"};
  const AgentReport report = take([&](Fiber& work) {
    (void)world_.sleep(500ms);
    work.cancel();
  });
  EXPECT_EQ(report.reason, "DestinationFailed");
  EXPECT_EQ(report.message, "it was asked to end");
}

}  // namespace
}  // namespace etcdop::agent
