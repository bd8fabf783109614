// Translates a Call to HTTP and an HTTP answer to a result. Pure: it sends nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/fiber.h"
#include "base/result.h"
#include "http/http_client.h"
#include "kube/api.h"

namespace etcdop::kube {

/// Owner of the fields that we apply; our other writes have it in managedFields, too.
constexpr const char* kFieldManager = "etcd-operator";

/// Escapes everything but RFC 3986's unreserved characters, '/' too.
std::string percent_encoded(std::string_view);

/// Method, target and body. `base_path` is the part of the server's URL before "/api", mostly
/// empty. Invalid, before anything is sent: a namespace or name that would address another path, a
/// verb that needs a name but has none (or the reverse).
Result<http::Request> to_request(const Call&, std::string_view base_path = {});

/// True if the call is harmless when carried out twice or when its outcome is unknown.
constexpr bool reads(Verb verb) {
  return verb == Verb::Get || verb == Verb::List || verb == Verb::Watch;
}
/// As in RBAC and metrics: "get", "patch"...
const char* to_string(Verb);

/// Maps an answer that is not a success, as api.h promises. `message` is the Status object's, cut
/// to 1 KiB; another body (a proxy's page) is quoted after the HTTP status, shorter.
///
/// A 503 for a write without a Status object came from something in between, which may have passed
/// the write on: Lost.
Error to_error(const Call&, int http_status, std::string_view body);

/// The object, list or Status of an answer, or its error. Corrupt: success, but not JSON.
Result<Json> to_answer(const Call&, const http::Response&);

/// The error of a watch's ERROR event: `status` is its object.
Error to_error(const Call&, const Json& status);

/// How long the server asks us to wait: whole seconds, at least one, at most an hour; nullopt
/// without such a header. The API server never sends dates in it.
std::optional<Duration> retry_after(const http::Response&);

}  // namespace etcdop::kube
