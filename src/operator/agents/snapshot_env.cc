#include "operator/agents/snapshot_env.h"

namespace etcdop {
namespace {

namespace v1 = api::v1alpha2;

/// The kubelet replaces $(NAME) in a value by that variable, even a password; $$ is a dollar.
std::string literally(const std::string& text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

void add_s3(json::array& env, const v1::S3Location& s3) {
  const std::string& secret = s3.credentials_secret_ref.name;
  env.push_back(variable("SNAPSHOT_DEST_KIND", "s3"));
  env.push_back(variable("S3_ENDPOINT", literally(s3.endpoint)));
  env.push_back(variable("S3_BUCKET", literally(s3.bucket)));
  env.push_back(variable("S3_KEY", literally(s3.key)));
  env.push_back(variable("S3_REGION", literally(s3.region)));
  env.push_back(variable("S3_FORCE_PATH_STYLE", s3.force_path_style ? "true" : "false"));
  if (s3.ca_secret_ref)
    env.push_back(
        variable("S3_CA_PATH", std::string(kStoreAuthorityFolder) + "/" + kStoreAuthorityKey));
  if (secret.empty()) return;
  for (const char* key : kStoreKeys) env.push_back(variable_of_secret(key, secret, key));
  env.push_back(variable_of_secret("AWS_SESSION_TOKEN", secret, "AWS_SESSION_TOKEN", true));
}

void add_pvc(json::array& env, const v1::PvcLocation& pvc, const char* volume_folder) {
  env.push_back(variable("SNAPSHOT_DEST_KIND", "pvc"));
  env.push_back(variable("PVC_MOUNT_PATH", volume_folder));
  env.push_back(variable("PVC_SUBPATH", literally(pvc.sub_path)));
}

}  // namespace

json::object variable(const char* name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

json::object variable_of_secret(const char* name, const std::string& secret, const char* key,
                                bool optional) {
  json::object ref{{"name", secret}, {"key", key}};
  if (optional) ref["optional"] = true;
  return {{"name", name}, {"valueFrom", {{"secretKeyRef", std::move(ref)}}}};
}

void add_location(json::array& env, const v1::SnapshotLocation& where, const char* volume_folder) {
  if (where.s3) add_s3(env, *where.s3);
  if (where.pvc) add_pvc(env, *where.pvc, volume_folder);
  if (where.encryption) env.push_back(variable("SNAPSHOT_KEYS_PATH", kSnapshotKeysFolder));
}

std::string to_words(const v1::SnapshotLocation& where) {
  if (where.s3) return "s3://" + where.s3->bucket + "/" + where.s3->key;
  if (!where.pvc) return "nowhere";
  return "file " + where.pvc->sub_path + " of PersistentVolumeClaim " + where.pvc->claim_name;
}

}  // namespace etcdop
