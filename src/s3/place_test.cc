#include "s3/place.h"

#include <gtest/gtest.h>

namespace etcdop::s3 {
namespace {

std::string shown(const PlaceOptions& options) {
  auto place = to_place(options);
  if (!place) return place.error().message;
  return std::string(place->tls ? "tls " : "plain ") + place->host + " " + place->port + " " +
         place->authority + " " + place->path;
}

TEST(Place, IsTakenApart) {
  EXPECT_EQ(shown({.endpoint = "https://s3.example", .bucket = "b"}),
            "tls b.s3.example 443 b.s3.example ");
  EXPECT_EQ(shown({.endpoint = "https://s3.example/", .bucket = "b", .path_style = true}),
            "tls s3.example 443 s3.example /b");
  EXPECT_EQ(shown({.endpoint = "http://s3.example:9000", .bucket = "b-1.x"}),
            "plain b-1.x.s3.example 9000 b-1.x.s3.example:9000 ");
  EXPECT_EQ(shown({.endpoint = "http://10.0.0.1:80", .bucket = "b", .path_style = true}),
            "plain 10.0.0.1 80 10.0.0.1 /b");
  EXPECT_EQ(shown({.endpoint = "https://[fd00::1]:9000", .bucket = "b", .path_style = true}),
            "tls fd00::1 9000 [fd00::1]:9000 /b");
  EXPECT_EQ(shown({.endpoint = "https://a.1", .bucket = "b"}), "tls b.a.1 443 b.a.1 ");
}

TEST(Place, AnAddressTakesTheBucketInThePath) {
  EXPECT_EQ(shown({.endpoint = "http://10.0.0.1:9000", .bucket = "b"}),
            "plain 10.0.0.1 9000 10.0.0.1:9000 /b");
  EXPECT_EQ(shown({.endpoint = "https://[fd00::1]", .bucket = "b"}),
            "tls fd00::1 443 [fd00::1] /b");
}

TEST(Place, SaysWhichOptionIsWrong) {
  for (const char* endpoint :
       {"", "s3.example", "ftp://s3.example", "https://", "https://:9000", "https://a/b",
        "https://user@a", "https://a:0", "https://a:65536", "https://a:", "https://a:1x",
        "https://a?b", "https://[a.b]", "https://[fd00::1", "https://[fd00::1]x", "https://a..b",
        "https://a\r\nb"})
    EXPECT_EQ(shown({.endpoint = endpoint, .bucket = "b"}).substr(0, 10), "endpoint: ") << endpoint;
  for (const char* bucket : {"", ".", "..", "a/b", "a b", "a_b", "a?", "b."})
    EXPECT_EQ(shown({.endpoint = "https://a", .bucket = bucket}).substr(0, 8), "bucket: ")
        << bucket;
  EXPECT_EQ(shown({.endpoint = "https://a", .bucket = std::string(64, 'b')}).substr(0, 8),
            "bucket: ");
  EXPECT_EQ(shown({.endpoint = "https://a", .bucket = "b", .region = "a/b"}).substr(0, 8),
            "region: ");
}

}  // namespace
}  // namespace etcdop::s3
