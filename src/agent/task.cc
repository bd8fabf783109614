#include "agent/task.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>
#include <utility>

#include "agent/pod_identity.h"
#include "etcd/version_facts.h"
#include "operator/agents/report_text.h"
#include "s3/answers.h"

namespace etcdop::agent {
namespace {

constexpr std::size_t kHostsMax = 16, kNameBytesMax = 240, kUidBytesMax = 64, kPathBytesMax = 900;

/// Leaves room in 64 bits for the revisions themselves.
constexpr std::int64_t kBumpRevisionMax = 1'000'000'000'000'000'000;

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

/// Segments between slashes; none may lead upwards.
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

/// One segment of a path, and part of a file name.
Result<Done> check_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
                    std::ranges::all_of(name, [](char c) {
                      return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
                    });
  if (good) return Done{};
  return invalid("SNAPSHOT_NAME", "must have 1 to 240 letters, digits, hyphens and dots");
}

constexpr const char* kUidRule = "must have 1 to 64 letters, digits and hyphens";

bool is_uid(const std::string& uid) {
  return !uid.empty() && uid.size() <= kUidBytesMax &&
         std::ranges::all_of(uid, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

/// "https://host:2379": parsed by s3::to_place, with the bucket in the path.
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

/// "true" or "false"; not set is false.
Result<bool> to_flag(const Variables& variables, const char* name) {
  const std::string text = value(variables, name);
  if (text == "true") return true;
  if (text.empty() || text == "false") return false;
  return invalid(name, "must be true or false");
}

/// "a/b", also from "/a//b/": people write extra slashes. Empty: not set, or the root.
Result<std::string> to_path(const Variables& variables, const char* name) {
  std::string path;
  for (const std::string& segment : split(value(variables, name), '/'))
    if (!segment.empty()) path += (path.empty() ? "" : "/") + segment;
  if (path.empty()) return path;
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

/// Keys, or the Pod's identity.
Result<Done> add_credentials(const Variables& variables, BucketTarget& out) {
  if (value(variables, "AWS_ACCESS_KEY_ID").empty() &&
      value(variables, "AWS_SECRET_ACCESS_KEY").empty()) {
    auto identity = to_pod_identity(variables, out.place.region);
    if (!identity) return identity.error();
    out.identity = std::move(*identity);
    return Done{};
  }
  auto credentials = to_credentials(variables);
  if (!credentials) return credentials.error();
  out.credentials = std::move(*credentials);
  return Done{};
}

/// Renames the options in errors of to_place() to environment variables.
Error in_variables(const Error& error) {
  for (const auto& [option, variable] :
       {std::pair{"endpoint", "S3_ENDPOINT"}, std::pair{"bucket", "S3_BUCKET"},
        std::pair{"region", "S3_REGION"}})
    if (const std::string prefix = std::string(option) + ": "; error.message.starts_with(prefix))
      return invalid(variable, error.message.substr(prefix.size()));
  return error;
}

/// Without its key.
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
  if (auto added = add_credentials(variables, out); !added) return added.error();
  out.ca_path = value(variables, "S3_CA_PATH");
  auto local = to_flag(variables, "S3_ALLOW_LOCAL");
  if (!local) return local.error();
  out.local = *local;
  return out;
}

/// Without the path below the mount.
Result<FolderTarget> to_folder(const Variables& variables) {
  FolderTarget out{.mount_path = value(variables, "PVC_MOUNT_PATH"), .sub_path = {}};
  while (out.mount_path.ends_with('/')) out.mount_path.pop_back();
  if (!out.mount_path.starts_with('/'))
    return invalid("PVC_MOUNT_PATH", "must be an absolute path, not /");
  if (auto good = check_path("PVC_MOUNT_PATH", out.mount_path.substr(1)); !good)
    return good.error();
  return out;
}

/// The bucket or volume, without a key or path.
template <class Task>
Result<Done> add_place(const Variables& variables, Task& task) {
  task.keys_path = value(variables, "SNAPSHOT_KEYS_PATH");
  if (!task.keys_path.empty() && !task.keys_path.starts_with('/'))
    return invalid("SNAPSHOT_KEYS_PATH", "must be an absolute path");
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

/// The snapshot's owner, and the place of the result.
Result<SnapshotTask> to_named_task(const Variables& variables) {
  SnapshotTask task;
  task.termination_log_path = termination_log_path(variables);
  if (const auto name = variables("SNAPSHOT_NAME")) task.name = *name;
  if (auto good = check_name(task.name); !good) return good.error();
  task.uid = value(variables, "SNAPSHOT_UID");
  if (!is_uid(task.uid)) return invalid("SNAPSHOT_UID", kUidRule);
  return task;
}

Result<Done> add_destination(const Variables& variables, SnapshotTask& task) {
  if (auto added = add_place(variables, task); !added) return added;
  auto path = to_path(variables, task.bucket ? "S3_KEY" : "PVC_SUBPATH");
  if (!path) return path.error();
  (task.bucket ? task.bucket->prefix : task.folder->sub_path) = std::move(*path);
  return Done{};
}

/// Accepts any key, even one that our agents would not write.
template <class Task>
Result<Done> add_source(const Variables& variables, Task& task) {
  if (auto added = add_place(variables, task); !added) return added;
  if (task.bucket) {
    task.bucket->prefix = value(variables, "S3_KEY");
    auto good = s3::check_key(task.bucket->prefix);
    return good ? good : invalid("S3_KEY", good.error().message);
  }
  auto path = to_path(variables, "PVC_SUBPATH");
  if (!path) return path.error();
  if (path->empty()) return invalid("PVC_SUBPATH", "must name the file to restore");
  task.folder->sub_path = std::move(*path);
  return Done{};
}

/// The arguments for etcdutl.
Result<Done> add_member(const Variables& variables, RestoreTask& task) {
  if (const std::string data_dir = value(variables, "ETCD_DATA_DIR"); !data_dir.empty())
    task.data_dir = data_dir;
  if (!task.data_dir.starts_with('/')) return invalid("ETCD_DATA_DIR", "must be an absolute path");
  for (const auto& [name, out, needed] :
       {std::tuple{"ETCD_MEMBER_NAME", &task.member_name, true},
        std::tuple{"ETCD_INITIAL_CLUSTER", &task.initial_cluster, true},
        std::tuple{"ETCD_INITIAL_CLUSTER_TOKEN", &task.initial_cluster_token, true},
        std::tuple{"ETCD_PEER_URLS", &task.peer_urls, false}}) {
    *out = value(variables, name);
    if (needed && out->empty()) return invalid(name, "must be set");
    if (std::ranges::any_of(*out, is_control))
      return invalid(name, "must have no control characters");
  }
  return Done{};
}

template <class Task>
Result<Done> add_version(const Variables& variables, Task& task) {
  task.etcd_version = value(variables, "RESTORE_ETCD_VERSION");
  if (task.etcd_version.empty() || etcd::parse_version(task.etcd_version)) return Done{};
  return invalid("RESTORE_ETCD_VERSION", "must be a version such as 3.6.16");
}

/// nullopt: not set.
Result<std::optional<std::int64_t>> to_number(const Variables& variables, const char* name) {
  const std::string text = value(variables, name);
  if (text.empty()) return std::optional<std::int64_t>();
  std::int64_t out = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc() || rest != end) return invalid(name, "must be a whole number");
  return std::optional(out);
}

/// "sha256:..." of a snapshot or of its keys; empty: not set.
Result<std::string> to_checksum(const Variables& variables, const char* name) {
  std::string text = value(variables, name);
  if (text.empty() || is_report_checksum(text)) return text;
  return invalid(name, "must be sha256: and 64 hex digits");
}

Result<Done> add_expected(const Variables& variables, Expected& expected) {
  expected.uid = value(variables, "VERIFY_UID");
  if (!expected.uid.empty() && !is_uid(expected.uid)) return invalid("VERIFY_UID", kUidRule);
  for (const auto& [name, out] : {std::pair{"VERIFY_CHECKSUM", &expected.checksum},
                                  std::pair{"VERIFY_DIGEST", &expected.digest}}) {
    auto checksum = to_checksum(variables, name);
    if (!checksum) return checksum.error();
    *out = std::move(*checksum);
  }
  for (const auto& [name, out] :
       {std::pair{"VERIFY_REVISION", &expected.revision},
        std::pair{"VERIFY_COMPACT_REVISION", &expected.compact_revision},
        std::pair{"VERIFY_HASH_KV", &expected.hash_kv}, std::pair{"VERIFY_KEYS", &expected.keys}}) {
    auto number = to_number(variables, name);
    if (!number) return number.error();
    *out = *number;
  }
  return Done{};
}

Result<Done> add_rules(const Variables& variables, RestoreTask& task) {
  if (auto added = add_version(variables, task); !added) return added;
  auto auth = to_flag(variables, "RESTORE_AUTH");
  if (!auth) return auth.error();
  task.auth = *auth;
  auto bump = to_number(variables, "RESTORE_BUMP_REVISION");
  if (bump && *bump) task.bump_revision = **bump;
  if (!bump || task.bump_revision < 0 || task.bump_revision > kBumpRevisionMax)
    return invalid("RESTORE_BUMP_REVISION", "must be a whole number from 0 to 1000000000000000000");
  auto checksum = to_checksum(variables, "RESTORE_CHECKSUM");
  if (!checksum) return checksum.error();
  task.checksum = std::move(*checksum);
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
  auto task = to_named_task(variables);
  if (!task) return task;
  auto etcd = to_etcd_access(variables);
  if (!etcd) return etcd.error();
  task->etcd = std::move(*etcd);
  if (auto added = add_destination(variables, *task); !added) return added.error();
  return task;
}

Result<SnapshotTask> to_deletion_task(const Variables& variables) {
  if (!variables("SNAPSHOT_NAME")) return invalid("SNAPSHOT_NAME", "must be set");
  auto task = to_named_task(variables);
  if (!task) return task;
  if (auto added = add_destination(variables, *task); !added) return added.error();
  return task;
}

Result<RestoreTask> to_restore_task(const Variables& variables) {
  RestoreTask task;
  task.termination_log_path = termination_log_path(variables);
  task.etcdutl_path = value(variables, "ETCDUTL_PATH");
  if (auto added = add_member(variables, task); !added) return added.error();
  if (auto added = add_source(variables, task); !added) return added.error();
  if (auto added = add_rules(variables, task); !added) return added.error();
  return task;
}

Result<VerifyTask> to_verify_task(const Variables& variables) {
  VerifyTask task;
  task.termination_log_path = termination_log_path(variables);
  task.scratch_dir = value(variables, "VERIFY_SCRATCH_DIR");
  if (!task.scratch_dir.starts_with('/'))
    return invalid("VERIFY_SCRATCH_DIR", "must be an absolute path");
  task.etcdutl_path = value(variables, "ETCDUTL_PATH");
  task.etcd_path = value(variables, "ETCD_PATH");
  if (auto added = add_source(variables, task); !added) return added.error();
  if (auto added = add_version(variables, task); !added) return added.error();
  if (auto added = add_expected(variables, task.expected); !added) return added.error();
  auto only_check = to_flag(variables, "VERIFY_ONLY_CHECK");
  if (!only_check) return only_check.error();
  task.only_check = *only_check;
  if (!variables("RESTORE_AUTH")) return task;
  auto auth = to_flag(variables, "RESTORE_AUTH");
  if (!auth) return auth.error();
  task.auth = *auth;
  return task;
}

}  // namespace etcdop::agent
