// The next certificate, its names, and when it is due; and the exact Certificates for cert-manager.
#include "operator/cluster/issuing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "operator/cluster/objects.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

constexpr WallTime kNow{1795233378s};
constexpr auto kLife = 90 * 24h;

v1::EtcdCluster cluster() {
  v1::EtcdCluster c;
  c.metadata.name = "db";
  c.metadata.ns = "prod";
  c.metadata.uid = "u-1";
  v1::TlsSpec& tls = c.spec.tls.emplace();
  tls.client.emplace().operator_managed.emplace();
  tls.peer.emplace().operator_managed.emplace();
  return c;
}

CertificateSeen missing(const std::string& secret) {
  return {.secret = secret, .missing = true, .unread = "does not exist"};
}

/// No Secret exists yet.
Observation observe() {
  Observation seen;
  seen.now = kNow;
  seen.cluster = cluster();
  seen.cluster_domain = "cluster.local";
  for (const ManagedSecret& one : managed_secrets_of(seen.cluster))
    seen.tls.managed.push_back(missing(one.name));
  return seen;
}

CertificateSeen& secret(Observation& seen, const std::string& name) {
  return *std::ranges::find(seen.tls.managed, name, &CertificateSeen::secret);
}

std::optional<IssueCertificate> due(const Observation& seen) {
  const v1::EtcdClusterStatus& status = seen.cluster.status;
  auto now = due_certificate(seen, status, Due::Now);
  return now ? now : due_certificate(seen, status, Due::Soon);
}

/// The name of the Secret; "none".
std::string next(const Observation& seen) {
  const auto step = due(seen);
  return step ? step->secret : "none";
}

/// Carries out the step.
void make(Observation& seen, const IssueCertificate& step) {
  const auto all = managed_secrets_of(seen.cluster);
  const ManagedSecret& as = *std::ranges::find(all, step.secret, &ManagedSecret::name);
  secret(seen, step.secret) = {.secret = step.secret,
                               .ours = true,
                               .names = step.names,
                               .serial = "51",
                               .authority = "by " + (as.authority.empty() ? as.name : as.authority),
                               .from = seen.now,
                               .until = seen.now + kLife};
}

/// All Secrets exist, for three members.
Observation complete() {
  Observation seen = observe();
  while (const auto step = due(seen)) make(seen, *step);
  for (const char* name : {"db-a", "db-b", "db-c"}) {
    Seat seat;
    seat.name = name;
    seat.object.emplace().uid = name;
    seen.seats.push_back(seat);
  }
  seen.cluster.status.cluster_id = "c1";
  while (const auto step = due(seen)) make(seen, *step);
  return seen;
}

TEST(Issuing, TheAuthoritiesComeFirst) {
  Observation seen = observe();
  std::vector<std::string> made;
  while (const auto step = due(seen)) {
    made.push_back(step->secret);
    ASSERT_LE(made.size(), 6U);
    make(seen, *step);
  }
  EXPECT_EQ(joined(made),
            "db-client-ca, db-server-tls, db-operator-client-tls, db-client-tls, db-peer-ca, "
            "db-peer-tls");
}

TEST(Issuing, OnlyServersAndPeersHaveNames) {
  Observation seen = observe();
  const auto names = [&](const char* of) {
    make(seen, {"db-client-ca", {}});
    make(seen, {"db-peer-ca", {}});
    for (const char* one :
         {"db-server-tls", "db-operator-client-tls", "db-client-tls", "db-peer-tls"})
      make(seen, {one, server_names({"prod", "db"}, "cluster.local", {"db-a", "db-b"})});
    Seat seat;
    seat.name = "db-b";
    seat.object.emplace();
    seen.seats = {seat, {}};
    seen.seats[1].name = "db-foreign";
    seen.cluster.status.pending_members = {{1, "db-a", "", ""}};
    secret(seen, of) = missing(of);
    return joined(due(seen)->names);
  };
  const std::string members = ", db-a.db.prod.svc, db-b.db.prod.svc";
  EXPECT_EQ(names("db-server-tls"),
            "*.db.prod.svc, *.db.prod.svc.cluster.local, db.prod.svc, db.prod.svc.cluster.local, "
            "db-client.prod.svc, db-client.prod.svc.cluster.local, localhost, 127.0.0.1" +
                members);
  EXPECT_EQ(names("db-peer-tls"),
            "*.db.prod.svc, *.db.prod.svc.cluster.local, db.prod.svc" + members);
  EXPECT_EQ(names("db-client-tls"), "");
  EXPECT_EQ(names("db-operator-client-tls"), "");
}

TEST(Issuing, WhoIsThereAndWhoIsToComeIsNamed) {
  Observation seen = complete();
  EXPECT_EQ(joined(members_to_name(seen, seen.cluster.status)), "db-a, db-b, db-c");
  seen.seats[1].object.reset();
  seen.cluster.status.pending_members = {{4, "db-d", "", ""}, {1, "db-a", "", ""}};
  EXPECT_EQ(joined(members_to_name(seen, seen.cluster.status)), "db-a, db-c, db-d")
      << "a foreign member is not, and nobody is twice";
}

struct Row {
  const char* what;
  std::function<void(Observation&)> edit;
  const char* next;
};

void expect_next(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Observation seen = complete();
    row.edit(seen);
    EXPECT_EQ(next(seen), row.next) << row.what;
  }
}

TEST(Issuing, WhatIsMadeAgain) {
  const auto two_thirds = kLife * 2 / 3;
  expect_next({
      {"nothing", [](auto&) {}, "none"},
      {"a second before two thirds of its life", [&](auto& o) { o.now = kNow + (two_thirds - 1s); },
       "none"},
      {"after two thirds", [&](auto& o) { o.now = kNow + two_thirds; }, "db-server-tls"},
      {"one is older than the others",
       [&](auto& o) { secret(o, "db-client-tls").from = kNow + -3 * kLife; }, "db-client-tls"},
      {"one expired", [](auto& o) { secret(o, "db-peer-tls").until = kNow + -1s; }, "db-peer-tls"},
      {"one was deleted", [](auto& o) { secret(o, "db-client-tls") = missing("db-client-tls"); },
       "db-client-tls"},
      {"somebody has broken it",
       [](auto& o) { secret(o, "db-operator-client-tls").faults = {"tls.crt: no PEM"}; },
       "db-operator-client-tls"},
      {"another authority by now", [](auto& o) { secret(o, "db-client-ca").authority = "another"; },
       "db-server-tls"},
      {"a member is to come",
       [](auto& o) { o.cluster.status.pending_members = {{9, "db-z", "", ""}}; }, "db-server-tls"},
      {"which peers must know, too",
       [](auto& o) {
         o.cluster.status.pending_members = {{9, "db-z", "", ""}};
         make(o, *due(o));
       },
       "db-peer-tls"},
      {"a member is gone", [](auto& o) { o.seats.pop_back(); }, "none"},
      {"the cluster's domain changed", [](auto& o) { o.cluster_domain = "example.org"; },
       "db-server-tls"},
      {"nothing was read of it", [](auto& o) { o.tls.managed.clear(); }, "none"},
  });
}

TEST(Issuing, WhatGrowsOldIsNotDueAtOnce) {
  Observation seen = complete();
  seen.now = kNow + kLife * 2 / 3;
  EXPECT_FALSE(due_certificate(seen, seen.cluster.status, Due::Now));
  secret(seen, "db-peer-tls").until = kNow;
  EXPECT_EQ(due_certificate(seen, seen.cluster.status, Due::Now)->secret, "db-peer-tls");
}

TEST(Issuing, WhatIsSomebodyElsesIsNeverWritten) {
  expect_next({
      {"a certificate",
       [](auto& o) {
         secret(o, "db-server-tls").ours = false;
         secret(o, "db-server-tls").faults = {"tls.crt: no PEM"};
       },
       "none"},
      {"one that cannot be read now",
       [](auto& o) {
         secret(o, "db-server-tls") = {.secret = "db-server-tls", .unread = "cannot be read: x"};
       },
       "none"},
      {"an authority signs nothing",
       [](auto& o) {
         secret(o, "db-client-ca").ours = false;
         secret(o, "db-server-tls") = missing("db-server-tls");
       },
       "none"},
      {"but the other port's does",
       [](auto& o) {
         secret(o, "db-client-ca").ours = false;
         secret(o, "db-server-tls") = missing("db-server-tls");
         secret(o, "db-peer-tls") = missing("db-peer-tls");
       },
       "db-peer-tls"},
  });
}

TEST(Issuing, AnAuthorityIsMadeOnceOnly) {
  expect_next({
      {"gone, and members trust it",
       [](auto& o) { secret(o, "db-client-ca") = missing("db-client-ca"); }, "none"},
      {"also before their cluster has an id",
       [](auto& o) {
         secret(o, "db-client-ca") = missing("db-client-ca");
         o.cluster.status.cluster_id = "";
       },
       "none"},
      {"or while no member is there",
       [](auto& o) {
         secret(o, "db-client-ca") = missing("db-client-ca");
         o.seats.clear();
       },
       "none"},
      {"nobody trusts it yet",
       [](auto& o) {
         secret(o, "db-client-ca") = missing("db-client-ca");
         o.cluster.status.cluster_id = "";
         o.seats.clear();
       },
       "db-client-ca"},
      {"old ones are not renewed",
       [](auto& o) { secret(o, "db-client-ca").from = kNow + -100 * kLife; }, "none"},
      {"expired, it signs nothing",
       [](auto& o) {
         secret(o, "db-client-ca").until = kNow + -1s;
         secret(o, "db-server-tls") = missing("db-server-tls");
       },
       "none"},
      {"broken, it signs nothing",
       [](auto& o) {
         secret(o, "db-client-ca").faults = {"tls.key: no PEM"};
         secret(o, "db-server-tls") = missing("db-server-tls");
       },
       "none"},
  });
}

TEST(Issuing, WhyNothingCanBeMadeIsSaid) {
  const char* const put_back = ": the members trust this CA; restore the Secret from a backup";
  const auto trouble = [](const std::function<void(Observation&)>& edit) {
    Observation seen = complete();
    edit(seen);
    return authority_trouble(seen);
  };
  EXPECT_EQ(authority_trouble(observe()), "") << "it is made next";
  EXPECT_EQ(trouble([](auto&) {}), "");
  EXPECT_EQ(trouble([](auto& o) { secret(o, "db-peer-ca") = missing("db-peer-ca"); }),
            std::string("Secret db-peer-ca does not exist") + put_back);
  EXPECT_EQ(trouble([](auto& o) { secret(o, "db-client-ca").until = kNow + -1s; }),
            "Secret db-client-ca: tls.crt expired on " + to_rfc3339(kNow + -1s) + put_back);
  EXPECT_EQ(trouble([](auto& o) { secret(o, "db-client-ca").faults = {"tls.key: no PEM"}; }),
            std::string("Secret db-client-ca: tls.key: no PEM") + put_back);
  EXPECT_EQ(trouble([](auto& o) { secret(o, "db-client-tls").ours = false; }),
            "Secret db-client-tls belongs to another owner: rename it or the cluster");
  EXPECT_EQ(trouble([](auto& o) {
              secret(o, "db-client-tls").ours = false;
              secret(o, "db-client-tls").ownerless = true;
            }),
            "Secret db-client-tls has no owner: make EtcdCluster db its owner, or rename one of "
            "them");
  EXPECT_EQ(trouble([](auto& o) {
              secret(o, "db-client-ca") = {.secret = "db-client-ca", .unread = "cannot be read: x"};
            }),
            "Secret db-client-ca cannot be read: x");
  EXPECT_EQ(trouble([](auto& o) { secret(o, "db-server-tls").until = kNow + -1s; }), "")
      << "that is made anew";
}

TEST(Issuing, OfWhatIsNotAskedForNothingIsMade) {
  Observation seen = observe();
  seen.cluster.spec.tls->peer.reset();
  while (const auto step = due(seen)) {
    EXPECT_EQ(step->secret.find("peer"), std::string::npos);
    make(seen, *step);
  }
  seen = observe();
  seen.cluster.spec.tls.reset();
  EXPECT_EQ(next(seen), "none");
  EXPECT_EQ(authority_trouble(seen), "");
}

// Certificates for cert-manager.

/// The contract has no labels; we watch by ours.
Json manifest(const std::string& name, Json spec) {
  Json out = json::parse(R"({
    "metadata": {
      "namespace": "prod",
      "labels": {
        "app.kubernetes.io/name": "etcd",
        "app.kubernetes.io/instance": "db",
        "app.kubernetes.io/managed-by": "etcd-operator",
        "etcd-operator.cozystack.io/cluster": "db"
      },
      "ownerReferences": [{
        "apiVersion": "etcd-operator.cozystack.io/v1alpha2", "kind": "EtcdCluster",
        "name": "db", "uid": "u-1", "controller": true, "blockOwnerDeletion": true
      }]
    }
  })");
  out.at("metadata").as_object()["name"] = name;
  out.as_object()["spec"] = std::move(spec);
  return out;
}

Observation with_cert_manager() {
  Observation seen = complete();
  v1::TlsSpec tls;
  v1::ClientCertManager& client = tls.client.emplace().cert_manager.emplace();
  client.server_issuer_ref = {"clients", v1::IssuerKind::Issuer};
  client.operator_client_issuer_ref = v1::IssuerReference{"ours", v1::IssuerKind::ClusterIssuer};
  tls.peer.emplace().cert_manager.emplace().issuer_ref = {"peers", v1::IssuerKind::Issuer};
  seen.cluster.spec.tls = tls;
  return seen;
}

TEST(Issuing, CertManagerIsAskedForTheContractsCertificates) {
  const auto made = certificates(with_cert_manager());
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[0], manifest("db-server", json::parse(R"({
    "secretName": "db-server-tls",
    "commonName": "db-server",
    "dnsNames": ["*.db.prod.svc", "*.db.prod.svc.cluster.local", "db.prod.svc",
                 "db.prod.svc.cluster.local", "db-client.prod.svc",
                 "db-client.prod.svc.cluster.local", "localhost"],
    "ipAddresses": ["127.0.0.1"],
    "usages": ["server auth", "client auth", "digital signature", "key encipherment"],
    "privateKey": {"algorithm": "RSA", "size": 2048},
    "issuerRef": {"name": "clients", "kind": "Issuer", "group": "cert-manager.io"}
  })")));
  EXPECT_EQ(made[1], manifest("db-operator-client", json::parse(R"({
    "secretName": "db-operator-client-tls",
    "commonName": "db-operator-client",
    "usages": ["client auth", "digital signature", "key encipherment"],
    "privateKey": {"algorithm": "RSA", "size": 2048},
    "issuerRef": {"name": "ours", "kind": "ClusterIssuer", "group": "cert-manager.io"}
  })")));
  // The last name is beyond the contract: etcd looks it up where an address has no name.
  EXPECT_EQ(made[2], manifest("db-peer", json::parse(R"({
    "secretName": "db-peer-tls",
    "commonName": "db-peer",
    "dnsNames": ["*.db.prod.svc", "*.db.prod.svc.cluster.local", "db.prod.svc"],
    "usages": ["server auth", "client auth", "digital signature", "key encipherment"],
    "privateKey": {"algorithm": "RSA", "size": 2048},
    "issuerRef": {"name": "peers", "kind": "Issuer", "group": "cert-manager.io"}
  })")));
}

kube::Certificate made_of(const Json& manifest) {
  kube::Certificate out;
  EXPECT_TRUE(bool(api::decode(manifest, out, "Certificate")));
  return out;
}

TEST(Issuing, ACertificateKeepsTheNamesThatSomebodyGaveIt) {
  const Json wanted = certificates(with_cert_manager())[0];
  kube::Certificate there = made_of(wanted);
  there.spec.dns_names = {"etcd.example.org", "*.db.prod.svc"};
  EXPECT_FALSE(is_as_made(there, wanted));
  const json::object spec = mended(there, wanted);
  EXPECT_EQ(spec.at("dnsNames"),
            json::parse(R"(["etcd.example.org", "*.db.prod.svc", "*.db.prod.svc.cluster.local",
                            "db.prod.svc", "db.prod.svc.cluster.local", "db-client.prod.svc",
                            "db-client.prod.svc.cluster.local", "localhost"])"));
  EXPECT_TRUE(is_as_made(made_of({{"metadata", {{"name", "db-server"}}}, {"spec", spec}}), wanted));
}

TEST(Issuing, ACertificateKeepsTheIssuerThatSomebodyChoseAndNotAnotherSecret) {
  const Json wanted = certificates(with_cert_manager())[0];
  kube::Certificate there = made_of(wanted);
  there.spec.issuer_ref.name = "the-next-issuer";
  EXPECT_TRUE(is_as_made(there, wanted));
  there.spec.secret_name = "elsewhere";
  EXPECT_FALSE(is_as_made(there, wanted));
  const json::object spec = mended(there, wanted);
  EXPECT_EQ(spec.at("secretName"), "db-server-tls");
  EXPECT_EQ(spec.at("issuerRef").at("name"), "the-next-issuer");
}

TEST(Issuing, ACertificateOfTheReferencesSaysEnough) {
  const Observation seen = with_cert_manager();
  kube::Certificate there = made_of(certificates(seen)[2]);
  there.spec.dns_names = {"*.db.prod.svc", "*.db.prod.svc.cluster.local"};
  EXPECT_TRUE(is_as_made(there, least_certificates(seen)[2]));
  EXPECT_TRUE(is_as_made(made_of(certificates(seen)[2]), least_certificates(seen)[2]));
  there.spec.dns_names.pop_back();
  EXPECT_FALSE(is_as_made(there, least_certificates(seen)[2]));
}

TEST(Issuing, CertManagerIsAskedForWhatTheSpecHas) {
  Observation seen = with_cert_manager();
  seen.cluster.spec.tls->client->cert_manager->operator_client_issuer_ref.reset();
  seen.cluster.spec.tls->peer.reset();
  EXPECT_EQ(certificates(seen).size(), 1U);
  seen.cluster.spec.tls.reset();
  EXPECT_EQ(certificates(seen).size(), 0U);
  EXPECT_EQ(certificates(complete()).size(), 0U) << "the operator's own are none of its";
}

}  // namespace
}  // namespace etcdop::cluster
