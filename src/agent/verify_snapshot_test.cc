#include "agent/verify_snapshot.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/fake_restore.h"
#include "agent/manifest.h"
#include "agent/reason.h"
#include "sim/scheduler.h"
#include "test/support/memory_log.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;
using testing::checksum;
using testing::FakeSite;
using testing::FakeSource;
using testing::kUri;
using testing::manifest_of;

const std::string kDigest = "sha256:" + std::string(64, 'd');

/// Answers for one revision. A test can make a call fail by its name.
class FakeEtcd final : public ScratchEtcd {
 public:
  explicit FakeEtcd(Executor& executor) : executor_(executor) {}
  Result<Done> start() override {
    if (auto bad = call("start"); !bad) return bad;
    runs = true;
    return to_result(executor_.sleep(takes), "starting");
  }
  Result<etcd::KeyHash> hash_kv(std::int64_t revision) override {
    EXPECT_TRUE(runs);
    const bool newest = revision == 0;  // It always has the newest revision.
    EXPECT_TRUE(newest || revision == asked_for) << revision;
    if (auto bad = call("hash_kv"); !bad && !(newest && bad.failed_with(Code::Invalid)))
      return bad.error();
    return hash;
  }
  Result<std::int64_t> count(std::int64_t) override {
    if (auto bad = call("count"); !bad) return bad.error();
    return keys;
  }
  Result<std::string> digest(std::int64_t) override {
    if (auto bad = call("digest"); !bad) return bad.error();
    return key_digest;
  }
  void stop() override {
    runs = false;
    calls.emplace_back("stop");
  }

  etcd::KeyHash hash{.hash = 11, .revision = 9, .compacted = 3};
  std::int64_t keys = 2, asked_for = 7;
  std::string key_digest = kDigest;
  Duration takes{};
  bool runs = false;
  std::map<std::string, Error> fails;
  std::vector<std::string> calls;

 private:
  Result<Done> call(const std::string& name) {
    calls.push_back(name);
    const auto it = fails.find(name);
    return it == fails.end() ? Result<Done>(Done{}) : it->second;
  }
  Executor& executor_;
};

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    task_.etcd_version = "3.6.16";
    set_manifest([](AgentReport&) {});
  }
  void set_manifest(const std::function<void(AgentReport&)>& change) {
    Manifest manifest = manifest_of(source_.bytes);
    manifest.report.revision = 7;
    manifest.report.compact_revision = 3;
    manifest.report.hash_kv = 11;
    manifest.report.keys = 2;
    manifest.report.digest = kDigest;
    change(manifest.report);
    source_.manifest = to_text(manifest);
  }
  VerifyReport run(std::optional<Duration> cancelled_after = std::nullopt) {
    VerifyReport report;
    auto fiber = scheduler_.spawn([&] {
      report = verify(task_, {.executor = scheduler_,
                              .log = log_,
                              .source = source_,
                              .site = site_,
                              .etcd = etcd_,
                              .keys = keys_ ? &*keys_ : nullptr});
    });
    if (cancelled_after)
      (void)scheduler_.spawn([&, after = *cancelled_after] {
        (void)scheduler_.sleep(after);
        fiber->cancel();
      });
    scheduler_.run();
    EXPECT_TRUE(fiber->done());
    EXPECT_FALSE(etcd_.runs);
    EXPECT_TRUE(site_.files.empty());
    return report;
  }
  VerifyReport refuses(RestoreReason reason, const std::string& words) {
    VerifyReport report = run();
    EXPECT_EQ(report.reason, to_string(reason)) << report.message;
    EXPECT_NE(report.message.find(words), report.message.npos) << report.message;
    EXPECT_EQ(report.for_good, is_for_good(reason));
    EXPECT_EQ(exit_code(report), is_for_good(reason) ? kExitFailedForGood : kExitFailed);
    return report;
  }
  bool asked(const std::string& call) const { return std::ranges::count(etcd_.calls, call) > 0; }

  sim::Scheduler scheduler_{1};
  testing::MemoryLog log_;
  FakeSource source_{scheduler_};
  FakeSite site_;
  FakeEtcd etcd_{scheduler_};
  std::optional<SealingKeys> keys_;
  VerifyTask task_;
};

TEST_F(VerifyTest, ASnapshotIsGoodIfItsHashAndNumberOfKeysAreTheClusters) {
  etcd_.takes = 5s;
  const VerifyReport report = run();
  EXPECT_EQ(exit_code(report), kExitStored) << report.message;
  EXPECT_EQ(report.uri, kUri);
  EXPECT_EQ(report.checksum, checksum(source_.bytes));
  EXPECT_EQ(report.etcd_version, "3.6.16");
  EXPECT_EQ(report.revision, 7);
  EXPECT_EQ(report.compact_revision, 3);
  EXPECT_EQ(report.hash_kv, 11);
  EXPECT_EQ(report.keys, 2);
  EXPECT_TRUE(report.hash_compared);
  EXPECT_FALSE(report.digest_compared);
  EXPECT_EQ(report.duration_seconds, 5);
  EXPECT_EQ(etcd_.calls, (std::vector<std::string>{"start", "hash_kv", "count", "stop"}));
  EXPECT_EQ(site_.asked->bump_revision, 0) << "revisions are what is compared";
}

TEST_F(VerifyTest, WhereHashesCannotBeComparedTheDigestIs) {
  etcd_.hash.compacted = 5;
  etcd_.hash.hash = 12;
  const VerifyReport report = run();
  EXPECT_EQ(report.reason, "") << report.message;
  EXPECT_TRUE(report.digest_compared);
  EXPECT_FALSE(report.hash_compared);
  set_manifest([](AgentReport& said) { said.hash_kv.reset(); });
  EXPECT_TRUE(run().digest_compared);
}

TEST_F(VerifyTest, SaysWhatDiffers) {
  etcd_.hash.hash = 12;
  const VerifyReport report =
      refuses(RestoreReason::SnapshotDiffers, "HashKV 12 at revision 7, and the cluster had 11");
  EXPECT_EQ(report.hash_kv, 12) << "facts are told with it";
  etcd_.hash = {.hash = 12, .revision = 9, .compacted = 5};
  etcd_.key_digest = "sha256:" + std::string(64, 'e');
  refuses(RestoreReason::SnapshotDiffers, etcd_.key_digest);
  etcd_.keys = 1;
  refuses(RestoreReason::SnapshotDiffers, "keys 1 at revision 7, and the cluster had 2");
  etcd_.fails = {{"hash_kv", {Code::Invalid, "a future revision"}}};
  refuses(RestoreReason::SnapshotDiffers, "a future revision");
}

TEST_F(VerifyTest, NothingToCompareWithIsNoProof) {
  source_.manifest.reset();
  refuses(RestoreReason::SnapshotNotComparable, "no manifest");
  EXPECT_FALSE(asked("start")) << "before a byte of it comes";
  set_manifest([](AgentReport& said) { said.digest = ""; });
  etcd_.hash.compacted = 5;
  refuses(RestoreReason::SnapshotNotComparable, "compacted at 5");
  // Compacted beyond that revision between the hash and the snapshot: it is as good as before.
  etcd_.hash.compacted = 8;
  etcd_.fails = {{"hash_kv", {Code::Invalid, "mvcc: required revision has been compacted"}}};
  refuses(RestoreReason::SnapshotNotComparable, "no HashKV at revision 7: it was compacted at 8");
  etcd_.hash.compacted = 7;
  refuses(RestoreReason::SnapshotDiffers, "has been compacted");
}

TEST_F(VerifyTest, StatusIsAsGoodAsAManifest) {
  source_.manifest.reset();
  task_.expected.revision = 7;
  task_.expected.digest = kDigest;
  task_.expected.checksum = checksum(source_.bytes);
  EXPECT_EQ(run().reason, "");
  task_.expected.digest = "sha256:" + std::string(64, 'e');
  refuses(RestoreReason::SnapshotDiffers, kDigest);
  task_.expected.checksum = checksum("another");
  refuses(RestoreReason::SnapshotBroken, checksum("another"));
}

TEST_F(VerifyTest, OneThatIsEncryptedNeedsItsKey) {
  const SealingKey key = *to_sealing_key(Secret(std::string(32, 'k')));
  const SealingKey other = *to_sealing_key(Secret(std::string(32, 'x')));
  std::string sealed;
  Sealer sealer({key, std::string(32, 's')}, [&](std::string_view bytes) {
    sealed += bytes;
    return Done{};
  });
  ASSERT_TRUE(sealer.add(source_.bytes));
  ASSERT_TRUE(sealer.end());
  source_.bytes = sealed;
  set_manifest([](AgentReport&) {});
  keys_ = {{key.id, key.key}};
  EXPECT_EQ(run().reason, "");
  keys_ = {{other.id, other.key}};
  refuses(RestoreReason::EncryptionKeyMissing, key.id);
  keys_.reset();
  refuses(RestoreReason::EncryptionKeyMissing, "it is encrypted");
}

TEST_F(VerifyTest, StatusAndManifestMustAgree) {
  const Expected rows[] = {
      {.uid = "uid-2"},
      {.checksum = checksum("another")},
      {.digest = "sha256:" + std::string(64, 'e')},
      {.revision = 8},
      {.compact_revision = 4},
      {.hash_kv = 12},
      {.keys = 3},
  };
  for (const Expected& row : rows) {
    task_.expected = row;
    refuses(RestoreReason::SnapshotForeign, kUri);
    EXPECT_FALSE(asked("start"));
  }
  task_.expected = {.uid = "uid-1",
                    .checksum = checksum(source_.bytes),
                    .digest = kDigest,
                    .revision = 7,
                    .compact_revision = 3,
                    .hash_kv = 11,
                    .keys = 2};
  EXPECT_EQ(run().reason, "");
}

TEST_F(VerifyTest, ACheckNeedsNothingToCompareWithButComparesWhatThereIs) {
  task_.only_check = true;
  etcd_.hash.hash = 12;
  refuses(RestoreReason::SnapshotDiffers, "HashKV");
  source_.manifest.reset();
  etcd_.asked_for = 0;
  const VerifyReport report = run();
  EXPECT_EQ(report.reason, "") << report.message;
  EXPECT_EQ(report.revision, 9) << "its newest";
  EXPECT_EQ(report.keys, 2);
  EXPECT_FALSE(report.hash_compared || report.digest_compared);
}

TEST_F(VerifyTest, AuthenticationIsNoObstacle) {
  site_.facts.auth_enabled = true;
  EXPECT_EQ(run().reason, "");
}

TEST_F(VerifyTest, WhoCannotLogInHasNoUseForAuthentication) {
  site_.facts.auth_enabled = true;
  task_.auth = false;
  refuses(RestoreReason::SnapshotNeedsAuth, "spec.auth");
}

TEST_F(VerifyTest, SaysWhatFailed) {
  etcd_.fails = {{"start", {Code::Lost, "etcd ended with 1"}}};
  refuses(RestoreReason::EtcdFailed, "ended with 1");
  etcd_.fails = {{"start", {Code::NotFound, "no etcd"}}};
  refuses(RestoreReason::RestoreToolMissing, "no etcd");
  etcd_.fails = {{"count", {Code::Unavailable, "gone"}}};
  refuses(RestoreReason::EtcdFailed, "gone");
  source_.bytes += "x";
  set_manifest([](AgentReport&) {});
  refuses(RestoreReason::SnapshotBroken, kUri);
  site_.fails = {{"rebuild", {Code::Unavailable, "no space left"}}};
  source_.bytes.pop_back();
  set_manifest([](AgentReport&) {});
  refuses(RestoreReason::NoSpace, "no space left");
}

TEST_F(VerifyTest, AFolderWithAMemberIsNotItsOwn) {
  site_.files = {{"member", "of somebody"}};
  VerifyReport report;
  (void)scheduler_.spawn([&] {
    report = verify(
        task_,
        {.executor = scheduler_, .log = log_, .source = source_, .site = site_, .etcd = etcd_});
  });
  scheduler_.run();
  EXPECT_EQ(report.reason, "DataDirectoryInvalid");
  EXPECT_EQ(site_.files.size(), 1U);
}

TEST_F(VerifyTest, EndsWhenItIsAskedToAndInTime) {
  etcd_.takes = 20min;
  EXPECT_EQ(run(15s).reason, "EtcdFailed");
  EXPECT_EQ(etcd_.calls.back(), "stop");
  source_.delay = 2min;
  const Instant begin = scheduler_.now();
  EXPECT_EQ(run().reason, "EtcdFailed");
  EXPECT_EQ(scheduler_.now() - begin, kVerifyLimit);
}

}  // namespace
}  // namespace etcdop::agent
