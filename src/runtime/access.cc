#include "runtime/access.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "base/check.h"

namespace etcdop::runtime {
namespace {

constexpr std::string_view kScheme = "bearer ";

/// The text after "Bearer" (in any case); empty for anything else.
std::string token_of(std::string_view authorization) {
  const auto same = [](char sent, char wanted) { return (sent | 0x20) == wanted; };
  if (authorization.size() < kScheme.size() ||
      !std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, same))
    return "";
  const std::size_t at = authorization.find_first_not_of(' ', kScheme.size());
  return at == std::string_view::npos ? "" : std::string(authorization.substr(at));
}

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, EVP_sha256(), nullptr) == 1,
        "SHA-256 is there");
  return {reinterpret_cast<const char*>(out.data()), size};
}

http::Response refusal(int status, std::string why) {
  http::Response out{status, {{"content-type", "text/plain; charset=utf-8"}}, std::move(why)};
  if (status == 401) out.headers["www-authenticate"] = "Bearer";
  return out;
}

}  // namespace

std::vector<kube::Permission> access_permissions() {
  return {std::begin(kAccessPermissions), std::end(kAccessPermissions)};
}

AccessReviews::AccessReviews(kube::Granted<kAccessPermissions> api, Executor& executor, Log& log,
                             Options options)
    : api_(api), executor_(executor), log_(log), options_(options) {
  check(options.kept > 0, "the latest answer has a place");
}

http::Server::Handler AccessReviews::guard(http::Server::Handler handler) {
  return [this, handler = std::move(handler)](const http::Request& request) {
    const auto sent = request.headers.find("authorization");
    const std::string path = request.target.substr(0, request.target.find('?'));
    switch (review(sent == request.headers.end() ? "" : sent->second, path)) {
      case Access::Granted: return handler(request);
      case Access::Unknown: return refusal(401, "show a bearer token that the API server knows\n");
      case Access::Refused:
        return refusal(403, "this account may not get " + path + " (a nonResourceURL)\n");
      case Access::Undecided: break;
    }
    return refusal(503, "the API server does not say whether you may get " + path + "\n");
  };
}

Access AccessReviews::review(const std::string& authorization, const std::string& path) {
  const std::string token = token_of(authorization);
  if (token.empty()) return Access::Unknown;
  const Question question{sha256(token), path};
  const auto known = kept_.find(question);
  if (known != kept_.end() && executor_.now() < known->second.until) return known->second.access;
  auto answer = ask(token, path);
  if (answer) {
    complaint_.clear();
    keep(question, *answer);
    return *answer;
  }
  if (!answer.failed_with(Code::Cancelled) && complaint_ != answer.error().message) {
    complaint_ = answer.error().message;
    log_.warn("cannot tell who may read", {{"path", path}, {"error", complaint_}});
  }
  return Access::Undecided;
}

Result<Access> AccessReviews::ask(const std::string& token, const std::string& path) const {
  Within limit(executor_, options_.limit);
  auto who = api_.create<kube::TokenReview>("", {{"spec", {{"token", token}}}});
  if (!who) return who.error();
  if (!who->status.authenticated) return Access::Unknown;
  // The spec has the same user fields as the status, except for the key of the name.
  Json spec = api::encode(who->status.user);
  spec.as_object().erase("username");
  spec.as_object()["user"] = who->status.user.username;
  // HEAD shows less than GET, so permission for get covers both.
  spec.as_object()["nonResourceAttributes"] = {{"path", path}, {"verb", "get"}};
  auto may = api_.create<kube::SubjectAccessReview>("", json::object{{"spec", std::move(spec)}});
  if (!may) return may.error();
  return may->status.allowed ? Access::Granted : Access::Refused;
}

void AccessReviews::keep(const Question& question, Access access) {
  const Instant now = executor_.now();
  std::erase_if(kept_, [&](const auto& entry) { return entry.second.until <= now; });
  if (kept_.size() >= options_.kept && !kept_.contains(question))
    kept_.erase(
        std::ranges::min_element(kept_, {}, [](const auto& entry) { return entry.second.until; }));
  const Duration how_long = access == Access::Granted ? options_.granted_for : options_.refused_for;
  kept_[question] = {access, now + how_long};
}

}  // namespace etcdop::runtime
