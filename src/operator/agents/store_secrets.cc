#include "operator/agents/store_secrets.h"

#include <span>

#include "operator/agents/snapshot_env.h"

namespace etcdop {
namespace {

/// Names the first of `keys` that the Secret does not have; empty: it has all.
std::string lacks(Secrets& secrets, const api::ObjectKey& key, std::span<const char* const> keys) {
  auto secret = secrets.get(key);
  if (!secret) return "Secret " + key.name + " " + why_unread(secret);
  for (const char* wanted : keys) {
    if (!(*secret)->value(wanted).empty()) continue;
    secrets.doubt(key, *secret);
    return "Secret " + key.name + " has no " + wanted;
  }
  return "";
}

}  // namespace

std::string store_fault(Secrets& secrets, const std::string& ns,
                        const api::v1alpha2::SnapshotLocation& where) {
  if (const std::string keys = keys_secret_of(where); !keys.empty())
    if (std::string why = lacks(secrets, {ns, keys}, {}); !why.empty()) return why;
  if (!where.s3) return "";
  if (!is_keyless(where)) {
    const std::string& name = where.s3->credentials_secret_ref.name;
    if (std::string why = lacks(secrets, {ns, name}, kStoreKeys); !why.empty()) return why;
  }
  if (!where.s3->ca_secret_ref) return "";
  if (authority_secret_of(where).empty()) return "caSecretRef names no Secret";
  constexpr const char* kKeys[] = {kStoreAuthorityKey};
  return lacks(secrets, {ns, authority_secret_of(where)}, kKeys);
}

}  // namespace etcdop
