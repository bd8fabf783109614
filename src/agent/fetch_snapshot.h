// What restoring and verifying begin with: a stored snapshot becomes a file that is known to be
// whole, and of which it is known what is in it.
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

/// Why it goes no further.
struct Refusal {
  RestoreReason reason;
  std::string message;
};
using Verdict = std::optional<Refusal>;  // nullopt: it goes on.

Refusal refusal(RestoreSide, const Error&);
Verdict verdict(RestoreSide, const Result<Done>&);

/// What the snapshot has to be for whoever wants it, and what people can do if it is not.
struct FetchRules {
  std::string folder;        ///< Where the site is; for messages.
  std::string etcd_version;  ///< Which etcd will run on it; empty: nobody knows.
  bool may_have_auth = false;
  std::string uid = {};       ///< Of the EtcdSnapshot that stored it; empty: of any.
  std::string checksum = {};  ///< Of all its bytes; empty: whatever it is.
  std::string space_advice, version_advice, auth_advice;
};

/// Expected flow: look(), fetch(), once each. They suspend.
class SnapshotFetch {
 public:
  /// All but the rules outlive this.
  struct With {
    Executor& executor;
    Log& log;
    SnapshotSource& source;
    RestoreSite& site;
    const SealingKeys* keys;  ///< Null: it is not encrypted.
  };
  SnapshotFetch(FetchRules rules, const With& with);

  /// What can be told without its bytes.
  Verdict look();
  /// Into the site's temporary file, and verified.
  Verdict fetch();

  const std::optional<Manifest>& manifest() const { return manifest_; }
  const std::string& checksum() const { return checksum_; }
  const DatabaseFacts& database() const { return database_; }
  /// Of who gave it.
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

/// Nothing temporary stays, however it ended, also when the fiber is cancelled.
void sweep(const SnapshotFetch::With&);

}  // namespace etcdop::agent
