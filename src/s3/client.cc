#include "s3/client.h"

#include <utility>

#include "base/base64.h"
#include "sys/digest.h"

namespace etcdop::s3 {
namespace {

std::map<std::string, std::string> headers_of(const Metadata& metadata, bool only_if_absent) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : metadata) headers["x-amz-meta-" + name] = value;
  if (only_if_absent) headers["if-none-match"] = "*";
  return headers;
}

Asked::Condition condition(bool only_if_absent) {
  return only_if_absent ? Asked::Condition::Absent : Asked::Condition::None;
}

std::string range_of(const GetOptions::Range& range) {
  return "bytes=" + std::to_string(range.first) + "-" +
         std::to_string(range.first + range.count - 1);
}

/// Checks that the answer is the requested range: the sink has already received it.
Result<Done> check_range(const GetOptions& options, const http::Response& response) {
  if (response.status != (options.range ? 206 : 200))
    return Error{Code::Corrupt, "the store answered " + std::to_string(response.status) +
                                    (options.range ? " to a range: it must support ranges" : "")};
  if (!options.range) return Done{};
  const auto it = response.headers.find("content-range");
  const std::string wanted = "bytes " + std::to_string(options.range->first) + "-";
  if (it != response.headers.end() && it->second.starts_with(wanted)) return Done{};
  return Error{Code::Corrupt, "the store answered another range than asked"};
}

}  // namespace

struct Client::Ask {
  Asked asked;
  const char* method = "GET";
  std::string key = {};  // Empty: the bucket itself.
  std::map<std::string, std::string> query = {}, headers = {};
  std::string_view body = {};
  Duration limit = kCallLimit;
};

Client::Client(Executor& executor, const WallClock& wall, const Place& place,
               http::HttpClient::Dial dial, Identity identity, const Options& options)
    : executor_(executor),
      wall_(wall),
      place_(place),
      identity_(std::move(identity)),
      user_agent_("etcd-operator/" + options.version),
      http_(executor, std::move(dial),
            {.host = place.authority,
             .kept = options.kept,
             .kept_limit = options.kept_limit,
             .body_limit = kAnswerBytesMax}) {}

/// Buckets with object lock require Content-MD5; the signature's hash does not satisfy them.
Client::Ask Client::with(const Payload& payload, Ask ask) {
  ask.body = payload.bytes;
  ask.headers["content-md5"] = to_base64(payload.md5);
  return ask;
}

Result<http::Response> Client::send(const Ask& ask, const Sink* sink) {
  const Within limit(executor_, ask.limit);
  auto who = identity_();
  if (!who) return who.error();
  const std::string path = place_.path + "/" + uri_encoded(ask.key, true);
  ToSign to_sign{.method = ask.method,
                 .path = path,
                 .query = ask.query,
                 .headers = ask.headers,
                 .payload_hash = sha256_hex(ask.body)};
  to_sign.headers["host"] = place_.authority;

  http::Request request{
      .method = ask.method, .target = path, .headers = ask.headers, .large_body = ask.body};
  request.headers.merge(signature(to_sign, *who, place_.region, wall_.wall_now()));
  request.headers["user-agent"] = user_agent_;
  if (!ask.query.empty()) request.target += "?" + query_text(ask.query);
  auto response = sink ? http_.stream(request, *sink) : http_.send(request);
  if (!response) return to_error(ask.asked, response.error());
  if (response->status / 100 != 2) return to_error(ask.asked, to_refusal(*response));
  return response;
}

Result<Tag> Client::store(const Ask& ask) {
  auto response = send(ask);
  if (!response) return response.error();
  auto tag = to_tag(*response);
  if (!tag) return to_error(ask.asked, tag.error());
  return tag;
}

Result<Object> Client::head(const std::string& key) {
  if (auto ok = check_key(key); !ok) return ok.error();
  const Ask ask{
      .asked = {.call = "HEAD", .bucket = place_.bucket, .key = key}, .method = "HEAD", .key = key};
  auto response = send(ask);
  if (!response) return response.error();
  return to_object(*response);
}

Result<Object> Client::get(const std::string& key, const GetOptions& options, const Sink& sink) {
  if (auto ok = check_key(key); !ok) return ok.error();
  check(!options.range || options.range->count > 0, "a range has bytes");
  Ask ask{.asked = {.call = "GET", .bucket = place_.bucket, .key = key}, .key = key};
  if (options.range) ask.headers["range"] = range_of(*options.range);
  if (options.only_if) {
    ask.headers["if-match"] = options.only_if->text;
    ask.asked.condition = Asked::Condition::SameTag;
  }
  auto response = send(ask, &sink);
  if (!response) return response.error();
  if (auto ok = check_range(options, *response); !ok) return ok.error();
  return to_object(*response);
}

Result<Tag> Client::put(const std::string& key, std::string_view bytes, const PutOptions& options) {
  if (auto ok = check_key(key); !ok) return ok.error();
  if (auto ok = check_metadata(options.metadata); !ok) return ok.error();
  const Ask ask{.asked = {.call = "PutObject",
                          .writes = true,
                          .condition = condition(options.only_if_absent),
                          .bucket = place_.bucket,
                          .key = key},
                .method = "PUT",
                .key = key,
                .headers = headers_of(options.metadata, options.only_if_absent)};
  return store(with(bytes, ask));
}

Result<Upload> Client::create_multipart(const std::string& key, const Metadata& metadata) {
  if (auto ok = check_key(key); !ok) return ok.error();
  if (auto ok = check_metadata(metadata); !ok) return ok.error();
  const Ask ask{.asked = {.call = "CreateMultipartUpload",
                          .writes = true,
                          .bucket = place_.bucket,
                          .key = key},
                .method = "POST",
                .key = key,
                .query = {{"uploads", ""}},
                .headers = headers_of(metadata, false)};
  auto response = send(ask);
  if (!response) return response.error();
  auto id = to_upload_id(response->body);
  if (!id) return to_error(ask.asked, id.error());
  return Upload{.key = key, .id = std::move(*id)};
}

Result<Tag> Client::upload_part(const Upload& upload, int number, const Payload& payload) {
  check(number >= 1 && number <= kPartsMax, "a part's number is 1 to 10,000");
  const Ask ask{
      .asked = {.call = "UploadPart", .writes = true, .bucket = place_.bucket, .key = upload.key},
      .method = "PUT",
      .key = upload.key,
      .query = {{"partNumber", std::to_string(number)}, {"uploadId", upload.id}}};
  return store(with(payload, ask));
}

Result<Tag> Client::complete(const Upload& upload, const std::vector<Part>& parts,
                             bool only_if_absent) {
  const std::string body = to_body(parts);
  const Ask ask{.asked = {.call = "CompleteMultipartUpload",
                          .writes = true,
                          .condition = condition(only_if_absent),
                          .bucket = place_.bucket,
                          .key = upload.key},
                .method = "POST",
                .key = upload.key,
                .query = {{"uploadId", upload.id}},
                .headers = headers_of({}, only_if_absent),
                .body = body,
                .limit = kCompleteLimit};
  auto response = send(ask);
  if (!response) return response.error();
  auto tag = to_completed(ask.asked, response->body);
  if (!tag) return to_error(ask.asked, tag.error());
  return tag;
}

Result<Done> Client::abort(const Upload& upload) {
  const Ask ask{.asked = {.call = "AbortMultipartUpload",
                          .writes = true,
                          .bucket = place_.bucket,
                          .key = upload.key},
                .method = "DELETE",
                .key = upload.key,
                .query = {{"uploadId", upload.id}}};
  auto response = send(ask);
  if (!response) return response.error();
  return Done{};
}

Result<Page> Client::list(const ListOptions& options) {
  Ask ask{.asked = {.call = "ListObjectsV2", .bucket = place_.bucket},
          .query = {{"list-type", "2"}, {"max-keys", std::to_string(options.count)}}};
  if (!options.prefix.empty()) ask.query["prefix"] = options.prefix;
  if (!options.token.empty()) ask.query["continuation-token"] = options.token;
  auto response = send(ask);
  if (!response) return response.error();
  return to_page(response->body);
}

Result<std::vector<Upload>> Client::uploads(const std::string& prefix) {
  Ask ask{.asked = {.call = "ListMultipartUploads", .bucket = place_.bucket},
          .query = {{"uploads", ""}, {"max-uploads", std::to_string(ListOptions::kCountMax)}}};
  if (!prefix.empty()) ask.query["prefix"] = prefix;
  auto response = send(ask);
  if (!response) return response.error();
  return to_uploads(response->body);
}

Result<Done> Client::remove(const std::string& key) {
  if (auto ok = check_key(key); !ok) return ok.error();
  const Ask ask{
      .asked = {.call = "DeleteObject", .writes = true, .bucket = place_.bucket, .key = key},
      .method = "DELETE",
      .key = key};
  auto response = send(ask);
  if (!response && !response.failed_with(Code::NotFound)) return response.error();
  return Done{};
}

}  // namespace etcdop::s3
