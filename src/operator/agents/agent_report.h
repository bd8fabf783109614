// The report of a snapshot agent: the termination message of its container, which the operator
// reads. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/result.h"
#include "operator/agents/report_text.h"

namespace etcdop {

/// A success has all fields but `reason` and `message`, a failure only these two. A value that etcd
/// did not give is absent.
struct AgentReport {
  std::string uri;                    ///< "s3://bucket/key" or "file:///folder/name.db".
  std::int64_t size_bytes = 0;        ///< Size of the stored object.
  std::string checksum;               ///< "sha256:" and 64 hex digits, over all stored bytes.
  std::string etcd_version;           ///< "3.6.16".
  std::string cluster_id, member_id;  ///< 16 hex digits; of the member that gave the snapshot.
  /// The member's newest revision shortly before the snapshot, which has at least all up to it.
  std::optional<std::int64_t> revision;
  std::optional<std::int64_t> compact_revision;  ///< The start of `hash_kv`; -1: never compacted.
  std::optional<std::int64_t> hash_kv;           ///< Hash of the keys up to `revision`.
  std::optional<std::int64_t> keys;              ///< At `revision`.
  std::string digest;  ///< "sha256:" and 64 hex digits, of all keys at `revision`; or empty.
  std::string key_id;  ///< The key that encrypted it (agent/sealed.h); empty: none.
  std::optional<bool> auth_enabled;
  std::string reason;   ///< "NoSpace": the reason of a condition; empty: success.
  std::string message;  ///< For people, without secrets.

  bool failed() const { return !reason.empty(); }
  bool operator==(const AgentReport&) const = default;

  template <class R = AgentReport>
  static auto describe() {
    return api::value(
        api::sparse("uri", &R::uri), api::sparse("sizeBytes", &R::size_bytes),
        api::sparse("checksum", &R::checksum), api::sparse("etcdVersion", &R::etcd_version),
        api::sparse("clusterID", &R::cluster_id), api::sparse("memberID", &R::member_id),
        api::optional("revision", &R::revision),
        api::optional("compactRevision", &R::compact_revision),
        api::optional("hashKV", &R::hash_kv), api::optional("keys", &R::keys),
        api::sparse("digest", &R::digest), api::sparse("encryptionKeyID", &R::key_id),
        api::optional("authEnabled", &R::auth_enabled), api::sparse("reason", &R::reason),
        api::sparse("message", &R::message));
  }
};

/// One line of JSON, at most kAgentReportBytesMax bytes. A message that is too long is cut, and
/// bytes that are not UTF-8 are replaced.
std::string to_text(const AgentReport&);

/// Corrupt: it is neither a success nor a failure, or has an impossible value. Unknown fields are
/// skipped.
Result<AgentReport> to_agent_report(std::string_view text);

}  // namespace etcdop
