#include "agent/task.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace etcdop::agent {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string kSecret = "do-not-tell";

Environment to_bucket() {
  return {{"ETCD_ENDPOINTS", "https://db-0.db.prod.svc:2379,https://db-1.db.prod.svc:2379"},
          {"SNAPSHOT_NAME", "nightly"},
          {"SNAPSHOT_UID", "0b5c-1"},
          {"ETCD_TLS_CA_PATH", "/etc/etcd/pki/ca/ca.crt"},
          {"ETCD_TLS_CERT_PATH", "/etc/etcd/pki/client/tls.crt"},
          {"ETCD_TLS_KEY_PATH", "/etc/etcd/pki/client/tls.key"},
          {"ETCD_USERNAME", "root"},
          {"ETCD_PASSWORD", kSecret},
          {"SNAPSHOT_DEST_KIND", "s3"},
          {"S3_ENDPOINT", "https://s3.test:9000"},
          {"S3_BUCKET", "backups"},
          {"S3_KEY", "prod/db/"},
          {"S3_REGION", "eu-west-1"},
          {"S3_FORCE_PATH_STYLE", "true"},
          {"AWS_ACCESS_KEY_ID", "key"},
          {"AWS_SECRET_ACCESS_KEY", kSecret}};
}

Environment to_folder() {
  return {{"ETCD_ENDPOINTS", "http://db-client.prod.svc:2379"},
          {"SNAPSHOT_UID", "0b5c-1"},
          {"SNAPSHOT_DEST_KIND", "pvc"},
          {"PVC_MOUNT_PATH", "/snapshot/data"},
          {"PVC_SUBPATH", "prod/db"}};
}

Variables variables(const Environment& environment) {
  return [&environment](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    if (it == environment.end()) return std::nullopt;
    return it->second;
  };
}

Result<SnapshotTask> read(const Environment& environment) {
  return to_snapshot_task(variables(environment));
}

TEST(SnapshotTask, OfABucket) {
  auto task = read(to_bucket());
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "nightly");
  EXPECT_EQ(task->uid, "0b5c-1");
  EXPECT_TRUE(task->etcd.tls);
  EXPECT_EQ(task->etcd.hosts, (std::vector<std::string>{"db-0.db.prod.svc", "db-1.db.prod.svc"}));
  EXPECT_EQ(task->etcd.port, "2379");
  EXPECT_EQ(task->etcd.username, "root");
  EXPECT_EQ(task->etcd.password, Secret(kSecret));
  EXPECT_EQ(task->key(), "prod/db/nightly.db");
  EXPECT_EQ(task->bucket->place.region, "eu-west-1");
  EXPECT_TRUE(task->bucket->place.path_style);
  EXPECT_FALSE(task->bucket->local);
  EXPECT_EQ(task->bucket->credentials.secret, Secret(kSecret));
  EXPECT_FALSE(task->folder);
  EXPECT_EQ(task->termination_log_path, "/dev/termination-log");
}

TEST(SnapshotTask, OfAFolder) {
  auto task = read(to_folder());
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->name, "snapshot") << "unless it is told";
  EXPECT_FALSE(task->etcd.tls);
  EXPECT_EQ(task->folder->mount_path, "/snapshot/data");
  EXPECT_EQ(task->folder->sub_path, "prod/db");
  EXPECT_FALSE(task->bucket);
}

TEST(SnapshotTask, OfADeletionNeedsNoEtcd) {
  for (const Environment& whole : {to_bucket(), to_folder()}) {
    Environment environment = whole;
    environment["SNAPSHOT_NAME"] = "nightly";
    std::erase_if(environment, [](const auto& one) { return one.first.starts_with("ETCD_"); });
    auto task = to_deletion_task(variables(environment));
    ASSERT_TRUE(task) << task.error().message;
    auto snapshot = read(whole);
    ASSERT_TRUE(snapshot);
    EXPECT_EQ(task->file_name(), "nightly.db");
    EXPECT_EQ(task->uid, snapshot->uid);
    EXPECT_EQ(task->bucket.has_value(), snapshot->bucket.has_value());
    EXPECT_EQ(task->folder.has_value(), snapshot->folder.has_value());
    EXPECT_TRUE(task->etcd.hosts.empty());
    for (const char* name : {"SNAPSHOT_NAME", "SNAPSHOT_UID", "SNAPSHOT_DEST_KIND"}) {
      Environment without = environment;
      without.erase(name);
      auto bad = to_deletion_task(variables(without));
      ASSERT_TRUE(bad.failed_with(Code::Invalid)) << name;
      EXPECT_TRUE(bad.error().message.starts_with(name)) << bad.error().message;
    }
  }
}

TEST(SnapshotTask, NeedsNoPrefixRegionOrSubPath) {
  Environment bucket = to_bucket(), folder = to_folder();
  for (const char* name : {"S3_KEY", "S3_REGION", "S3_FORCE_PATH_STYLE"}) bucket.erase(name);
  bucket["S3_ALLOW_LOCAL"] = "true";
  auto in_bucket = read(bucket);
  ASSERT_TRUE(in_bucket) << in_bucket.error().message;
  EXPECT_EQ(in_bucket->key(), "nightly.db");
  EXPECT_EQ(in_bucket->bucket->place.region, "us-east-1");
  EXPECT_TRUE(in_bucket->bucket->local);
  folder["PVC_SUBPATH"] = "";
  folder["TERMINATION_LOG_PATH"] = "/tmp/end";
  auto in_folder = read(folder);
  ASSERT_TRUE(in_folder) << in_folder.error().message;
  EXPECT_EQ(in_folder->folder->sub_path, "");
  EXPECT_EQ(in_folder->termination_log_path, "/tmp/end");
}

TEST(SnapshotTask, SlashesOnlyStandBetweenNames) {
  for (const auto& [said, path] :
       {std::pair{"/prod/db", "prod/db"}, std::pair{"prod//db", "prod/db"},
        std::pair{"//prod///db//", "prod/db"}, std::pair{"/", ""}, std::pair{"//", ""}}) {
    Environment bucket = to_bucket(), folder = to_folder();
    bucket["S3_KEY"] = folder["PVC_SUBPATH"] = said;
    auto in_bucket = read(bucket), in_folder = read(folder);
    ASSERT_TRUE(in_bucket && in_folder) << said;
    EXPECT_EQ(in_bucket->key(), (*path ? path + std::string("/") : "") + "nightly.db");
    EXPECT_EQ(in_folder->folder->sub_path, path);
  }
}

TEST(SnapshotTask, NamesTheVariableThatIsAtFault) {
  struct Row {
    bool bucket;
    const char* variable;
    std::string value;
  };
  const std::vector<Row> rows = {
      {true, "SNAPSHOT_NAME", ""},
      {true, "SNAPSHOT_NAME", ".."},
      {true, "SNAPSHOT_NAME", "../nightly"},
      {true, "SNAPSHOT_NAME", "a/b"},
      {true, "SNAPSHOT_NAME", "a\nb"},
      {true, "SNAPSHOT_UID", ""},
      {true, "SNAPSHOT_UID", "../1"},
      {true, "SNAPSHOT_DEST_KIND", ""},
      {true, "SNAPSHOT_DEST_KIND", "nfs"},
      {true, "ETCD_ENDPOINTS", ""},
      {true, "ETCD_ENDPOINTS", "db-0:2379"},
      {true, "ETCD_ENDPOINTS", "https://a:2379,,https://b:2379"},
      {true, "ETCD_ENDPOINTS", "https://a:2379,http://b:2379"},
      {true, "ETCD_ENDPOINTS", "https://a:2379,https://b:2380"},
      {true, "ETCD_ENDPOINTS", "https://user:password@a:2379"},
      {true, "ETCD_TLS_CERT_PATH", ""},
      {true, "ETCD_PASSWORD", ""},
      {true, "S3_ENDPOINT", ""},
      {true, "S3_ENDPOINT", "s3.test"},
      {true, "S3_ENDPOINT", "https://s3.test/path"},
      {true, "S3_BUCKET", ""},
      {true, "S3_BUCKET", "a/b"},
      {true, "S3_REGION", "eu west"},
      {true, "S3_FORCE_PATH_STYLE", "yes"},
      {true, "S3_ALLOW_LOCAL", "1"},
      {true, "S3_KEY", "prod/../db"},
      {true, "S3_KEY", "/../db"},
      {true, "S3_KEY", "prod//..//db"},
      {true, "S3_KEY", "."},
      {true, "S3_KEY", "a\tb"},
      {true, "S3_KEY", "a\"b"},
      {true, "SNAPSHOT_NAME", std::string(241, 'n')},
      {true, "S3_KEY", std::string(1000, 'k')},
      {true, "AWS_ACCESS_KEY_ID", ""},
      {true, "AWS_ACCESS_KEY_ID", "a\nb"},
      {true, "AWS_SECRET_ACCESS_KEY", ""},
      {true, "AWS_SECRET_ACCESS_KEY", kSecret + "\n"},
      {true, "AWS_SESSION_TOKEN", kSecret + "\r"},
      {false, "PVC_MOUNT_PATH", ""},
      {false, "PVC_MOUNT_PATH", "/"},
      {false, "PVC_MOUNT_PATH", "data"},
      {false, "PVC_MOUNT_PATH", "/data/../etc"},
      {false, "PVC_SUBPATH", ".."},
      {false, "PVC_SUBPATH", "//.."},
      {false, "PVC_SUBPATH", "a/../../b"},
      {false, "PVC_SUBPATH", "a/./b"},
      {false, "PVC_SUBPATH", std::string("a\0b", 3)},
  };
  for (const Row& row : rows) {
    Environment environment = row.bucket ? to_bucket() : to_folder();
    environment[row.variable] = row.value;
    auto task = read(environment);
    ASSERT_TRUE(task.failed_with(Code::Invalid)) << row.variable << "=" << row.value;
    EXPECT_TRUE(task.error().message.starts_with(std::string(row.variable) + ": "))
        << task.error().message;
    EXPECT_EQ(task.error().message.find(kSecret), std::string::npos);
  }
}

Environment of_a_member(Environment environment) {
  for (const char* of_a_snapshot : {"ETCD_ENDPOINTS", "SNAPSHOT_NAME", "SNAPSHOT_UID"})
    environment.erase(of_a_snapshot);
  environment["ETCD_MEMBER_NAME"] = "db-0";
  environment["ETCD_INITIAL_CLUSTER"] = "db-0=https://db-0.db.prod.svc:2380";
  environment["ETCD_INITIAL_CLUSTER_TOKEN"] = "token";
  return environment;
}

Result<RestoreTask> read_restore(const Environment& environment) {
  return to_restore_task([&](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    if (it == environment.end()) return std::nullopt;
    return it->second;
  });
}

TEST(RestoreTask, OfABucket) {
  Environment environment = of_a_member(to_bucket());
  environment["S3_KEY"] = "/odd//\"key\".db/";  // Stored by another program.
  environment["ETCD_DATA_DIR"] = "/data";
  environment["ETCD_PEER_URLS"] = "https://db-0.db.prod.svc:2380";
  environment["ETCDUTL_PATH"] = "/etcdutl";
  environment["RESTORE_ETCD_VERSION"] = "3.6.16";
  environment["RESTORE_AUTH"] = "true";
  environment["RESTORE_BUMP_REVISION"] = "7";
  environment["RESTORE_CHECKSUM"] = "sha256:" + std::string(64, 'a');
  auto task = read_restore(environment);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->data_dir, "/data");
  EXPECT_EQ(task->member_name, "db-0");
  EXPECT_EQ(task->initial_cluster, "db-0=https://db-0.db.prod.svc:2380");
  EXPECT_EQ(task->initial_cluster_token, "token");
  EXPECT_EQ(task->peer_urls, "https://db-0.db.prod.svc:2380");
  EXPECT_EQ(task->bucket->prefix, environment["S3_KEY"]) << "to the letter";
  EXPECT_EQ(task->bucket->place.bucket, "backups");
  EXPECT_EQ(task->etcd_version, "3.6.16");
  EXPECT_TRUE(task->auth);
  EXPECT_EQ(task->bump_revision, 7);
  EXPECT_EQ(task->checksum, environment["RESTORE_CHECKSUM"]);
  EXPECT_EQ(task->etcdutl_path, "/etcdutl");
  EXPECT_FALSE(task->folder);
}

TEST(RestoreTask, NeedsNothingThatTheContractDoesNotHave) {
  auto task = read_restore(of_a_member(to_folder()));
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->data_dir, "/var/lib/etcd");
  EXPECT_EQ(task->peer_urls, "");
  EXPECT_EQ(task->folder->mount_path, "/snapshot/data");
  EXPECT_EQ(task->folder->sub_path, "prod/db");
  EXPECT_EQ(task->etcd_version, "");
  EXPECT_FALSE(task->auth);
  EXPECT_EQ(task->bump_revision, 1'000'000'000);
  EXPECT_EQ(task->checksum, "");
  EXPECT_EQ(task->etcdutl_path, "");
  EXPECT_EQ(task->termination_log_path, "/dev/termination-log");
}

TEST(RestoreTask, AFileMayBeNamedFromTheVolumesRoot) {
  Environment environment = of_a_member(to_folder());
  environment["PVC_SUBPATH"] = "/prod//nightly.db";
  EXPECT_EQ(read_restore(environment)->folder->sub_path, "prod/nightly.db");
}

TEST(RestoreTask, NamesTheVariableThatIsAtFault) {
  const struct {
    bool bucket;
    const char* variable;
    std::string value;
  } rows[] = {
      {true, "ETCD_DATA_DIR", "data"},
      {true, "ETCD_MEMBER_NAME", ""},
      {true, "ETCD_MEMBER_NAME", "a\nb"},
      {true, "ETCD_INITIAL_CLUSTER", ""},
      {true, "ETCD_INITIAL_CLUSTER_TOKEN", ""},
      {true, "ETCD_PEER_URLS", std::string("a\0b", 3)},
      {true, "SNAPSHOT_DEST_KIND", "nfs"},
      {true, "S3_KEY", ""},
      {true, "S3_KEY", "a/../b"},
      {true, "S3_KEY", "a\nb"},
      {true, "S3_ENDPOINT", ""},
      {true, "AWS_SECRET_ACCESS_KEY", ""},
      {true, "RESTORE_ETCD_VERSION", "3.6"},
      {true, "RESTORE_AUTH", "yes"},
      {true, "RESTORE_BUMP_REVISION", "-1"},
      {true, "RESTORE_BUMP_REVISION", "1e9"},
      {true, "RESTORE_BUMP_REVISION", "1000000000000000001"},
      {true, "RESTORE_CHECKSUM", "sha256:0123"},
      {false, "PVC_MOUNT_PATH", "restore"},
      {false, "PVC_SUBPATH", ""},
      {false, "PVC_SUBPATH", "/"},
      {false, "PVC_SUBPATH", "../etc/passwd"},
      {false, "PVC_SUBPATH", "//../etc/passwd"},
  };
  for (const auto& row : rows) {
    Environment environment = of_a_member(row.bucket ? to_bucket() : to_folder());
    environment[row.variable] = row.value;
    auto task = read_restore(environment);
    ASSERT_TRUE(task.failed_with(Code::Invalid)) << row.variable << "=" << row.value;
    EXPECT_TRUE(task.error().message.starts_with(std::string(row.variable) + ": "))
        << task.error().message;
    EXPECT_EQ(task.error().message.find(kSecret), std::string::npos);
  }
}

Result<VerifyTask> read_verify(const Environment& environment) {
  return to_verify_task([&](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    if (it == environment.end()) return std::nullopt;
    return it->second;
  });
}

TEST(VerifyTask, OfABucketWithAllThatIsExpected) {
  const std::string sum = "sha256:" + std::string(64, 'a');
  Environment environment = to_bucket();
  environment.merge(Environment{{"VERIFY_SCRATCH_DIR", "/scratch"},
                                {"ETCDUTL_PATH", "/etcdutl"},
                                {"ETCD_PATH", "/etcd"},
                                {"RESTORE_ETCD_VERSION", "3.6.16"},
                                {"VERIFY_UID", "uid-1"},
                                {"VERIFY_CHECKSUM", sum},
                                {"VERIFY_DIGEST", sum},
                                {"VERIFY_REVISION", "7"},
                                {"VERIFY_COMPACT_REVISION", "-1"},
                                {"VERIFY_HASH_KV", "4294967295"},
                                {"VERIFY_KEYS", "0"},
                                {"VERIFY_ONLY_CHECK", "true"}});
  environment["S3_KEY"] = "/odd/nightly.db";
  auto task = read_verify(environment);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->scratch_dir, "/scratch");
  EXPECT_EQ(task->bucket->prefix, "/odd/nightly.db");
  EXPECT_EQ(task->etcdutl_path, "/etcdutl");
  EXPECT_EQ(task->etcd_path, "/etcd");
  EXPECT_EQ(task->etcd_version, "3.6.16");
  EXPECT_TRUE(task->only_check);
  EXPECT_EQ(task->expected, (Expected{.uid = "uid-1",
                                      .checksum = sum,
                                      .digest = sum,
                                      .revision = 7,
                                      .compact_revision = -1,
                                      .hash_kv = 4'294'967'295,
                                      .keys = 0}));
}

TEST(VerifyTask, ExpectsNothingByItself) {
  Environment environment = to_folder();
  environment["VERIFY_SCRATCH_DIR"] = "/scratch";
  auto task = read_verify(environment);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->expected, Expected());
  EXPECT_FALSE(task->only_check);
  EXPECT_TRUE(task->auth);
  environment["RESTORE_AUTH"] = "false";
  EXPECT_FALSE(read_verify(environment)->auth);
}

TEST(VerifyTask, NamesTheVariableThatIsAtFault) {
  for (const auto& [variable, value] :
       {std::pair{"VERIFY_SCRATCH_DIR", "scratch"}, std::pair{"VERIFY_SCRATCH_DIR", ""},
        std::pair{"VERIFY_UID", "a/b"}, std::pair{"VERIFY_CHECKSUM", "sha256:"},
        std::pair{"VERIFY_DIGEST", "none"}, std::pair{"VERIFY_REVISION", "7x"},
        std::pair{"VERIFY_COMPACT_REVISION", "x"}, std::pair{"VERIFY_HASH_KV", " 7"},
        std::pair{"VERIFY_KEYS", "99999999999999999999"}, std::pair{"VERIFY_ONLY_CHECK", "1"},
        std::pair{"RESTORE_ETCD_VERSION", "x"}, std::pair{"PVC_SUBPATH", ""}}) {
    Environment environment = to_folder();
    environment["VERIFY_SCRATCH_DIR"] = "/scratch";
    environment[variable] = value;
    auto task = read_verify(environment);
    ASSERT_TRUE(task.failed_with(Code::Invalid)) << variable;
    EXPECT_TRUE(task.error().message.starts_with(variable)) << task.error().message;
  }
}

}  // namespace
}  // namespace etcdop::agent
