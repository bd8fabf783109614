// Which Secrets a cluster's TLS uses, and the messages about a certificate.
#include "operator/credentials/tls.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "api/v1alpha2/names.h"
#include "base/joined.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
const api::ObjectKey kKey{"prod", "db"};

v1::EtcdCluster cluster_of(const std::function<void(v1::EtcdCluster&)>& edit) {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.spec.tls.emplace();
  edit(c);
  return c;
}

/// "server mtls peer": "-" is none.
std::string told(const std::optional<v1::MemberTls>& tls) {
  if (!tls) return "plaintext";
  const auto name = [](const auto& ref) { return ref ? ref->name : std::string("-"); };
  return name(tls->client_server_secret_ref) + (tls->client_mtls ? " mtls " : " ") +
         name(tls->peer_secret_ref) + (tls->peer_auto_tls ? " auto" : "");
}

TEST(Tls, SecretsAndMembersTable) {
  struct Row {
    const char* what;
    std::function<void(v1::EtcdCluster&)> edit;
    const char *server, *operators, *peer;
    const char* member;
  };
  const auto auto_tls = [](v1::EtcdCluster& c, const char* value) {
    c.metadata.annotations[v1::kPeerAutoTlsAnnotation] = value;
  };
  const Row rows[] = {
      {"nothing", [](auto& c) { c.spec.tls.reset(); }, "", "", "", "plaintext"},
      {"nothing in it", [](auto&) {}, "", "", "", "plaintext"},
      {"a Secret for servers",
       [](auto& c) { c.spec.tls->client.emplace().server_secret_ref = {"mine"}; }, "mine", "", "",
       "mine -"},
      {"and one for the operator",
       [](auto& c) {
         auto& client = c.spec.tls->client.emplace();
         client.server_secret_ref = {"mine"};
         client.operator_client_secret_ref = {"ours"};
       },
       "mine", "ours", "", "mine mtls -"},
      {"a Secret for peers", [](auto& c) { c.spec.tls->peer.emplace().secret_ref = {"among"}; }, "",
       "", "among", "- among"},
      {"cert-manager's for servers",
       [](auto& c) { c.spec.tls->client.emplace().cert_manager.emplace(); }, "db-server-tls", "",
       "", "db-server-tls -"},
      {"and its for the operator",
       [](auto& c) {
         c.spec.tls->client.emplace().cert_manager.emplace().operator_client_issuer_ref.emplace();
       },
       "db-server-tls", "db-operator-client-tls", "", "db-server-tls mtls -"},
      {"cert-manager's for peers",
       [](auto& c) { c.spec.tls->peer.emplace().cert_manager.emplace(); }, "", "", "db-peer-tls",
       "- db-peer-tls"},
      {"the operator's own",
       [](auto& c) {
         c.spec.tls->client.emplace().operator_managed.emplace();
         c.spec.tls->peer.emplace().operator_managed.emplace();
       },
       "db-server-tls", "db-operator-client-tls", "db-peer-tls", "db-server-tls mtls db-peer-tls"},
      {"peers make their own",
       [&](auto& c) {
         c.spec.tls.reset();
         auto_tls(c, "true");
       },
       "", "", "", "- - auto"},
      {"beside TLS for clients",
       [&](auto& c) {
         c.spec.tls->client.emplace().server_secret_ref = {"mine"};
         auto_tls(c, "true");
       },
       "mine", "", "", "mine - auto"},
      {"but not where there is a Secret for them",
       [&](auto& c) {
         c.spec.tls->peer.emplace().secret_ref = {"among"};
         auto_tls(c, "true");
       },
       "", "", "among", "- among"},
      {"peers do not", [&](auto& c) { auto_tls(c, "false"); }, "", "", "", "plaintext"},
  };
  for (const Row& row : rows) {
    const v1::EtcdCluster cluster = cluster_of(row.edit);
    const TlsSecrets names = tls_secrets_of(cluster);
    EXPECT_EQ(names.server, row.server) << row.what;
    EXPECT_EQ(names.operator_client, row.operators) << row.what;
    EXPECT_EQ(names.peer, row.peer) << row.what;
    EXPECT_EQ(told(member_tls(cluster)), row.member) << row.what;
    v1::EtcdMember member;
    member.spec.tls = member_tls(cluster);
    const TlsSecrets of_member = tls_secrets_of(member);
    EXPECT_EQ(of_member.server, row.server) << row.what;
    EXPECT_EQ(of_member.operator_client, "") << row.what << ": it is no matter of a Pod's";
    EXPECT_EQ(of_member.peer, row.peer) << row.what;
  }
}

TEST(Tls, WhatTheOperatorMakes) {
  const auto made = [](const std::function<void(v1::EtcdCluster&)>& edit) {
    std::string out;
    for (const ManagedSecret& one : managed_secrets_of(cluster_of(edit)))
      out += one.name + " (" + one.common_name + ") " + std::to_string(one.duration_s / 86400) +
             " days" + (one.authority.empty() ? "" : " by " + one.authority) + "\n";
    return out;
  };
  const std::string client =
      "db-client-ca (db-client-ca) 3650 days\n"
      "db-server-tls (db-server) 180 days by db-client-ca\n"
      "db-operator-client-tls (db-operator-client) 180 days by db-client-ca\n"
      "db-client-tls (db-client) 180 days by db-client-ca\n";
  EXPECT_EQ(made([](auto& c) { c.spec.tls.reset(); }), "");
  EXPECT_EQ(made([](auto& c) { c.spec.tls->client.emplace().cert_manager.emplace(); }), "");
  EXPECT_EQ(made([](auto& c) { c.spec.tls->client.emplace().operator_managed.emplace(); }), client);
  EXPECT_EQ(made([](auto& c) {
              c.spec.tls->client.emplace().operator_managed.emplace();
              c.spec.tls->peer.emplace().operator_managed.emplace().certificate_duration_seconds =
                  86400;
            }),
            client +
                "db-peer-ca (db-peer-ca) 3650 days\n"
                "db-peer-tls (db-peer) 1 days by db-peer-ca\n");
}

TEST(Tls, NamesAreThoseOfTheContract) {
  EXPECT_EQ(joined(server_names(kKey, "example.org", {})),
            "*.db.prod.svc, *.db.prod.svc.example.org, db.prod.svc, db.prod.svc.example.org, "
            "db-client.prod.svc, db-client.prod.svc.example.org, localhost, 127.0.0.1");
  EXPECT_EQ(joined(peer_names(kKey, "example.org", {"db-a", "db-b"})),
            "*.db.prod.svc, *.db.prod.svc.example.org, db.prod.svc, db-a.db.prod.svc, "
            "db-b.db.prod.svc");
}

TEST(Tls, AWildcardStandsForOneLabel) {
  const CertificateSeen seen{.secret = "s", .names = {"*.db.prod.svc", "localhost"}};
  struct Row {
    const char* host;
    bool is_for;
  };
  for (const Row& row : {Row{"db-a.db.prod.svc", true},
                         {"localhost", true},
                         {"db.prod.svc", false},
                         {"a.b.db.prod.svc", false},
                         {"", false},
                         {"db-a.db.prod.svc.cluster.local", false},
                         {"xdb.prod.svc", false},
                         {"db-a.other.prod.svc", false},
                         {"a.localhost", false}})
    EXPECT_EQ(is_for(seen, row.host), row.is_for) << row.host;
  EXPECT_FALSE(is_for(CertificateSeen{.secret = "s", .names = {"db.prod.svc"}}, "a.db.prod.svc"));
}

CertificateSeen good(const char* secret = "server") {
  return {.secret = secret,
          .names = {"*.db.prod.svc", "db-a.db.prod.svc"},
          .serial = "51",
          .until = kNow + 1h};
}

TEST(Tls, TroubleTable) {
  struct Row {
    const char* what;
    std::function<void(CertificateSeen&)> edit;
    std::vector<std::string> hosts;
    std::string says;
  };
  const Row rows[] = {
      {"none", [](auto&) {}, {"db-a.db.prod.svc", "db-b.db.prod.svc"}, ""},
      {"no Secret",
       [](auto& c) { c.unread = "does not exist"; },
       {"x"},
       "Secret server does not exist"},
      {"faults",
       [](auto& c) { c.faults = {"tls.crt a", "tls.key b"}; },
       {"x"},
       "Secret server: tls.crt a, tls.key b"},
      {"its last second", [](auto& c) { c.until = kNow; }, {}, ""},
      {"expired since it was read",
       [](auto& c) { c.until = kNow + -1s; },
       {"x"},
       "Secret server: tls.crt expired on " + to_rfc3339(kNow + -1s)},
      {"a name is missing",
       [](auto& c) { c.names.erase(c.names.begin()); },
       {"db-a.db.prod.svc", "db-b.db.prod.svc", "db-c.db.prod.svc"},
       "Secret server: tls.crt is not for db-b.db.prod.svc (its names are: db-a.db.prod.svc)"},
      {"whoever shows it needs no name", [](auto& c) { c.names.clear(); }, {}, ""},
  };
  for (const Row& row : rows) {
    CertificateSeen seen = good();
    row.edit(seen);
    EXPECT_EQ(trouble_with(seen, row.hosts, kNow), row.says) << row.what;
  }
}

TEST(Tls, OfManyNamesSomeAreTold) {
  CertificateSeen many = good();
  many.names.clear();
  for (int i = 1; i <= 22; ++i) many.names.push_back("n" + std::to_string(i));
  const std::string told = trouble_with(many, {"db-a.db.prod.svc"}, kNow);
  EXPECT_NE(told.find("n19, n20 and 2 more)"), std::string::npos) << told;
  many.names.resize(20);
  EXPECT_NE(trouble_with(many, {"db-a.db.prod.svc"}, kNow).find("n19, n20)"), std::string::npos);
}

TEST(Tls, TheFirstTroubleOfAMemberIsToldAndOursNeedsNoName) {
  const std::string host = "db-b.db.prod.svc";
  TlsSeen tls{good(), good("operator"), good("peer"), {}};
  tls.operator_client->names.clear();
  EXPECT_EQ(trouble_with(tls, {host}, kNow), "");
  tls.operator_client->faults = {"c"};
  EXPECT_EQ(trouble_with(tls, {host}, kNow), "Secret operator: c");
  tls.peer->faults = {"b"};
  EXPECT_EQ(trouble_with(tls, {host}, kNow), "Secret peer: b");
  tls.server->names.clear();
  EXPECT_EQ(trouble_with(tls, {host}, kNow),
            "Secret server: tls.crt is not for db-b.db.prod.svc (its names are: )");
  EXPECT_EQ(trouble_with(TlsSeen{}, {host}, kNow), "");
}

TEST(Tls, AllOfThemAreEachSecretOnce) {
  TlsSeen tls{good("server"), good("operator"), good("server"), {good("ca"), good("operator")}};
  std::string names;
  for (const CertificateSeen* one : all_of(tls)) names += one->secret + " ";
  EXPECT_EQ(names, "server operator ca ");
  EXPECT_FALSE(is_missing(tls));
  tls.managed[0].unread = "does not exist";
  EXPECT_FALSE(is_missing(tls)) << "what signs them is another matter";
  tls.operator_client->unread = "does not exist";
  EXPECT_TRUE(is_missing(tls));
}

}  // namespace
}  // namespace etcdop
