#include "kube/config.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "kube/kubeconfig_entry.h"
#include "kube/kubeconfig_user.h"

namespace etcdop::kube {
namespace {

constexpr std::size_t kFileMax = 1 << 20;
constexpr std::size_t kFilesMax = 100;
constexpr Duration kTokenAge = std::chrono::minutes(1);
const std::string kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

/// The merged content of all files; the first value wins.
struct Merged {
  std::map<std::string, Entry> clusters, users, contexts;
  std::string current_context, current_context_file;
};

/// One list of named entries, such as `clusters`; each entry's content is in `inner`.
Result<Done> merge_list(const std::string& file, const YAML::Node& root, const std::string& list,
                        const std::string& inner, std::map<std::string, Entry>& into) {
  const YAML::Node entries = root[list];
  if (!entries || entries.IsNull()) return Done{};
  if (!entries.IsSequence()) return invalid(file + ": " + list, "expected a list");
  std::set<std::string> here;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const YAML::Node entry = entries[i];
    const std::string at = file + ": " + list + "[" + std::to_string(i) + "]";
    if (!entry.IsMap()) return invalid(at, "expected name and " + inner);
    const YAML::Node name = entry["name"];
    if (!name || !name.IsScalar() || name.Scalar().empty())
      return invalid(at + ".name", "is required");
    if (!here.insert(name.Scalar()).second)
      return invalid(at + ".name", "'" + name.Scalar() + "' is there twice");
    const YAML::Node content = entry[inner];
    if (content && !content.IsNull() && !content.IsMap())
      return invalid(at + "." + inner, "expected a mapping");
    into.try_emplace(name.Scalar(),
                     Entry{file, list + "[" + name.Scalar() + "]." + inner,
                           content && content.IsMap() ? content : YAML::Node(YAML::NodeType::Map)});
  }
  return Done{};
}

Result<Done> merge_file(const std::string& file, const std::string& content, Merged& into) {
  if (content.size() > kFileMax)
    return invalid(file, "is over " + std::to_string(kFileMax) + " bytes, so no kubeconfig");
  const YAML::Node root = YAML::Load(content);
  if (root.IsNull()) return Done{};  // kubectl accepts an empty file, too.
  if (!root.IsMap()) return invalid(file, "is no kubeconfig: expected a mapping");
  if (const YAML::Node kind = root["kind"];
      kind && !(kind.IsScalar() && (kind.Scalar() == "Config" || kind.Scalar().empty())))
    return invalid(file + ": kind", "expected Config");
  if (auto ok = merge_list(file, root, "clusters", "cluster", into.clusters); !ok) return ok;
  if (auto ok = merge_list(file, root, "users", "user", into.users); !ok) return ok;
  if (auto ok = merge_list(file, root, "contexts", "context", into.contexts); !ok) return ok;
  const YAML::Node current = root["current-context"];
  if (current && !current.IsNull() && !current.IsScalar())
    return invalid(file + ": current-context", "expected text");
  if (into.current_context.empty() && current && current.IsScalar()) {
    into.current_context = current.Scalar();
    into.current_context_file = file;
  }
  return Done{};
}

// --- values ---

Result<Done> parse_server(const std::string& where, const std::string& url, Config& out) {
  std::string_view rest = url;
  const auto starts = [&](std::string_view scheme) {
    if (!rest.starts_with(scheme)) return false;
    rest.remove_prefix(scheme.size());
    return true;
  };
  if (starts("https://")) out.tls = true;
  else if (starts("http://")) out.tls = false;
  else return invalid(where, "'" + url + "' must begin with https://");
  const std::string_view authority = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(authority.size());
  if (url.find_first_of("?#@ ") != std::string::npos)
    return invalid(where, "expected https://HOST:PORT/PATH and nothing else");
  while (path.ends_with('/')) path.remove_suffix(1);
  std::string_view host = authority, port = out.tls ? "443" : "80";
  const std::size_t colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) return invalid(where, "'[' without ']' in '" + url + "'");
    host = authority.substr(1, end - 1);
    const std::string_view after = authority.substr(end + 1);
    if (!after.empty()) port = after.starts_with(':') ? after.substr(1) : after;
  } else if (colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
    if (host.find(':') != std::string_view::npos)
      return invalid(where, "an IPv6 address stands in brackets: https://[::1]:6443");
  }
  unsigned number = 0;
  const auto [end, bad] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (bad != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535)
    return invalid(where, "'" + std::string(port) + "' is no port; expected 1 to 65535");
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos)
    return invalid(where, "no host in '" + url + "'");
  out.host = host;
  out.port = port;
  out.base_path = path;
  return Done{};
}

Result<Done> use_cluster(const Entry& entry, const ReadFile& read_file, Config& out) {
  if (auto ok = refuse(entry, {"insecure-skip-tls-verify"},
                       "give the server's authority as certificate-authority");
      !ok)
    return ok;
  if (auto ok = refuse(entry, {"proxy-url"}, "use a server that is reached directly"); !ok)
    return ok;
  auto server = text(entry, "server");
  if (!server) return server.error();
  if (server->empty()) return invalid(entry.where("server"), "is required");
  if (auto ok = parse_server(entry.where("server"), *server, out); !ok) return ok;
  auto ca = pem(entry, "certificate-authority", "CERTIFICATE", read_file);
  if (!ca) return ca.error();
  out.ca = *ca;
  auto name = text(entry, "tls-server-name");
  if (!name) return name.error();
  if (!is_token(*name) || name->find('/') != std::string::npos)
    return invalid(entry.where("tls-server-name"), "expected a DNS name or an IP address");
  if (!name->empty() && !out.tls)
    return invalid(entry.where("tls-server-name"), "means nothing to a server at http://");
  out.tls_server_name = *name;
  return Done{};
}

/// The entry in `from` that a context names by `key`.
Result<const Entry*> named(const Entry& context, const char* key,
                           const std::map<std::string, Entry>& from) {
  auto name = text(context, key);
  if (!name) return name.error();
  if (name->empty()) return invalid(context.where(key), "is required");
  const auto found = from.find(*name);
  if (found == from.end())
    return invalid(context.where(key), "there is no " + std::string(key) + " '" + *name + "'");
  return &found->second;
}

Result<Config> select(const Merged& all, const std::string& asked, const ReadFile& read_file,
                      const std::string& source) {
  const std::string name = asked.empty() ? all.current_context : asked;
  if (name.empty()) return invalid(source + ": current-context", "is required");
  const auto context = all.contexts.find(name);
  if (context == all.contexts.end())
    return invalid(asked.empty() ? all.current_context_file + ": current-context" : "--context",
                   "there is no context '" + name + "'");
  Config out;
  out.source = context->second.file;
  auto cluster = named(context->second, "cluster", all.clusters);
  if (!cluster) return cluster.error();
  if (auto ok = use_cluster(**cluster, read_file, out); !ok) return ok.error();
  if (is_set(context->second, "user")) {
    auto user = named(context->second, "user", all.users);
    if (!user) return user.error();
    if (auto ok = use_user(**user, read_file, out); !ok) return ok.error();
    if (auto ok = use_exec(**user, **cluster, out); !ok) return ok.error();
  }
  const bool credentials =
      !out.token.empty() || !out.token_file.empty() || !out.key.empty() || out.exec;
  if (!out.tls && credentials)
    return invalid((*cluster)->where("server"),
                   "http:// would send credentials in the clear; use https://");
  auto ns = text(context->second, "namespace");
  if (!ns) return ns.error();
  out.ns = ns->empty() ? "default" : *ns;
  return out;
}

/// `may_miss`: skips missing files, if at least one exists.
Result<Config> from_files(const std::vector<std::string>& paths, bool may_miss,
                          const std::string& context, const ReadFile& read_file) {
  Merged all;
  std::optional<Error> missing;
  bool any = false;
  for (const std::string& path : paths) {
    auto content = read_file(path);
    if (!content && content.failed_with(Code::NotFound) && may_miss) {
      missing = invalid(path, content.error().message);
      continue;
    }
    if (!content) return invalid(path, content.error().message);
    any = true;
    if (auto ok = merge_file(path, *content, all); !ok) return ok.error();
  }
  if (!any) return missing.value_or(Error{Code::Invalid, "KUBECONFIG: names no file"});
  return select(all, context, read_file, paths.front());
}

Result<Config> guarded_from_files(const std::vector<std::string>& paths, bool may_miss,
                                  const std::string& context, const ReadFile& read_file) {
  std::string reading;  // For the error message, if yaml-cpp throws while it parses.
  const ReadFile noted = [&](const std::string& path) {
    reading = path;
    return read_file(path);
  };
  try {
    return from_files(paths, may_miss, context, noted);
  } catch (const YAML::Exception& e) {
    return invalid(reading, "line " + std::to_string(e.mark.line + 1) + ", column " +
                                std::to_string(e.mark.column + 1) + ": " + e.msg);
  }
}

std::string trimmed(std::string text) {
  constexpr const char* kSpace = " \t\r\n";
  text.erase(text.find_last_not_of(kSpace) + 1);
  text.erase(0, text.find_first_not_of(kSpace));
  return text;
}

Result<Config> in_cluster(const ConfigSources& sources, const ReadFile& read_file) {
  Config out;
  out.source = "in-cluster";
  const bool ipv6 = sources.service_host.find(':') != std::string::npos;
  const std::string host = ipv6 ? "[" + sources.service_host + "]" : sources.service_host;
  if (auto ok = parse_server("KUBERNETES_SERVICE_HOST and _PORT",
                             "https://" + host + ":" + sources.service_port, out);
      !ok)
    return ok.error();
  const auto mounted = [&](const char* name) -> Result<std::string> {
    auto content = read_file(kServiceAccount + name);
    if (content) return content;
    return invalid(kServiceAccount + name,
                   content.error().message + "; does the Pod have automountServiceAccountToken?");
  };
  auto token = mounted("token"), ca = mounted("ca.crt"), ns = mounted("namespace");
  for (const auto* file : {&token, &ca, &ns})
    if (!*file) return file->error();
  out.token_file = kServiceAccount + "token";
  out.ca = *ca;
  out.ns = trimmed(*ns);
  return out;
}

std::vector<std::string> split(const std::string& paths) {
  std::vector<std::string> out;
  std::size_t from = 0;
  while (from <= paths.size() && out.size() < kFilesMax) {
    const std::size_t end = std::min(paths.find(':', from), paths.size());
    if (end > from) out.push_back(paths.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

}  // namespace

Result<Config> load_config(const ConfigSources& sources, const ReadFile& read_file) {
  if (!sources.kubeconfig_flag.empty())
    return guarded_from_files({sources.kubeconfig_flag}, false, sources.context, read_file);
  if (!sources.kubeconfig_env.empty())
    return guarded_from_files(split(sources.kubeconfig_env), true, sources.context, read_file);
  if (!sources.service_host.empty()) return in_cluster(sources, read_file);
  if (sources.home.empty())
    return Error{Code::Invalid, "no API server: give --kubeconfig or KUBECONFIG"};
  return guarded_from_files({sources.home + "/.kube/config"}, false, sources.context, read_file);
}

BearerToken::BearerToken(const Clock& clock, const Config& config, ReadFile read_file)
    : clock_(clock),
      read_file_(std::move(read_file)),
      file_(config.token_file),
      token_(config.token) {}

Result<Secret> BearerToken::get() {
  if (file_.empty()) return token_;
  if (read_at_ && clock_.now() - *read_at_ < kTokenAge) return token_;
  auto content = read_file_(file_);
  const std::string token = content ? trimmed(*content) : "";
  if (!token.empty() && is_token(token)) token_ = Secret(token);
  if (token_.empty())
    return Error{Code::Denied,
                 file_ + ": " + (content ? "holds no token" : content.error().message)};
  read_at_ = clock_.now();
  return token_;
}

bool BearerToken::expire() {
  read_at_.reset();
  return !file_.empty();
}

}  // namespace etcdop::kube
