#include "sim/etcd/net.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/etcd/clients.h"
#include "sim/etcd/image.h"
#include "sim/scheduler.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::sim {
namespace {

using namespace std::chrono_literals;

/// As in a world: every member has an address of its own and a DNS name.
class Net : public ::testing::Test {
 protected:
  explicit Net(std::uint64_t seed = 1)
      : world_(seed), dice_(seed), net_(world_, wall_, dice_.split(), options()) {}
  ~Net() override {
    net_.stop();
    world_.run();
    EXPECT_EQ(net_.self_check(), "");
  }

  EtcdNet::Options options() {
    return {.resolve = [this](const std::string& host) -> std::optional<std::string> {
              const auto found = names_.find(host);
              return found == names_.end() ? std::nullopt : std::optional(found->second);
            },
            .tell = [this](const std::string& who,
                           const std::string& what) { trace_.push_back(who + " " + what); }};
  }
  static std::string address(int i) { return "10.0.0." + std::to_string(i + 1); }
  static std::string name(int i) { return "m" + std::to_string(i); }
  static std::string url(int i) { return "http://" + name(i) + ":2380"; }
  static std::string list(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i ? "," : "") + name(i) + "=" + url(i);
    return text;
  }
  struct How {
    int listed = 1;  ///< --initial-cluster has m0 up to this index, exclusive.
    bool existing = false;
    std::string version = "3.6.16";
    std::vector<std::string> flags = {};
  };
  void start(int i, const How& how) {
    auto& dir = dirs_[i];
    if (!dir) dir = empty_data_dir();
    exits_.erase(i);
    std::vector<std::string> command = {
        "etcd",
        "--name=" + name(i),
        "--initial-advertise-peer-urls=" + url(i),
        "--advertise-client-urls=http://" + name(i) + ":2379",
        "--initial-cluster=" + list(how.listed),
        "--initial-cluster-token=t",
        std::string("--initial-cluster-state=") + (how.existing ? "existing" : "new")};
    command.insert(command.end(), how.flags.begin(), how.flags.end());
    net_.start(
        {.address = address(i),
         .version = how.version,
         .command = std::move(command),
         .dir = dir,
         .exited = [this, i](int code, const std::string& words) { exits_[i] = {code, words}; }});
  }
  void found(int count, const std::string& version = "3.6.16") {
    for (int i = 0; i < count; ++i) names_[name(i)] = address(i);
    for (int i = 0; i < count; ++i) start(i, {.listed = count, .version = version});
    for (int i = 0; i < count; ++i) await(i);
  }
  /// An image of the first member.
  std::string image() {
    std::string out;
    auto taken = client(0)->snapshot([&](std::string_view piece) {
      out += piece;
      return Result<Done>(Done{});
    });
    EXPECT_TRUE(taken);
    return out;
  }
  /// Rebuilds that member's data from an image of the first member.
  void restore(int i, const RestoreFlags& flags) {
    auto dir = rebuilt(image(), flags);
    ASSERT_TRUE(dir);
    net_.kill(address(i));
    dirs_[i] = *dir;
    start(i, {});
    await(i);
  }
  /// Joins as a voter; the first member adds it.
  void join(int i, const std::string& version = "3.6.16") {
    const auto id = add(i);
    names_[name(i)] = address(i);
    start(i, {.listed = i + 1, .existing = true, .version = version});
    ASSERT_TRUE(eventually([&] { return bool(client(0)->promote(id)); }));
  }
  etcd::MemberId add(int i) {
    etcd::MemberId id;
    EXPECT_TRUE(eventually([&] {
      auto added = client(0)->add_learner(url(i));
      if (added) id = *added;
      return bool(added);
    }));
    return id;
  }
  void await(int i) {
    ASSERT_TRUE(eventually([&] { return bool(client(i)->member_list(etcd::Read::Linearizable)); }))
        << name(i);
  }
  int leader() {
    for (const auto& process : net_.processes())
      if (process.leads && net_.get(world_, process.address, "k"))
        return std::stoi(process.name.substr(1));
    return -1;
  }
  /// The value of key k; 0: none, or no answer.
  std::uint64_t value_at(int i) {
    auto value = net_.get(world_, address(i), "k");
    return value ? *value : 0;
  }
  EtcdNet::Truth truth(int i) const {
    for (const auto& process : net_.processes())
      if (process.address == address(i)) return process;
    return {};
  }
  void cut_off(int i, int count, bool apart) {
    for (int other = 0; other < count; ++other)
      if (other != i) net_.cut(address(i), address(other), apart);
  }
  bool ends(int i, int code, const std::string& words) {
    return eventually([&] { return exits_.contains(i); }, 60s) && exits_[i].first == code &&
           exits_[i].second.find(words) != std::string::npos;
  }
  double seconds_since(Instant began) {
    return std::chrono::duration<double>(world_.now() - began).count();
  }
  std::shared_ptr<etcd::Client> client(int i) {
    return clients_.at({.address = address(i),
                        .server_name = name(i),
                        .cluster = std::nullopt,
                        .member = std::nullopt});
  }
  bool eventually(const std::function<bool()>& holds, Duration max = 30s) {
    const Instant end = world_.now() + max;
    while (!holds()) {
      if (world_.now() >= end) return false;
      (void)world_.sleep(50ms);
    }
    return true;
  }
  void run(const std::function<void()>& body) {
    bool done = false;
    (void)world_.spawn([&] {
      body();
      net_.stop();
      done = true;
    });
    world_.run();
    EXPECT_TRUE(done);
    if (HasFailure())
      for (const auto& line : trace_) std::puts(line.c_str());
  }

  Scheduler world_;
  Dice dice_;
  etcdop::testing::VirtualWallClock wall_{world_};
  std::map<std::string, std::string> names_;
  std::map<int, std::shared_ptr<DataDir>> dirs_;
  std::map<int, std::pair<int, std::string>> exits_;
  std::vector<std::string> trace_;
  EtcdNet net_;
  EtcdClients clients_{world_, net_};
};

TEST_F(Net, GrowsFromOneToThreeAndKeepsItsKeys) {
  run([&] {
    found(1);
    ASSERT_TRUE(net_.put(world_, address(0), "k", 7));
    join(1);
    join(2);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(*net_.get(world_, address(i), "k"), 7U);
    net_.kill(address(0));
    ASSERT_TRUE(eventually([&] { return bool(net_.put(world_, address(1), "k", 8)); }));
    EXPECT_EQ(*net_.get(world_, address(2), "k"), 8U);
    ASSERT_EQ(net_.births().size(), 1U);
    EXPECT_EQ(net_.births()[0].token, "t");
    EXPECT_EQ(net_.membership(net_.births()[0].cluster).size(), 3U);
    EXPECT_TRUE(net_.has_quorum(net_.births()[0].cluster));
    net_.kill(address(1));
    EXPECT_FALSE(net_.has_quorum(net_.births()[0].cluster));
  });
}

TEST_F(Net, ALeaderThatIsCutOffDoesNotAnswerReadsAndLosesWhatItTook) {
  run([&] {
    found(3);
    const int old = leader();
    ASSERT_TRUE(net_.put(world_, address(old), "k", 1));
    cut_off(old, 3, true);
    EXPECT_TRUE(net_.put(world_, address(old), "k", 2).failed_with(Code::Lost));
    EXPECT_TRUE(net_.get(world_, address(old), "k").failed_with(Code::Unavailable));
    EXPECT_TRUE(net_.put(world_, address(old), "k", 3).failed_with(Code::Unavailable))
        << "without a leader it is not even written down";
    EXPECT_TRUE(client(old)->member_list(etcd::Read::Serializable));
    const int other = (old + 1) % 3;
    ASSERT_TRUE(net_.put(world_, address(other), "k", 4));
    EXPECT_FALSE(net_.ready(address(old)));
    EXPECT_TRUE(net_.alive(address(old)));
    cut_off(old, 3, false);
    await(old);
    EXPECT_EQ(*net_.get(world_, address(old), "k"), 4U);
    EXPECT_TRUE(net_.ready(address(old)));
  });
}

TEST_F(Net, AHungProcessAnswersNothingUntilItGoesOnAndOthersElectALeader) {
  run([&] {
    found(3);
    const int hung = leader();
    net_.hang(address(hung), true);
    EXPECT_FALSE(net_.alive(address(hung)));
    EXPECT_TRUE(net_.process_at(address(hung))) << "the kernel takes connections";
    const Instant began = world_.now();
    std::optional<Result<std::uint64_t>> late;
    (void)world_.spawn([&] { late = net_.get(world_, address(hung), "k"); });
    ASSERT_TRUE(eventually([&] { return leader() >= 0 && leader() != hung; }, 5s));
    EXPECT_TRUE(net_.put(world_, address(leader()), "k", 2));
    EXPECT_FALSE(truth(hung).serves);
    (void)world_.sleep(60s);
    EXPECT_FALSE(late) << "not even a refusal";
    net_.hang(address(hung), false);
    EXPECT_TRUE(eventually([&] { return late.has_value(); }, 20s));
    EXPECT_GE(seconds_since(began), 60);
    EXPECT_TRUE(eventually([&] { return value_at(hung) == 2; }));
    EXPECT_FALSE(truth(hung).leads);
  });
}

TEST_F(Net, ALeaderThatWaitsForItsDiskLosesItsOfficeAndStaysConnected) {
  run([&] {
    found(3);
    const int slow = leader();
    net_.stall(address(slow), true);
    EXPECT_TRUE(net_.alive(address(slow))) << "it can still read what it has";
    EXPECT_FALSE(net_.ready(address(slow)));
    EXPECT_TRUE(net_.has_quorum(truth(slow).cluster));
    ASSERT_TRUE(eventually([&] { return leader() >= 0 && leader() != slow; }, 5s));
    net_.stall(address(slow), false);
    ASSERT_TRUE(eventually([&] { return net_.ready(address(slow)); }, 1s));
    EXPECT_FALSE(truth(slow).leads);
  });
}

/// As real ones do (contract: K9).
TEST_F(Net, WhileItDefragmentsNothingIsAnsweredAndRaftGoesOn) {
  run([&] {
    found(3);
    const int busy = leader();
    net_.slow_defragmentations(200);
    std::optional<Result<Done>> done;
    const auto asked = client(busy);
    (void)world_.spawn([&] { done = asked->defragment(); });
    (void)world_.sleep(1s);
    EXPECT_FALSE(net_.alive(address(busy)));
    EXPECT_FALSE(net_.ready(address(busy)));
    std::optional<Result<etcd::Status>> late;
    (void)world_.spawn([&] {
      const Within limit(world_, 10s);
      late = client(busy)->status();
    });
    (void)world_.sleep(30s);
    EXPECT_TRUE(late && !*late);
    EXPECT_FALSE(done);
    EXPECT_TRUE(truth(busy).leads) << "its raft does not need the database";
    const int other = (busy + 1) % 3;
    EXPECT_TRUE(net_.put(world_, address(other), "k", 7));
    EXPECT_LT(truth(busy).applied, truth(other).applied);
    ASSERT_TRUE(eventually([&] { return done.has_value(); }, 3min));
    EXPECT_TRUE(*done);
    EXPECT_EQ(value_at(busy), 7U);
  });
}

/// The connection that the other side dialled is enough.
TEST_F(Net, AMemberThatCannotDialAnotherOneStillHearsItAndCountsItAsInactive) {
  run([&] {
    found(3);
    const int from = leader(), to = (from + 1) % 3;
    (void)world_.sleep(10s);
    net_.block_dials(address(from), address(to), true);
    (void)world_.sleep(10s);
    EXPECT_EQ(leader(), from);
    EXPECT_TRUE(net_.put(world_, address(to), "k", 1));
    auto refused = client(from)->add_learner(url(3));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("unhealthy cluster"), std::string::npos);
    EXPECT_TRUE(client(to)->add_learner(url(3)));
    net_.block_dials(address(from), address(to), false);
    (void)world_.sleep(10s);
    EXPECT_TRUE(client(from)->member_list(etcd::Read::Linearizable));
  });
}

TEST_F(Net, WhatALeaderTookBeforeItDiedIsLostForItsClientOnly) {
  run([&] {
    found(3);
    const int old = leader();
    bool asked = false;
    const auto writer = world_.spawn([&] {
      EXPECT_TRUE(net_.put(world_, address(old), "k", 9).failed_with(Code::Lost));
      asked = true;
    });
    (void)world_.sleep(2ms);
    net_.kill(address(old));
    (void)writer->join();
    EXPECT_TRUE(asked);
    EXPECT_TRUE(net_.put(world_, address(old), "k", 9).failed_with(Code::Unavailable));
  });
}

// An election begins 1 to 2 s after the last heartbeat, and again if it fails.
TEST_F(Net, AKilledLeaderIsWaitedForATerminatedOneIsNot) {
  run([&] {
    found(3);
    const auto outage = [&](int old, auto&& end) {
      const Instant began = world_.now();
      (net_.*end)(address(old));
      await((old + 1) % 3);
      return seconds_since(began);
    };
    const int first = leader();
    const double killed = outage(first, &EtcdNet::kill);
    EXPECT_GT(killed, 0.9);
    EXPECT_LT(killed, 4);
    start(first, {.listed = 3});
    await(first);
    const int second = leader();
    const double terminated = outage(second, &EtcdNet::terminate);
    EXPECT_LT(terminated, 0.8);
  });
}

TEST_F(Net, ACallerMayGoAtAnyMoment) {
  run([&] {
    found(3);
    for (Duration after = 0ms; after < 12ms; after += 100us) {
      const auto caller = world_.spawn([&] {
        auto put = net_.put(world_, address(0), "k", 1);
        EXPECT_TRUE(put || put.failed_with(Code::Cancelled));
      });
      (void)world_.sleep(after);
      caller->cancel();
      (void)caller->join();
    }
    EXPECT_TRUE(net_.get(world_, address(0), "k"));
  });
}

TEST_F(Net, AMemberWithANewAddressIsFoundOnceItsNameLeadsThere) {
  run([&] {
    found(3);
    const int moved = (leader() + 1) % 3, other = (leader() + 2) % 3;
    net_.kill(address(moved));
    const auto dir = dirs_[moved];
    net_.start({.address = "10.9.9.9",
                .version = "3.6.16",
                .command = {"etcd", "--name=" + name(moved), "--initial-cluster=x=http://x:1"},
                .dir = dir,
                .exited = {}});
    net_.kill(address(other));
    (void)world_.sleep(20s);
    // It dials the others by their names, and they answer on these connections.
    EXPECT_TRUE(net_.put(world_, "10.9.9.9", "k", 5));
    EXPECT_TRUE(eventually([&] {
      return bool(client(leader())->add_learner("http://x:2380").failed_with(Code::Unavailable));
    })) << "but they do not see it themselves";
    names_[name(moved)] = "10.9.9.9";
    start(other, {.listed = 3});
    (void)world_.sleep(7s);
    EXPECT_TRUE(client(leader())->add_learner("http://x:2380"));
  });
}

TEST_F(Net, AJoinerWaitsForNamesAndDoesNotMindWhoIsGone) {
  run([&] {
    found(1);
    net_.kill(address(0));
    start(0, {.flags = {"--max-learners=8"}});
    await(0);
    (void)add(1);
    (void)add(2);
    names_[name(2)] = address(2);
    const Instant began = world_.now();
    start(2, {.listed = 3, .existing = true, .flags = {"--max-learners=8"}});
    ASSERT_TRUE(eventually([&] { return bool(client(2)->status()); }, 60s));
    EXPECT_GT(seconds_since(began), 29) << "m1 has no address";
    names_[name(1)] = address(1);
    const Instant again = world_.now();
    start(1, {.listed = 3, .existing = true, .flags = {"--max-learners=8"}});
    ASSERT_TRUE(eventually([&] { return bool(client(1)->status()); }, 60s));
    EXPECT_LT(seconds_since(again), 2);
  });
}

TEST_F(Net, ALearnerIsPromotedWhenItHasTheData) {
  run([&] {
    found(1);
    net_.slow_snapshots(20s);
    const auto id = add(1);
    names_[name(1)] = address(1);
    start(1, {.listed = 2, .existing = true});
    (void)world_.sleep(15s);
    EXPECT_TRUE(client(0)->promote(id).failed_with(Code::Conflict));
    EXPECT_FALSE(truth(1).serves);
    for (const auto& member : net_.membership(truth(0).cluster))
      EXPECT_NE(member.name, "") << "it hears of the leader, and tells its name, before that";
    (void)world_.sleep(6s);
    EXPECT_TRUE(client(0)->promote(id));
    EXPECT_TRUE(truth(1).serves);
  });
}

TEST_F(Net, EachMemberAppliesWithItsOwnLimitOfLearners) {
  run([&] {
    for (int i = 0; i < 3; ++i) names_[name(i)] = address(i);
    for (int i = 0; i < 3; ++i)
      start(i, {.listed = 3, .flags = {i == 0 ? "--max-learners=8" : "--max-learners=1"}});
    for (int i = 0; i < 3; ++i) await(i);
    (void)world_.sleep(6s);
    EXPECT_TRUE(client(0)->add_learner("http://x:2380"));
    EXPECT_TRUE(client(0)->add_learner("http://y:2380"));
    (void)world_.sleep(1s);
    EXPECT_EQ(truth(0).applied, truth(1).applied);
    EXPECT_EQ(truth(0).members.size(), 5U);
    EXPECT_EQ(truth(1).members.size(), 4U);
  });
}

TEST_F(Net, SomePeersForgetAMemberThatCameBack) {
  run([&] {
    found(3);
    net_.forgetful_peers(100);
    const int back = (leader() + 1) % 3;
    net_.kill(address(back));
    (void)world_.sleep(1s);
    start(back, {.listed = 3});
    await(back);
    (void)world_.sleep(60s);
    EXPECT_TRUE(client(leader())->add_learner("http://x:2380").failed_with(Code::Unavailable));
    EXPECT_TRUE(client(back)->add_learner("http://x:2380")) << "it sees them all";
    EXPECT_TRUE(net_.put(world_, address(back), "k", 1));
  });
}

TEST_F(Net, VersionsGoUpTogetherAndNeverDown) {
  run([&] {
    found(1, "3.5.35");
    join(1, "3.5.35");
    join(2, "3.5.35");
    for (const char* version : {"3.6.16", "3.7.3"}) {
      for (int i = 0; i < 3; ++i) {
        net_.kill(address(i));
        start(i, {.version = version});
        await(i);
      }
      (void)world_.sleep(10s);
    }
    net_.kill(address(0));
    start(0, {.version = "3.6.16"});
    EXPECT_TRUE(ends(0, 1, "version \"3.7.0\" is not supported"));
    start(0, {.version = "3.5.35"});
    EXPECT_TRUE(ends(0, 1, "invalid downgrade; server version is lower"));
    start(0, {.version = "3.7.3"});
    await(0);
    (void)add(3);
    names_[name(3)] = address(3);
    start(3, {.listed = 4, .existing = true, .version = "3.6.16"});
    EXPECT_TRUE(ends(3, 1, "incompatible with current running cluster"));
  });
}

TEST_F(Net, DamagedAndOldVolumesEndTheirMember) {
  run([&] {
    found(3);
    const int victim = (leader() + 1) % 3;
    const auto old = copy(*dirs_[victim]);
    ASSERT_TRUE(net_.put(world_, address(0), "k", 1));
    net_.kill(address(victim));
    corrupt(*dirs_[victim]);
    start(victim, {});
    EXPECT_TRUE(ends(victim, 1, "walpb: crc mismatch"));
    dirs_[victim] = old;
    start(victim, {});
    EXPECT_TRUE(ends(victim, 2, "Was the raft log corrupted, truncated, or lost?"));
    EXPECT_TRUE(net_.put(world_, address(leader()), "k", 2));
    EXPECT_EQ(EtcdNet::owner_of(*old)->first, truth(leader()).cluster);
  });
}

TEST_F(Net, AnOldCopyOfTheOnlyMemberLivesOnWithWhatItHad) {
  run([&] {
    found(1);
    ASSERT_TRUE(net_.put(world_, address(0), "k", 1));
    const auto old = copy(*dirs_[0]);
    ASSERT_TRUE(net_.put(world_, address(0), "k", 2));
    net_.kill(address(0));
    dirs_[0] = old;
    start(0, {});
    await(0);
    EXPECT_EQ(*net_.get(world_, address(0), "k"), 1U);
  });
}

TEST_F(Net, AnImageSaysWhatItsMemberHad) {
  run([&] {
    found(1);
    for (const std::uint64_t value : {1U, 2U, 3U})
      EXPECT_TRUE(net_.put(world_, address(0), value == 2 ? "b" : "a", value));
    std::string bytes = image();
    auto hash = client(0)->hash_kv(0);
    auto held = image_of(bytes);
    ASSERT_TRUE(hash && held);
    EXPECT_EQ(held->store.revision(), 4);
    EXPECT_EQ(held->store.hash(4), hash->hash);
    EXPECT_EQ(held->store.range("a", "", 0).front().version->value, "3");
    EXPECT_EQ(to_bytes(*held), bytes) << "the same again";
    bytes[100] ^= 1;
    EXPECT_TRUE(image_of(bytes).failed_with(Code::Corrupt));
  });
}

TEST_F(Net, WhatIsRebuiltFromAnImageIsANewClusterWithTheOldKeys) {
  run([&] {
    found(1);
    for (const std::uint64_t value : {1U, 2U, 3U})
      EXPECT_TRUE(net_.put(world_, address(0), value == 2 ? "b" : "a", value));
    const auto before = truth(0);
    restore(0, {.name = name(0),
                .initial_cluster = list(1),
                .token = "another",
                .peer_urls = url(0),
                .bump_revision = 1000});
    EXPECT_NE(truth(0).cluster, before.cluster);
    EXPECT_EQ(net_.births().size(), 2U);
    EXPECT_TRUE(net_.births().back().from) << "that was a birth";
    EXPECT_EQ(*net_.get(world_, address(0), "a"), 3U);
    auto status = client(0)->hash_kv(0);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->compacted, 1004);
    EXPECT_EQ(image_of(image())->store.revision(), 1004);
    // A joiner gets all of that, too; a restart is no second birth.
    join(1);
    EXPECT_EQ(*net_.get(world_, address(1), "b"), 2U);
    net_.kill(address(0));
    start(0, {});
    await(0);
    EXPECT_EQ(net_.births().size(), 2U);
  });
}

TEST_F(Net, ARestoreWithoutABumpKeepsTheRevisionAndTheHistory) {
  run([&] {
    found(1);
    EXPECT_TRUE(net_.put(world_, address(0), "a", 1) && net_.put(world_, address(0), "a", 2));
    auto before = client(0)->hash_kv(0);
    restore(0, {.name = name(0), .initial_cluster = list(1), .token = "u", .peer_urls = url(0)});
    auto after = client(0)->hash_kv(0);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(after->hash, before->hash);
    EXPECT_EQ(after->compacted, before->compacted);
  });
}

TEST_F(Net, WhatCannotBeRebuiltIsSaid) {
  const RestoreFlags good{
      .name = "m0", .initial_cluster = list(1), .token = "t", .peer_urls = url(0)};
  std::string bytes = to_bytes({});
  EXPECT_TRUE(rebuilt(bytes, good));
  RestoreFlags other = good;
  other.name = "m1";
  EXPECT_TRUE(rebuilt(bytes, other).failed_with(Code::Invalid));
  bytes.pop_back();
  EXPECT_TRUE(rebuilt(bytes, good).failed_with(Code::Corrupt));
}

TEST_F(Net, OfTwoVotersTheLeaderRemovesItself) {
  run([&] {
    found(2);
    const int first = leader(), other = 1 - first;
    const auto id = truth(first).member;
    EXPECT_TRUE(eventually([&] { return bool(client(first)->remove(id)); }, 60s));
    EXPECT_TRUE(ends(first, 0, "permanently removed"));
    EXPECT_TRUE(
        eventually([&] { return bool(client(other)->member_list(etcd::Read::Linearizable)); }, 10s))
        << "it has heard that it is alone";
  });
}

}  // namespace
}  // namespace etcdop::sim
