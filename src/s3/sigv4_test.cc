// Against signatures made by botocore (sigv4_vectors.py).
#include "s3/sigv4.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "sys/system.h"

namespace etcdop::s3 {
namespace {

std::string text(const Json& value) { return std::string(value.as_string()); }

std::map<std::string, std::string> to_map(const Json& value) {
  std::map<std::string, std::string> out;
  for (const auto& [name, member] : value.as_object()) out[name] = text(member);
  return out;
}

TEST(SigV4, SignsAsBotocoreDoes) {
  auto file = read_file(S3_FOLDER "/sigv4_vectors.json");
  ASSERT_TRUE(file) << file.error().message;
  const Json vectors = json::parse(*file);
  ASSERT_GE(vectors.as_array().size(), 16U);
  for (const Json& vector : vectors.as_array()) {
    const Json& body = vector.at("body");
    const ToSign request{
        .method = text(vector.at("method")),
        .path = text(vector.at("path")),
        .query = to_map(vector.at("query")),
        .headers = to_map(vector.at("headers")),
        .payload_hash = body.is_null() ? kUnsignedPayload : sha256_hex(text(body))};
    const Credentials who{.key_id = text(vector.at("key_id")),
                          .secret = Secret(text(vector.at("secret"))),
                          .session_token = Secret(text(vector.at("session_token")))};
    EXPECT_EQ(
        signature(request, who, text(vector.at("region")), *from_rfc3339(text(vector.at("time")))),
        to_map(vector.at("wanted")))
        << json::serialize(vector);
  }
}

TEST(SigV4, EncodesAllThatIsNotPlain) {
  EXPECT_EQ(uri_encoded("az-AZ_09.~"), "az-AZ_09.~");
  EXPECT_EQ(uri_encoded("a/b c+\xC3\xA9%"), "a%2Fb%20c%2B%C3%A9%25");
  EXPECT_EQ(uri_encoded("a/b c", true), "a/b%20c");
  EXPECT_EQ(query_text({{"b", ""}, {"a", "1&2"}}), "a=1%262&b=");
}

}  // namespace
}  // namespace etcdop::s3
