// Keys, alarms and the size of the database: the same on real and simulated etcds.
#include <algorithm>
#include <string>
#include <vector>

#include "test/contract/etcd_fixture.h"

namespace etcdop::contract {
namespace {

const std::string kNoSpace = "etcdserver: mvcc: database space exceeded";

class EtcdData : public EtcdContract {
 protected:
  /// Puts until one is refused for lack of space. etcd compares the quota with the size at its last
  /// commit, which it makes every 100 ms; so there is time between two puts.
  bool fill(std::size_t node) {
    const std::string much(400'000, 'x');
    return eventually(
        [&] { return bool(refused(keys(node).put("fill", much), Code::Lost, kNoSpace)); },
        kStartMax);
  }
  std::vector<Alarm> alarms(std::size_t node) {
    auto all = at(node)->alarms();
    EXPECT_TRUE(all) << all.error().message;
    if (!all) return {};
    std::vector<Alarm> list = *all;
    std::ranges::sort(list);
    return list;
  }
  bool says_no_space(std::size_t node, MemberId id) {
    auto status = at(node)->status();
    if (!status || status->errors.empty()) return false;
    const std::string& said = status->errors.front();
    return said.find("NOSPACE") != said.npos && said.find(std::to_string(id.value)) != said.npos;
  }
};

TEST_F(EtcdData, RevisionsVersionsAndCompaction) {
  run([&] {
    bootstrap(1);
    const Keys store = keys(0);
    auto first = store.put("a", "1");
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(*first, 2);
    EXPECT_EQ(*store.put("a", "2"), 3);
    EXPECT_EQ(*store.put("b", ""), 4);
    using Found = Keys::Found;
    const Found now{.key = "a", .value = "2", .created = 2, .modified = 3, .version = 2};
    const Found b{.key = "b", .value = "", .created = 4, .modified = 4, .version = 1};
    EXPECT_EQ(*store.get({.key = "a"}), std::vector{now});
    EXPECT_EQ(*store.get({.key = "a", .end = "c", .serializable = true}), (std::vector{now, b}));
    EXPECT_EQ(store.get({.key = "a", .end = "c", .revision = 2})->front().value, "1");
    EXPECT_EQ(store.erase("nothing")->second, 4) << "no revision for what was not there";
    EXPECT_EQ(*store.erase("a", "c"), (std::pair<std::int64_t, std::int64_t>{2, 5}));
    EXPECT_EQ(*store.put("a", "3"), 6);
    EXPECT_EQ(store.get({.key = "a"})->front(),
              (Found{.key = "a", .value = "3", .created = 6, .modified = 6, .version = 1}));

    const std::string compacted = "etcdserver: mvcc: required revision has been compacted";
    const std::string future = "etcdserver: mvcc: required revision is a future revision";
    EXPECT_TRUE(refused(store.compact(7), Code::Invalid, future));
    EXPECT_TRUE(refused(store.get({.key = "a", .revision = 7}), Code::Invalid, future));
    EXPECT_EQ(*store.compact(4), 6);
    EXPECT_TRUE(refused(store.compact(4), Code::Invalid, compacted));
    EXPECT_TRUE(refused(store.get({.key = "a", .revision = 3}), Code::Invalid, compacted));
    EXPECT_EQ(store.get({.key = "a", .end = "c", .revision = 4})->size(), 2U);
    EXPECT_TRUE(refused(store.put("", "1"), Code::Invalid, "etcdserver: key is not provided"));
  });
}

// A member raises the alarm for itself when it is asked for a put, or applies one, that does not
// fit. Every member then refuses puts; all other calls work. Compaction frees space inside the
// file, defragmentation shrinks the file, and the alarm stays until a client disarms it.
TEST_F(EtcdData, AFullDatabaseTakesNoPutUntilItIsCompactedDefragmentedAndDisarmed) {
  run([&] {
    bootstrap(3, {"--quota-backend-bytes=4000000"});
    EXPECT_TRUE(alarms(0).empty());
    ASSERT_TRUE(fill(0));
    const auto raised = alarms(1);
    ASSERT_FALSE(raised.empty());
    for (const Alarm& alarm : raised) EXPECT_EQ(alarm.kind, AlarmKind::NoSpace);
    EXPECT_TRUE(eventually([&] { return says_no_space(1, raised.front().member); }));
    for (const std::size_t node : {0U, 1U, 2U})
      EXPECT_TRUE(refused(keys(node).put("small", "x"), Code::Lost, kNoSpace)) << node;
    EXPECT_EQ(etcds_->probe(1, "/health"), 503);
    EXPECT_EQ(etcds_->probe(1, "/livez"), 200);
    EXPECT_EQ(etcds_->probe(1, "/readyz"), 200);
    EXPECT_TRUE(at(1)->member_list(etcd::Read::Linearizable));
    EXPECT_TRUE(eventually([&] { return bool(at(0)->add_learner(kNobodysUrl)); }));

    auto erased = keys(1).erase("fill");
    ASSERT_TRUE(erased) << erased.error().message;
    EXPECT_EQ(erased->first, 1);
    EXPECT_TRUE(keys(1).compact(erased->second));
    EXPECT_TRUE(refused(keys(0).put("small", "x"), Code::Lost, kNoSpace)) << "still armed";
    for (const std::size_t node : {0U, 1U, 2U}) {
      auto before = at(node)->status();
      auto done = at(node)->defragment();
      EXPECT_TRUE(done) << done.error().message;
      EXPECT_TRUE(eventually([&] {
        auto after = at(node)->status();
        return before && after && after->db_size < before->db_size / 2;
      }));
    }
    EXPECT_TRUE(refused(keys(0).put("small", "x"), Code::Lost, kNoSpace)) << "still armed";
    for (const Alarm& alarm : alarms(2)) EXPECT_TRUE(at(2)->disarm(alarm));
    EXPECT_TRUE(at(2)->disarm({.kind = AlarmKind::NoSpace, .member = id_of(0)})) << "again";
    EXPECT_TRUE(alarms(0).empty());
    EXPECT_TRUE(eventually([&] { return etcds_->probe(1, "/health") == 200; }));
    for (const std::size_t node : {0U, 1U, 2U}) {
      auto put = keys(node).put("small", "x");
      EXPECT_TRUE(put) << put.error().message;
    }
  });
}

TEST_F(EtcdData, AnAlarmDisarmedBeforeThereIsRoomIsRaisedAgain) {
  run([&] {
    bootstrap(1, {"--quota-backend-bytes=2000000"});
    ASSERT_TRUE(fill(0));
    const Alarm alarm{.kind = AlarmKind::NoSpace, .member = id_of(0)};
    EXPECT_TRUE(at(0)->disarm(alarm));
    EXPECT_TRUE(alarms(0).empty());
    EXPECT_TRUE(fill(0));
    EXPECT_EQ(alarms(0), std::vector{alarm});
    etcds_->kill(0);
    start(0, list_of(1), "new", {"--quota-backend-bytes=2000000"});
    await_leader(0);
    EXPECT_EQ(alarms(0), std::vector{alarm}) << "it is on the disk";
    EXPECT_TRUE(refused(keys(0).put("small", "x"), Code::Lost, kNoSpace));
  });
}

TEST_F(EtcdData, ACorruptMemberStopsAllThatChangesKeys) {
  run([&] {
    bootstrap(1);
    EXPECT_TRUE(keys(0).put("a", "1"));
    const Alarm alarm{.kind = AlarmKind::Corrupt, .member = {7}};
    auto raised = keys(0).raise(alarm);
    ASSERT_TRUE(raised) << raised.error().message;
    EXPECT_EQ(alarms(0), std::vector{alarm});
    const std::string corrupt = "etcdserver: corrupt cluster";
    EXPECT_TRUE(refused(keys(0).put("a", "2"), Code::Corrupt, corrupt));
    EXPECT_TRUE(refused(keys(0).erase("a"), Code::Corrupt, corrupt));
    EXPECT_TRUE(refused(keys(0).compact(1), Code::Corrupt, corrupt));
    EXPECT_EQ(keys(0).get({.key = "a"})->size(), 1U);
    EXPECT_TRUE(at(0)->add_learner(kNobodysUrl));
    EXPECT_TRUE(at(0)->disarm(alarm));
    EXPECT_TRUE(keys(0).put("a", "2"));
  });
}

// The word "alarm:", for which the operator checks each Status before it asks for the list.
TEST_F(EtcdData, AnAlarmIsInEveryMembersStatusUntilItIsDisarmed) {
  run([&] {
    bootstrap(3);
    const auto says = [&](std::size_t node) {
      std::string out;
      auto status = at(node)->status();
      if (!status) return std::string("no answer");
      for (const std::string& error : status->errors)
        if (error.find("alarm:") != std::string::npos) out += error + "\n";
      return out;
    };
    const auto eventually_says = [&](std::size_t node, const char* kind, MemberId id) {
      return eventually([&] {
        const std::string said = says(node);
        return said.find(std::string("alarm:") + kind) != said.npos &&
               said.find("memberID:" + std::to_string(id.value)) != said.npos;
      });
    };
    for (const std::size_t node : {0U, 1U, 2U})
      EXPECT_TRUE(eventually([&] { return says(node).empty(); })) << node;
    const Alarm full{.kind = AlarmKind::NoSpace, .member = id_of(1)};
    const Alarm damaged{.kind = AlarmKind::Corrupt, .member = id_of(2)};
    for (const Alarm& alarm : {full, damaged}) EXPECT_TRUE(keys(0).raise(alarm));
    for (const std::size_t node : {0U, 1U, 2U}) {
      EXPECT_TRUE(eventually_says(node, "NOSPACE", full.member)) << node;
      EXPECT_TRUE(eventually_says(node, "CORRUPT", damaged.member)) << node;
    }
    etcds_->kill(1);
    start(1, list_of(3), "new");
    await_leader(1);
    EXPECT_TRUE(eventually_says(1, "CORRUPT", damaged.member)) << "it is on the disk";
    for (const Alarm& alarm : {full, damaged}) EXPECT_TRUE(at(0)->disarm(alarm));
    for (const std::size_t node : {0U, 1U, 2U})
      EXPECT_TRUE(eventually([&] { return says(node).empty(); })) << node;
  });
}

// A damaged member can be replaced under the alarm. No member is ready until a client disarms the
// alarm, which outlives its member.
TEST_F(EtcdData, UnderCorruptTheMembershipChangesAndNobodyIsReady) {
  run([&] {
    bootstrap(3);
    EXPECT_TRUE(keys(0).put("a", "1"));
    const std::size_t led = leader(), victim = led == 2 ? 1 : 2, asked = led;
    const Alarm alarm{.kind = AlarmKind::Corrupt, .member = id_of(victim)};
    EXPECT_TRUE(keys(asked).raise(alarm));
    for (const std::size_t node : {0U, 1U, 2U}) {
      EXPECT_TRUE(eventually([&] { return etcds_->probe(node, "/readyz") == 503; })) << node;
      EXPECT_EQ(etcds_->probe(node, "/livez"), 200) << node;
    }
    EXPECT_TRUE(at(asked)->member_list(etcd::Read::Linearizable));
    EXPECT_EQ(keys(asked).get({.key = "a"})->size(), 1U) << "of a quorum, all the same";
    EXPECT_EQ(*at(asked)->hash_kv(0), *at(victim)->hash_kv(0));
    EXPECT_TRUE(eventually([&] { return bool(at(asked)->remove(alarm.member)); }));
    EXPECT_EQ(alarms(asked), std::vector{alarm}) << "of who is no member any more";
    plan_nodes(1);
    MemberId joined;
    EXPECT_TRUE(eventually([&] {
      auto added = at(asked)->add_learner(nodes_[3].peer_url);
      if (added) joined = *added;
      return bool(added);
    }));
    std::string list;
    for (const std::size_t node : {0U, 1U, 2U, 3U})
      if (node != victim)
        list += (list.empty() ? "" : ",") + nodes_[node].name + "=" + nodes_[node].peer_url;
    start(3, list, "existing");
    await_leader(3);
    EXPECT_TRUE(eventually([&] { return bool(at(asked)->promote(joined)); }));
    EXPECT_TRUE(eventually([&] {  // It may not know yet that it is a voter.
      auto all = at(3)->alarms();
      return all && *all == std::vector{alarm};
    }));
    const std::string corrupt = "etcdserver: corrupt cluster";
    EXPECT_TRUE(refused(keys(3).put("a", "2"), Code::Corrupt, corrupt));
    EXPECT_TRUE(at(asked)->disarm(alarm));
    EXPECT_TRUE(alarms(3).empty());
    EXPECT_TRUE(keys(3).put("a", "2"));
    EXPECT_TRUE(eventually([&] { return etcds_->probe(3, "/readyz") == 200; }));
  });
}

TEST_F(EtcdData, HashesAreEqualWhereTheHistoryIs) {
  run([&] {
    bootstrap(3);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(keys(0).put(i % 2 ? "a" : "b", std::to_string(i)));
    const auto hash = [&](std::size_t node, std::int64_t revision) {
      auto answer = at(node)->hash_kv(revision);
      EXPECT_TRUE(answer) << answer.error().message;
      return answer ? *answer : KeyHash{};
    };
    const auto settled = [&](std::int64_t revision) {
      return eventually([&] {
        return at(0)->hash_kv(0)->revision == revision && at(1)->hash_kv(0)->revision == revision &&
               at(2)->hash_kv(0)->revision == revision;
      });
    };
    ASSERT_TRUE(settled(11));
    const KeyHash now = hash(0, 0), then = hash(0, 6);
    EXPECT_EQ(now.compacted, -1) << "never";
    EXPECT_NE(now.hash, then.hash);
    EXPECT_EQ(now.hash, hash(0, 11).hash);
    for (const std::size_t node : {1U, 2U}) {
      EXPECT_EQ(hash(node, 0), now);
      EXPECT_EQ(hash(node, 6), then);
    }
    EXPECT_TRUE(keys(0).compact(6));
    EXPECT_EQ(hash(0, 0).compacted, 6);
    EXPECT_NE(hash(0, 0).hash, now.hash) << "compacted otherwise, so not comparable";
    EXPECT_EQ(hash(0, 6).compacted, -1) << "it remembers that from before the compaction";
    EXPECT_TRUE(
        refused(at(0)->hash_kv(5), Code::Invalid, "mvcc: required revision has been compacted"));
    EXPECT_TRUE(
        refused(at(0)->hash_kv(12), Code::Invalid, "mvcc: required revision is a future revision"));
    EXPECT_TRUE(eventually([&] { return hash(1, 0) == hash(0, 0); }));
    EXPECT_TRUE(keys(0).put("a", "other"));
    ASSERT_TRUE(settled(12));
    EXPECT_NE(hash(0, 12).hash, hash(0, 11).hash);
    EXPECT_EQ(hash(2, 12), hash(0, 12));
  });
}

TEST_F(EtcdData, ASnapshotEndsWithItsSumAndALearnerGivesOneToo) {
  run([&] {
    bootstrap(1);
    EXPECT_TRUE(keys(0).put("a", std::string(100'000, 'x')));
    (void)join();
    EXPECT_TRUE(eventually([&] {
      auto found = keys(1).get({.key = "a", .serializable = true});
      return found && found->size() == 1;
    }));
    for (const std::size_t node : {0U, 1U}) {
      std::uint64_t size = 0, largest = 0;
      auto taken = at(node)->snapshot([&](std::string_view piece) {
        size += piece.size();
        largest = std::max<std::uint64_t>(largest, piece.size());
        return Result<Done>(Done{});
      });
      ASSERT_TRUE(taken) << taken.error().message;
      EXPECT_EQ(taken->size_bytes, size);
      EXPECT_EQ(size % 512, 32U);
      EXPECT_GT(size, 100'000U);
      EXPECT_EQ(largest, 32U << 10);
    }
  });
}

TEST_F(EtcdData, ALearnerAnswersOldReadsOnly) {
  run([&] {
    bootstrap(1);
    EXPECT_TRUE(keys(0).put("a", "1"));
    (void)join();
    const std::string not_for_learners = "etcdserver: rpc not supported for learner";
    EXPECT_TRUE(eventually([&] {
      auto found = keys(1).get({.key = "a", .serializable = true});
      return found && found->size() == 1;
    }));
    EXPECT_TRUE(refused(keys(1).get({.key = "a"}), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(keys(1).put("a", "2"), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(1)->alarms(), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(1)->defragment(), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(1)->hash_kv(0), Code::Invalid, not_for_learners));
    EXPECT_TRUE(refused(at(1)->auth_status(), Code::Invalid, not_for_learners));
  });
}

}  // namespace
}  // namespace etcdop::contract
