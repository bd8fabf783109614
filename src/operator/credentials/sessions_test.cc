// When and how root logs in. etcd is a script; the API server is a fake.
#include "operator/credentials/sessions.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/secret_shelf.h"
#include "test/support/unscripted_etcd.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// Members at 10.0.0.1 and so on, which know one password of root.
struct Etcd final : etcd::Clients {
  struct Member final : testing::UnscriptedEtcd {
    Member(Etcd& all, const etcd::Endpoint& at) : all_(all), address_(at.address) {
      EXPECT_FALSE(at.token) << "who logs in shows no token";
    }
    Result<Secret> authenticate(const std::string& name, const Secret& with) override {
      EXPECT_EQ(name, "root");
      all_.tried += address_.substr(7) + with.reveal() + " ";
      if (all_.silent.find(address_.back()) != std::string::npos)
        return Error{Code::Unavailable, "connection refused"};
      if (all_.learners.find(address_.back()) != std::string::npos)
        return Error{Code::Invalid, "etcdserver: rpc not supported for learner"};
      const bool off = all_.without_users.find(address_.back()) != std::string::npos;
      if (!all_.on || off) return Error{Code::Invalid, "etcdserver: authentication is not enabled"};
      const bool other = all_.with_others.find(address_.back()) != std::string::npos;
      if (other || with.reveal() != all_.password)
        return Error{Code::Denied,
                     "etcdserver: authentication failed, invalid user ID or password"};
      return Secret("token " + std::to_string(++all_.tokens));
    }

   private:
    Etcd& all_;
    std::string address_;
  };
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint& to) override {
    return std::make_shared<Member>(*this, to);
  }
  bool on = true;
  std::string password = "A";
  std::string silent, learners, without_users, with_others;  // Last digits of addresses.
  std::string tried;  // "1A ": member 1 was asked with password A.
  int tokens = 0;
};

class SessionsTest : public ::testing::Test {
 protected:
  SessionsTest() {
    cluster.metadata.name = "db";
    cluster.metadata.ns = "prod";
    cluster.metadata.uid = "u-1";
    cluster.spec.auth = v1::AuthSpec{true, v1::LocalObjectReference{"root"}};
    cluster.status.auth_enabled = true;
    put("A");
  }
  void put(const std::string& password) { shelf.put("root", {{"password", password}}); }
  /// Writes our Secret; empty: no such password.
  void keep(const std::string& password, const std::string& next = "",
            const std::string& owner = "u-1") {
    shelf.put("db-operator-auth", {{"password", password}, {"next", next}}, owner);
  }
  template <class Body>
  void on_fiber(Body body) {
    world.spawn(body);
    world.run();
  }
  /// The token that all members get, or "none".
  std::string equip(int members = 2) {
    const auto old = std::make_shared<const Secret>("of old");
    Endpoints endpoints;
    for (int i = 1; i <= members; ++i) {
      const std::string digit = std::to_string(i);
      etcd::Endpoint& at = endpoints["db-" + digit];
      at.address = "10.0.0." + digit;
      at.token = old;
    }
    on_fiber([&] { sessions.equip(cluster, endpoints); });
    const auto& token = endpoints.begin()->second.token;
    for (const auto& [name, at] : endpoints) EXPECT_EQ(at.token, token) << name;
    return token ? token->reveal() : "none";
  }
  AuthSeen seen() {
    AuthSeen out;
    on_fiber([&] { out = sessions.of(cluster); });
    return out;
  }
  std::string tried() { return std::exchange(etcd.tried, ""); }
  void wait(Duration d) { world.run_until(world.now() + d); }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  Etcd etcd;
  Secrets secrets{world, api};
  Sessions sessions{world, secrets, etcd};
  v1::EtcdCluster cluster;
};

TEST_F(SessionsTest, NobodyLogsInBeforeItIsAskedFor) {
  cluster.status.auth_enabled = false;
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "");
  EXPECT_FALSE(seen().required);
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Required));
  EXPECT_TRUE(seen().required);
  EXPECT_EQ(equip(), "token 1");
  EXPECT_EQ(tried(), "1A ");
  EXPECT_TRUE(seen().entered);
}

TEST_F(SessionsTest, ASecretOfTheClusterBeforeIsLookedAtAgainSoon) {
  const auto kept = [&] {
    std::string out;
    on_fiber([&] { out = sessions.passwords_of(cluster).kept.password.reveal(); });
    return out;
  };
  keep("of before", "", "u-0");
  EXPECT_EQ(kept(), "");
  shelf.erase("db-operator-auth");
  keep("A");
  wait(1s);
  EXPECT_EQ(kept(), "A");
}

TEST_F(SessionsTest, AsTheStatusRecordsItLogsInAtOnceAndOnce) {
  EXPECT_EQ(equip(), "token 1");
  wait(4min);
  EXPECT_EQ(equip(), "token 1");
  EXPECT_EQ(tried(), "1A ");
}

TEST_F(SessionsTest, WhatTheSpecDoesNotWantIsNotDone) {
  for (const auto& auth :
       {std::optional<v1::AuthSpec>(), std::optional(v1::AuthSpec{false, std::nullopt})}) {
    cluster.spec.auth = auth;
    EXPECT_EQ(equip(), "of old");
    EXPECT_FALSE(sessions.note_refusal(cluster, etcd::AuthTrouble::Required))
        << "there is nothing to try";
    AuthSeen told;
    told.required = true;
    EXPECT_EQ(seen(), told);
  }
  EXPECT_EQ(tried(), "");
  EXPECT_EQ(api.requests("get secrets"), 0);
}

TEST_F(SessionsTest, WhatIsNoMatterOfIdentityIsNoRefusal) {
  cluster.status.auth_enabled = false;
  EXPECT_FALSE(sessions.note_refusal(cluster, etcd::AuthTrouble::None));
  EXPECT_FALSE(seen().required);
}

TEST_F(SessionsTest, AllThatMayBeEtcdsAreTriedTheUsersFirst) {
  put("B");
  keep("A", "C");
  EXPECT_EQ(equip(), "token 1");
  EXPECT_EQ(tried(), "1B 1A ");
  on_fiber([&] {
    const Passwords known = sessions.passwords_of(cluster);
    EXPECT_EQ(known.wanted.reveal(), "B");
    EXPECT_EQ(known.missing, "");
    EXPECT_EQ(known.kept, (KeptPasswords{Secret("A"), Secret("C"), {}}));
    EXPECT_EQ(known.current.reveal(), "A");
  });
  EXPECT_EQ(seen().step, PasswordStep::Change);
  etcd.password = "C";
  sessions.password_changed(cluster.metadata.key());
  EXPECT_EQ(equip(), "token 2") << "at once";
  EXPECT_EQ(tried(), "1B 1A 1C ");
  EXPECT_EQ(seen().step, PasswordStep::Record);
}

TEST_F(SessionsTest, ASecretOfSomebodyElseIsNotOurs) {
  keep("B", "", "u-2");
  etcd.password = "B";
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "1A 2A ");
}

TEST_F(SessionsTest, AWrongPasswordIsToldAndNotTriedAgainBeforeItIsAnother) {
  etcd.password = "Z";
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "1A 2A ") << "one of them may be of another etcd";
  EXPECT_EQ(seen().refused, "etcd rejects the password of Secret root for the user root");
  EXPECT_FALSE(seen().entered);
  for (int i = 0; i < 29; ++i) {
    wait(1s);
    EXPECT_EQ(equip(), "none");
  }
  EXPECT_EQ(tried(), "");
  wait(1s);
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "1A 2A ");
  EXPECT_NE(seen().refused, "");
  put("Z");
  secrets.expire({"prod", "root"});
  EXPECT_EQ(equip(), "token 1") << "it is another by now";
  EXPECT_EQ(tried(), "1Z ");
  EXPECT_EQ(seen().refused, "");
}

TEST_F(SessionsTest, K17_ThePasswordIsKnownThoughOurSecretHasLostItsOwner) {
  keep("K");
  const auto kept = [&] {
    secrets.expire({"prod", "db-operator-auth"});
    std::string out;
    on_fiber([&] { out = sessions.passwords_of(cluster).kept.password.reveal(); });
    return out + (seen().disowned ? ", disowned" : "");
  };
  EXPECT_EQ(kept(), "K");
  shelf.disown("db-operator-auth", "u-1");
  EXPECT_EQ(kept(), "K, disowned");
  shelf.disown("db-operator-auth", "u-0");
  EXPECT_EQ(kept(), "") << "it is a leftover: its password never becomes that of a new etcd";
}

/// One member has the data of another etcd, which has no users, or others.
TEST_F(SessionsTest, F3_K5_AMemberOfAnotherEtcdKeepsNobodyFromLoggingIn) {
  etcd.without_users = "1";
  EXPECT_EQ(equip(3), "token 1");
  EXPECT_EQ(tried(), "1A 2A ");
  sessions.forget(cluster.metadata.key());
  etcd.without_users = "";
  etcd.with_others = "1";
  EXPECT_EQ(equip(3), "token 2");
  EXPECT_EQ(tried(), "1A 2A ");
  EXPECT_EQ(seen().refused, "");
}

TEST_F(SessionsTest, WithoutAPasswordItIsSaidWhy) {
  shelf.put("root", {{"pass", "A"}});
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "");
  EXPECT_EQ(seen().refused, "Secret root has no password");
  put("\xFF");
  wait(1s);
  EXPECT_EQ(equip(), "none");
  EXPECT_EQ(tried(), "");
  EXPECT_EQ(seen().refused, "Secret root: the password is not UTF-8");
  put("A");
  wait(2s);
  EXPECT_EQ(equip(), "token 1") << "it is looked for soon";
  EXPECT_EQ(seen().refused, "");

  cluster.spec.auth->root_credentials_secret_ref->name = "other";
  EXPECT_EQ(seen().refused, "Secret other does not exist");
  api.before([](const kube::Call&) { return Error{Code::Denied, "secrets is forbidden"}; });
  cluster.spec.auth->root_credentials_secret_ref->name = "third";
  EXPECT_EQ(seen().refused, "Secret third cannot be read: secrets is forbidden");
}

TEST_F(SessionsTest, WhoIsSilentOrALearnerIsPassedOver) {
  etcd.silent = "1";
  etcd.learners = "2";  // The first by name, like some replacements of a voter.
  EXPECT_EQ(equip(3), "token 1");
  EXPECT_EQ(etcd.tried, "1A 2A 3A ");
  EXPECT_EQ(equip(3), "token 1") << "and that is kept";
  EXPECT_EQ(tried(), "1A 2A 3A ");
  sessions.forget(cluster.metadata.key());
  etcd.silent = "13";
  EXPECT_EQ(equip(3), "none");
  EXPECT_EQ(equip(3), "none");
  EXPECT_EQ(tried(), "1A 2A 3A ") << "not at once again";
  EXPECT_EQ(seen().refused, "") << "nobody has said no";
  etcd.silent = "";
  wait(1s);
  EXPECT_EQ(equip(3), "token 2");
}

TEST_F(SessionsTest, ATokenThatIsNoGoodAnyMoreIsReplaced) {
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Expired)) << "none of this process";
  EXPECT_EQ(equip(), "token 1");
  wait(5min);
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Expired));
  EXPECT_FALSE(seen().entered);
  EXPECT_EQ(equip(), "token 2");
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Expired));
  EXPECT_EQ(equip(), "token 2") << "a member may not know the new one yet";
  wait(500ms);
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Expired));
  EXPECT_EQ(equip(), "none") << "none in each pass";
  wait(500ms);
  EXPECT_EQ(equip(), "token 3");
}

TEST_F(SessionsTest, AChangeTellsOfATokenThatReadsDoNotNotice) {
  EXPECT_EQ(equip(), "token 1");
  wait(5min);
  sessions.note_change(cluster, Done{});
  sessions.note_change(cluster, Error{Code::Unavailable, "etcdserver: unhealthy cluster"});
  sessions.note_change(cluster, Error{Code::Denied, "etcdserver: permission denied"});
  EXPECT_EQ(equip(), "token 1");
  sessions.note_change(cluster,
                       Error{Code::Denied, "add-learner db-a: etcdserver: invalid auth token"});
  EXPECT_EQ(equip(), "token 2");
}

TEST_F(SessionsTest, WhereItWasTurnedOffByHandNobodyIsRequiredToLogIn) {
  EXPECT_EQ(equip(), "token 1");
  etcd.on = false;
  wait(1s);
  EXPECT_TRUE(sessions.note_refusal(cluster, etcd::AuthTrouble::Off));
  EXPECT_EQ(equip(), "none");
  const AuthSeen off = seen();
  EXPECT_FALSE(off.required);
  EXPECT_FALSE(off.entered);
  EXPECT_EQ(off.refused,
            "authentication was turned off in etcd: turn it on again with etcdctl auth enable");
  etcd.on = true;
  wait(1s);
  EXPECT_EQ(equip(), "token 2") << "the status still says that it is on";
}

TEST_F(SessionsTest, AnotherClusterOfThatNameStartsAfresh) {
  etcd.password = "Z";
  EXPECT_EQ(equip(), "none");
  EXPECT_NE(seen().refused, "");
  cluster.metadata.uid = "u-2";
  AuthSeen fresh;
  fresh.step = PasswordStep::Record;
  EXPECT_EQ(seen(), fresh);
  etcd.password = "A";
  EXPECT_EQ(equip(), "token 1") << "though the other was refused just now";
  cluster.metadata.uid = "u-3";
  EXPECT_FALSE(seen().entered) << "that token is not its own";
  EXPECT_EQ(equip(), "token 2");
}

}  // namespace
}  // namespace etcdop
