#include "kube/kubeconfig_user.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/json.h"

namespace etcdop::kube {
namespace {

const std::string kExecGroup = "client.authentication.k8s.io";
constexpr std::size_t kHintMax = 1024;

/// Whether the text can be a header's value; servers accept UTF-8.
bool is_header_value(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

/// As client-go's headerKeyEscape: keeps the characters that a header name may have, except '%'.
std::string escaped_key(const std::string& key) {
  constexpr std::string_view kPlain =
      "!#$&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain.find(c) != std::string_view::npos) out += c;
    else out += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

/// Adds headers of that name. Invalid: a header cannot have such a value.
Result<Done> add_headers(const std::string& where, const std::string& name,
                         const std::vector<std::string>& values, Config& out) {
  for (const std::string& value : values) {
    if (!is_header_value(value)) return invalid(where, "has control characters");
    out.impersonation.emplace_back(name, value);
  }
  return Done{};
}

Result<Done> use_extra(const Entry& user, Config& out) {
  auto extra = user.child("as-user-extra");
  if (!extra) return extra.error();
  for (const auto& each : extra->node) {
    if (!each.first.IsScalar() || each.first.Scalar().empty())
      return invalid(user.where("as-user-extra"), "has a key that is no text");
    const std::string key = each.first.Scalar();
    auto values = texts(*extra, key);
    if (!values) return values.error();
    if (auto ok =
            add_headers(extra->where(key), "Impersonate-Extra-" + escaped_key(key), *values, out);
        !ok)
      return ok;
  }
  return Done{};
}

Result<Done> use_impersonation(const Entry& user, Config& out) {
  auto as = text(user, "as"), uid = text(user, "as-uid");
  if (!as) return as.error();
  if (!uid) return uid.error();
  auto groups = texts(user, "as-groups");
  if (!groups) return groups.error();
  if (as->empty()) {  // As kubectl does.
    for (const char* key : {"as-uid", "as-groups", "as-user-extra"})
      if (is_set(user, key)) return invalid(user.where(key), "needs a user to be: set `as`, too");
    return Done{};
  }
  if (auto ok = add_headers(user.where("as"), "Impersonate-User", {*as}, out); !ok) return ok;
  if (!uid->empty())
    if (auto ok = add_headers(user.where("as-uid"), "Impersonate-Uid", {*uid}, out); !ok) return ok;
  if (auto ok = add_headers(user.where("as-groups"), "Impersonate-Group", *groups, out); !ok)
    return ok;
  return use_extra(user, out);
}

/// Invalid for a word that a process cannot receive.
Result<Done> check_word(const std::string& where, const std::string& word) {
  if (word.find('\0') == std::string::npos) return Done{};
  return invalid(where, "has a NUL character");
}

Result<Done> use_words(const Entry& exec, ExecPlugin& out) {
  auto command = text(exec, "command");
  if (!command) return command.error();
  if (command->empty()) return invalid(exec.where("command"), "is required");
  if (auto ok = check_word(exec.where("command"), *command); !ok) return ok;
  // As in client-go: with a slash it is a path, and a relative path is resolved against the
  // kubeconfig's folder.
  const bool is_path = command->find('/') != std::string::npos;
  out.program = is_path ? resolved(exec.file, *command) : *command;
  auto args = texts(exec, "args");
  if (!args) return args.error();
  for (std::size_t i = 0; i < args->size(); ++i)
    if (auto ok = check_word(exec.where("args[" + std::to_string(i) + "]"), (*args)[i]); !ok)
      return ok;
  out.args = *args;
  return Done{};
}

Result<Done> use_environment(const Entry& exec, ExecPlugin& out) {
  const YAML::Node list = exec.at("env");
  if (!list) return Done{};
  if (!list.IsSequence()) return invalid(exec.where("env"), "expected a list");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Entry entry{exec.file, exec.field + ".env[" + std::to_string(i) + "]", list[i]};
    if (!entry.node.IsMap())
      return invalid(exec.where("env[" + std::to_string(i) + "]"), "expected name and value");
    auto name = text(entry, "name"), value = text(entry, "value");
    if (!name) return name.error();
    if (!value) return value.error();
    if (name->empty()) return invalid(entry.where("name"), "is required");
    if (name->find('=') != std::string::npos)
      return invalid(entry.where("name"), "must have no '='");
    if (auto ok = check_word(entry.where("name"), *name); !ok) return ok;
    if (auto ok = check_word(entry.where("value"), *value); !ok) return ok;
    out.env[*name] = *value;
  }
  return Done{};
}

Result<Done> use_version(const Entry& exec, ExecPlugin& out) {
  auto version = text(exec, "apiVersion"), mode = text(exec, "interactiveMode");
  if (!version) return version.error();
  if (!mode) return mode.error();
  if (version->empty()) return invalid(exec.where("apiVersion"), "is required");
  const bool v1 = *version == kExecGroup + "/v1";
  if (!v1 && *version != kExecGroup + "/v1beta1")
    return invalid(exec.where("apiVersion"),
                   "expected " + kExecGroup + "/v1 or " + kExecGroup + "/v1beta1");
  const std::string where = exec.where("interactiveMode");
  if (mode->empty() && v1) return invalid(where, "is required: Never or IfAvailable");
  if (*mode == "Always")
    return invalid(where, "Always is not supported: we have no terminal; use Never or IfAvailable");
  if (!mode->empty() && *mode != "Never" && *mode != "IfAvailable")
    return invalid(where, "expected Never or IfAvailable");
  out.api_version = *version;
  return Done{};
}

/// The cluster's extension of the plugin's name, passed on unchanged.
Result<Json> plugin_config(const Entry& cluster) {
  const YAML::Node list = cluster.at("extensions");
  if (!list) return Json(nullptr);
  if (!list.IsSequence()) return invalid(cluster.where("extensions"), "expected a list");
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string index = "[" + std::to_string(i) + "]";
    const Entry entry{cluster.file, cluster.field + ".extensions" + index, list[i]};
    if (!entry.node.IsMap())
      return invalid(cluster.where("extensions" + index), "expected name and extension");
    auto name = text(entry, "name");
    if (!name) return name.error();
    if (*name == kExecGroup + "/exec")
      return to_json(entry.at("extension"), entry.where("extension"));
  }
  return Json(nullptr);
}

/// client.authentication.k8s.io's Cluster.
Result<json::object> cluster_info(const Entry& cluster, const Config& config) {
  auto server = text(cluster, "server");
  if (!server) return server.error();
  auto extension = plugin_config(cluster);
  if (!extension) return extension.error();
  json::object out{{"server", *server}};
  if (!config.tls_server_name.empty()) out["tls-server-name"] = config.tls_server_name;
  if (!config.ca.empty()) out["certificate-authority-data"] = to_base64(config.ca);
  if (!extension->is_null()) out["config"] = std::move(*extension);
  return out;
}

/// Sets KUBERNETES_EXEC_INFO.
Result<Done> use_info(const Entry& exec, const Entry& cluster, const Config& config,
                      ExecPlugin& out) {
  auto wanted = flag(exec, "provideClusterInfo");
  if (!wanted) return wanted.error();
  json::object spec{{"interactive", false}};
  if (*wanted) {
    auto info = cluster_info(cluster, config);
    if (!info) return info.error();
    spec["cluster"] = std::move(*info);
  }
  out.env["KUBERNETES_EXEC_INFO"] = json::serialize(json::object{
      {"apiVersion", out.api_version}, {"kind", "ExecCredential"}, {"spec", std::move(spec)}});
  return Done{};
}

}  // namespace

Result<Done> use_user(const Entry& entry, const ReadFile& read_file, Config& out) {
  if (auto ok = refuse(entry, {"auth-provider", "username", "password"},
                       "use client-certificate and client-key, token, tokenFile or exec");
      !ok)
    return ok;
  auto certificate = pem(entry, "client-certificate", "CERTIFICATE", read_file);
  if (!certificate) return certificate.error();
  auto key = pem(entry, "client-key", "PRIVATE KEY", read_file);
  if (!key) return key.error();
  if (certificate->empty() != key->empty())
    return invalid(entry.where(key->empty() ? "client-key" : "client-certificate"),
                   std::string("is required, as the other of the two is given"));
  auto token = text(entry, "token");
  if (!token) return token.error();
  if (!is_token(*token)) return invalid(entry.where("token"), "has characters that no token has");
  auto token_file = text(entry, "tokenFile");
  if (!token_file) return token_file.error();
  out.certificate = *certificate;
  out.key = Secret(*key);
  out.token = Secret(*token);
  if (!token_file->empty()) out.token_file = resolved(entry.file, *token_file);
  return use_impersonation(entry, out);
}

Result<Done> use_exec(const Entry& user, const Entry& cluster, Config& config) {
  if (!user.at("exec")) return Done{};
  auto exec = user.child("exec");
  if (!exec) return exec.error();
  for (const char* key : {"client-certificate", "client-certificate-data", "token", "tokenFile"})
    if (is_set(user, key))
      return invalid(user.where(key), "cannot stand beside exec; keep one of the two");
  ExecPlugin out;
  out.field = user.file + ": " + exec->field;
  if (auto ok = use_words(*exec, out); !ok) return ok;
  if (auto ok = use_environment(*exec, out); !ok) return ok;
  if (auto ok = use_version(*exec, out); !ok) return ok;
  if (auto ok = use_info(*exec, cluster, config, out); !ok) return ok;
  auto hint = text(*exec, "installHint");
  if (!hint) return hint.error();
  if (hint->size() > kHintMax)
    return invalid(exec->where("installHint"),
                   "is over " + std::to_string(kHintMax) + " bytes; shorten it");
  out.install_hint = *hint;
  config.exec = std::move(out);
  return Done{};
}

}  // namespace etcdop::kube
