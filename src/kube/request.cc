#include "kube/request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/utf8.h"
#include "kube/object_text.h"

namespace etcdop::kube {
namespace {

constexpr std::size_t kMessageMax = 1024;  ///< Validation errors of a CRD repeat the whole value.
constexpr std::size_t kQuoteMax = 200;
constexpr std::size_t kNameMax = 253;  ///< The longest name in Kubernetes (DNS subdomain).

/// Refuses the names that apimachinery's IsValidPathSegmentName refuses, and names that are too
/// long.
Result<Done> check_segment(const char* field, const std::string& segment) {
  const bool moves = segment == "." || segment == "..";
  const bool splits = segment.find_first_of("/%") != std::string::npos;
  if (!moves && !splits && segment.size() <= kNameMax) return Done{};
  return Error{Code::Invalid, std::string(field) + " '" + shortened(segment, kQuoteMax) +
                                  "' cannot be part of a path: use at most 253 characters without "
                                  "'/' and '%', and neither '.' nor '..'"};
}

Result<Done> check_call(const Call& call) {
  if (call.verb == Verb::Update)
    return Error{Code::Invalid, "update is never sent: it would delete fields that we do not know"};
  if (auto ok = check_segment("namespace", call.ns); !ok) return ok;
  if (auto ok = check_segment("name", call.name); !ok) return ok;
  const bool named = call.verb == Verb::Get || call.verb == Verb::Patch ||
                     call.verb == Verb::Delete || !call.subresource.empty();
  if (named && call.name.empty())
    return Error{Code::Invalid, std::string("name: ") + to_string(call.verb) + " needs one"};
  if (!named && !call.name.empty())
    return Error{Code::Invalid, std::string("name: ") + to_string(call.verb) + " takes none"};
  return Done{};
}

const char* method(Verb verb) {
  switch (verb) {
    case Verb::Get:
    case Verb::List:
    case Verb::Watch: return "GET";
    case Verb::Create: return "POST";
    case Verb::Patch: return "PATCH";
    case Verb::Delete: return "DELETE";
    case Verb::Update: return "PUT";  // check_call() has refused it.
  }
  check(false, "a known Verb");
  return "";
}

const char* content_type(const Call& call) {
  if (call.verb != Verb::Patch) return "application/json";
  switch (call.patch) {
    case PatchType::Merge: return "application/merge-patch+json";
    case PatchType::Json: return "application/json-patch+json";
    case PatchType::Apply: return "application/apply-patch+yaml";  // JSON is YAML, too.
  }
  check(false, "a known PatchType");
  return "";
}

std::string path(const Call& call) {
  const Resource& resource = call.resource;
  std::string out =
      *resource.group == '\0' ? "/api/" : "/apis/" + std::string(resource.group) + "/";
  out += resource.version;
  if (!call.ns.empty()) out += "/namespaces/" + percent_encoded(call.ns);
  out += std::string("/") + resource.plural;
  if (!call.name.empty()) out += "/" + percent_encoded(call.name);
  if (!call.subresource.empty()) out += "/" + percent_encoded(call.subresource);
  return out;
}

std::string query(const Call& call) {
  std::map<std::string, std::string> all = call.query;
  if (call.verb == Verb::Create || call.verb == Verb::Patch)
    all.emplace("fieldManager", kFieldManager);
  if (call.verb == Verb::Patch && call.patch == PatchType::Apply) all.emplace("force", "true");
  if (call.verb == Verb::Watch) {
    all.emplace("watch", "1");
    all.emplace("allowWatchBookmarks", "true");
  }
  std::string out;
  for (const auto& [name, value] : all)
    out += (out.empty() ? "?" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  return out;
}

std::string body(const Call& call) {
  if (reads(call.verb) || call.body.is_null()) return {};
  if (call.verb != Verb::Delete || !call.body.is_object()) return json::serialize(call.body);
  json::object options = call.body.as_object();
  options.emplace("kind", "DeleteOptions");
  options.emplace("apiVersion", "v1");
  return json::serialize(options);
}

/// Text that is not a Status, as one printable line.
std::string one_line(std::string_view text) {
  std::string out = shortened(text, kQuoteMax);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string text_at(const json::object& object, const char* field) {
  const Json* value = object.if_contains(field);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

/// The fields of metav1.Status that decide. `code` is 0 if it is missing.
struct Status {
  int code = 0;
  std::string reason, message;
  bool has_causes = false;
  bool other_uid = false;  ///< A cause is metadata.uid: "field is immutable".
};

std::optional<Status> parse_status(const Json& value) {
  const json::object* object = value.if_object();
  if (!object || text_at(*object, "kind") != "Status") return std::nullopt;
  Status status{0, text_at(*object, "reason"), text_at(*object, "message")};
  if (const Json* code = object->if_contains("code"); code && code->is_int64())
    status.code = static_cast<int>(std::clamp<std::int64_t>(code->get_int64(), 0, 999));
  const Json* details = object->if_contains("details");
  const Json* causes =
      details && details->is_object() ? details->get_object().if_contains("causes") : nullptr;
  if (!causes || !causes->is_array()) return status;
  status.has_causes = !causes->get_array().empty();
  for (const Json& cause : causes->get_array())
    status.other_uid = status.other_uid || (cause.is_object() &&
                                            text_at(cause.get_object(), "field") == "metadata.uid");
  return status;
}

/// `from_server` is false when the body was not a Status object: something between us and the
/// server answered.
Code to_code(const Call& call, int http, const Status& status, bool from_server) {
  const Code unknown = reads(call.verb) ? Code::Unavailable : Code::Lost;
  switch (http) {
    case 401:
    case 403: return Code::Denied;
    case 404: return Code::NotFound;
    case 409: return status.reason == "AlreadyExists" ? Code::AlreadyExists : Code::Conflict;
    case 410: return Code::Expired;
    case 422: {
      // A JSON patch that does not fit the object has no causes; an invalid object has causes. A
      // UID in a merge patch is a precondition: another UID means another object.
      const bool test_failed =
          call.verb == Verb::Patch && call.patch == PatchType::Json && !status.has_causes;
      return test_failed || status.other_uid ? Code::Conflict : Code::Invalid;
    }
    case 429: return Code::Unavailable;
    case 503: return from_server ? Code::Unavailable : unknown;
    case 408: return unknown;
    default: return http >= 500 ? unknown : Code::Invalid;
  }
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) out += c;
    else out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

const char* to_string(Verb verb) {
  constexpr std::array kNames{"get", "list", "watch", "create", "patch", "delete", "update"};
  return kNames.at(static_cast<std::size_t>(verb));
}

Result<http::Request> to_request(const Call& call, std::string_view base_path) {
  if (auto ok = check_call(call); !ok) return ok.error();
  http::Request request;
  request.method = method(call.verb);
  request.target = std::string(base_path) + path(call) + query(call);
  request.headers["Accept"] = "application/json";
  request.body = body(call);
  if (!request.body.empty()) request.headers["Content-Type"] = content_type(call);
  return request;
}

Error to_error(const Call& call, int http_status, std::string_view body) {
  boost::system::error_code not_json;
  const Json parsed = json::parse(body, not_json);
  const auto status = not_json ? std::nullopt : parse_status(parsed);
  const Code code = to_code(call, http_status, status.value_or(Status{}), status.has_value());
  if (status && !status->message.empty()) return {code, shortened(status->message, kMessageMax)};
  const std::string quote = one_line(body);
  return {code, "HTTP " + std::to_string(http_status) + (quote.empty() ? "" : ": " + quote)};
}

Result<Json> to_answer(const Call& call, const http::Response& response) {
  if (response.status < 200 || response.status > 299)
    return to_error(call, response.status, response.body);
  boost::system::error_code not_json;
  Json parsed = parse_objects(response.body, call.verb == Verb::List ? 2 : 0, not_json);
  if (not_json)
    return Error{Code::Corrupt, "HTTP " + std::to_string(response.status) +
                                    " with a body that is not JSON: " + one_line(response.body)};
  return parsed;
}

Error to_error(const Call& call, const Json& status) {
  const auto parsed = parse_status(status);
  if (!parsed) return {Code::Corrupt, "an ERROR event without a Status object"};
  return {to_code(call, parsed->code == 0 ? 500 : parsed->code, *parsed, true),
          shortened(parsed->message, kMessageMax)};
}

std::optional<Duration> retry_after(const http::Response& response) {
  const auto found = response.headers.find("retry-after");
  if (found == response.headers.end()) return std::nullopt;
  const std::string& text = found->second;
  unsigned seconds = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (bad != std::errc() || end != text.data() + text.size()) return std::chrono::seconds(1);
  return std::chrono::seconds(std::clamp(seconds, 1U, 3600U));
}

}  // namespace etcdop::kube
