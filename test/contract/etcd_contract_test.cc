// Tests etcd's answers to our client, and the statements of version_facts about them. The same
// tests run against real etcds and against the simulated etcd, to prove that it behaves alike. One
// run tests one version: etcd_contract_test [--programs=DIR] --version=X.Y.Z [gtest flags]. Without
// --programs, it tests the simulated etcd.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/etcd/ids.h"
#include "test/contract/etcd_fixture.h"

namespace etcdop::contract {

Tested tested;

std::unique_ptr<Etcds> Tested::make() const {
  static std::uint64_t seed = 0;  // --gtest_repeat runs other worlds.
  return programs.empty() ? make_simulated_etcds(version_text, ++seed) : make_real_etcds(programs);
}

namespace {

using namespace std::chrono_literals;
using namespace etcd;

TEST_F(EtcdContract, OneVoterAndALearnerThatNeverStarts) {
  run([&] {
    bootstrap(1);
    const auto client = at(0);

    auto status = client->status();
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->version, tested.version_text);
    EXPECT_EQ(status->leader, status->header.member);
    EXPECT_NE(status->header.cluster.value, 0U);
    EXPECT_GT(status->header.raft_term, 0U);
    EXPECT_GT(status->raft_index, 0U);
    EXPECT_GT(status->raft_applied_index, 0U);
    EXPECT_GT(status->db_size, 0);
    EXPECT_GT(status->db_size_in_use, 0);
    EXPECT_FALSE(status->learner);
    EXPECT_TRUE(status->errors.empty());
    const MemberId seed = status->header.member;

    for (const auto how : {etcd::Read::Linearizable, etcd::Read::Serializable}) {
      auto list = client->member_list(how);
      ASSERT_TRUE(list) << list.error().message;
      EXPECT_EQ(list->header.cluster, status->header.cluster);
      EXPECT_EQ(list->members, (std::vector<Member>{{.id = seed,
                                                     .name = "m0",
                                                     .peer_urls = {nodes_[0].peer_url},
                                                     .client_urls = {nodes_[0].client_url},
                                                     .learner = false}}));
    }

    auto expected = endpoint(0);
    expected.cluster = status->header.cluster;
    expected.member = seed;
    EXPECT_TRUE(etcds_->clients().at(expected)->member_list(etcd::Read::Linearizable));
    expected.member = MemberId{1};
    EXPECT_TRUE(etcds_->clients()
                    .at(expected)
                    ->member_list(etcd::Read::Linearizable)
                    .failed_with(Code::Corrupt));
    EXPECT_TRUE(etcds_->clients().at(expected)->remove({2}).failed_with(Code::Corrupt));

    EXPECT_TRUE(refused(client->promote(seed), Code::AlreadyExists,
                        "etcdserver: can only promote a learner member"));
    EXPECT_TRUE(refused(client->promote({2}), Code::NotFound, "etcdserver: member not found"));
    EXPECT_TRUE(refused(client->remove({2}), Code::NotFound, "etcdserver: member not found"));
    EXPECT_TRUE(refused(client->add_learner("no url"), Code::Invalid,
                        "etcdserver: given member URLs are invalid"));
    EXPECT_TRUE(refused(client->add_learner(nodes_[0].peer_url), Code::AlreadyExists,
                        "etcdserver: Peer URLs already exists"));
    EXPECT_TRUE(
        refused(client->move_leader({2}), Code::Invalid, "etcdserver: bad leader transferee"));

    auto learner = client->add_learner(kNobodysUrl);
    ASSERT_TRUE(learner) << learner.error().message;
    auto list = client->member_list(etcd::Read::Linearizable);
    ASSERT_TRUE(list && list->members.size() == 2);
    const Member& added = list->members[list->members[0].id == seed ? 1 : 0];
    EXPECT_EQ(added, (Member{.id = *learner,
                             .name = "",
                             .peer_urls = {kNobodysUrl},
                             .client_urls = {},
                             .learner = true}));
    auto again = client->add_learner(kNobodysUrl);
    EXPECT_TRUE(again.failed_with(Code::AlreadyExists))
        << "within the same second `member ID already exist`";
    EXPECT_TRUE(eventually([&] {
      return bool(refused(client->add_learner(kNobodysUrl), Code::AlreadyExists,
                          "etcdserver: Peer URLs already exists"));
    })) << "the URL is looked at before the number of learners";
    EXPECT_TRUE(refused(client->add_learner("http://127.0.0.1:2"), Code::Invalid,
                        "etcdserver: too many learner members in cluster"));
    EXPECT_TRUE(refused(client->promote(*learner), Code::Conflict,
                        "can only promote a learner member which is in sync with leader"));
    EXPECT_TRUE(
        refused(client->move_leader(*learner), Code::Invalid, "etcdserver: bad leader transferee"));
    EXPECT_TRUE(client->remove(*learner));
    EXPECT_TRUE(refused(client->remove(*learner), Code::NotFound, "etcdserver: member not found"));
    EXPECT_TRUE(client->move_leader(seed)) << "to who leads already";
    EXPECT_TRUE(refused(client->remove(seed), Code::Invalid,
                        "re-configuration failed due to not enough started members"));
  });
}

TEST_F(EtcdContract, AUrlAddedAgainWithinASecondMeetsItsRemovedId) {
  run([&] {
    bootstrap(1);
    const auto client = at(0);
    bool collided = false;
    for (int round = 0; round < 20 && !collided; ++round) {
      auto first = client->add_learner(kNobodysUrl);
      ASSERT_TRUE(first) << first.error().message;
      ASSERT_TRUE(client->remove(*first));
      auto second = client->add_learner(kNobodysUrl);
      collided = !second;
      if (second) EXPECT_TRUE(client->remove(*second));  // Another second had begun.
      else EXPECT_TRUE(second.failed_with(Code::Unavailable)) << second.error().message;
    }
    EXPECT_TRUE(collided);
    EXPECT_TRUE(eventually([&] { return bool(client->add_learner(kNobodysUrl)); }));
  });
}

TEST_F(EtcdContract, LearnersSideBySideWithTheFlagOnly) {
  run([&] {
    const int limit = tested.facts.max_learners_flag ? 8 : 1;
    if (limit == 1) bootstrap(1);
    else bootstrap(1, {"--max-learners=8"});
    const auto add = [&](int i) {
      return at(0)->add_learner("http://127.0.0.1:" + std::to_string(i));
    };
    for (int i = 1; i <= limit; ++i) EXPECT_TRUE(add(i)) << i;
    EXPECT_TRUE(
        refused(add(limit + 1), Code::Invalid, "etcdserver: too many learner members in cluster"));
  });
}

TEST_F(EtcdContract, LearnersAddedTogetherStartInTurnAndArePromotedAtOnce) {
  if (!tested.facts.max_learners_flag) return;  // One at a time: the test after the next.
  run([&] {
    const std::vector<std::string> flag = {"--max-learners=8"};
    bootstrap(1, flag);
    const Instant began = executor().now();
    const auto ids = add_learners(2);
    for (const std::size_t i : {1U, 2U}) {
      start(i, list_of(3), "existing", flag);
      await_leader(i);
    }
    for (const MemberId id : ids) EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    const Duration took = executor().now() - began;
    std::printf("1 to 3 voters in %.1f s\n", std::chrono::duration<double>(took).count());
    if (tested.programs.empty())  // A busy machine starts programs slowly.
      EXPECT_LT(took, 5s) << "a promotion does not wait for HealthInterval";
    auto list = at(0)->member_list(etcd::Read::Linearizable);
    ASSERT_TRUE(list) << list.error().message;
    ASSERT_EQ(list->members.size(), 3U);
    for (const Member& member : list->members) EXPECT_FALSE(member.learner);
  });
}

/// Each member applies its log again with its present limit. So a cluster that grew by two learners
/// at once needs the flag for as long as the log contains that.
TEST_F(EtcdContract, K15_WhatHadTwoLearnersAtOnceNeitherStartsNorIsJoinedWithoutTheFlag) {
  if (!tested.facts.max_learners_flag) return;  // Two learners cannot exist.
  run([&] {
    const std::vector<std::string> flag = {"--max-learners=8"};
    bootstrap(1, flag);
    const auto ids = add_learners(2);
    for (const std::size_t i : {1U, 2U}) {
      start(i, list_of(3), "existing", flag);
      await_leader(i);
    }
    for (const MemberId id : ids) EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    const std::string refusal = "too many learner members in cluster";
    etcds_->kill(2);
    start(2, list_of(3), "existing");
    // 3.7 does not apply again what its database has, which may be everything 100 ms later.
    const bool again = *parse_version(tested.version_text) < Version{3, 7, 0};
    const auto ended = [&] { return etcds_->ended(2).has_value(); };
    const auto serves = [&] {
      auto status = at(2)->status();
      return status && status->leader.value != 0;
    };
    EXPECT_TRUE(eventually([&] { return ended() || (!again && serves()); }, kStartMax));
    if (ended()) {
      EXPECT_NE(*etcds_->ended(2), 0) << "a panic, or an error of the one before it";
      EXPECT_NE(etcds_->log(2).find(refusal), std::string::npos);
    }
    etcds_->kill(2);
    start(2, list_of(3), "existing", flag);
    // 3.7 may have stored what it could not apply. Then the member is lost, with the flag, too.
    const auto decided = [&] { return ended() || serves(); };
    if (!again && eventually(decided, kStartMax) && ended()) {
      EXPECT_NE(etcds_->log(2).find("member unknown"), std::string::npos);
      return;
    }
    await_leader(2);
    plan_nodes(1);
    EXPECT_TRUE(eventually([&] { return bool(at(0)->add_learner(nodes_[3].peer_url)); }));
    start(3, list_of(4), "existing");
    EXPECT_TRUE(
        eventually([&] { return etcds_->log(3).find(refusal) != std::string::npos; }, kStartMax))
        << "it applies the others' log, and has other members than they from then on, or ends";
  });
}

TEST_F(EtcdContract, K15_WhatGrewByOneLearnerAtATimeStartsAndIsJoinedWithoutTheFlag) {
  run([&] {
    bootstrap(1);
    for (int i = 0; i < 2; ++i) {
      const MemberId id = join();
      EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    }
    for (const std::size_t i : {0U, 1U, 2U}) {
      etcds_->kill(i);
      start(i, list_of(3), "existing");
      await_leader(i);
    }
    const MemberId id = join();
    EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    auto list = at(0)->member_list(etcd::Read::Linearizable);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->members.size(), 4U);
  });
}

/// The way back (ADR 30): a member starts from its last raft snapshot, and a leader whose log no
/// longer begins at the first entry sends its snapshot to a joiner.
TEST_F(EtcdContract, K15_PastASnapshotWhatHadTwoLearnersAtOnceStartsAndIsJoinedWithoutTheFlag) {
  if (!tested.facts.max_learners_flag) return;  // Two learners cannot exist.
  run([&] {
    const std::string count = "--snapshot-count=100";
    const std::vector<std::string> flags = {"--max-learners=8", count};
    bootstrap(1, flags);
    const auto ids = add_learners(2);
    for (const std::size_t i : {1U, 2U}) {
      start(i, list_of(3), "existing", flags);
      await_leader(i);
    }
    for (const MemberId id : ids) EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    write_up_to(6101);  // 5,000 for joiners, 100 for the snapshot, 1,000 for a batch.
    for (const std::size_t i : {0U, 1U, 2U}) {
      etcds_->kill(i);
      start(i, list_of(3), "existing", {count});
      await_leader(i);
    }
    const MemberId id = join_the_quiet();
    EXPECT_TRUE(eventually([&] { return bool(at(0)->promote(id)); }));
    EXPECT_EQ(etcds_->log(3).find("too many learner members"), std::string::npos);
    // The answer to the promotion is the first member's. The fourth may apply it later.
    EXPECT_TRUE(eventually([&] {
      auto list = at(3)->member_list(etcd::Read::Linearizable);
      return list && list->members.size() == 4;
    }));
  });
}

// Before it serves, a member asks every other member for its version. Two that start at the same
// moment listen but do not serve yet, and wait for each other until this times out.
TEST_F(EtcdContract, AMemberThatStartsWaitsForAnotherThatOnlyListens) {
  if (!tested.facts.max_learners_flag) return;  // Two learners cannot exist.
  run([&] {
    bootstrap(1, {"--max-learners=8"});
    const auto ids = add_learners(2);
    etcds_->only_listen(2);
    const Instant began = executor().now();
    start(1, list_of(3), "existing", {"--max-learners=8"});
    await_leader(1);
    const Duration took = executor().now() - began;
    std::printf("started beside a silent one in %.1f s\n",
                std::chrono::duration<double>(took).count());
    EXPECT_GT(took, 6s);
  });
}

/// As etcd's issue 14523 leaves a cluster after a restart: two members believe that the third is
/// inactive, while the third sees both. The cause here: no process listens on the third's
/// advertised URL.
TEST_F(EtcdContract, EachMemberJudgesByItsOwnConnections) {
  run([&] {
    plan_nodes(3);
    const std::string elsewhere = etcds_->listens_elsewhere(2);
    for (std::size_t i = 0; i < 3; ++i)
      start(i, list_of(3), "new",
            i == 2 ? std::vector<std::string>{elsewhere} : std::vector<std::string>{});
    for (std::size_t i = 0; i < 3; ++i) await_leader(i);
    EXPECT_TRUE(eventually([&] { return bool(at(2)->add_learner("http://127.0.0.1:1")); }));
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(refused(at(i)->add_learner("http://127.0.0.1:2"), Code::Unavailable,
                          "etcdserver: unhealthy cluster"));
  });
}

TEST_F(EtcdContract, ALearnersLifeAndTheLossOfQuorum) {
  run([&] {
    bootstrap(1);
    for (const char* path : {"/health", "/livez", "/readyz"})
      EXPECT_EQ(etcds_->probe(0, path), 200) << path;
    const Instant joined = executor().now();
    const MemberId id = join();
    const std::size_t voter = 0, learner = 1;

    auto status = at(learner)->status();
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(status->learner);
    EXPECT_EQ(status->header.member, id);
    const std::string not_for_learners = "etcdserver: rpc not supported for learner";
    for (const auto how : {etcd::Read::Linearizable, etcd::Read::Serializable})
      EXPECT_TRUE(refused(at(learner)->member_list(how), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(learner)->promote(id), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(learner)->remove(id), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(learner)->add_learner(kNobodysUrl), Code::Invalid, not_for_learners));
    EXPECT_EQ(etcds_->probe(learner, "/livez"), 200);
    EXPECT_EQ(etcds_->probe(learner, "/readyz"), tested.facts.readyz_fails_on_learners ? 503 : 200);
    EXPECT_EQ(etcds_->probe(learner, "/health"), 200) << "misleads: clients cannot read there";

    EXPECT_TRUE(eventually([&] { return bool(at(voter)->promote(id)); }));
    const Instant promoted = executor().now();
    MemberId spare;
    const auto add = [&] {
      auto added = at(voter)->add_learner(kNobodysUrl);
      if (added) spare = *added;
      return added;
    };
    const auto early = add();
    if (executor().now() - joined < 5s)  // On a busy machine they may know each other for longer.
      EXPECT_TRUE(refused(early, Code::Unavailable, "etcdserver: unhealthy cluster"))
          << "for 5 s after a promotion";
    EXPECT_TRUE(eventually([&] { return etcds_->probe(learner, "/readyz") == 200; }));
    EXPECT_TRUE(eventually([&] { return early || add(); }));
    std::printf("MemberAdd %.1f s after a promotion\n",
                std::chrono::duration<double>(executor().now() - promoted).count());

    etcds_->kill(learner);
    EXPECT_TRUE(eventually([&] {
      auto seen = at(voter)->status();
      return seen && seen->leader.value == 0;
    }));
    status = at(voter)->status();
    ASSERT_TRUE(status);
    EXPECT_EQ(status->errors, std::vector<std::string>{"etcdserver: no leader"});
    Instant began = executor().now();
    auto fresh = at(voter)->member_list(etcd::Read::Linearizable);
    ASSERT_FALSE(fresh);
    EXPECT_EQ(fresh.error().code, Code::TimedOut) << fresh.error().message;
    EXPECT_GE(executor().now() - began, 2900ms);
    auto list = at(voter)->member_list(etcd::Read::Serializable);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->members.size(), 3U);
    EXPECT_TRUE(at(learner)->status().failed_with(Code::Unavailable));
    EXPECT_TRUE(refused(at(voter)->add_learner("http://127.0.0.1:2"), Code::Unavailable,
                        "etcdserver: unhealthy cluster"));
    auto promotion = at(voter)->promote(spare);
    ASSERT_FALSE(promotion);
    EXPECT_TRUE(transient(promotion.error().code))
        << "etcd looks for a leader for 7 s, our limit, too, before it says `no leader`: "
        << promotion.error().message;
    EXPECT_TRUE(at(voter)->move_leader(id).failed_with(Code::Conflict));
    EXPECT_EQ(etcds_->probe(voter, "/livez"), 200);
    EXPECT_EQ(etcds_->probe(voter, "/health"), 503);
    EXPECT_EQ(etcds_->probe(voter, "/readyz"), 503);
    began = executor().now();
    auto removed = at(voter)->remove(id);
    ASSERT_FALSE(removed);
    EXPECT_TRUE(removed.failed_with(Code::TimedOut) || removed.failed_with(Code::Lost));
    std::printf("MemberRemove without quorum: code %d after %.1f s, %s\n",
                int(removed.error().code),
                std::chrono::duration<double>(executor().now() - began).count(),
                removed.error().message.c_str());
    (void)executor().sleep(1s);  // Now longer than etcd's own limit of 7 s.

    start(learner, list_of(2), "existing");
    EXPECT_TRUE(eventually([&] { return bool(at(voter)->member_list(etcd::Read::Linearizable)); }));
    (void)executor().sleep(500ms);
    list = at(voter)->member_list(etcd::Read::Linearizable);
    ASSERT_TRUE(list) << list.error().message;
    std::printf("after quorum came back the member is %s\n",
                list->members.size() == 3 ? "still there" : "gone");
  });
}

TEST_F(EtcdContract, FiveVotersAndTheirLosses) {
  run([&] {
    bootstrap(5);
    const std::size_t first = leader(), second = (first + 1) % 5, third = (first + 2) % 5;
    const MemberId to = id_of(second);
    EXPECT_TRUE(refused(at(second)->move_leader(to), Code::Conflict, "etcdserver: not leader"));
    auto moved = at(first)->move_leader(to);
    EXPECT_TRUE(moved) << moved.error().message;
    EXPECT_TRUE(eventually([&] { return leader() == second; }));

    // One of five is down: the quorum suffices to add a sixth, even if it never starts.
    const MemberId dead = id_of(third);
    etcds_->kill(third);
    const auto client = at(second);
    MemberId spare;
    const bool added = eventually([&] {
      auto learner = client->add_learner(kNobodysUrl);
      if (learner) spare = *learner;
      return bool(learner);
    });
    EXPECT_EQ(added, tested.facts.member_add_wants == AddWants::Quorum);
    EXPECT_TRUE(client->remove(spare));

    // Two of five are down: enough for quorum, but not to add a sixth.
    const std::size_t fourth = (first + 3) % 5;
    const MemberId healthy = id_of(first);
    etcds_->kill(fourth);
    EXPECT_TRUE(eventually([&] {
      auto learner = client->add_learner(kNobodysUrl);
      if (learner) (void)client->remove(*learner);  // The fourth was not missed yet.
      return bool(refused(learner, Code::Unavailable, "etcdserver: unhealthy cluster"));
    }));
    EXPECT_TRUE(client->member_list(etcd::Read::Linearizable));
    EXPECT_TRUE(eventually([&] {
      return bool(
          refused(client->remove(healthy), Code::Unavailable, "etcdserver: unhealthy cluster"));
    })) << "a healthy one is not removed beside two dead ones";
    auto removed = client->remove(dead);
    EXPECT_TRUE(removed) << removed.error().message;

    // The leader removes itself, answers (in time or with `server stopped`), and exits without an
    // error.
    auto list = client->member_list(etcd::Read::Linearizable);
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->members.size(), 4U);
    const Node& gone = nodes_[fourth];
    auto last = eventually([&] {
      for (const Member& member : list->members)
        if (member.name == gone.name) return bool(client->remove(member.id));
      return false;
    });
    EXPECT_TRUE(last);
    auto itself = client->remove(to);
    EXPECT_TRUE(itself || itself.failed_with(Code::Lost)) << itself.error().message;
    EXPECT_TRUE(eventually([&] { return etcds_->ended(second).has_value(); }));
    EXPECT_EQ(etcds_->ended(second), 0);
    EXPECT_TRUE(eventually([&] { return bool(at(first)->member_list(etcd::Read::Linearizable)); }));
  });
}

TEST_F(EtcdContract, IdsAreMadeOfUrlsTheTokenAndTheSecond) {
  run([&] {
    bootstrap(1);
    auto status = at(0)->status();
    ASSERT_TRUE(status);
    const MemberId founder = sim::founding_id({nodes_[0].peer_url}, Etcds::kToken);
    EXPECT_EQ(status->header.member, founder);
    EXPECT_EQ(status->header.cluster, sim::cluster_id({founder}));
    const std::int64_t before = etcds_->unix_seconds();
    auto added = at(0)->add_learner(kNobodysUrl);
    ASSERT_TRUE(added);
    bool made = false;
    for (std::int64_t second = before; second <= etcds_->unix_seconds(); ++second)
      made = made || *added == sim::added_id({kNobodysUrl}, {std::chrono::seconds(second)});
    EXPECT_TRUE(made);
  });
}

TEST_F(EtcdContract, LeadershipMovesAndAChangeAskedOfAFollowerIsMade) {
  run([&] {
    bootstrap(3);
    const std::size_t first = leader(), second = (first + 1) % 3;
    auto status = at(first)->status();
    ASSERT_TRUE(status);
    Endpoint known = endpoint(first);
    known.cluster = status->header.cluster;
    known.member = status->header.member;
    auto moved = etcds_->clients().at(known)->move_leader(id_of(second));
    EXPECT_TRUE(moved) << moved.error().message;
    EXPECT_TRUE(eventually([&] { return leader() == second; }));
    EXPECT_TRUE(etcds_->clients().at(known)->member_list(etcd::Read::Linearizable));
    auto stale = etcds_->clients().at(known)->move_leader(id_of(second));
    EXPECT_TRUE(refused(stale, Code::Conflict, "etcdserver: not leader"));

    plan_nodes(1);
    MemberId id;
    EXPECT_TRUE(eventually([&] {
      auto added = at(first)->add_learner(nodes_[3].peer_url);
      if (added) id = *added;
      return bool(added);
    })) << "a follower adds";
    EXPECT_TRUE(refused(at(first)->promote(id), Code::Conflict,
                        "can only promote a learner member which is in sync with leader"));
    EXPECT_TRUE(refused(at(first)->promote({2}), Code::NotFound, "etcdserver: member not found"));
    start(3, list_of(4), "existing");
    await_leader(3);
    EXPECT_TRUE(eventually([&] { return bool(at(first)->promote(id)); }))
        << "the leader has heard from it";
    EXPECT_TRUE(refused(at(first)->promote(id), Code::AlreadyExists,
                        "etcdserver: can only promote a learner member"));
  });
}

// How long the others wait for a killed leader is tested in virtual time (sim/etcd/net_test.cc).
TEST_F(EtcdContract, AKilledLeaderIsReplacedATerminatedOneHandsOver) {
  run([&] {
    bootstrap(3);
    const auto leads = [&](std::size_t node) -> std::optional<bool> {
      auto status = at(node)->status();
      if (!status) return std::nullopt;
      return status->leader == status->header.member;
    };
    const std::size_t first = leader();
    etcds_->kill(first);
    EXPECT_TRUE(eventually(
        [&] { return bool(at((first + 1) % 3)->member_list(etcd::Read::Linearizable)); }));
    start(first, list_of(3), "new");
    await_leader(first);
    const std::size_t second = leader();
    EXPECT_NE(second, first);
    etcds_->terminate(second);
    EXPECT_TRUE(eventually([&] { return etcds_->ended(second).has_value(); }));
    std::optional<bool> one, other;  // Their first answers.
    EXPECT_TRUE(eventually([&] {
      if (!one) one = leads((second + 1) % 3);
      if (!other) other = leads((second + 2) % 3);
      return one && other;
    }));
    EXPECT_NE(one, other) << "it ends only when another leads";
    EXPECT_TRUE(eventually([&] { return bool(at(first)->member_list(etcd::Read::Linearizable)); }));
  });
}

// It listens, and /livez succeeds; it answers requests once there is a leader.
TEST_F(EtcdContract, AMemberThatRestartsWithoutQuorumDoesNotServe) {
  run([&] {
    bootstrap(3);
    for (const std::size_t i : {0U, 1U, 2U}) etcds_->kill(i);
    start(0, list_of(3), "new");
    EXPECT_TRUE(eventually([&] { return etcds_->probe(0, "/livez") == 200; }));
    (void)executor().sleep(3s);
    EXPECT_TRUE(at(0)->status().failed_with(Code::TimedOut));
    EXPECT_TRUE(at(0)->member_list(etcd::Read::Serializable).failed_with(Code::TimedOut));
    EXPECT_EQ(etcds_->probe(0, "/readyz"), 503);
    start(1, list_of(3), "existing");
    await_leader(0);
    EXPECT_TRUE(at(0)->member_list(etcd::Read::Linearizable));
  });
}

TEST_F(EtcdContract, AJoinerWithAWrongListEnds) {
  run([&] {
    bootstrap(1);
    plan_nodes(2);
    ASSERT_TRUE(at(0)->add_learner(nodes_[1].peer_url));
    start(1, list_of(3), "existing");
    expect_loss(1, 1, "member count is unequal");
    const std::string seed = nodes_[0].name + "=" + nodes_[0].peer_url;
    start(2, seed + "," + nodes_[2].name + "=" + nodes_[2].peer_url, "existing");
    expect_loss(2, 1, "PeerURLs: no match found for existing member");
    start(1, seed, "existing");
    expect_loss(1, 1, "couldn't find local name");
    start(1, list_of(2), "existing");
    await_leader(1);
  });
}

TEST_F(EtcdContract, K18_AJoinerWhosePeersAreSilentEnds) {
  run([&] {
    plan_nodes(2);
    start(0, list_of(2), "existing");
    expect_loss(0, 1, "could not retrieve cluster information from the given URLs");
  });
}

TEST_F(EtcdContract, AnEmptiedMemberIsNotBornTwice) {
  run([&] {
    bootstrap(3);
    const std::size_t victim = (leader() + 1) % 3;
    etcds_->kill(victim);
    etcds_->wipe(victim);
    start(victim, list_of(3), "new");
    expect_loss(victim, 1, "has already been bootstrapped");
  });
}

// The leader knows the length of that member's log; raft reports it as lost.
TEST_F(EtcdContract, AnEmptiedMemberThatJoinsAsItselfPanics) {
  run([&] {
    bootstrap(3);
    const std::size_t victim = (leader() + 1) % 3;
    etcds_->kill(victim);
    etcds_->wipe(victim);
    start(victim, list_of(3), "existing");
    expect_loss(victim, 2, "Was the raft log corrupted, truncated, or lost?");
  });
}

TEST_F(EtcdContract, AMemberWhoseLogIsDamagedEnds) {
  run([&] {
    bootstrap(3);
    const std::size_t victim = (leader() + 1) % 3;
    const std::string value = "a value that can be found in a file";
    EXPECT_TRUE(keys(victim).put("k", value));  // The answering member has it in its log.
    etcds_->kill(victim);
    etcds_->corrupt(victim, value);
    start(victim, list_of(3), "existing");
    expect_loss(victim, 1, "walpb: crc mismatch", DataVerdict::Corrupt);
  });
}

TEST_F(EtcdContract, ARemovedMemberEndsWithoutAnErrorAndItsRestartEndsToo) {
  run([&] {
    bootstrap(3);
    const std::size_t first = leader(), victim = (first + 1) % 3;
    const MemberId id = id_of(victim);
    EXPECT_TRUE(eventually([&] { return bool(at(first)->remove(id)); }));
    const std::string words = "the member has been permanently removed from the cluster";
    expect_end(victim, 0, words);
    start(victim, list_of(3), "existing");
    EXPECT_TRUE(eventually([&] { return etcds_->ended(victim).has_value(); }));
    const int again = etcds_->ended(victim).value_or(-1);
    EXPECT_TRUE(again == 0 || again == 1) << "1: it was about to serve; now " << again;
    EXPECT_TRUE(refused(at(first)->remove(id), Code::NotFound, "etcdserver: member not found"));
  });
}

TEST_F(EtcdContract, AFlagThatAVersionLacksEndsIt) {
  if (tested.facts.max_learners_flag) return;
  run([&] {
    plan_nodes(1);
    start(0, list_of(1), "new", {"--max-learners=8"});
    expect_end(0, 2, "flag provided but not defined: -max-learners");
  });
}

}  // namespace
}  // namespace etcdop::contract

int main(int argc, char** argv) {
  using namespace etcdop;
  ::testing::InitGoogleTest(&argc, argv);
  contract::Tested& tested = contract::tested;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--programs=")) tested.programs = word.substr(11);
    if (word.starts_with("--version=")) tested.version_text = word.substr(10);
  }
  const auto version = etcd::parse_version(tested.version_text);
  if (!version) {
    std::fprintf(stderr, "usage: etcd_contract_test [--programs=DIR] --version=X.Y.Z\n");
    return 2;
  }
  tested.facts = etcd::facts_of(*version);
  return RUN_ALL_TESTS();
}
