// The report of a restore agent: the termination message of its container, which the operator
// reads. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/describe.h"
#include "base/result.h"

namespace etcdop {

/// A failure has only the first three fields. A success has the others, as far as they are known;
/// only `already` if an earlier run did the work.
struct RestoreReport {
  std::string reason;        ///< "NoSpace": begins a condition's message; empty: success.
  std::string message;       ///< For people, without secrets.
  bool for_good = false;     ///< Only a person can fix it; otherwise another try may help.
  bool already = false;      ///< The data directory had a member already: nothing was done.
  std::string uri;           ///< "s3://bucket/key" or "file:///folder/name.db".
  std::string checksum;      ///< "sha256:" and 64 hex digits, over all bytes of the snapshot.
  std::string etcd_version;  ///< The version that took it: "3.6.16", or "3.6" if no more is known.
  std::optional<std::int64_t> revision;  ///< The newest of the restored member, after the bump.

  bool failed() const { return !reason.empty(); }
  bool operator==(const RestoreReport&) const = default;

  template <class R = RestoreReport>
  static auto describe() {
    return api::value(api::sparse("reason", &R::reason), api::sparse("message", &R::message),
                      api::sparse("forGood", &R::for_good), api::sparse("already", &R::already),
                      api::sparse("uri", &R::uri), api::sparse("checksum", &R::checksum),
                      api::sparse("etcdVersion", &R::etcd_version),
                      api::optional("revision", &R::revision));
  }
};

/// One line of JSON, at most kAgentReportBytesMax bytes (report_text.h). A message that is too long
/// is cut.
std::string to_text(const RestoreReport&);

/// Corrupt: it is neither a success nor a failure, or has an impossible value. Unknown fields are
/// skipped.
Result<RestoreReport> to_restore_report(std::string_view text);

}  // namespace etcdop
