#include "agent/pod_identity.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "s3/place.h"

namespace etcdop::agent {
namespace {

/// Servers on the node itself: ECS, and EKS Pod Identity.
constexpr const char* kRelativeTo = "http://169.254.170.2";
constexpr std::array<std::string_view, 6> kNearHosts{
    "169.254.170.2", "169.254.170.23", "fd00:ec2::23", "127.0.0.1", "::1", "localhost"};

Error invalid(const char* variable, const std::string& what) {
  return {Code::Invalid, std::string(variable) + ": " + what};
}

std::string value(const Variables& variables, const char* name) {
  return variables(name).value_or("");
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

Result<s3::Place> to_server(const char* variable, const std::string& url) {
  auto place =
      s3::to_place({.endpoint = url, .bucket = "none", .region = "none", .path_style = true});
  if (place) return place;
  return invalid(variable, "must be the URL of a server, by http:// or https://");
}

Result<s3::PodIdentity> to_web_identity(const Variables& variables, const std::string& region) {
  s3::WebIdentity out{.endpoint = value(variables, "AWS_ENDPOINT_URL_STS"),
                      .token_path = value(variables, "AWS_WEB_IDENTITY_TOKEN_FILE"),
                      .role = value(variables, "AWS_ROLE_ARN"),
                      .session = value(variables, "AWS_ROLE_SESSION_NAME")};
  if (out.role.empty() || !is_printable(out.role))
    return invalid("AWS_ROLE_ARN", "must be set, with AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!out.token_path.starts_with('/'))
    return invalid("AWS_WEB_IDENTITY_TOKEN_FILE", "must be an absolute path");
  if (out.session.empty()) out.session = "etcd-operator";
  const std::string own_region = value(variables, "AWS_REGION");
  const std::string& where = own_region.empty() ? region : own_region;
  while (out.endpoint.ends_with('/')) out.endpoint.pop_back();
  if (out.endpoint.empty())
    out.endpoint =
        "https://sts." + where + ".amazonaws.com" + (where.starts_with("cn-") ? ".cn" : "");
  const bool given = !value(variables, "AWS_ENDPOINT_URL_STS").empty();
  if (auto server = to_server(given ? "AWS_ENDPOINT_URL_STS" : "AWS_REGION", out.endpoint); !server)
    return server.error();
  return s3::PodIdentity(std::move(out));
}

/// Without TLS, only servers on the node: elsewhere, an attacker could answer.
Result<s3::PodIdentity> to_node_identity(const Variables& variables) {
  constexpr const char* kFull = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
  constexpr const char* kRelative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  const std::string relative = value(variables, kRelative);
  const char* const variable = relative.empty() ? kFull : kRelative;
  const std::string url = relative.empty() ? value(variables, kFull) : kRelativeTo + relative;
  if (!is_printable(url) || (!relative.empty() && !relative.starts_with('/')))
    return invalid(variable, relative.empty() ? "must be a URL" : "must be a path from / on");
  const std::size_t scheme = url.find("://");
  const std::size_t slash = scheme == url.npos ? url.npos : url.find('/', scheme + 3);
  s3::NodeIdentity out{.endpoint = url.substr(0, slash),
                       .target = slash == url.npos ? "/" : url.substr(slash),
                       .token_path = value(variables, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")};
  auto server = to_server(variable, out.endpoint);
  if (!server) return server.error();
  if (!server->tls && !std::ranges::count(kNearHosts, server->host))
    return invalid(variable, "must be https://, or an address of the node itself");
  return s3::PodIdentity(std::move(out));
}

}  // namespace

Result<s3::PodIdentity> to_pod_identity(const Variables& variables, const std::string& region) {
  if (!value(variables, "AWS_WEB_IDENTITY_TOKEN_FILE").empty())
    return to_web_identity(variables, region);
  for (const char* uri :
       {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"})
    if (!value(variables, uri).empty()) return to_node_identity(variables);
  return invalid("AWS_ACCESS_KEY_ID",
                 "is not set, and the Pod was given no identity: name a Secret in "
                 "credentialsSecretRef, or a ServiceAccount that has a role");
}

}  // namespace etcdop::agent
