// Environments from EKS, ECS and people, and the Pod's identity in each.
#include "agent/pod_identity.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace etcdop::agent {
namespace {

using Environment = std::map<std::string, std::string>;

Result<s3::PodIdentity> read(const Environment& environment) {
  return to_pod_identity(
      [&](const std::string& name) -> std::optional<std::string> {
        const auto it = environment.find(name);
        return it == environment.end() ? std::nullopt : std::optional(it->second);
      },
      "eu-west-1");
}

const Environment kWeb{
    {"AWS_WEB_IDENTITY_TOKEN_FILE", "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"},
    {"AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/backups"}};

std::string sts_of(Environment environment) {
  environment.insert(kWeb.begin(), kWeb.end());
  auto identity = read(environment);
  return identity ? std::get<s3::WebIdentity>(*identity).endpoint : identity.error().message;
}

TEST(PodIdentity, ATokenForARole) {
  auto identity = read(kWeb);
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(
      std::get<s3::WebIdentity>(*identity),
      (s3::WebIdentity{.endpoint = "https://sts.eu-west-1.amazonaws.com",
                       .token_path = "/var/run/secrets/eks.amazonaws.com/serviceaccount/token",
                       .role = "arn:aws:iam::111122223333:role/backups",
                       .session = "etcd-operator"}));
}

TEST(PodIdentity, WhereStsIs) {
  EXPECT_EQ(sts_of({{"AWS_REGION", "ap-south-1"}}), "https://sts.ap-south-1.amazonaws.com");
  EXPECT_EQ(sts_of({{"AWS_REGION", "cn-north-1"}}), "https://sts.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(sts_of({{"AWS_ENDPOINT_URL_STS", "https://minio.prod.svc:9000/"}}),
            "https://minio.prod.svc:9000");
}

TEST(PodIdentity, WhoOnTheNodeHandsOutCredentials) {
  auto eks = read({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
                   {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/var/run/token"}});
  ASSERT_TRUE(eks) << eks.error().message;
  EXPECT_EQ(std::get<s3::NodeIdentity>(*eks),
            (s3::NodeIdentity{"http://169.254.170.23", "/v1/credentials", "/var/run/token"}));
  auto ecs = read({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials/1?a=b"}});
  ASSERT_TRUE(ecs) << ecs.error().message;
  EXPECT_EQ(std::get<s3::NodeIdentity>(*ecs),
            (s3::NodeIdentity{"http://169.254.170.2", "/v2/credentials/1?a=b", ""}));
  for (const char* url : {"http://127.0.0.1:51679", "http://[::1]:80/x", "http://localhost/x",
                          "http://[fd00:ec2::23]/v1/credentials", "https://credentials.test/x"})
    EXPECT_TRUE(read({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}})) << url;
}

TEST(PodIdentity, T3_WhatIsRefused) {
  Environment no_role = kWeb, no_path = kWeb, no_region = kWeb, no_server = kWeb;
  no_role.erase("AWS_ROLE_ARN");
  no_path["AWS_WEB_IDENTITY_TOKEN_FILE"] = "token";
  no_region["AWS_REGION"] = "eu west/1";
  no_server["AWS_ENDPOINT_URL_STS"] = "sts.test";
  const auto full = [](const char* url) {
    return Environment{{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}};
  };
  const auto relative = [](const char* path) {
    return Environment{{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", path}};
  };
  const struct {
    Environment environment;
    const char* message;
  } rows[] = {
      {{}, "AWS_ACCESS_KEY_ID: is not set, and the Pod was given no identity"},
      {no_role, "AWS_ROLE_ARN: must be set"},
      {no_path, "AWS_WEB_IDENTITY_TOKEN_FILE: must be an absolute path"},
      {no_region, "AWS_REGION: must be"},
      {no_server, "AWS_ENDPOINT_URL_STS: must be the URL of a server"},
      {full("http://10.0.0.1/x"), "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be https://"},
      {full("http://169.254.169.254/latest/meta-data"),
       "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be https://"},
      {full("http://169.254.170.2.evil.test/"), "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be"},
      {full("http://169.254.170.2@evil.test/"), "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be"},
      {full("http://127.0.0.1/a\r\nhost: b"), "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be a URL"},
      {full("127.0.0.1/x"), "AWS_CONTAINER_CREDENTIALS_FULL_URI: must be the URL of a server"},
      {relative(".evil.test/x"), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: must be a path"},
      {relative("@evil.test/x"), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: must be a path"},
  };
  for (const auto& row : rows) {
    auto identity = read(row.environment);
    ASSERT_TRUE(identity.failed_with(Code::Invalid)) << row.message;
    EXPECT_TRUE(identity.error().message.starts_with(row.message)) << identity.error().message;
  }
}

}  // namespace
}  // namespace etcdop::agent
