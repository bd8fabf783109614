// What a Call looks like over HTTP and what an HTTP answer means. Pure: nothing here sends
// anything.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/fiber.h"
#include "base/result.h"
#include "http/http_client.h"
#include "kube/api.h"

namespace etcdop::kube {

/// Owner of the fields that we apply, and of our other writes in managedFields.
constexpr const char* kFieldManager = "etcd-operator";

/// Escapes everything but RFC 3986's unreserved characters, '/' too.
std::string percent_encoded(std::string_view);

/// Method, target and body. `base_path` is what the server's URL has before "/api", mostly nothing.
/// Invalid, before anything is sent: a namespace or name that would address another path, a verb
/// that needs a name and has none (or the reverse).
Result<http::Request> to_request(const Call&, std::string_view base_path = {});

/// True if carrying out the call twice, or not knowing whether it happened, does no harm.
constexpr bool reads(Verb verb) {
  return verb == Verb::Get || verb == Verb::List || verb == Verb::Watch;
}
/// As RBAC and metrics write it: "get", "patch"...
const char* to_string(Verb);

/// How an answer that is not a success maps, as api.h promises. `message` is the Status object's,
/// cut to 1 KiB; a body of another kind (a proxy's page) is quoted after the HTTP status, shorter.
///
/// A 503 for a write that is no Status object came from something in between, which may have passed
/// the write on: Lost.
Error to_error(const Call&, int http_status, std::string_view body);

/// The object, list or Status of an answer, or its error. Corrupt: success, but not JSON.
Result<Json> to_answer(const Call&, const http::Response&);

/// The error of a watch's ERROR event: `status` is its object.
Error to_error(const Call&, const Json& status);

/// How long the server asks us to wait: whole seconds, at least one, at most an hour; nullopt
/// without such a header. The API server uses no dates in it.
std::optional<Duration> retry_after(const http::Response&);

}  // namespace etcdop::kube
