// The report of a verify agent: the termination message of its container, which the operator reads.
// Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/result.h"

namespace etcdop {

/// Whether a report with that reason is about the stored object: it is missing, broken, or another
/// one. The other reasons mean that the agent could not look at it.
bool is_finding(std::string_view reason);

/// A failure has the first three fields, and those of the others that were known by then. A success
/// has the others: `compact_revision`, `hash_kv` and `keys` describe the restored data at
/// `revision`.
struct VerifyReport {
  std::string reason;        ///< "SnapshotDiffers": begins a condition's message; empty: success.
  std::string message;       ///< For people, without secrets.
  bool for_good = false;     ///< Another try finds the same; otherwise it may help.
  std::string uri;           ///< "s3://bucket/key" or "file:///folder/name.db".
  std::string checksum;      ///< "sha256:" and 64 hex digits, over all bytes of the snapshot.
  std::string etcd_version;  ///< The version that took it: "3.6.16", or "3.6" if no more is known.
  std::optional<std::int64_t> revision;  ///< Where both were compared; of a check: its newest.
  std::optional<std::int64_t> compact_revision, hash_kv, keys;
  bool hash_compared = false;    ///< etcd's HashKV equals the cluster's.
  bool digest_compared = false;  ///< All keys, values and revisions are equal, by sha256.
  std::optional<std::int64_t> duration_seconds;  ///< Since the first look at the object.

  bool failed() const { return !reason.empty(); }
  bool operator==(const VerifyReport&) const = default;

  template <class R = VerifyReport>
  static auto describe() {
    return api::value(api::sparse("reason", &R::reason), api::sparse("message", &R::message),
                      api::sparse("forGood", &R::for_good), api::sparse("uri", &R::uri),
                      api::sparse("checksum", &R::checksum),
                      api::sparse("etcdVersion", &R::etcd_version),
                      api::optional("revision", &R::revision),
                      api::optional("compactRevision", &R::compact_revision),
                      api::optional("hashKV", &R::hash_kv), api::optional("keys", &R::keys),
                      api::sparse("hashCompared", &R::hash_compared),
                      api::sparse("digestCompared", &R::digest_compared),
                      api::optional("durationSeconds", &R::duration_seconds));
  }
};

/// One line of JSON, at most kAgentReportBytesMax bytes (report_text.h). A message that is too long
/// is cut.
std::string to_text(const VerifyReport&);

/// Corrupt: it is neither a success nor a failure, or has an impossible value. Unknown fields are
/// skipped.
Result<VerifyReport> to_verify_report(std::string_view text);

}  // namespace etcdop
