// What a verify agent leaves behind when it ends: the termination message of its container, which
// the operator reads. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/result.h"

namespace etcdop {

/// Whether a report with that reason says what the stored object is: gone, broken, or another. The
/// other reasons say that nobody could look.
bool is_finding(std::string_view reason);

/// Of a failure the first three, and those of the others that were known by then. Of a success the
/// others: `compact_revision`, `hash_kv` and `keys` are of what was restored, at `revision`.
struct VerifyReport {
  std::string reason;     ///< "SnapshotDiffers": begins a condition's message; empty: it is good.
  std::string message;    ///< For people; no secret.
  bool for_good = false;  ///< Trying again finds the same; else it may help.
  std::string uri;        ///< "s3://bucket/key" or "file:///folder/name.db".
  std::string checksum;   ///< "sha256:" and 64 hex digits, over all bytes of the snapshot.
  std::string etcd_version;  ///< Of who gave the snapshot: "3.6.16", or "3.6" if not more is known.
  std::optional<std::int64_t> revision;  ///< Where both were compared; of a check: its newest.
  std::optional<std::int64_t> compact_revision, hash_kv, keys;
  bool hash_compared = false;    ///< etcd's HashKV was the cluster's.
  bool digest_compared = false;  ///< All keys, values and revisions were: by their sha256.
  std::optional<std::int64_t> duration_seconds;  ///< From the first look at the object on.

  bool failed() const { return !reason.empty(); }
  bool operator==(const VerifyReport&) const = default;

  template <class R = VerifyReport>
  static auto describe() {
    return api::object(
        "How a verify agent ended.",
        api::Fields{api::sparse("reason", &R::reason, ""), api::sparse("message", &R::message, ""),
                    api::sparse("forGood", &R::for_good, ""), api::sparse("uri", &R::uri, ""),
                    api::sparse("checksum", &R::checksum, ""),
                    api::sparse("etcdVersion", &R::etcd_version, ""),
                    api::optional("revision", &R::revision, ""),
                    api::optional("compactRevision", &R::compact_revision, ""),
                    api::optional("hashKV", &R::hash_kv, ""), api::optional("keys", &R::keys, ""),
                    api::sparse("hashCompared", &R::hash_compared, ""),
                    api::sparse("digestCompared", &R::digest_compared, ""),
                    api::optional("durationSeconds", &R::duration_seconds, "")});
  }
};

/// One line of JSON of at most kAgentReportBytesMax bytes (report_text.h); a message that is too
/// long is cut.
std::string to_text(const VerifyReport&);

/// Corrupt: it is neither a success nor a failure, or says what cannot be. Fields that are not
/// known are skipped.
Result<VerifyReport> to_verify_report(std::string_view text);

}  // namespace etcdop
