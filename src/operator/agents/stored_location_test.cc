// Which object or file an EtcdSnapshot has stored, and which sources name it.
#include "operator/agents/stored_location.h"

#include <gtest/gtest.h>

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

v1::EtcdSnapshot in_bucket() {
  v1::EtcdSnapshot out;
  out.metadata.ns = "prod";
  v1::S3Location& s3 = out.spec.destination.s3.emplace();
  s3.endpoint = "https://s3.example.com";
  s3.bucket = "backups";
  s3.key = "/prod/";
  out.status.artifact.emplace().uri = "s3://backups/prod/nightly.db";
  return out;
}
v1::EtcdSnapshot in_volume() {
  v1::EtcdSnapshot out;
  out.metadata.ns = "prod";
  out.spec.destination.pvc.emplace().claim_name = "backups";
  out.status.artifact.emplace().uri = "file:///snapshot/data/prod/nightly.db";
  return out;
}
v1::SnapshotLocation object(const char* bucket, const char* key) {
  v1::SnapshotLocation out;
  v1::S3Location& s3 = out.s3.emplace();
  s3.endpoint = "http://another.name";
  s3.bucket = bucket;
  s3.key = key;
  return out;
}
v1::SnapshotLocation file(const char* claim, const char* path) {
  v1::SnapshotLocation out;
  out.pvc.emplace() = {claim, path};
  return out;
}

TEST(StoredLocation, IsTheObjectOrFileItself) {
  const v1::SnapshotLocation stored = stored_location(in_bucket());
  EXPECT_EQ(stored.s3->endpoint, "https://s3.example.com");
  EXPECT_EQ(stored.s3->bucket, "backups");
  EXPECT_EQ(stored.s3->key, "prod/nightly.db");
  EXPECT_EQ(stored_location(in_volume()).pvc->sub_path, "prod/nightly.db");
}

TEST(StoredLocation, OfOneThatHasStoredNothingIsAsItsSpecSays) {
  v1::EtcdSnapshot of = in_bucket();
  of.status.artifact.reset();
  EXPECT_EQ(stored_location(of), of.spec.destination);
  EXPECT_FALSE(is_source(object("backups", "/prod/"), "prod", of));
}

TEST(StoredLocation, WhoNamesItNamesBucketAndKeyByWhateverEndpoint) {
  EXPECT_TRUE(is_source(object("backups", "prod/nightly.db"), "other", in_bucket()));
  EXPECT_TRUE(is_source(object("backups", "/prod/nightly.db"), "other", in_bucket()));
  EXPECT_FALSE(is_source(object("backups", "prod/weekly.db"), "prod", in_bucket()));
  EXPECT_FALSE(is_source(object("others", "prod/nightly.db"), "prod", in_bucket()));
  EXPECT_FALSE(is_source(file("backups", "prod/nightly.db"), "prod", in_bucket()));
}

TEST(StoredLocation, OrAFileOfAVolumeOfTheSameNamespace) {
  EXPECT_TRUE(is_source(file("backups", "prod/nightly.db"), "prod", in_volume()));
  EXPECT_TRUE(is_source(file("backups", "/prod//nightly.db"), "prod", in_volume()));
  EXPECT_FALSE(is_source(file("backups", "prod/nightly.db"), "other", in_volume()));
  EXPECT_FALSE(is_source(file("others", "prod/nightly.db"), "prod", in_volume()));
  EXPECT_FALSE(is_source(file("backups", "prod/weekly.db"), "prod", in_volume()));
}

}  // namespace
}  // namespace etcdop
