// The messages about the Secrets of an object store, by their content.
#include "operator/agents/store_secrets.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/secret_shelf.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

class StoreSecrets : public ::testing::Test {
 protected:
  StoreSecrets() {
    api.grant({std::begin(kSecretPermissions), std::end(kSecretPermissions)});
    where.s3.emplace().credentials_secret_ref.name = "keys";
  }

  /// After the cached Secrets are read again.
  std::string fault() {
    world.run_until(world.now() + 2min);
    std::string out = "it has not come back";
    world.spawn([&] { out = store_fault(secrets, "prod", where); });
    world.run();
    return out;
  }
  void put_keys() {
    shelf.put("keys", {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "key"}});
  }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  Secrets secrets{world, api};
  api::v1alpha2::SnapshotLocation where;
};

TEST_F(StoreSecrets, KeysAreBothThere) {
  EXPECT_EQ(fault(), "Secret keys does not exist");
  shelf.put("keys", {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", ""}});
  EXPECT_EQ(fault(), "Secret keys has no AWS_SECRET_ACCESS_KEY");
  put_keys();
  EXPECT_EQ(fault(), "");
}

TEST_F(StoreSecrets, AuthoritiesAreThereIfTheyAreNamed) {
  put_keys();
  where.s3->ca_secret_ref.emplace();
  EXPECT_EQ(fault(), "caSecretRef names no Secret");
  where.s3->ca_secret_ref->name = "ca";
  EXPECT_EQ(fault(), "Secret ca does not exist");
  shelf.put("ca", {{"tls.crt", "x"}});
  EXPECT_EQ(fault(), "Secret ca has no ca.crt");
  shelf.put("ca", {{"ca.crt", "x"}});
  EXPECT_EQ(fault(), "");
}

TEST_F(StoreSecrets, WhatNeedsNoSecretLacksNone) {
  where.s3->credentials_secret_ref.name.clear();
  EXPECT_EQ(fault(), "");
  where.s3.reset();
  where.pvc.emplace().claim_name = "backups";
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(shelf.reads("keys"), 0);
}

}  // namespace
}  // namespace etcdop
