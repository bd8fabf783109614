// The conditions about certificates and authentication.
#include "operator/cluster/security.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "api/v1alpha2/names.h"
#include "operator/cluster/plan.h"
#include "runtime/conditions.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
const WallTime kUntil = *from_rfc3339("2027-06-01T00:00:00Z");

CertificateSeen good(const char* secret, const char* serial) {
  return {.secret = secret,
          .names = {"*.db.prod.svc"},
          .serial = serial,
          .authority = "f1",
          .from = kNow + -1h,
          .until = kUntil};
}

Seat seat_of(const std::string& name) {
  Seat seat;
  seat.name = name;
  seat.peer_url = "https://" + name + ".db.prod.svc:2380";
  seat.object.emplace().uid = "uid-" + name;
  seat.object->version = "3.6.16";
  Seat::Pod& pod = seat.pod.emplace();
  pod.client_authority = pod.peer_authority = "f1";
  seat.shown = {.client_port = "51", .peer_port = "91"};
  return seat;
}

/// Two members that show the certificates of their Secrets.
Observation observe() {
  Observation seen;
  seen.now = kNow;
  seen.cluster.metadata.name = "db";
  seen.cluster.metadata.ns = "prod";
  seen.cluster.metadata.generation = 7;
  seen.seats = {seat_of("db-a"), seat_of("db-b")};
  seen.tls = {good("server", "51"), good("operator", "71"), good("peer", "91"), {}};
  return seen;
}

/// "True Reason: message"; empty: no condition.
std::string told(const Observation& seen, const char* type = v1::kTlsReady,
                 void (*report)(const Observation&, v1::EtcdClusterStatus&) = report_tls) {
  v1::EtcdClusterStatus status;
  report(seen, status);
  const api::Condition* c = runtime::find_condition(status.conditions, type);
  if (!c) return "";
  EXPECT_EQ(c->observed_generation, 7);
  EXPECT_EQ(c->last_transition_time, to_rfc3339(kNow));
  return c->status + " " + c->reason + ": " + c->message;
}

struct Row {
  const char* what;
  std::function<void(Observation&)> edit;
  std::string says;
};

constexpr const char* kAllShown =
    "True CertificatesInUse: every member shows the certificates of the Secrets; server 51 until "
    "2027-06-01T00:00:00Z; operator client 71 until 2027-06-01T00:00:00Z; peer 91 until "
    "2027-06-01T00:00:00Z";
std::string outdated(const char* members) {
  return std::string(
             "False AuthorityChanged: ca.crt changed, and these members still use the old "
             "one: ") +
         members +
         "; delete their Pods one at a time, and wait until all members are ready before the next "
         "one";
}

TEST(ClusterSecurity, TlsReadyTable) {
  const Row rows[] = {
      {"all show them", [](auto&) {}, kAllShown},
      {"on the client port alone",
       [](auto& o) {
         o.tls.operator_client.reset();
         o.tls.peer.reset();
         for (Seat& s : o.seats) s.shown.peer_port = "";
       },
       "True CertificatesInUse: every member shows the certificates of the Secrets; server 51 "
       "until 2027-06-01T00:00:00Z"},
      {"without TLS", [](auto& o) { o.tls = {}; }, ""},
      {"without members", [](auto& o) { o.seats.clear(); }, ""},
      {"one has not shown it yet", [](auto& o) { o.seats[1].shown.client_port = ""; }, ""},
      {"nor the one between peers", [](auto& o) { o.seats[1].shown.peer_port = "90"; }, ""},
      {"a kubelet may lag",
       [](auto& o) {
         o.seats[1].shown = {.client_port = "50", .peer_port = "91", .behind_s = 179};
       },
       ""},
      {"but not for ever",
       [](auto& o) {
         o.seats[1].shown = {.client_port = "50", .peer_port = "91", .behind_s = 180};
       },
       "False CertificateNotInUse: these members still show an older certificate than their Secret "
       "has: db-b"},
      {"a dormant member shows nothing",
       [](auto& o) {
         o.seats[1].object->dormant = true;
         o.seats[1].shown = {.client_port = "", .peer_port = "", .behind_s = 999};
       },
       kAllShown},
      {"nor who is not ours",
       [](auto& o) {
         o.seats[1].object.reset();
         o.seats[1].shown = {};
       },
       kAllShown},
      {"a port that the operator cannot reach",
       [](auto& o) {
         o.seats[1].shown = {.client_port = "51", .peer_port = "", .behind_s = 180, .silent = true};
       },
       "Unknown CertificateNotInUse: the operator cannot see the certificates on ports 2379 and "
       "2380 of db-b"},
      {"one that is seen to lag comes first",
       [](auto& o) {
         o.seats[0].shown = {.client_port = "50", .peer_port = "91", .behind_s = 180};
         o.seats[1].shown = {.client_port = "51", .peer_port = "", .behind_s = 180, .silent = true};
       },
       "False CertificateNotInUse: these members still show an older certificate than their Secret "
       "has: db-a"},
      {"no Secret",
       [](auto& o) {
         o.tls.peer = {.secret = "peer", .missing = true, .unread = "does not exist"};
       },
       "False CertificateMissing: Secret peer does not exist; the operator creates no Pod until "
       "this is fixed"},
      {"one of no use", [](auto& o) { o.tls.server->faults = {"tls.crt has expired", "b"}; },
       "False CertificateInvalid: Secret server: tls.crt has expired, b; the operator creates no "
       "Pod until this is fixed"},
      {"ours is of no use", [](auto& o) { o.tls.operator_client->faults = {"tls.key is bad"}; },
       "False CertificateInvalid: Secret operator: tls.key is bad; the operator creates no Pod "
       "until this is fixed"},
      {"not for one of the members", [](auto& o) { o.tls.server->names = {"db-a.db.prod.svc"}; },
       "False CertificateInvalid: Secret server: tls.crt is not for db-b.db.prod.svc (its names "
       "are: db-a.db.prod.svc); the operator creates no Pod until this is fixed"},
      {"expired meanwhile", [](auto& o) { o.tls.server->until = kNow + -1s; },
       "False CertificateInvalid: Secret server: tls.crt expired on " + to_rfc3339(kNow + -1s) +
           "; the operator creates no Pod until this is fixed"},
      {"another authority",
       [](auto& o) {
         o.seats[0].pod->client_authority = "f0";
         o.seats[1].pod->peer_authority = "f0";
       },
       outdated("db-a (client), db-b (peer)")},
      {"of a Pod that does not say it nothing is known",
       [](auto& o) {
         o.seats[0].pod->client_authority = "";
         o.seats[1].pod.reset();
       },
       kAllShown},
      {"what is wrong comes first",
       [](auto& o) {
         o.seats[0].pod->client_authority = "f0";
         o.seats[1].shown = {.client_port = "50", .peer_port = "91", .behind_s = 180};
         o.tls.peer->faults = {"tls.crt is bad"};
       },
       "False CertificateInvalid: Secret peer: tls.crt is bad; the operator creates no Pod until "
       "this is fixed"},
      {"then what takes a person",
       [](auto& o) {
         o.seats[0].pod->client_authority = "f0";
         o.seats[1].shown = {.client_port = "50", .peer_port = "91", .behind_s = 180};
       },
       outdated("db-a (client)")},
      {"an authority of ours that is gone comes before all",
       [](auto& o) {
         o.cluster.spec.tls.emplace().client.emplace().operator_managed.emplace();
         o.cluster.status.cluster_id = "c1";
         o.tls.managed = {{.secret = "db-client-ca", .missing = true, .unread = "does not exist"}};
         o.tls.server->faults = {"tls.crt is bad"};
       },
       "False AuthorityLost: Secret db-client-ca does not exist: the members trust this CA; "
       "restore the Secret from a backup"},
      {"an authority of ours that cannot be read is not lost",
       [](auto& o) {
         o.cluster.spec.tls.emplace().client.emplace().operator_managed.emplace();
         o.cluster.status.cluster_id = "c1";
         o.tls.managed = {{.secret = "db-client-ca", .unread = "cannot be read: x"}};
       },
       "False CertificateMissing: Secret db-client-ca cannot be read: x"},
  };
  for (const Row& row : rows) {
    Observation seen = observe();
    row.edit(seen);
    EXPECT_EQ(told(seen), row.says) << row.what;
  }
}

TEST(ClusterSecurity, N7_ALargeBundleIsToldBesideWhateverElseIs) {
  const std::string large =
      "; ca.crt of Secret peer has 1700 certificates, more than 1000: keep only those that signed "
      "these certificates";
  Observation seen = observe();
  seen.tls.peer->many_authorities = 1700;
  EXPECT_EQ(told(seen), kAllShown + large);
  seen.seats[0].pod->client_authority = "f0";
  EXPECT_EQ(told(seen), outdated("db-a (client)") + large);
}

TEST(ClusterSecurity, N9_APortWithoutTlsBesideOneWithItOrAPasswordIsTold) {
  const auto said = [](bool client, bool peer, bool auth) {
    Observation seen = observe();
    if (client || peer) seen.cluster.spec.tls.emplace();
    if (client) seen.cluster.spec.tls->client.emplace();
    if (peer) seen.cluster.spec.tls->peer.emplace();
    if (auth) seen.cluster.spec.auth.emplace().enabled = true;
    const std::string all = told(seen, v1::kPlainText, report_plain_text);
    return all.substr(0, all.find(" not encrypted"));
  };
  const std::string true_because = "True PortsInPlainText: ";
  EXPECT_EQ(said(false, false, false), "") << "nobody asks for more";
  EXPECT_EQ(said(true, true, true), "");
  EXPECT_EQ(said(true, true, false), "");
  EXPECT_EQ(said(true, false, true), true_because + "2380 (peers) is");
  EXPECT_EQ(said(true, false, false), true_because + "2380 (peers) is");
  EXPECT_EQ(said(false, true, false), true_because + "2379 (clients) is");
  EXPECT_EQ(said(false, true, true), true_because + "2379 (clients) is");
  EXPECT_EQ(said(false, false, true), true_because + "2379 (clients) and 2380 (peers) are");
}

TEST(ClusterSecurity, WhatWasPutRightIsNotToldOn) {
  Observation seen = observe();
  seen.tls.server->faults = {"tls.crt has expired"};
  v1::EtcdClusterStatus status;
  report_tls(seen, status);
  EXPECT_EQ(status.conditions.at(0).reason, v1::kCertificateInvalid);
  seen.tls.server = good("server", "52");
  report_tls(seen, status);
  EXPECT_EQ(status.conditions.at(0).status, "Unknown");
  EXPECT_EQ(status.conditions.at(0).message,
            "not every member has shown the certificates of the Secrets yet");
}

TEST(ClusterSecurity, WhatHasNotBeenShownYetLeavesTheConditionAsItIs) {
  Observation seen = observe();
  v1::EtcdClusterStatus status;
  report_tls(seen, status);
  const auto before = status.conditions;
  seen.tls.server->serial = "52";
  report_tls(seen, status);
  EXPECT_EQ(status.conditions, before);
}

TEST(ClusterSecurity, NoPodIsMadeWithWhatIsNotForAllMembers) {
  Observation seen = observe();
  EXPECT_EQ(tls_trouble(seen), "");
  seen.tls.server->names = {"db-a.db.prod.svc"};
  EXPECT_NE(tls_trouble(seen), "");
  seen.seats[1].object.reset();
  EXPECT_EQ(tls_trouble(seen), "") << "a foreign member needs none of ours";
  seen.tls.operator_client->names.clear();
  EXPECT_EQ(tls_trouble(seen), "") << "who only shows it needs no name";
}

TEST(ClusterSecurity, WhoIsShutOutIsTold) {
  const Row rows[] = {
      {"nobody asks", [](auto&) {}, ""},
      {"not wanted of us", [](auto& o) { o.auth.required = true; },
       "AuthRequiredNotConfigured: etcd requires a user and password, but spec.auth is not "
       "enabled"},
      {"turned off in the spec",
       [](auto& o) {
         o.auth.required = true;
         o.cluster.spec.auth.emplace().enabled = false;
       },
       "AuthRequiredNotConfigured: etcd requires a user and password, but spec.auth is not "
       "enabled"},
      {"a wrong password",
       [](auto& o) {
         o.auth = {.required = true, .refused = "wrong", .enabled = std::nullopt};
         o.cluster.spec.auth.emplace().enabled = true;
       },
       "AuthCredentialsRejected: wrong"},
      {"not tried yet",
       [](auto& o) {
         o.auth.required = true;
         o.cluster.spec.auth.emplace().enabled = true;
       },
       ""},
      {"let in",
       [](auto& o) {
         o.auth = {
             .required = true, .entered = true, .refused = "the new one", .enabled = std::nullopt};
         o.cluster.spec.auth.emplace().enabled = true;
       },
       ""},
      {"nobody has asked for a password",
       [](auto& o) {
         o.auth.refused = "Secret root does not exist";
         o.cluster.spec.auth.emplace().enabled = true;
       },
       ""},
      {"it answers all the same",
       [](auto& o) {
         o.auth.required = true;
         o.linearizable = true;
       },
       ""},
  };
  for (const Row& row : rows) {
    Observation seen = observe();
    row.edit(seen);
    const Shut shut = shut_out(seen);
    EXPECT_EQ(shut.reason ? std::string(shut.reason) + ": " + shut.message : "", row.says)
        << row.what;
  }
}

TEST(ClusterSecurity, WhoIsShutOutIsNeitherAvailableNorHealthy) {
  Observation seen = observe();
  seen.cluster.spec.version = "3.6.16";
  seen.cluster.spec.replicas = 2;
  seen.cluster.status.cluster_id = "c1";
  seen.auth.required = true;
  const Plan p = plan(seen);
  for (const auto& [type, status] : {std::pair(v1::kAvailable, "False"), {v1::kDegraded, "True"}}) {
    const api::Condition* c = runtime::find_condition(p.status.conditions, type);
    ASSERT_TRUE(c) << type;
    EXPECT_EQ(c->status + " " + c->reason, std::string(status) + " AuthRequiredNotConfigured");
  }
}

// cert-manager.

v1::EtcdCluster asks_cert_manager(bool client, bool peer) {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  c.metadata.generation = 7;
  c.spec.version = "3.6.16";
  v1::TlsSpec& tls = c.spec.tls.emplace();
  if (client) tls.client.emplace().cert_manager.emplace().server_issuer_ref.name = "i";
  if (peer) tls.peer.emplace().cert_manager.emplace().issuer_ref.name = "i";
  return c;
}

TEST(ClusterSecurity, CertManagerIsLackingWhereTheSpecAsksForIt) {
  Observation seen;
  EXPECT_FALSE(lacks_cert_manager(seen));
  for (const auto& [client, peer] : {std::pair(true, false), {false, true}, {true, true}}) {
    seen.cluster = asks_cert_manager(client, peer);
    seen.cert_manager = false;
    EXPECT_TRUE(lacks_cert_manager(seen));
    seen.cert_manager = true;
    EXPECT_FALSE(lacks_cert_manager(seen));
  }
  seen.cluster = asks_cert_manager(false, false);
  seen.cluster.spec.tls->client.emplace().operator_managed.emplace();
  seen.cert_manager = false;
  EXPECT_FALSE(lacks_cert_manager(seen));
}

TEST(ClusterSecurity, WithoutCertManagerNothingIsBegun) {
  Observation seen;
  seen.now = kNow;
  seen.cluster = asks_cert_manager(true, false);
  const Plan p = plan(seen);
  EXPECT_EQ(to_string(p.step), "none");
  EXPECT_FALSE(p.make_headless_service || p.make_client_service || p.budget);
  EXPECT_EQ(p.make_certificates.size(), 0U);
  EXPECT_TRUE(p.status.pending_members.empty());
  EXPECT_EQ(p.again, 60s);
  const api::Condition* c = runtime::find_condition(p.status.conditions, v1::kAvailable);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->status + " " + c->reason + ": " + c->message,
            "False CertManagerNotInstalled: the spec asks cert-manager for certificates, and this "
            "API server has no cert-manager.io/v1 Certificate: install cert-manager");
  EXPECT_EQ(told(seen, v1::kAvailable, report_no_cert_manager),
            c->status + " " + c->reason + ": " + c->message);

  seen.cert_manager = true;
  seen.certificates = {{"db-server", Child::Missing}, {"db-peer", Child::AsMade}};
  EXPECT_EQ(plan(seen).make_certificates, std::vector<std::string>{"db-server"});
  EXPECT_EQ(to_string(plan(seen).step).substr(0, 11), "create-seed");
}

TEST(ClusterSecurity, AClusterThatRunsGoesOnWithoutCertManager) {
  Observation seen = observe();
  seen.cluster.spec = asks_cert_manager(true, true).spec;
  seen.cluster.status.cluster_id = "c1";
  seen.certificates = {{"db-server", Child::Missing}, {"db-peer", Child::Missing}};
  const Plan p = plan(seen);
  const api::Condition* c = runtime::find_condition(p.status.conditions, v1::kAvailable);
  ASSERT_TRUE(c);
  EXPECT_NE(c->reason, v1::kCertManagerNotInstalled);
  EXPECT_TRUE(p.make_certificates.empty()) << "a kind that is not there holds up nothing else";
  c = runtime::find_condition(p.status.conditions, v1::kTlsReady);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->reason, v1::kCertificatesInUse);
  seen.tls.server->serial = "52";
  EXPECT_EQ(told(seen).substr(0, 32), "Unknown CertManagerNotInstalled:");
}

}  // namespace
}  // namespace etcdop::cluster
