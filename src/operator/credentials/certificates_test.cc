// Certificates in users' Secrets: the messages about bad ones, and the dial options made from them.
// The API server is a fake.
#include "operator/credentials/certificates.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "sim/scheduler.h"
#include "test/support/certificates.h"
#include "test/support/fake_api.h"
#include "test/support/secret_shelf.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
using testing::Authority;
namespace v1 = api::v1alpha2;

const std::vector<std::string> kNames{"*.db.prod.svc", "localhost"};

/// prod/db with TLS on both ports, from the user's own Secrets; with `mtls` clients need
/// certificates, too.
v1::EtcdCluster cluster_of(bool mtls) {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  v1::TlsSpec& tls = c.spec.tls.emplace();
  tls.client.emplace().server_secret_ref = v1::LocalObjectReference{"server"};
  if (mtls) tls.client->operator_client_secret_ref = v1::LocalObjectReference{"operator"};
  tls.peer.emplace().secret_ref = v1::LocalObjectReference{"peer"};
  return c;
}

v1::EtcdMember member_of(bool mtls) {
  v1::EtcdMember m;
  m.metadata.name = "db-a";
  m.metadata.ns = "prod";
  m.spec.cluster_name = "db";
  v1::MemberTls& tls = m.spec.tls.emplace();
  tls.client_server_secret_ref = v1::LocalObjectReference{"server"};
  tls.client_mtls = mtls;
  tls.peer_secret_ref = v1::LocalObjectReference{"peer"};
  return m;
}

Endpoints one_member() {
  etcd::Endpoint at;
  at.address = "10.0.0.1";
  at.server_name = "db-a.db.prod.svc";
  return {{"db-a", at}};
}

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() {
    shelf.put("server", good, ca.certificate());
    shelf.put("operator", for_clients, ca.certificate());
    shelf.put("peer", good, ca.certificate());
  }
  template <class T>
  T on_fiber(std::function<T()> body) {
    T out;
    world.spawn([&] { out = body(); });
    world.run();
    return out;
  }
  TlsSeen seen(bool mtls = false) {
    return on_fiber<TlsSeen>([&] { return certificates.of(cluster_of(mtls)); });
  }
  /// The dial options; null: none.
  std::shared_ptr<const TlsClient::Options> dial(bool mtls = true) {
    return on_fiber<std::shared_ptr<const TlsClient::Options>>([&] {
      Endpoints endpoints = one_member();
      certificates.equip(cluster_of(mtls), endpoints);
      if (endpoints.empty()) return std::shared_ptr<const TlsClient::Options>();
      EXPECT_TRUE(endpoints.at("db-a").tls) << "TLS is never left out";
      return endpoints.at("db-a").tls;
    });
  }
  std::shared_ptr<const TlsClient::Options> peer_dial() {
    return on_fiber<std::shared_ptr<const TlsClient::Options>>(
        [&] { return certificates.peer_dial(cluster_of(false)); });
  }
  void wait(Duration d) { world.run_until(world.now() + d); }
  /// Changed Secrets are read.
  void look_again() { wait(6min); }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  testing::VirtualWallClock clock{world};  // It begins in 2026.
  Secrets secrets{world, api};
  Certificates certificates{secrets, clock};
  const Authority ca, other{"other"};
  const Identity good = ca.issue({.names = kNames});
  const Identity for_clients = ca.issue({.server = false});
};

TEST_F(CertificatesTest, WhatIsInThemIsTold) {
  const TlsSeen tls = seen(true);
  const CertificateFacts facts = *read_certificate(good.certificate);
  ASSERT_TRUE(tls.server && tls.operator_client && tls.peer);
  EXPECT_EQ(tls.server->secret, "server");
  EXPECT_FALSE(tls.server->missing);
  EXPECT_EQ(joined(tls.server->faults), "");
  EXPECT_EQ(tls.server->names, kNames);
  EXPECT_EQ(tls.server->serial, facts.serial);
  EXPECT_EQ(tls.server->authority, fingerprint_of(ca.certificate()));
  EXPECT_EQ(tls.server->from, facts.from);
  EXPECT_EQ(tls.server->until, facts.until);
  EXPECT_EQ(joined(tls.operator_client->faults), "");
  EXPECT_EQ(joined(tls.peer->faults), "");
  EXPECT_FALSE(seen(false).operator_client);
  EXPECT_EQ(on_fiber<TlsSeen>([&] {
              v1::EtcdCluster plain = cluster_of(true);
              plain.spec.tls.reset();
              return certificates.of(plain);
            }),
            TlsSeen{});
}

TEST_F(CertificatesTest, WhatIsWrongWithAServersIsTold) {
  const Identity other_key{good.certificate, other.issue({}).key};
  const auto& signed_by = ca.certificate();
  struct Row {
    const char* what;
    Identity identity;
    std::string ca;
    const char *without_mtls, *with_mtls;
  };
  const char* const not_signed =
      "ca.crt has not signed tls.crt: unable to get local issuer certificate";
  const Row rows[] = {
      {"good", good, signed_by, "", ""},
      {"not PEM",
       {"tls", good.key},
       signed_by,
       "tls.crt: no PEM certificate in it",
       "tls.crt: no PEM certificate in it"},
      {"no key",
       {good.certificate, Secret()},
       signed_by,
       "tls.key: no unencrypted PEM key in it",
       "tls.key: no unencrypted PEM key in it"},
      {"the key of another", other_key, signed_by,
       "tls.key is the key of another certificate than tls.crt",
       "tls.key is the key of another certificate than tls.crt"},
      {"expired", ca.issue({.names = kNames, .not_after = "2025-12-31T23:59:59Z"}), signed_by,
       "tls.crt expired on 2025-12-31T23:59:59Z", "tls.crt expired on 2025-12-31T23:59:59Z"},
      {"not for clients", ca.issue({.names = kNames, .client = false}), signed_by, "",
       "tls.crt lacks the extended key usage \"client auth\""},
      {"not for servers", for_clients, signed_by,
       "tls.crt lacks the extended key usage \"server auth\"",
       "tls.crt lacks the extended key usage \"server auth\""},
      {"another authority", good, other.certificate(), not_signed, not_signed},
      {"no authority", good, "", "ca.crt is missing", "ca.crt is missing"},
  };
  for (const Row& row : rows) {
    for (const char* name : {"server", "peer"}) shelf.put(name, row.identity, row.ca);
    look_again();
    const auto faults = [&](bool mtls) { return joined(seen(mtls).server->faults); };
    EXPECT_EQ(faults(false), row.without_mtls) << row.what;
    EXPECT_EQ(faults(true), row.with_mtls) << row.what << ": etcd is a client of its own gateway";
    EXPECT_EQ(joined(seen().peer->faults), row.with_mtls) << row.what << ": a peer is both";
  }
}

TEST_F(CertificatesTest, TheOperatorsMustBeSignedByTheAuthorityOfTheMembers) {
  const auto faults = [&] { return joined(seen(true).operator_client->faults); };
  shelf.put("operator",
            {{"tls.crt", for_clients.certificate}, {"tls.key", for_clients.key.reveal()}});
  EXPECT_EQ(faults(), "") << "its own ca.crt does not count";
  shelf.put("operator", other.issue({}), other.certificate());
  look_again();
  EXPECT_EQ(faults(), "ca.crt has not signed tls.crt: unable to get local issuer certificate");
  shelf.put("operator", ca.issue({.client = false}), ca.certificate());
  look_again();
  EXPECT_EQ(faults(), "tls.crt lacks the extended key usage \"client auth\"");
}

TEST_F(CertificatesTest, OneThatIsNotThereOrCannotBeReadIsTold) {
  shelf.erase("server");
  TlsSeen tls = seen(true);
  EXPECT_TRUE(tls.server->missing);
  EXPECT_EQ(tls.server->unread, "does not exist");
  EXPECT_EQ(tls.operator_client->unread, "cannot be checked: Secret server does not exist");
  EXPECT_FALSE(tls.operator_client->missing);
  EXPECT_EQ(tls.peer->unread, "");
  shelf.put("server", good, ca.certificate());
  wait(1s);
  EXPECT_EQ(seen(true).server->unread, "") << "it is looked for again soon";

  shelf.erase("peer");
  look_again();
  api.before([](const kube::Call& call) -> std::optional<Error> {
    if (call.name != "server") return std::nullopt;
    return Error{Code::Denied, "secrets is forbidden"};
  });
  Secrets anew{world, api};
  Certificates others{anew, clock};
  tls = on_fiber<TlsSeen>([&] { return others.of(cluster_of(false)); });
  EXPECT_EQ(tls.server->unread, "cannot be read: secrets is forbidden");
  EXPECT_FALSE(tls.server->missing);
  EXPECT_TRUE(tls.peer->missing);
}

TEST_F(CertificatesTest, WhatIsBadIsReadAgainSoonAndWhatIsGoodGrowsOld) {
  shelf.put("server", ca.issue({.not_after = "2026-01-01T00:02:00Z"}), ca.certificate());
  EXPECT_EQ(joined(seen().server->faults), "");
  wait(5min);
  EXPECT_EQ(joined(seen().server->faults), "tls.crt expired on 2026-01-01T00:02:00Z");
  shelf.put("server", good, ca.certificate());
  wait(1s);
  EXPECT_EQ(joined(seen().server->faults), "");
  api.forget_requests();
  for (int i = 0; i < 4; ++i) {
    wait(1min);
    EXPECT_EQ(joined(seen().server->faults), "");
  }
  EXPECT_LE(api.requests("get secrets prod/server"), 1) << "once more, as it was in doubt";
}

TEST_F(CertificatesTest, AMembersAreThoseOfItsPod) {
  shelf.put("server", ca.issue({.names = kNames, .client = false}), ca.certificate());
  const auto of = [&](bool mtls) {
    return on_fiber<TlsSeen>([&] { return certificates.of(member_of(mtls)); });
  };
  EXPECT_EQ(joined(of(false).server->faults), "");
  EXPECT_EQ(joined(of(true).server->faults),
            "tls.crt lacks the extended key usage \"client auth\"");
  EXPECT_FALSE(of(true).operator_client) << "it is no matter of a Pod's";
  EXPECT_EQ(of(true).peer->secret, "peer");

  const Identity next = ca.issue({.names = kNames});
  shelf.put("server", next, ca.certificate());
  shelf.put("peer", next, ca.certificate());
  const std::string serial = read_certificate(next.certificate)->serial;
  EXPECT_NE(of(false).server->serial, serial);
  const TlsSeen now = on_fiber<TlsSeen>([&] { return certificates.now_of(member_of(false)); });
  EXPECT_EQ(now.server->serial, serial) << "before a Pod is made, they are read";
  EXPECT_EQ(now.peer->serial, serial);
}

TEST_F(CertificatesTest, WhoseAManagedOneIsIsTold) {
  v1::EtcdCluster managed = cluster_of(false);
  managed.spec.tls = v1::TlsSpec{};
  managed.spec.tls->client.emplace().operator_managed.emplace();
  const auto look = [&] {
    std::string out;
    for (const CertificateSeen& one :
         on_fiber<TlsSeen>([&] { return certificates.of(managed); }).managed)
      out += one.secret +
             (one.missing ? " missing"
              : one.ours  ? " ours"
                          : " theirs") +
             (one.faults.empty() ? "\n" : ": " + joined(one.faults) + "\n");
    return out;
  };
  EXPECT_EQ(look(),
            "db-client-ca missing\ndb-server-tls missing\ndb-operator-client-tls missing\n"
            "db-client-tls missing\n");
  shelf.put("db-client-ca", ca.issue({.server = false, .client = false}), ca.certificate(), "u-1");
  shelf.put("db-server-tls", good, ca.certificate(), "u-1");
  shelf.put("db-operator-client-tls", for_clients, ca.certificate(), "u-2");
  shelf.put("db-client-tls", for_clients, other.certificate());
  wait(1s);
  (void)look();
  shelf.erase("db-operator-client-tls");
  wait(1s);
  EXPECT_NE(look().find("db-operator-client-tls missing"), std::string::npos)
      << "one of a cluster of before goes with it";
  shelf.put("db-operator-client-tls", for_clients, ca.certificate(), "u-2");
  wait(1s);
  EXPECT_EQ(look(),
            "db-client-ca ours\ndb-server-tls ours\ndb-operator-client-tls theirs\n"
            "db-client-tls theirs: ca.crt has not signed tls.crt: unable to get local issuer "
            "certificate\n");
}

/// K17: a user took the owner away. The label has the UID of the cluster.
TEST_F(CertificatesTest, K17_AManagedOneThatHasLostItsOwnerIsOurs) {
  v1::EtcdCluster managed = cluster_of(false);
  managed.spec.tls = v1::TlsSpec{};
  managed.spec.tls->client.emplace().operator_managed.emplace();
  shelf.put("db-client-ca", ca.issue({.server = false, .client = false}), ca.certificate(), "u-1");
  const auto look = [&] {
    secrets.expire({"prod", "db-client-ca"});
    const auto one = on_fiber<TlsSeen>([&] { return certificates.of(managed); }).managed.at(0);
    return std::string(one.ours ? "ours" : "theirs") + (one.disowned ? ", disowned" : "") +
           (one.ownerless ? ", without owner" : "");
  };
  EXPECT_EQ(look(), "ours");
  shelf.disown("db-client-ca", "u-1");
  EXPECT_EQ(look(), "ours, disowned, without owner");
  shelf.disown("db-client-ca", "u-0");
  EXPECT_EQ(look(), "theirs, without owner") << "it is a leftover of an earlier EtcdCluster";
}

/// Judging takes most of a pass's time, and a third of a second for a Secret's largest bundle.
TEST_F(CertificatesTest, N7_WhatIsTheSameIsJudgedOnceUntilItsNextDate) {
  v1::EtcdCluster managed = cluster_of(false);
  managed.spec.tls = v1::TlsSpec{};
  managed.spec.tls->client.emplace().operator_managed.emplace();
  shelf.put("db-client-ca", ca.issue({.server = false, .client = false}), ca.certificate(), "u-1");
  shelf.put("db-server-tls", good, ca.certificate(), "u-1");
  shelf.put("db-operator-client-tls",
            ca.issue({.server = false, .not_after = "2026-01-01T00:02:00Z"}), ca.certificate(),
            "u-1");
  const auto faults = [&] {
    const auto seen = on_fiber<TlsSeen>([&] { return certificates.of(managed); });
    return joined(seen.operator_client->faults) + joined(seen.managed.at(2).faults);
  };
  EXPECT_EQ(faults(), "");
  const std::size_t once = certificates.judgements();
  wait(1min);
  EXPECT_EQ(faults(), "");
  EXPECT_EQ(certificates.judgements(), once);
  wait(2min);
  EXPECT_NE(faults(), "");
  EXPECT_EQ(certificates.judgements(), once + 2) << "for both of its roles";
  look_again();
  EXPECT_NE(faults(), "");
  EXPECT_EQ(certificates.judgements(), once + 2);
}

TEST_F(CertificatesTest, N7_ALargeBundleIsToldAndUsed) {
  std::string many;
  for (std::size_t i = 0; i <= kAuthoritiesMax; ++i) many += ca.certificate();
  shelf.put("server", good, many);
  const TlsSeen tls = seen(true);
  EXPECT_EQ(tls.server->many_authorities, 1001);
  EXPECT_EQ(tls.server->faults, std::vector<std::string>{});
  EXPECT_EQ(tls.peer->many_authorities, 0);
  EXPECT_TRUE(dial());
  const std::size_t once = certificates.judgements();
  EXPECT_TRUE(dial());
  look_again();
  EXPECT_TRUE(dial());
  EXPECT_EQ(certificates.judgements(), once);
}

TEST_F(CertificatesTest, WhatHasChangedIsJudgedAtOnceTheLeafAndWhoSignsIt) {
  const auto put = [&](const char* name, const Identity& leaf, const Authority& authority) {
    shelf.put(name, leaf, authority.certificate());
    secrets.expire({"prod", name});
  };
  const auto faults = [&] { return joined(seen(true).operator_client->faults); };
  EXPECT_EQ(faults(), "");
  put("operator", other.issue({.server = false}), ca);
  EXPECT_NE(faults(), "") << "another leaf under the same authority";
  put("operator", for_clients, ca);
  EXPECT_EQ(faults(), "");
  put("server", other.issue({.names = kNames}), other);
  EXPECT_NE(faults(), "") << "the same leaf under another authority";
}

// Dial options.

TEST_F(CertificatesTest, MembersAreDialledWithTheAuthorityAndOurOwn) {
  const auto both = dial(true);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->ca, ca.certificate());
  EXPECT_EQ(both->certificate, for_clients.certificate);
  EXPECT_EQ(both->key, for_clients.key);
  const auto authority_alone = dial(false);
  ASSERT_TRUE(authority_alone);
  EXPECT_EQ(authority_alone->ca, ca.certificate());
  EXPECT_EQ(authority_alone->certificate, "");
  EXPECT_TRUE(authority_alone->key.empty());
}

TEST_F(CertificatesTest, WithoutTlsInTheSpecNothingIsAdded) {
  v1::EtcdCluster plain = cluster_of(true);
  plain.spec.tls->client.reset();
  Endpoints endpoints = one_member();
  const Endpoints before = endpoints;
  (void)on_fiber<int>([&] {
    certificates.equip(plain, endpoints);
    return 0;
  });
  EXPECT_EQ(endpoints, before);
}

TEST_F(CertificatesTest, WhatIsTheSameIsTheSameAndWhatIsRenewedIsNot) {
  const auto first = dial();
  EXPECT_EQ(dial(), first);
  look_again();
  EXPECT_EQ(dial(), first) << "read again, unchanged: connections are kept";
  const Identity renewed = ca.issue({.server = false});
  shelf.put("operator", renewed, ca.certificate());
  look_again();
  const auto second = dial();
  ASSERT_NE(second, first);
  EXPECT_EQ(second->certificate, renewed.certificate);
  shelf.put("server", good, ca.certificate() + other.certificate());
  look_again();
  EXPECT_EQ(dial()->ca, ca.certificate() + other.certificate());
}

TEST_F(CertificatesTest, WhatIsNewAndBadIsNotTaken) {
  const auto before = dial();
  const std::pair<const char*, std::function<void()>> edits[] = {
      {"another authority's", [&] { shelf.put("operator", other.issue({}), ca.certificate()); }},
      {"expired",
       [&] {
         shelf.put("operator", ca.issue({.not_after = "2025-01-01T00:00:00Z"}), ca.certificate());
       }},
      {"for servers", [&] { shelf.put("operator", ca.issue({.client = false}), "x"); }},
      {"nothing in it", [&] { shelf.put("operator", {}); }},
      {"gone", [&] { shelf.erase("operator"); }},
      {"the servers' is gone, too", [&] { shelf.erase("server"); }},
      {"the authority is no PEM", [&] { shelf.put("server", good, "ca"); }},
  };
  for (const auto& [what, edit] : edits) {
    edit();
    look_again();
    EXPECT_EQ(dial(), before) << what;
  }
  shelf.put("server", good, ca.certificate());
  shelf.put("operator", for_clients, ca.certificate());
  look_again();
  EXPECT_NE(dial(), before) << "and what is good by now is";
}

TEST_F(CertificatesTest, WhereNothingWasEverGoodNobodyIsDialled) {
  shelf.put("operator", other.issue({}), ca.certificate());
  EXPECT_EQ(dial(), nullptr);
  EXPECT_NE(dial(false), nullptr) << "who needs none of ours";
  certificates.forget({"prod", "db"});
  shelf.erase("server");
  look_again();
  EXPECT_EQ(dial(false), nullptr) << "forgotten is forgotten";
}

TEST_F(CertificatesTest, APeerIsDialledWithAGoodOneOnly) {
  const auto one = peer_dial();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->ca, ca.certificate());
  EXPECT_EQ(one->certificate, good.certificate);
  EXPECT_EQ(one->key, good.key);
  shelf.put("peer", for_clients, ca.certificate());
  look_again();
  EXPECT_EQ(peer_dial(), nullptr);
  shelf.erase("peer");
  look_again();
  EXPECT_EQ(peer_dial(), nullptr);
}

}  // namespace
}  // namespace etcdop
