// Which callers etcd answers once authentication is on: the same on real and simulated etcds.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "test/contract/etcd_fixture.h"

namespace etcdop::contract {
namespace {

const std::string kNobody = "user name is empty";
const std::string kNotRoot = "permission denied";
const std::string kStale = "invalid auth token";

class EtcdAuth : public EtcdContract {
 protected:
  static constexpr const char* kPassword = "secret";
  /// Cheap password hashes: a real etcd otherwise takes 70 ms for each.
  static std::vector<std::string> cheap() { return {"--bcrypt-cost=4"}; }
  void turn_on() {
    const auto client = at(0);
    EXPECT_TRUE(client->user_add("root", Secret(kPassword)));
    EXPECT_TRUE(client->user_grant_role("root", "root"));
    EXPECT_TRUE(client->user_add("bob", Secret(kPassword)));
    auto on = client->auth_enable();
    EXPECT_TRUE(on) << on.error().message;
  }
  Secret token(std::size_t node, const std::string& name) {
    auto token = at(node)->authenticate(name, Secret(kPassword));
    EXPECT_TRUE(token) << token.error().message;
    return token ? *token : Secret();
  }
  /// A client of that node with that token.
  std::shared_ptr<Client> with(std::size_t node, const Secret& token) {
    auto client = at(node);
    client->use_token(token);
    return client;
  }
  std::shared_ptr<Client> as(std::size_t node, const std::string& name) {
    return with(node, token(node, name));
  }
  /// Checks etcd's own words; the prefix depends on the version.
  template <class T>
  static testing::AssertionResult denied(const Result<T>& result, const std::string& text) {
    return refused(result, Code::Denied, text);
  }
};

TEST_F(EtcdAuth, UserRootThenItsRoleThenOn) {
  run([&] {
    bootstrap(1, cheap());
    const auto client = at(0);
    auto off = client->auth_status();
    ASSERT_TRUE(off) << off.error().message;
    EXPECT_FALSE(off->enabled);
    EXPECT_EQ(off->revision, 1U);
    EXPECT_TRUE(refused(client->authenticate("root", Secret(kPassword)), Code::Invalid,
                        "etcdserver: authentication is not enabled"));
    EXPECT_TRUE(
        refused(client->auth_enable(), Code::Invalid, "etcdserver: root user does not exist"));
    EXPECT_TRUE(refused(client->user_grant_role("root", "root"), Code::Invalid,
                        "etcdserver: user name not found"));
    EXPECT_TRUE(client->user_add("root", Secret(kPassword)));
    EXPECT_TRUE(refused(client->user_add("root", Secret("other")), Code::AlreadyExists,
                        "etcdserver: user name already exists"));
    EXPECT_TRUE(refused(client->user_add("", Secret("other")), Code::Denied,
                        "etcdserver: user name is empty"));
    EXPECT_TRUE(refused(client->auth_enable(), Code::Invalid,
                        "etcdserver: root user does not have root role"));
    EXPECT_TRUE(refused(client->user_grant_role("root", "writer"), Code::Invalid,
                        "etcdserver: role name not found"));
    EXPECT_TRUE(client->user_grant_role("root", "root"));
    EXPECT_TRUE(client->user_grant_role("root", "root")) << "again";
    EXPECT_TRUE(client->auth_enable());
    const std::string failed = "etcdserver: authentication failed, invalid user ID or password";
    EXPECT_TRUE(denied(client->authenticate("root", Secret("other")), failed));
    EXPECT_TRUE(denied(client->authenticate("eve", Secret(kPassword)), failed));
    const auto root = as(0, "root");
    EXPECT_TRUE(root->auth_enable()) << "again";
    auto on = root->auth_status();
    ASSERT_TRUE(on) << on.error().message;
    EXPECT_TRUE(on->enabled);
    EXPECT_EQ(on->revision, 3U) << "a user and a grant";
    etcds_->kill(0);
    start(0, list_of(1), "new", cheap());
    EXPECT_TRUE(eventually([&] { return bool(at(0)->authenticate("root", Secret(kPassword))); }))
        << "it is on the disk";
  });
}

TEST_F(EtcdAuth, WhomACallAnswers) {
  run([&] {
    bootstrap(1, cheap());
    EXPECT_TRUE(keys(0).put("a", "1"));
    turn_on();
    const auto nobody = at(0), bob = as(0, "bob"), root = as(0, "root");
    const auto ignore = [](std::string_view) { return Result<Done>(Done{}); };
    using Call = std::function<std::optional<Error>(Client&)>;
    const auto error_of = [](const auto& result) {
      return result ? std::nullopt : std::optional(result.error());
    };
    const std::vector<std::tuple<const char*, Answers, Call>> calls = {
        {"Status", tested.facts.status_answers, [&](Client& c) { return error_of(c.status()); }},
        {"MemberList", tested.facts.member_list_answers,
         [&](Client& c) { return error_of(c.member_list(etcd::Read::Linearizable)); }},
        {"MemberList, serializable", tested.facts.member_list_answers,
         [&](Client& c) { return error_of(c.member_list(etcd::Read::Serializable)); }},
        {"AuthStatus", tested.facts.auth_status_answers,
         [&](Client& c) { return error_of(c.auth_status()); }},
        {"alarms", Answers::AnyUser, [&](Client& c) { return error_of(c.alarms()); }},
        {"disarm", Answers::Root,
         [&](Client& c) { return error_of(c.disarm({AlarmKind::NoSpace, {7}})); }},
        {"Defragment", Answers::Root, [&](Client& c) { return error_of(c.defragment()); }},
        {"HashKV", Answers::Root, [&](Client& c) { return error_of(c.hash_kv(0)); }},
        {"Snapshot", Answers::Root, [&](Client& c) { return error_of(c.snapshot(ignore)); }},
        {"UserGrantRole", Answers::Root,
         [&](Client& c) { return error_of(c.user_grant_role("root", "root")); }},
        {"AuthEnable", Answers::Root, [&](Client& c) { return error_of(c.auth_enable()); }},
        {"MoveLeader", Answers::Root,
         [&](Client& c) {
           auto answer = c.move_leader({7});
           const bool passed = !answer && answer.error().message.ends_with("transferee");
           return passed ? std::nullopt : error_of(answer);
         }},
        {"MemberPromote", Answers::Root,
         [&](Client& c) {
           auto answer = c.promote({7});
           return answer.failed_with(Code::NotFound) ? std::nullopt : error_of(answer);
         }},
        {"MemberRemove", Answers::Root,
         [&](Client& c) {
           auto answer = c.remove({7});
           return answer.failed_with(Code::NotFound) ? std::nullopt : error_of(answer);
         }},
        {"MemberAdd", Answers::Root,
         [&](Client& c) {
           auto answer = c.add_learner(nodes_[0].peer_url);
           return answer.failed_with(Code::AlreadyExists) ? std::nullopt : error_of(answer);
         }},
    };
    const auto expect = [](const char* name, const std::optional<Error>& error, bool answers,
                           const std::string& text) {
      EXPECT_EQ(!error.has_value(), answers) << name << (error ? ": " + error->message : "");
      if (!error || answers) return;
      EXPECT_EQ(error->code, Code::Denied) << name << ": " << error->message;
      EXPECT_TRUE(error->message.ends_with(text)) << name << ": " << error->message;
    };
    for (const auto& [name, who, call] : calls) {
      expect(name, call(*nobody), who == Answers::Anybody, kNobody);
      expect(name, call(*bob), who != Answers::Root, kNotRoot);
      expect(name, call(*root), true, "");
    }
  });
}

TEST_F(EtcdAuth, KeysAreForThoseWhoMay) {
  run([&] {
    bootstrap(1, cheap());
    turn_on();
    const Secret bob = token(0, "bob"), root = token(0, "root");
    EXPECT_TRUE(keys(0, root).put("a", "1"));
    EXPECT_EQ(keys(0, root).get({.key = "a"})->size(), 1U);
    for (const bool serializable : {true, false}) {
      EXPECT_TRUE(denied(keys(0).get({.key = "a", .serializable = serializable}), kNobody));
      EXPECT_TRUE(denied(keys(0, bob).get({.key = "a", .serializable = serializable}), kNotRoot));
    }
    EXPECT_TRUE(denied(keys(0).put("a", "2"), kNobody));
    EXPECT_TRUE(denied(keys(0, bob).put("a", "2"), kNotRoot));
    EXPECT_TRUE(denied(keys(0).erase("a"), kNobody));
    EXPECT_TRUE(denied(keys(0, bob).erase("a"), kNotRoot));
    EXPECT_TRUE(denied(keys(0).compact(2), kNobody));
    EXPECT_TRUE(denied(keys(0, bob).compact(2), kNotRoot));
    EXPECT_TRUE(keys(0, root).compact(2));
  });
}

TEST_F(EtcdAuth, ATokenIsKnownToAllMembersUntilItIsOldOrTheyRestart) {
  run([&] {
    bootstrap(3, cheap());
    turn_on();
    const Secret root = token(0, "root");
    for (const std::size_t node : {0U, 1U, 2U})
      EXPECT_TRUE(eventually([&] { return bool(keys(node, root).put("a", "1")); }))
          << node << " may hear of it a moment later";
    for (const char* made_up : {"rubbish", "abcdefghijklmnop.1"})
      EXPECT_TRUE(denied(keys(1, Secret(made_up)).put("a", "1"), kStale)) << made_up;
    EXPECT_TRUE(denied(with(1, Secret("rubbish"))->status(), kStale))
        << "what needs no token does not take a wrong one";
    (void)executor().sleep(500ms);  // Entries that are not on disk yet are applied again.
    etcds_->kill(2);
    start(2, list_of(3), "existing", {"--bcrypt-cost=4", "--auth-token-ttl=3"});
    Result<std::int64_t> put = Error{Code::Unavailable, ""};
    EXPECT_TRUE(eventually([&] {
      put = keys(2, root).put("a", "1");
      return put || put.failed_with(Code::Denied);
    }));
    EXPECT_TRUE(denied(put, kStale));
    EXPECT_TRUE(keys(1, root).put("a", "1"));
    // Only this member has old tokens after 3 s: a busy machine may need longer for all above.
    Secret late;
    EXPECT_TRUE(eventually([&] {
      auto given = at(1)->authenticate("root", Secret(kPassword));
      if (given) late = *given;
      return given && keys(2, late).put("a", "1");
    }));
    EXPECT_TRUE(eventually([&] {
      (void)executor().sleep(6s);
      return bool(denied(keys(2, late).put("a", "1"), kStale));
    })) << "nobody used it";
    EXPECT_TRUE(keys(1, late).put("a", "1")) << "not old here";
  });
}

TEST_F(EtcdAuth, AnotherPasswordEndsTheTokensOfTheOneBefore) {
  run([&] {
    bootstrap(1, cheap());
    const Secret other("another");
    EXPECT_TRUE(refused(at(0)->user_change_password("root", other), Code::Invalid,
                        "etcdserver: user name not found"));
    EXPECT_TRUE(at(0)->user_add("root", Secret("first")));
    EXPECT_TRUE(at(0)->user_change_password("root", Secret(kPassword))) << "while it is off";
    EXPECT_TRUE(at(0)->user_grant_role("root", "root"));
    EXPECT_TRUE(at(0)->user_add("bob", Secret(kPassword)));
    EXPECT_TRUE(at(0)->auth_enable());
    const Secret before = token(0, "root"), bob = token(0, "bob");
    EXPECT_TRUE(denied(at(0)->user_change_password("root", other), kNobody));
    EXPECT_TRUE(denied(with(0, bob)->user_change_password("root", other), kNotRoot));
    EXPECT_TRUE(with(0, before)->user_change_password("root", other));
    EXPECT_TRUE(denied(with(0, before)->user_change_password("root", other), kStale));
    EXPECT_TRUE(with(0, bob)->alarms()) << "only those of that user";
    EXPECT_TRUE(denied(at(0)->authenticate("root", Secret(kPassword)),
                       "etcdserver: authentication failed, invalid user ID or password"));
    EXPECT_TRUE(at(0)->authenticate("root", other));
  });
}

// A put is checked when it is applied; by then, users may have changed.
TEST_F(EtcdAuth, AChangeOfUsersOvertakesAPut) {
  run([&] {
    bootstrap(3, cheap());
    turn_on();
    const Secret root = token(0, "root");
    ASSERT_TRUE(eventually([&] { return bool(keys(1, root).put("a", "1")); })) << "a moment later";
    bool seen = false, ended = false;
    const auto other = executor().spawn([&] {
      const Within limit(executor(), 60s);
      const auto client = with(0, root);
      for (int i = 0; i < 400 && !seen; ++i)
        (void)client->user_add("u" + std::to_string(i), Secret("x"));
      ended = true;
    });
    while (!seen && !ended) {
      auto put = keys(1, root).put("a", "1");
      seen = bool(denied(put, "etcdserver: revision of auth store is old"));
      EXPECT_TRUE(put || seen) << put.error().message;
    }
    EXPECT_TRUE(seen);
    (void)other->join();
  });
}

TEST_F(EtcdAuth, WithoutQuorumAListTimesOutBeforeItAsksWhoAsks) {
  run([&] {
    bootstrap(3, cheap());
    turn_on();
    etcds_->kill(1);
    etcds_->kill(2);
    EXPECT_TRUE(eventually(
        [&] { return at(0)->member_list(etcd::Read::Linearizable).failed_with(Code::TimedOut); }));
    if (tested.facts.member_list_answers != Answers::Anybody)
      EXPECT_TRUE(denied(at(0)->member_list(etcd::Read::Serializable), kNobody));
    EXPECT_TRUE(denied(at(0)->add_learner(kNobodysUrl), kNobody)) << "asked before anything else";
    EXPECT_FALSE(at(0)->authenticate("root", Secret(kPassword)));
  });
}

TEST_F(EtcdAuth, AFollowerPromotesInTheNameOfWhoAsks) {
  run([&] {
    bootstrap(3, cheap());
    turn_on();
    const auto root = as(0, "root");
    EXPECT_TRUE(eventually([&] {
      auto status = root->status();
      return status && status->leader.value != 0;
    }));
    plan_nodes(1);
    MemberId id;
    EXPECT_TRUE(eventually([&] {
      auto added = root->add_learner(nodes_[3].peer_url);
      if (added) id = *added;
      return bool(added);
    }));
    start(3, list_of(4), "existing", cheap());
    EXPECT_TRUE(eventually([&] { return bool(root->promote(id)); }, kStartMax));
    for (const std::size_t node : {0U, 1U, 2U}) {
      const auto client = as(node, "root");
      EXPECT_TRUE(eventually([&] {
        return bool(refused(client->promote(id), Code::AlreadyExists,
                            "etcdserver: can only promote a learner member"));
      })) << "one leads, two ask it";
    }
  });
}

}  // namespace
}  // namespace etcdop::contract
