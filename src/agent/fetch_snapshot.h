// The first part of restoring and verifying: a stored snapshot becomes a file that is checked, with
// known content.
#pragma once
#include <optional>
#include <string>

#include "agent/manifest.h"
#include "agent/restore_reason.h"
#include "agent/restore_site.h"
#include "agent/sealed.h"
#include "agent/source.h"
#include "base/fiber.h"
#include "base/log.h"
#include "base/result.h"

namespace etcdop::agent {

/// Why the work stops.
struct Refusal {
  RestoreReason reason;
  std::string message;
};
using Verdict = std::optional<Refusal>;  // nullopt: continue.

Refusal refusal(RestoreSide, const Error&);
Verdict verdict(RestoreSide, const Result<Done>&);

/// Requirements for the snapshot, and advice for people if it does not meet them.
struct FetchRules {
  std::string folder;        ///< The site's folder; for messages.
  std::string etcd_version;  ///< Version of the etcd that will run on it; empty: unknown.
  bool may_have_auth = false;
  std::string uid = {};       ///< The EtcdSnapshot that stored it; empty: any.
  std::string checksum = {};  ///< Covers all its bytes; empty: any.
  std::string space_advice, version_advice, auth_advice;
};

/// Normal flow: look(), fetch(), once each. They suspend.
class SnapshotFetch {
 public:
  /// All but the rules must outlive this.
  struct With {
    Executor& executor;
    Log& log;
    SnapshotSource& source;
    RestoreSite& site;
    const SealingKeys* keys;  ///< Null: the snapshot is not encrypted.
  };
  SnapshotFetch(FetchRules rules, const With& with);

  /// Checks that need no data.
  Verdict look();
  /// Fetches into the site's temporary file, and verifies it.
  Verdict fetch();

  const std::optional<Manifest>& manifest() const { return manifest_; }
  const std::string& checksum() const { return checksum_; }
  const DatabaseFacts& database() const { return database_; }
  /// The version of the member that the snapshot is from.
  const std::string& etcd_version() const;

 private:
  Verdict read_manifest();
  Verdict is_the_one() const;
  Verdict has_space();
  class Intake;
  Verdict download();
  Verdict is_whole(Intake&);
  Refusal unreadable(const Error&) const;
  Verdict inspect();
  Verdict is_not_newer(const std::string& version) const;
  Verdict may_log_in(bool auth_enabled) const;
  Refusal broken(const std::string& why) const;
  Refusal foreign(const std::string& why) const;

  const FetchRules rules_;
  const With with_;
  SourceFacts facts_;
  std::optional<Manifest> manifest_;
  std::string checksum_;
  DatabaseFacts database_;
};

/// Removes all temporary files, after success or failure, also when the fiber is cancelled.
void sweep(const SnapshotFetch::With&);

}  // namespace etcdop::agent
