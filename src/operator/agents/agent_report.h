// What a snapshot agent leaves behind when it ends: the termination message of its container, which
// the operator reads. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/result.h"
#include "operator/agents/report_text.h"

namespace etcdop {

/// Of a success all but `reason` and `message`, of a failure only these two. What could not be
/// asked of etcd is not there.
struct AgentReport {
  std::string uri;                    ///< "s3://bucket/key" or "file:///folder/name.db".
  std::int64_t size_bytes = 0;        ///< Of the stored object.
  std::string checksum;               ///< "sha256:" and 64 hex digits, over all stored bytes.
  std::string etcd_version;           ///< "3.6.16".
  std::string cluster_id, member_id;  ///< 16 hex digits; of who gave the snapshot.
  /// The member's newest shortly before the snapshot, which has at least all up to it.
  std::optional<std::int64_t> revision;
  std::optional<std::int64_t> compact_revision;  ///< What `hash_kv` starts from; -1 if never.
  std::optional<std::int64_t> hash_kv;           ///< Of the keys up to `revision`.
  std::optional<std::int64_t> keys;              ///< At `revision`.
  std::string digest;  ///< "sha256:" and 64 hex digits, of all keys at `revision`; or empty.
  std::string key_id;  ///< Of what it is sealed with (agent/sealed.h); empty: it is not.
  std::optional<bool> auth_enabled;
  std::string reason;   ///< "NoSpace": of a condition; empty: it is stored.
  std::string message;  ///< For people; no secret.

  bool failed() const { return !reason.empty(); }
  bool operator==(const AgentReport&) const = default;

  template <class R = AgentReport>
  static auto describe() {
    return api::object(
        "How a snapshot agent ended.",
        api::Fields{
            api::sparse("uri", &R::uri, ""), api::sparse("sizeBytes", &R::size_bytes, ""),
            api::sparse("checksum", &R::checksum, ""),
            api::sparse("etcdVersion", &R::etcd_version, ""),
            api::sparse("clusterID", &R::cluster_id, ""),
            api::sparse("memberID", &R::member_id, ""), api::optional("revision", &R::revision, ""),
            api::optional("compactRevision", &R::compact_revision, ""),
            api::optional("hashKV", &R::hash_kv, ""), api::optional("keys", &R::keys, ""),
            api::sparse("digest", &R::digest, ""), api::sparse("encryptionKeyID", &R::key_id, ""),
            api::optional("authEnabled", &R::auth_enabled, ""),
            api::sparse("reason", &R::reason, ""), api::sparse("message", &R::message, "")});
  }
};

/// One line of JSON of at most kAgentReportBytesMax bytes; a message that is too long is cut, and
/// what is no UTF-8 in it replaced.
std::string to_text(const AgentReport&);

/// Corrupt: it is neither a success nor a failure, or says what cannot be. Fields that are not
/// known are skipped.
Result<AgentReport> to_agent_report(std::string_view text);

}  // namespace etcdop
