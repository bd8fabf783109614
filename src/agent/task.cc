#include "agent/task.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace etcdop::agent {
namespace {

constexpr std::size_t kHostsMax = 16, kNameBytesMax = 240, kUidBytesMax = 64, kPathBytesMax = 900;

Error invalid(const std::string& variable, const std::string& what) {
  return {Code::Invalid, variable + ": " + what};
}

std::string value(const Variables& variables, const char* name) {
  return variables(name).value_or("");
}

bool is_control(char c) { return (c >= 0 && c < ' ') || c == 0x7F; }

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> out;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    out.emplace_back(text.substr(0, end));
    if (end == text.size()) return out;
    text.remove_prefix(end + 1);
  }
}

/// Segments between slashes that lead nowhere else than down.
Result<Done> check_path(const char* variable, const std::string& path) {
  if (path.size() > kPathBytesMax) return invalid(variable, "must have at most 900 bytes");
  if (std::ranges::any_of(path, is_control))
    return invalid(variable, "must have no control characters");
  if (path.find('"') != path.npos) return invalid(variable, "must have no quotes");
  for (const std::string& segment : split(path, '/'))
    if (segment.empty() || segment == "." || segment == "..")
      return invalid(variable, "must not have empty segments, . or .. between slashes");
  return Done{};
}

/// One segment of a path, and of the name of a file.
Result<Done> check_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
                    std::ranges::all_of(name, [](char c) {
                      return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
                    });
  if (good) return Done{};
  return invalid("SNAPSHOT_NAME", "must have 1 to 240 letters, digits, hyphens and dots");
}

Result<Done> check_uid(const std::string& uid) {
  const bool good =
      !uid.empty() && uid.size() <= kUidBytesMax &&
      std::ranges::all_of(uid, [](char c) { return is_letter_or_digit(c) || c == '-'; });
  if (good) return Done{};
  return invalid("SNAPSHOT_UID", "must have 1 to 64 letters, digits and hyphens");
}

/// "https://host:2379": as s3::to_place takes it apart, whose bucket then is in the path.
Result<s3::Place> to_host(const std::string& endpoint) {
  auto place = s3::to_place({.endpoint = endpoint, .bucket = "none", .path_style = true});
  if (!place)
    return invalid("ETCD_ENDPOINTS",
                   "must be scheme://host:port, separated by commas: https:// or http://");
  return place;
}

Result<EtcdAccess> to_etcd_access(const Variables& variables) {
  EtcdAccess access;
  const std::vector<std::string> endpoints = split(value(variables, "ETCD_ENDPOINTS"), ',');
  if (endpoints.size() > kHostsMax) return invalid("ETCD_ENDPOINTS", "must have at most 16");
  for (const std::string& endpoint : endpoints) {
    auto host = to_host(endpoint);
    if (!host) return host.error();
    const bool other = host->tls != access.tls || host->port != access.port;
    if (!access.hosts.empty() && other)
      return invalid("ETCD_ENDPOINTS", "must all have the same scheme and port");
    access.tls = host->tls;
    access.port = host->port;
    access.hosts.push_back(host->host);
  }
  access.ca_path = value(variables, "ETCD_TLS_CA_PATH");
  access.cert_path = value(variables, "ETCD_TLS_CERT_PATH");
  access.key_path = value(variables, "ETCD_TLS_KEY_PATH");
  if (access.cert_path.empty() != access.key_path.empty())
    return invalid("ETCD_TLS_CERT_PATH", "needs ETCD_TLS_KEY_PATH, and the other way round");
  access.username = value(variables, "ETCD_USERNAME");
  access.password = Secret(value(variables, "ETCD_PASSWORD"));
  if (access.username.empty() != access.password.empty())
    return invalid("ETCD_PASSWORD", "needs ETCD_USERNAME, and the other way round");
  return access;
}

/// "true", "false", or not set, which is false.
Result<bool> to_flag(const Variables& variables, const char* name) {
  const std::string text = value(variables, name);
  if (text == "true") return true;
  if (text.empty() || text == "false") return false;
  return invalid(name, "must be true or false");
}

/// A path without slashes at its end, which may be there; empty: it is not set.
Result<std::string> to_path(const Variables& variables, const char* name) {
  std::string path = value(variables, name);
  if (path.empty()) return path;
  while (path.ends_with('/')) path.pop_back();
  if (auto good = check_path(name, path); !good) return good.error();
  return path;
}

Result<s3::Credentials> to_credentials(const Variables& variables) {
  s3::Credentials out{.key_id = value(variables, "AWS_ACCESS_KEY_ID"),
                      .secret = Secret(value(variables, "AWS_SECRET_ACCESS_KEY")),
                      .session_token = Secret(value(variables, "AWS_SESSION_TOKEN"))};
  const auto one_line = [](const std::string& text) {
    return std::ranges::none_of(text, is_control);
  };
  if (out.key_id.empty() || !one_line(out.key_id))
    return invalid("AWS_ACCESS_KEY_ID", "must be set, to one line");
  if (out.secret.empty() || !one_line(out.secret.reveal()))
    return invalid("AWS_SECRET_ACCESS_KEY", "must be set, to one line");
  if (!one_line(out.session_token.reveal()))
    return invalid("AWS_SESSION_TOKEN", "must be one line");
  return out;
}

/// What to_place() says, in the words of the environment.
Error in_variables(const Error& error) {
  for (const auto& [option, variable] :
       {std::pair{"endpoint", "S3_ENDPOINT"}, std::pair{"bucket", "S3_BUCKET"},
        std::pair{"region", "S3_REGION"}})
    if (const std::string prefix = std::string(option) + ": "; error.message.starts_with(prefix))
      return invalid(variable, error.message.substr(prefix.size()));
  return error;
}

Result<BucketTarget> to_bucket(const Variables& variables) {
  BucketTarget out;
  out.place.endpoint = value(variables, "S3_ENDPOINT");
  out.place.bucket = value(variables, "S3_BUCKET");
  if (const std::string region = value(variables, "S3_REGION"); !region.empty())
    out.place.region = region;
  auto path_style = to_flag(variables, "S3_FORCE_PATH_STYLE");
  if (!path_style) return path_style.error();
  out.place.path_style = *path_style;
  if (auto place = s3::to_place(out.place); !place) return in_variables(place.error());
  auto prefix = to_path(variables, "S3_KEY");
  if (!prefix) return prefix.error();
  out.prefix = std::move(*prefix);
  auto credentials = to_credentials(variables);
  if (!credentials) return credentials.error();
  out.credentials = std::move(*credentials);
  auto local = to_flag(variables, "S3_ALLOW_LOCAL");
  if (!local) return local.error();
  out.local = *local;
  return out;
}

Result<FolderTarget> to_folder(const Variables& variables) {
  FolderTarget out{.mount_path = value(variables, "PVC_MOUNT_PATH"), .sub_path = {}};
  while (out.mount_path.ends_with('/')) out.mount_path.pop_back();
  if (!out.mount_path.starts_with('/'))
    return invalid("PVC_MOUNT_PATH", "must be an absolute path, not /");
  if (auto good = check_path("PVC_MOUNT_PATH", out.mount_path.substr(1)); !good)
    return good.error();
  auto sub_path = to_path(variables, "PVC_SUBPATH");
  if (!sub_path) return sub_path.error();
  out.sub_path = std::move(*sub_path);
  return out;
}

Result<Done> add_destination(const Variables& variables, SnapshotTask& task) {
  const std::string kind = value(variables, "SNAPSHOT_DEST_KIND");
  if (kind == "s3") {
    auto bucket = to_bucket(variables);
    if (!bucket) return bucket.error();
    task.bucket = std::move(*bucket);
    return Done{};
  }
  if (kind != "pvc") return invalid("SNAPSHOT_DEST_KIND", "must be s3 or pvc");
  auto folder = to_folder(variables);
  if (!folder) return folder.error();
  task.folder = std::move(*folder);
  return Done{};
}

}  // namespace

std::string SnapshotTask::key() const {
  return bucket->prefix.empty() ? file_name() : bucket->prefix + "/" + file_name();
}

std::string termination_log_path(const Variables& variables) {
  const auto path = variables("TERMINATION_LOG_PATH");
  return path && !path->empty() ? *path : SnapshotTask().termination_log_path;
}

Result<SnapshotTask> to_snapshot_task(const Variables& variables) {
  SnapshotTask task;
  task.termination_log_path = termination_log_path(variables);
  if (const auto name = variables("SNAPSHOT_NAME")) task.name = *name;
  if (auto good = check_name(task.name); !good) return good.error();
  task.uid = value(variables, "SNAPSHOT_UID");
  if (auto good = check_uid(task.uid); !good) return good.error();
  auto etcd = to_etcd_access(variables);
  if (!etcd) return etcd.error();
  task.etcd = std::move(*etcd);
  if (auto added = add_destination(variables, task); !added) return added.error();
  return task;
}

}  // namespace etcdop::agent
