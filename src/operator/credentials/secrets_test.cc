// How often a Secret is read, and which value is known meanwhile. The API server is a fake.
#include "operator/credentials/secrets.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/scheduler.h"
#include "test/support/fake_api.h"
#include "test/support/secret_shelf.h"

namespace etcdop {
namespace {

using namespace std::chrono_literals;

const api::ObjectKey kKey{"prod", "password"};

class SecretsTest : public ::testing::Test {
 protected:
  SecretsTest() { api.grant({std::begin(kSecretPermissions), std::end(kSecretPermissions)}); }

  Result<Secrets::Value> get() {
    Result<Secrets::Value> out = Error{Code::Cancelled, "it has not come back"};
    world.spawn([&] { out = secrets.get(kKey); });
    world.run();
    return out;
  }
  /// "hunter2", or the error.
  std::string text() {
    auto read = get();
    return read ? (*read)->value("password").reveal() : read.error().message;
  }
  void put(const std::string& password) { shelf.put(kKey.name, {{"password", password}}); }
  /// The seconds from now at which it is read, if it is asked for ten times a second.
  std::vector<int> reads_within(Duration d, bool doubting = false) {
    std::vector<int> out;
    const Instant begin = world.now();
    for (; world.now() < begin + d; wait(100ms)) {
      const auto before = shelf.reads(kKey.name);
      auto value = get();
      if (doubting && value) secrets.doubt(kKey, *value);
      if (shelf.reads(kKey.name) > before)
        out.push_back(static_cast<int>((world.now() - begin) / 1s));
    }
    return out;
  }
  void wait(Duration d) { world.run_until(world.now() + d); }
  void api_fails(bool fails) {
    api.before([fails](const kube::Call&) -> std::optional<Error> {
      if (!fails) return std::nullopt;
      return Error{Code::Unavailable, "connection refused"};
    });
  }

  sim::Scheduler world{1};
  testing::FakeApi api{world};
  testing::SecretShelf shelf{api};
  Secrets secrets{world, api};
};

TEST_F(SecretsTest, AtRestOneIsReadOnceInFiveMinutes) {
  put("hunter2");
  EXPECT_EQ(text(), "hunter2");
  EXPECT_EQ(reads_within(601s), (std::vector<int>{300, 600}));
}

TEST_F(SecretsTest, WhatIsNotThereIsLookedForLessAndLessOften) {
  EXPECT_TRUE(get().failed_with(Code::NotFound));
  EXPECT_EQ(reads_within(200s), (std::vector<int>{1, 3, 7, 15, 31, 63, 123, 183}));
  put("hunter2");
  EXPECT_EQ(reads_within(400s), (std::vector<int>{43, 343}));
  EXPECT_EQ(text(), "hunter2");
}

TEST_F(SecretsTest, WhatIsOfNoUseIsReadAgainSooner) {
  put("");
  EXPECT_EQ(reads_within(200s, true), (std::vector<int>{0, 1, 3, 7, 15, 31, 63, 123, 183}));
  put("hunter2");
  EXPECT_EQ(reads_within(700s), (std::vector<int>{43, 103, 403})) << "and is believed once more";
}

TEST_F(SecretsTest, OnlyWhatIsKnownNowIsDoubted) {
  put("old");
  const auto old = *get();
  put("new");
  secrets.expire(kKey);
  EXPECT_EQ(text(), "new");
  secrets.doubt(kKey, old);
  secrets.doubt({"prod", "other"}, old);
  EXPECT_EQ(reads_within(100s), std::vector<int>{});
}

TEST_F(SecretsTest, WhatWasKnownStaysWhileTheApiDoesNotAnswer) {
  put("hunter2");
  const auto known = *get();
  api_fails(true);
  wait(301s);
  EXPECT_EQ(*get(), known);
  EXPECT_EQ(reads_within(8s), (std::vector<int>{1, 3, 7})) << "and it is asked for all the same";
  api_fails(false);
  shelf.erase(kKey.name);
  wait(8s);
  EXPECT_TRUE(get().failed_with(Code::NotFound)) << "that is an answer";
  api_fails(true);
  wait(1s);
  EXPECT_TRUE(get().failed_with(Code::Unavailable)) << "there is nothing to go on with";
}

TEST_F(SecretsTest, WhoAsksHearsThatTheApiDoesNotAnswer) {
  const auto ask = [&] {
    Result<Secrets::Value> out = Error{Code::Cancelled, "it has not come back"};
    world.spawn([&] { out = secrets.ask(kKey); });
    world.run();
    return out;
  };
  put("old");
  EXPECT_EQ(text(), "old");
  put("new");
  EXPECT_EQ((*ask())->value("password").reveal(), "new");
  EXPECT_EQ(text(), "new");
  api_fails(true);
  EXPECT_TRUE(ask().failed_with(Code::Unavailable));
  EXPECT_EQ(text(), "new") << "it is known all the same";
  api_fails(false);
  shelf.erase(kKey.name);
  EXPECT_TRUE(ask().failed_with(Code::NotFound));
  EXPECT_TRUE(get().failed_with(Code::NotFound));
}

TEST_F(SecretsTest, TheSameVersionIsTheSamePointer) {
  put("one");
  const auto one = *get();
  secrets.expire(kKey);
  EXPECT_EQ(*get(), one);
  EXPECT_EQ(shelf.reads(kKey.name), 2);
  put("two");
  EXPECT_EQ(*get(), one) << "nobody has looked";
  secrets.expire(kKey);
  EXPECT_NE(*get(), one);
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(one->value("password").reveal(), "one") << "who holds it has what it had";
}

TEST_F(SecretsTest, WhatWeWroteNeedNotBeRead) {
  EXPECT_TRUE(get().failed_with(Code::NotFound));
  kube::SecretObject written;
  written.metadata.name = kKey.name;
  written.metadata.ns = kKey.ns;
  written.metadata.resource_version = "7";
  written.data["password"] = Secret("ours");
  secrets.wrote(written);
  EXPECT_EQ(text(), "ours");
  EXPECT_EQ(shelf.reads(kKey.name), 1);
}

TEST_F(SecretsTest, WhatNobodyAsksForIsForgotten) {
  put("hunter2");
  wait(10min);
  const std::weak_ptr<const kube::SecretObject> known = *get();
  const auto ask_for_another = [&] {
    world.spawn([&] { (void)secrets.get({"prod", "other"}); });
    world.run();
  };
  wait(6min);
  ask_for_another();
  EXPECT_FALSE(known.expired()) << "it was used a while ago";
  wait(16min);
  ask_for_another();
  EXPECT_TRUE(known.expired());
}

}  // namespace
}  // namespace etcdop
