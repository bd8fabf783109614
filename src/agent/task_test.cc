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

Result<SnapshotTask> read(const Environment& environment) {
  return to_snapshot_task([&](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    if (it == environment.end()) return std::nullopt;
    return it->second;
  });
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
      {true, "S3_KEY", "/prod"},
      {true, "S3_KEY", "prod//db"},
      {true, "S3_KEY", "prod/../db"},
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
      {false, "PVC_SUBPATH", "/"},
      {false, "PVC_SUBPATH", "/etc"},
      {false, "PVC_SUBPATH", ".."},
      {false, "PVC_SUBPATH", "a/../../b"},
      {false, "PVC_SUBPATH", "a//b"},
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

}  // namespace
}  // namespace etcdop::agent
