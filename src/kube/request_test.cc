#include "kube/request.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace etcdop::kube {
namespace {

using namespace std::chrono_literals;

constexpr Resource kPods{"", "v1", "pods", "Pod"};
constexpr Resource kClusters{"etcd.example.io", "v1alpha2", "etcdclusters", "EtcdCluster"};

Call call(Verb verb, Resource resource, std::string ns, std::string name) {
  Call out;
  out.verb = verb;
  out.resource = resource;
  out.ns = std::move(ns);
  out.name = std::move(name);
  return out;
}

TEST(Request, EachVerbHasItsMethodPathAndQuery) {
  struct Row {
    Call call;
    const char *method, *target, *content_type, *body;
  };
  Call list = call(Verb::List, kPods, "", "");
  list.query = {{"labelSelector", "app=etcd,tier in (a,b)"}, {"limit", "500"}};
  Call watch = call(Verb::Watch, kPods, "prod", "");
  watch.query = {{"resourceVersion", "42"}, {"timeoutSeconds", "300"}};
  Call create = call(Verb::Create, kClusters, "prod", "");
  create.body = {{"a", 1}};
  Call merge = call(Verb::Patch, kClusters, "prod", "db");
  merge.subresource = "status";
  merge.body = {{"a", 1}};
  Call json_patch = call(Verb::Patch, kPods, "prod", "db-0");
  json_patch.patch = PatchType::Json;
  json_patch.body = json::array{};
  Call apply = call(Verb::Patch, kPods, "prod", "db-0");
  apply.patch = PatchType::Apply;
  apply.body = {{"a", 1}};
  Call remove = call(Verb::Delete, kPods, "prod", "db-0");
  remove.body = {{"propagationPolicy", "Background"}};
  const char* const options =
      R"({"propagationPolicy":"Background","kind":"DeleteOptions","apiVersion":"v1"})";

  const Row rows[] = {
      {call(Verb::Get, kPods, "prod", "db-0"), "GET", "/api/v1/namespaces/prod/pods/db-0", "", ""},
      {call(Verb::Get, kPods, "", "cluster-scoped"), "GET", "/api/v1/pods/cluster-scoped", "", ""},
      {list, "GET", "/api/v1/pods?labelSelector=app%3Detcd%2Ctier%20in%20%28a%2Cb%29&limit=500", "",
       ""},
      {watch, "GET",
       "/api/v1/namespaces/prod/pods?allowWatchBookmarks=true&resourceVersion=42&"
       "timeoutSeconds=300&watch=1",
       "", ""},
      {create, "POST",
       "/apis/etcd.example.io/v1alpha2/namespaces/prod/etcdclusters?fieldManager=etcd-operator",
       "application/json", R"({"a":1})"},
      {merge, "PATCH",
       "/apis/etcd.example.io/v1alpha2/namespaces/prod/etcdclusters/db/"
       "status?fieldManager=etcd-operator",
       "application/merge-patch+json", R"({"a":1})"},
      {json_patch, "PATCH", "/api/v1/namespaces/prod/pods/db-0?fieldManager=etcd-operator",
       "application/json-patch+json", "[]"},
      {apply, "PATCH", "/api/v1/namespaces/prod/pods/db-0?fieldManager=etcd-operator&force=true",
       "application/apply-patch+yaml", R"({"a":1})"},
      {remove, "DELETE", "/api/v1/namespaces/prod/pods/db-0", "application/json", options},
  };
  for (const Row& row : rows) {
    auto request = to_request(row.call);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->method, row.method) << row.target;
    EXPECT_EQ(request->target, row.target);
    EXPECT_EQ(request->headers["Content-Type"], row.content_type) << row.target;
    EXPECT_EQ(request->body, row.body) << row.target;
  }
}

TEST(Request, TheServersOwnPathComesFirst) {
  auto request = to_request(call(Verb::Get, kPods, "a", "b"), "/k8s/clusters/c-1");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->target, "/k8s/clusters/c-1/api/v1/namespaces/a/pods/b");
}

TEST(Request, T1_WhatIsLegalInANameButNotInAPathIsEscaped) {
  auto request = to_request(call(Verb::Get, kPods, "prod", "system:node?x y\n\xC3\xA9"));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->target, "/api/v1/namespaces/prod/pods/system%3Anode%3Fx%20y%0A%C3%A9");
}

TEST(Request, ANameThatWouldLeaveItsPathIsRefused) {
  struct Row {
    Call call;
    const char* field;
  };
  const Row rows[] = {
      {call(Verb::Get, kPods, "prod", ".."), "name"},
      {call(Verb::Get, kPods, "prod", "."), "name"},
      {call(Verb::Get, kPods, "prod", "a/b"), "name"},
      {call(Verb::Get, kPods, "prod", "a%2Fb"), "name"},
      {call(Verb::Get, kPods, "../kube-system", "a"), "namespace"},
      {call(Verb::Get, kPods, "prod", std::string(254, 'a')), "name"},
      {call(Verb::Get, kPods, "prod", ""), "name"},
      {call(Verb::Patch, kPods, "prod", ""), "name"},
      {call(Verb::Delete, kPods, "prod", ""), "name"},
      {call(Verb::List, kPods, "prod", "a"), "name"},
      {call(Verb::Create, kPods, "prod", "a"), "name"},
  };
  for (const Row& row : rows) {
    auto request = to_request(row.call);
    ASSERT_TRUE(request.failed_with(Code::Invalid)) << row.call.ns << " " << row.call.name;
    EXPECT_EQ(request.error().message.substr(0, std::string(row.field).size()), row.field);
  }
}

/// The name may come from a Secret's reference, and goes into a condition.
TEST(Request, N1_ARefusedNameIsQuotedAsUtf8) {
  std::string name = "/";
  for (int i = 0; i < 150; ++i) name += "\xC3\xA9";
  for (const std::string& one : {name, "/" + name, std::string("/\xFF")})
    EXPECT_TRUE(is_utf8(to_request(call(Verb::Get, kPods, "prod", one)).error().message));
}

std::string status(const char* reason, const char* message, const char* details = "{}") {
  return std::string(R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":")") +
         message + R"(","reason":")" + reason + R"(","details":)" + details + "}";
}

TEST(Request, AWholeObjectIsNeverPut) {
  EXPECT_TRUE(to_request(call(Verb::Update, kPods, "prod", "a")).failed_with(Code::Invalid));
}

TEST(Answer, ErrorsMapToTheCodesThatCallersBranchOn) {
  const Call get = call(Verb::Get, kPods, "n", "p"), create = call(Verb::Create, kPods, "n", "");
  Call json_patch = call(Verb::Patch, kPods, "n", "p");
  json_patch.patch = PatchType::Json;
  const Call merge = call(Verb::Patch, kPods, "n", "p");
  const char* const uid = R"({"causes":[{"field":"spec"},{"field":"metadata.uid"}]})";
  const char* const causes = R"({"causes":[{"reason":"FieldValueInvalid","field":"spec"}]})";
  struct Row {
    const Call& call;
    int http;
    std::string body;
    Code code;
    const char* because;
  };
  const Row rows[] = {
      {get, 400, status("BadRequest", "m"), Code::Invalid, "it cannot be decoded"},
      {get, 401, status("Unauthorized", "m"), Code::Denied, "no such user"},
      {get, 403, status("Forbidden", "m"), Code::Denied, "not allowed"},
      {get, 404, status("NotFound", "m"), Code::NotFound, "no such object"},
      {get, 404, "404 page not found", Code::NotFound, "no such kind"},
      {get, 408, status("Timeout", "m"), Code::Unavailable, "a read may be repeated"},
      {create, 408, status("Timeout", "m"), Code::Lost, "a write may have happened"},
      {create, 409, status("AlreadyExists", "m"), Code::AlreadyExists, "the name is taken"},
      {create, 409, status("Conflict", "m"), Code::Conflict, "changed meanwhile"},
      {get, 410, status("Expired", "m"), Code::Expired, "too old"},
      {create, 413, status("RequestEntityTooLarge", "m"), Code::Invalid, "it will not get smaller"},
      {json_patch, 415, status("UnsupportedMediaType", "m"), Code::Invalid, "our mistake"},
      {create, 422, status("Invalid", "m", causes), Code::Invalid, "the schema refuses it"},
      {json_patch, 422, status("Invalid", "m"), Code::Conflict, "a test failed"},
      {json_patch, 422, status("Invalid", "m", causes), Code::Invalid, "the result is not valid"},
      {merge, 422, status("Invalid", "m", uid), Code::Conflict, "it is another object by now"},
      {create, 422, status("Invalid", "m"), Code::Invalid, "only a JSON patch tests"},
      {create, 429, status("TooManyRequests", "m"), Code::Unavailable, "not carried out"},
      {get, 500, status("InternalError", "m"), Code::Unavailable, "a read may be repeated"},
      {create, 500, status("InternalError", "m"), Code::Lost, "etcd may have done it"},
      {create, 502, "<html>bad gateway</html>", Code::Lost, "a proxy lost the answer"},
      {create, 503, status("ServiceUnavailable", "m"), Code::Unavailable, "the server refused"},
      {create, 503, "upstream reset", Code::Lost, "a proxy may have passed it on"},
      {get, 503, "upstream reset", Code::Unavailable, "a read may be repeated"},
      {create, 504, status("Timeout", "m"), Code::Lost, "etcd may have done it"},
      {get, 504, status("Timeout", "m"), Code::Unavailable, "a read may be repeated"},
      {get, 301, "", Code::Invalid, "we follow no redirect"},
  };
  for (const Row& row : rows) {
    const Error error = to_error(row.call, row.http, row.body);
    EXPECT_EQ(int(error.code), int(row.code)) << row.http << " " << row.because;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(Answer, TheMessageIsTheServersAndBounded) {
  const Call get = call(Verb::Get, kPods, "n", "p");
  EXPECT_EQ(to_error(get, 404, status("NotFound", R"(pods \"p\" not found)")).message,
            R"(pods "p" not found)");
  const std::string text(5000, 'x');
  EXPECT_EQ(to_error(get, 422, status("Invalid", text.c_str())).message.size(), 1024U);
  // With 1020 bytes, the next character of two bytes leaves no room for the dots.
  const std::string accent = std::string(1020, 'x') + "\xC3\xA9\xC3\xA9\xC3\xA9";
  EXPECT_EQ(to_error(get, 422, status("Invalid", accent.c_str())).message,
            std::string(1020, 'x') + "...");
}

TEST(Answer, ABodyOfAnotherKindIsQuotedInOneLine) {
  const Call get = call(Verb::Get, kPods, "n", "p");
  EXPECT_EQ(to_error(get, 404, "404 page\r\nnot found\n").message, "HTTP 404: 404 page  not found");
  EXPECT_EQ(to_error(get, 502, "").message, "HTTP 502");
  EXPECT_EQ(to_error(get, 502, R"({"kind":"Status","message":7,"code":"x","details":[]})").message,
            R"(HTTP 502: {"kind":"Status","message":7,"code":"x","details":[]})");
  EXPECT_LE(to_error(get, 502, std::string(100'000, '<')).message.size(), 220U);
}

TEST(Answer, SuccessIsTheObject) {
  const Call get = call(Verb::Get, kPods, "n", "p");
  auto object = to_answer(get, {200, {}, R"({"kind":"Pod"})"});
  ASSERT_TRUE(object);
  EXPECT_EQ(object->at("kind"), "Pod");
  EXPECT_TRUE(to_answer(get, {200, {}, "<html>"}).failed_with(Code::Corrupt));
  EXPECT_TRUE(to_answer(get, {200, {}, ""}).failed_with(Code::Corrupt));
  EXPECT_TRUE(to_answer(get, {200, {}, std::string(1000, '[')}).failed_with(Code::Corrupt));
}

TEST(Answer, AnErrorEventOfAWatchMapsByItsCode) {
  const Call watch = call(Verb::Watch, kPods, "n", "");
  const auto error = [&](const char* object) { return to_error(watch, json::parse(object)); };
  const Error expired =
      error(R"x({"kind":"Status","code":410,"message":"too old resource version: 1 (9)"})x");
  EXPECT_EQ(expired, (Error{Code::Expired, "too old resource version: 1 (9)"}));
  EXPECT_EQ(int(error(R"({"kind":"Status","code":500})").code), int(Code::Unavailable));
  EXPECT_EQ(int(error(R"({"kind":"Status"})").code), int(Code::Unavailable));
  EXPECT_EQ(int(error(R"({"kind":"Pod"})").code), int(Code::Corrupt));
}

TEST(Answer, RetryAfterIsBounded) {
  const auto wait = [](const char* value) {
    return retry_after({429, {{"retry-after", value}}, ""});
  };
  EXPECT_EQ(retry_after({429, {}, ""}), std::nullopt);
  EXPECT_EQ(wait("7"), 7s);
  EXPECT_EQ(wait("0"), 1s);
  EXPECT_EQ(wait("99999"), 3600s);
  EXPECT_EQ(wait("99999999999999999999"), 1s);
  EXPECT_EQ(wait("-5"), 1s);
  EXPECT_EQ(wait("Fri, 31 Dec 2027 23:59:59 GMT"), 1s);
}

}  // namespace
}  // namespace etcdop::kube
