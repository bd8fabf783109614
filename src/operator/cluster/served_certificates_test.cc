// The members that are asked for the certificates that they show, and how often. Handshakes are
// scripted; the API server, which has the peers' Secret, is a fake.
#include "operator/cluster/served_certificates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/joined.h"
#include "sim/scheduler.h"
#include "test/support/certificates.h"
#include "test/support/fake_api.h"
#include "test/support/secret_shelf.h"
#include "test/support/virtual_wall_clock.h"

namespace etcdop::cluster {
namespace {

using namespace std::chrono_literals;
namespace v1 = api::v1alpha2;

/// prod/db with the members db-1 and db-2, whose ports should show 51 and 91.
class ServedCertificatesTest : public ::testing::Test {
 protected:
  ServedCertificatesTest() {
    const testing::Authority ca;
    shelf.put("db-peer-tls", ca.issue({}), ca.certificate());
    seen.cluster.metadata.name = "db";
    seen.cluster.metadata.ns = "prod";
    v1::TlsSpec& tls = seen.cluster.spec.tls.emplace();
    tls.client.emplace().server_secret_ref = v1::LocalObjectReference{"server"};
    tls.peer.emplace();
    seen.tls.server = CertificateSeen{.secret = "server", .serial = "51"};
    seen.tls.peer = CertificateSeen{.secret = "db-peer-tls", .serial = "91"};
    for (const char* name : {"db-1", "db-2"}) {
      Seat& seat = seen.seats.emplace_back();
      seat.name = name;
      seat.object.emplace().uid = std::string("uid-") + name;
      seat.answer.emplace();
      etcd::Endpoint& at = endpoints[name];
      at.address = std::string("10.0.0.") + name[3];
      at.tls = std::make_shared<const TlsClient::Options>();
    }
    show("51", "91");
  }
  /// Each member shows these from now on.
  void show(const std::string& client_port, const std::string& peer_port) {
    for (const char* address : {"10.0.0.1", "10.0.0.2", "10.0.0.3"})
      shown[address] = {{2379, client_port}, {2380, peer_port}};
  }
  /// The members and ports that are asked: "1:2379, 1:2380".
  std::string look() {
    asked.clear();
    for (Seat& seat : seen.seats) seat.shown = {};
    world.spawn([&] { proofs.look(seen, endpoints, certificates); });
    world.run();
    std::ranges::sort(asked);
    return joined(asked);
  }
  void wait(Duration d) { world.run_until(world.now() + d); }
  const Seat::Shown& shown_by(std::size_t index) const { return seen.seats[index].shown; }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  testing::VirtualWallClock clock{world};
  Secrets secrets{world, api};
  Certificates certificates{secrets, clock};
  std::map<std::string, std::map<std::int32_t, std::string>> shown;  // By address.
  std::vector<std::string> asked;
  Duration takes{0};  // Each handshake.
  ServedCertificates proofs{
      world, [this](const etcd::Endpoint& at, std::int32_t port) { return shake_hands(at, port); }};
  Observation seen;
  Endpoints endpoints;

 private:
  /// A serial number of "" means that the port refuses the handshake.
  Result<CertificateFacts> shake_hands(const etcd::Endpoint& at, std::int32_t port) {
    asked.push_back(at.address.substr(7) + ":" + std::to_string(port));
    EXPECT_TRUE(at.tls);
    EXPECT_EQ(at.tls->certificate.empty(), port == 2379) << "a peer shows who it is";
    if (takes > 0s) (void)world.sleep(takes);
    const std::string serial = shown.at(at.address).at(port);
    if (serial.empty()) return Error{Code::Unavailable, "connection refused"};
    CertificateFacts facts;
    facts.serial = serial;
    return facts;
  }
};

constexpr const char* kAll = "1:2379, 1:2380, 2:2379, 2:2380";

TEST_F(ServedCertificatesTest, WhoHasShownTheSecretsIsNotAskedAgain) {
  takes = 1s;
  const Instant begin = world.now();
  EXPECT_EQ(look(), kAll);
  EXPECT_EQ(world.now() - begin, 2s) << "members side by side";
  for (int i = 0; i < 3; ++i) {
    for (const std::size_t member : {0U, 1U})
      EXPECT_EQ(shown_by(member), (Seat::Shown{"51", "91", 0}));
    wait(1h);
    EXPECT_EQ(look(), "");
  }
}

TEST_F(ServedCertificatesTest, WhatIsNewIsAskedFor) {
  (void)look();
  seen.tls.server->serial = "52";
  EXPECT_EQ(look(), kAll) << "a renewed certificate";
  show("52", "91");
  wait(5s);
  EXPECT_EQ(look(), kAll);
  EXPECT_EQ(look(), "");
  endpoints.at("db-2").address = "10.0.0.3";
  EXPECT_EQ(look(), "3:2379, 3:2380") << "another address";
  EXPECT_EQ(look(), "");
  seen.seats[0].object->uid = "uid-next";
  EXPECT_EQ(look(), "1:2379, 1:2380") << "another member of that name";
  proofs.forget({"prod", "db"});
  EXPECT_EQ(look(), "1:2379, 1:2380, 3:2379, 3:2380") << "forgotten is forgotten";
}

TEST_F(ServedCertificatesTest, WhoHasAnotherAddressHasShownNothingThere) {
  (void)look();
  endpoints.at("db-2").address = "10.0.0.3";
  shown["10.0.0.3"] = {{2379, ""}, {2380, ""}};
  EXPECT_EQ(look(), "3:2379, 3:2380");
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "91", 0}));
  EXPECT_EQ(shown_by(1), (Seat::Shown{"", "", 0, true}));
}

TEST_F(ServedCertificatesTest, WhoLagsIsAskedLessAndLessOften) {
  show("50", "91");
  std::vector<int> asked_at;
  for (int second = 0; second < 200; ++second, wait(1s))
    if (!look().empty()) asked_at.push_back(second);
  EXPECT_EQ(asked_at, (std::vector<int>{0, 5, 15, 35, 75, 135, 195}));
}

TEST_F(ServedCertificatesTest, HowLongOneLagsIsTold) {
  show("50", "91");
  (void)look();
  EXPECT_EQ(shown_by(0), (Seat::Shown{"50", "91", 0}));
  wait(100s);
  (void)look();
  EXPECT_EQ(shown_by(0).behind_s, 100);
  wait(1s);
  EXPECT_EQ(look(), "");
  EXPECT_EQ(shown_by(1).behind_s, 101) << "asked or not";
  show("51", "91");
  wait(60s);
  (void)look();
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "91", 0}));
  seen.tls.server->serial = "52";
  (void)look();
  EXPECT_EQ(shown_by(0).behind_s, 0) << "that begins anew";
}

TEST_F(ServedCertificatesTest, WhoDoesNotAnswerIsNotAsked) {
  seen.seats[0].answer.reset();
  EXPECT_EQ(look(), "2:2379, 2:2380");
  seen.seats[0].answer.emplace();
  endpoints.erase("db-1");
  EXPECT_EQ(look(), "");
  seen.seats[0].object.reset();
  EXPECT_EQ(look(), "");
  EXPECT_EQ(shown_by(0), Seat::Shown{}) << "a foreign member";
}

TEST_F(ServedCertificatesTest, WhatWasShownIsRememberedOfWhoIsSilentNow) {
  (void)look();
  seen.seats[0].answer.reset();
  endpoints.erase("db-1");
  EXPECT_EQ(look(), "");
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "91", 0}));
}

TEST_F(ServedCertificatesTest, APortThatDoesNotShakeHandsIsSilentUntilItDoes) {
  shown["10.0.0.1"] = {{2379, "51"}, {2380, ""}};
  (void)look();
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "", 0, true}));
  wait(200s);
  (void)look();
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "", 200, true}));
  show("51", "91");
  wait(60s);
  (void)look();
  EXPECT_EQ(shown_by(0), (Seat::Shown{"51", "91", 0, false}));
}

TEST_F(ServedCertificatesTest, OnlyPortsWithTlsAreAsked) {
  seen.tls.peer.reset();
  EXPECT_EQ(look(), "1:2379, 2:2379");
  proofs.forget({"prod", "db"});
  seen.tls.peer = CertificateSeen{.secret = "db-peer-tls", .serial = "91"};
  seen.tls.server.reset();
  EXPECT_EQ(look(), "1:2380, 2:2380");
  seen.tls = {};
  proofs.forget({"prod", "db"});
  EXPECT_EQ(look(), "");
  EXPECT_EQ(shown_by(0), Seat::Shown{});
}

TEST_F(ServedCertificatesTest, NothingIsExpectedOfASecretThatCannotBeRead) {
  shelf.erase("db-peer-tls");
  seen.tls.peer = CertificateSeen{.secret = "db-peer-tls", .missing = true, .unread = "none"};
  EXPECT_EQ(look(), "1:2379, 2:2379") << "there is nothing to be a peer with";
  EXPECT_EQ(look(), "");
}

}  // namespace
}  // namespace etcdop::cluster
