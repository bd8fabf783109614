#include "agent/restore_snapshot.h"

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

class RestoreTest : public ::testing::Test {
 protected:
  RestoreTest() {
    task_.member_name = "db-0";
    task_.initial_cluster = "db-0=http://db-0:2380";
    task_.initial_cluster_token = "token";
    task_.peer_urls = "http://db-0:2380";
    task_.etcd_version = "3.6.15";
  }
  RestoreReport run(std::optional<Duration> cancelled_after = std::nullopt) {
    RestoreReport report;
    auto fiber = scheduler_.spawn([&] {
      report = restore(task_, {.executor = scheduler_,
                               .log = log_,
                               .source = source_,
                               .site = site_,
                               .keys = keys_ ? &*keys_ : nullptr});
    });
    if (cancelled_after)
      (void)scheduler_.spawn([&, after = *cancelled_after] {
        (void)scheduler_.sleep(after);
        fiber->cancel();
      });
    scheduler_.run();
    EXPECT_TRUE(fiber->done());
    return report;
  }
  /// Also checks that no file is left.
  void refuses(RestoreReason reason, const std::string& words = "") {
    const RestoreReport report = run();
    EXPECT_EQ(report.reason, to_string(reason)) << report.message;
    EXPECT_NE(report.message.find(words), report.message.npos) << report.message;
    EXPECT_EQ(report.for_good, is_for_good(reason));
    EXPECT_EQ(exit_code(report), is_for_good(reason) ? kExitFailedForGood : kExitFailed);
    EXPECT_TRUE(site_.files.empty());
  }

  sim::Scheduler scheduler_{1};
  testing::MemoryLog log_;
  FakeSource source_{scheduler_};
  FakeSite site_;
  std::optional<SealingKeys> keys_;
  RestoreTask task_;
};

TEST_F(RestoreTest, MakesAMemberOfASnapshot) {
  source_.manifest = to_text(manifest_of(source_.bytes));
  source_.uid = "uid-1";
  source_.attempt = "1";
  const RestoreReport report = run();
  EXPECT_EQ(exit_code(report), kExitStored) << report.message;
  EXPECT_EQ(report.uri, kUri);
  EXPECT_EQ(report.checksum, checksum(source_.bytes));
  EXPECT_EQ(report.etcd_version, "3.6.16");
  EXPECT_EQ(report.revision, 1'000'000'007);
  EXPECT_FALSE(report.already);
  EXPECT_EQ(site_.files, (std::map<std::string, std::string>{{"member", source_.bytes}}));
  EXPECT_EQ(site_.calls,
            (std::vector<std::string>{"has_member", "find_tool", "sweep", "free_bytes", "create",
                                      "write", "finish", "inspect", "rebuild", "commit", "sweep"}));
  EXPECT_EQ(site_.asked->member_name, "db-0");
  EXPECT_EQ(site_.asked->initial_cluster, "db-0=http://db-0:2380");
  EXPECT_EQ(site_.asked->initial_cluster_token, "token");
  EXPECT_EQ(site_.asked->peer_urls, "http://db-0:2380");
  EXPECT_EQ(site_.asked->bump_revision, 1'000'000'000);
}

TEST_F(RestoreTest, NeedsNoManifest) {
  task_.bump_revision = 0;
  const RestoreReport report = run();
  EXPECT_EQ(report.reason, "");
  EXPECT_EQ(report.etcd_version, "3.6.0") << "of the database";
  EXPECT_EQ(report.revision, 7);
}

/// etcdutl counts from the newest existing key: an empty cluster has revision 1, but no key has it;
/// a compaction may have removed the newest keys.
TEST_F(RestoreTest, ABumpCountsFromTheRevisionAlsoWhereNoKeyHasIt) {
  site_.facts = {.etcd_version = "3.6.0", .auth_enabled = false, .revision = 9, .newest_key = 4};
  EXPECT_EQ(run().revision, 1'000'000'009);
  EXPECT_EQ(site_.asked->bump_revision, 1'000'000'005);
  site_ = FakeSite();
  site_.facts = {.etcd_version = "3.6.0", .auth_enabled = false, .revision = 1, .newest_key = 0};
  EXPECT_EQ(run().revision, 1'000'000'001);
  site_ = FakeSite();
  site_.facts = {.etcd_version = "3.6.0", .auth_enabled = false, .revision = 1, .newest_key = 0};
  task_.bump_revision = 0;
  EXPECT_EQ(run().revision, 1);
}

SealingKey key_of(char c) { return *to_sealing_key(Secret(std::string(32, c))); }

std::string sealed(const std::string& plain) {
  std::string out;
  Sealer sealer({key_of('k'), std::string(32, 's')}, [&](std::string_view bytes) {
    out += bytes;
    return Done{};
  });
  EXPECT_TRUE(sealer.add(plain));
  EXPECT_TRUE(sealer.end());
  return out;
}

TEST_F(RestoreTest, OpensWhatIsSealed) {
  const std::string plain = source_.bytes;
  source_.bytes = sealed(plain);
  source_.manifest = to_text(manifest_of(source_.bytes));
  const SealingKey old = key_of('k'), current = key_of('n');
  keys_ = {{current.id, current.key}, {old.id, old.key}};
  const RestoreReport report = run();
  EXPECT_EQ(report.reason, "") << report.message;
  EXPECT_EQ(report.checksum, checksum(source_.bytes)) << "of what is stored";
  EXPECT_EQ(site_.files, (std::map<std::string, std::string>{{"member", plain}}));
}

TEST_F(RestoreTest, WithoutTheKeyOfASealedOneItSaysWhichIsMissing) {
  const std::string plain = source_.bytes;
  source_.bytes = sealed(plain);
  refuses(RestoreReason::EncryptionKeyMissing, "encryption.keySecretRef");
  const SealingKey other = key_of('x');
  keys_ = {{other.id, other.key}};
  refuses(RestoreReason::EncryptionKeyMissing, key_of('k').id);
}

TEST_F(RestoreTest, WhatWasSealedAndChangedIsBroken) {
  const SealingKey key = key_of('k');
  keys_ = {{key.id, key.key}};
  const std::string whole = sealed(source_.bytes);
  source_.bytes = whole;
  source_.bytes[2000] ^= 1;
  refuses(RestoreReason::SnapshotBroken, "changed");
  source_.bytes = whole.substr(0, whole.size() - 1);
  refuses(RestoreReason::SnapshotBroken, "cut off");
  source_.bytes = whole.substr(0, 20);
  refuses(RestoreReason::SnapshotBroken, "too short");
  source_.bytes = "somebody put another file there, of whom one cannot know that it is a snapshot";
  refuses(RestoreReason::SnapshotBroken, "not encrypted");
}

TEST_F(RestoreTest, LeavesAMemberAlone) {
  site_.files = {{"member", "old"}, {"rebuilt", "of a run that was killed"}};
  source_.error = Error{Code::Unavailable, "nobody is asked"};
  const RestoreReport report = run();
  EXPECT_TRUE(report.already);
  EXPECT_EQ(exit_code(report), kExitStored);
  EXPECT_EQ(site_.files, (std::map<std::string, std::string>{{"member", "old"}}));
  EXPECT_EQ(log_.count("there is a member already"), 1);
}

TEST_F(RestoreTest, BeginsAnewAfterARunThatWasKilled) {
  site_.files = {{"temporary", "half of it"}, {"rebuilt", "half of it"}};
  EXPECT_EQ(run().reason, "");
  EXPECT_EQ(site_.files, (std::map<std::string, std::string>{{"member", source_.bytes}}));
}

TEST_F(RestoreTest, RefusesWhatIsNotWhole) {
  const std::string whole = source_.bytes;
  for (const std::string& bytes :
       {std::string(), whole.substr(1), whole.substr(0, whole.size() - 32),
        whole.substr(0, 512 + 32), "y" + whole.substr(1), whole + std::string(512, 0)}) {
    source_.bytes = bytes;
    refuses(RestoreReason::SnapshotBroken, kUri);
    EXPECT_FALSE(site_.asked);
  }
}

TEST_F(RestoreTest, RefusesWhatIsNotAsItsManifestSays) {
  const auto with = [&](auto change) {
    Manifest manifest = manifest_of(source_.bytes);
    change(manifest);
    source_.manifest = to_text(manifest);
  };
  with([](Manifest& m) { m.report.size_bytes = 7; });
  refuses(RestoreReason::SnapshotBroken, "had 7");
  with([](Manifest& m) { m.report.checksum = checksum("another"); });
  refuses(RestoreReason::SnapshotBroken, checksum("another"));
  source_.uid = "uid-1";
  source_.attempt = "1";
  with([](Manifest& m) { m.snapshot_uid = "uid-2"; });
  refuses(RestoreReason::SnapshotForeign, "uid-2");
  with([](Manifest& m) { m.attempt = "2"; });
  refuses(RestoreReason::SnapshotForeign, "stored again");
  source_.manifest = "";
  refuses(RestoreReason::SnapshotForeign, kUri + ".json");
}

TEST_F(RestoreTest, RefusesAnotherOneThanIsWanted) {
  task_.checksum = checksum(source_.bytes);
  EXPECT_EQ(run().reason, "");
  site_.files.clear();
  task_.checksum = checksum("another");
  const std::string found = checksum(source_.bytes) + ", not " + checksum("another");
  refuses(RestoreReason::SnapshotBroken, "its checksum is " + found);
  source_.manifest = to_text(manifest_of(source_.bytes));
  refuses(RestoreReason::SnapshotForeign, "has the checksum " + found);
  EXPECT_EQ(site_.calls.back(), "sweep");
  EXPECT_EQ(std::ranges::count(site_.calls, "create"), 2) << "nothing is fetched in vain";
}

TEST_F(RestoreTest, RefusesWhatItsEtcdCannotRead) {
  struct Row {
    const char *manifest, *database, *cluster;
    bool refused;
  };
  const Row rows[] = {
      {"3.6.16", "3.6.0", "3.6.15", false},
      {"3.7.0", "3.6.0", "3.6.15", true},
      {"3.6.16", "3.7.0", "3.6.15", true},
      {"", "3.7.0", "3.6.15", true},
      {"", "3.5.0", "3.6.15", false},
      {"3.10.0", "", "3.9.9", true},
      {"3.9.9", "3.9", "3.10.0", false},
      {"4.0.0", "", "3.9.9", true},
      {"3.7.0", "3.7.0", "", false},
      {"3.7.0-rc.1", "", "3.6.15", true},
      {"", "", "3.6.15", false},
      {"", "x", "3.6.15", false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.manifest) + " " + row.database + " for " + row.cluster);
    source_.manifest.reset();
    if (*row.manifest != 0) {
      Manifest manifest = manifest_of(source_.bytes);
      manifest.report.etcd_version = row.manifest;
      source_.manifest = to_text(manifest);
    }
    site_.facts.etcd_version = row.database;
    task_.etcd_version = row.cluster;
    site_.files.clear();
    if (row.refused) refuses(RestoreReason::SnapshotNewer, "cannot read");
    else EXPECT_EQ(run().reason, "");
  }
}

TEST_F(RestoreTest, RefusesAuthenticationThatNobodyCanPass) {
  site_.facts.auth_enabled = true;
  refuses(RestoreReason::SnapshotNeedsAuth, "spec.auth");
  EXPECT_FALSE(site_.asked);
  task_.auth = true;
  EXPECT_EQ(run().reason, "");
  site_ = FakeSite();
  task_.auth = false;
  Manifest manifest = manifest_of(source_.bytes);
  manifest.report.auth_enabled = true;
  source_.manifest = to_text(manifest);
  refuses(RestoreReason::SnapshotNeedsAuth, "spec.auth");
  EXPECT_EQ(site_.calls.back(), "sweep");
  EXPECT_EQ(std::ranges::count(site_.calls, "create"), 0) << "before a byte of it comes";
}

TEST_F(RestoreTest, AnEtcdutlThatCannotRaiseRevisionsIsNotAsked) {
  for (const auto& [version, bump, refused] :
       {std::tuple{"3.5.9", 1, true}, std::tuple{"3.5.9", 0, false}, std::tuple{"3.5.10", 1, false},
        std::tuple{"3.6.0", 1, false}, std::tuple{"", 1, false}}) {
    SCOPED_TRACE(std::string(version) + " +" + std::to_string(bump));
    site_ = FakeSite();
    site_.facts.etcd_version = "3.5.0";
    task_.etcd_version = version;
    task_.bump_revision = bump;
    if (refused) refuses(RestoreReason::RestoreToolMissing, "bumpRevision");
    else EXPECT_EQ(run().reason, "");
    EXPECT_EQ(std::ranges::count(site_.calls, "create"), refused ? 0 : 1);
  }
}

TEST_F(RestoreTest, NeedsTwiceItsSpaceAndSomeForTheLog) {
  const std::uint64_t log_bytes = 128 << 20;
  site_.free = log_bytes - 1;
  refuses(RestoreReason::NoSpace, std::to_string(site_.free));
  site_.free = log_bytes + 2 * source_.bytes.size() - 1;
  refuses(RestoreReason::NoSpace, "larger volume");
  site_.free = log_bytes + 2 * source_.bytes.size();
  EXPECT_EQ(run().reason, "");
}

TEST_F(RestoreTest, SaysWhatFailed) {
  const struct {
    const char* call;
    Code code;
    RestoreReason reason;
  } rows[] = {
      {"has_member", Code::NotFound, RestoreReason::DataDirectoryInvalid},
      {"find_tool", Code::NotFound, RestoreReason::RestoreToolMissing},
      {"free_bytes", Code::Lost, RestoreReason::DataDirectoryFailed},
      {"create", Code::Denied, RestoreReason::DataDirectoryInvalid},
      {"write", Code::Unavailable, RestoreReason::NoSpace},
      {"finish", Code::Unavailable, RestoreReason::NoSpace},
      {"inspect", Code::Corrupt, RestoreReason::SnapshotBroken},
      {"inspect", Code::Lost, RestoreReason::DataDirectoryFailed},
      {"rebuild", Code::Lost, RestoreReason::RestoreToolFailed},
      {"rebuild", Code::TimedOut, RestoreReason::RestoreToolFailed},
      {"rebuild", Code::Unavailable, RestoreReason::NoSpace},
      {"commit", Code::AlreadyExists, RestoreReason::DataDirectoryInvalid},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.call);
    site_ = FakeSite();
    site_.fails = {{row.call, {row.code, "so it is"}}};
    refuses(row.reason, "so it is");
  }
  site_ = FakeSite();
  source_.error = Error{Code::NotFound, "HEAD s3://b/nightly.db: 404"};
  refuses(RestoreReason::SourceNotFound, "404");
}

TEST_F(RestoreTest, WhatStaysBehindAMemberIsNoFailure) {
  site_.files = {{"member", ""}};
  site_.fails = {{"sweep", {Code::Lost, "the disk"}}};
  EXPECT_TRUE(run().already);
  EXPECT_EQ(log_.count("warn"), 1);
}

TEST_F(RestoreTest, EndsWhenItIsAskedTo) {
  source_.delay = 10s;
  const RestoreReport report = run(15s);
  EXPECT_EQ(report.reason, "SourceFailed") << report.message;
  EXPECT_FALSE(report.for_good);
  EXPECT_TRUE(site_.files.empty());
}

TEST_F(RestoreTest, TakesNoLongerThanItMay) {
  source_.delay = 10min;
  const Instant begin = scheduler_.now();
  const RestoreReport report = run();
  EXPECT_EQ(report.reason, "SourceUnreachable") << report.message;
  EXPECT_EQ(scheduler_.now() - begin, kRestoreLimit);
  EXPECT_TRUE(site_.files.empty());
}

}  // namespace
}  // namespace etcdop::agent
