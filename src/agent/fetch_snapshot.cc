#include "agent/fetch_snapshot.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "etcd/snapshot_sum.h"
#include "sys/digest.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSweepLimit = 10s;       // The kubelet waits for 30 s.
constexpr std::size_t kPieceMax = 1 << 20;  // Bytes between two turns of the loop.
/// The snapshot, and the database made from it.
constexpr std::uint64_t kCopies = 2;
/// The write-ahead log: its segment, and the next one, which etcd creates in advance.
constexpr std::uint64_t kLogBytes = 2 * (64 << 20);

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// The first two numbers of "3.6.16", "3.6" or "3.6.0-rc.1".
using Minor = std::pair<int, int>;
std::optional<Minor> minor_of(const std::string& version) {
  Minor out;
  const char* const end = version.data() + version.size();
  const auto major = std::from_chars(version.data(), end, out.first);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  if (std::from_chars(major.ptr + 1, end, out.second).ec != std::errc()) return std::nullopt;
  return out;
}

}  // namespace

/// Handles the stored bytes: sums them up, decrypts them if they are sealed, and writes them.
class SnapshotFetch::Intake {
 public:
  /// Both must outlive this; keys may be null.
  Intake(const SealingKeys* keys, RestoreSite& site) : site_(site) {
    if (!keys) return;
    sealed_.emplace(Digest::Kind::Sha256);
    opener_.emplace(*keys, [this](std::string_view plain) { return write(plain); });
  }

  Result<Done> add(std::string_view piece) {
    if (!opener_ && !begun_ && is_sealed(piece))
      return noting(Error{Code::Denied,
                          "it is encrypted: give it encryption.keySecretRef, the Secret with its "
                          "key"});
    begun_ = true;
    if (sealed_) sealed_->add(piece);
    return opener_ ? noting(opener_->add(piece)) : write(piece);
  }
  Result<Done> end() { return opener_ ? noting(opener_->end()) : Done{}; }

  /// An error of the data directory.
  const std::optional<Error>& not_written() const { return not_written_; }
  /// An error of the stored data. Denied: the key is missing; otherwise Corrupt.
  const std::optional<Error>& not_opened() const { return not_opened_; }
  /// The checksum of the stored bytes. Corrupt: the snapshot's own sum is wrong.
  Result<std::string> is_whole() {
    auto whole = own_sum_.end();
    if (!whole) return whole.error();
    return sealed_ ? "sha256:" + sealed_->hex() : std::move(whole->checksum);
  }

 private:
  Result<Done> write(std::string_view plain) {
    own_sum_.add(plain);
    auto written = site_.write(plain);
    if (!written) not_written_ = written.error();
    return written;
  }
  Result<Done> noting(Result<Done> opened) {
    if (!opened && !not_written_) not_opened_ = opened.error();
    return opened;
  }

  RestoreSite& site_;
  std::optional<Opener> opener_;
  std::optional<Digest> sealed_;  // Without a seal, the snapshot's own sum covers all bytes.
  etcd::SnapshotSum own_sum_;
  bool begun_ = false;
  std::optional<Error> not_written_, not_opened_;
};

Refusal refusal(RestoreSide side, const Error& error) {
  return {reason_of(side, error), error.message};
}

Verdict verdict(RestoreSide side, const Result<Done>& done) {
  if (done) return std::nullopt;
  return refusal(side, done.error());
}

SnapshotFetch::SnapshotFetch(FetchRules rules, const With& with)
    : rules_(std::move(rules)), with_(with) {}

Verdict SnapshotFetch::look() {
  auto facts = with_.source.look();
  if (!facts) return refusal(with_.source.side(), facts.error());
  facts_ = std::move(*facts);
  with_.log.info("restoring a snapshot", {{"uri", with_.source.uri()},
                                          {"size_bytes", facts_.size_bytes},
                                          {"manifest", facts_.manifest.has_value()}});
  if (auto bad = read_manifest()) return bad;
  if (auto bad = is_the_one()) return bad;
  if (!manifest_) return std::nullopt;
  const AgentReport& said = manifest_->report;
  if (static_cast<std::uint64_t>(said.size_bytes) != facts_.size_bytes)
    return broken("it has " + bytes_text(facts_.size_bytes) + ", and had " +
                  std::to_string(said.size_bytes) + " when it was stored");
  if (auto bad = is_not_newer(said.etcd_version)) return bad;
  return may_log_in(said.auth_enabled.value_or(false));
}

Verdict SnapshotFetch::read_manifest() {
  if (!facts_.manifest) return std::nullopt;
  auto manifest = to_manifest(*facts_.manifest);
  if (!manifest) return foreign(manifest.error().message);
  if (!facts_.uid.empty() && facts_.uid != manifest->snapshot_uid)
    return foreign("it is of EtcdSnapshot " + manifest->snapshot_uid + ", and the snapshot is of " +
                   facts_.uid);
  if (!facts_.attempt.empty() && facts_.attempt != manifest->attempt)
    return foreign("the snapshot was stored again after this manifest was written");
  manifest_ = std::move(*manifest);
  return std::nullopt;
}

/// Checks that it is the wanted snapshot, if its owner and its checksum are known.
Verdict SnapshotFetch::is_the_one() const {
  const std::string& uid = manifest_ ? manifest_->snapshot_uid : facts_.uid;
  if (!rules_.uid.empty() && !uid.empty() && uid != rules_.uid)
    return Refusal{RestoreReason::SnapshotForeign,
                   with_.source.uri() + " is of EtcdSnapshot " + uid + ", not of " + rules_.uid};
  if (!rules_.checksum.empty() && manifest_ && manifest_->report.checksum != rules_.checksum)
    return Refusal{RestoreReason::SnapshotForeign,
                   "the manifest of " + with_.source.uri() + " has the checksum " +
                       manifest_->report.checksum + ", not " + rules_.checksum};
  return std::nullopt;
}

Verdict SnapshotFetch::fetch() {
  if (auto bad = has_space()) return bad;
  if (auto bad = download()) return bad;
  if (auto bad = inspect()) return bad;
  with_.log.info("the snapshot is whole and fits", {{"checksum", checksum_},
                                                    {"etcd_version", etcd_version()},
                                                    {"revision", database_.revision.value_or(0)}});
  return std::nullopt;
}

Verdict SnapshotFetch::has_space() {
  auto free = with_.site.free_bytes();
  if (!free) return refusal(RestoreSide::DataDirectory, free.error());
  if (*free >= kLogBytes && (*free - kLogBytes) / kCopies >= facts_.size_bytes) return std::nullopt;
  return Refusal{RestoreReason::NoSpace,
                 rules_.folder + " has " + bytes_text(*free) + " free, and restoring " +
                     bytes_text(facts_.size_bytes) + " needs twice as much as these and " +
                     bytes_text(kLogBytes) + " for the write-ahead log" + rules_.space_advice};
}

Verdict SnapshotFetch::download() {
  if (auto bad = verdict(RestoreSide::DataDirectory, with_.site.create())) return bad;
  Intake intake(with_.keys, with_.site);
  auto read = with_.source.read([&](std::string_view bytes) -> Result<Done> {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kPieceMax))) {
      if (auto taken = intake.add(bytes.substr(0, kPieceMax)); !taken) return taken;
      if (auto turn = to_result(with_.executor.sleep({}), "fetching"); !turn) return turn;
    }
    return Done{};
  });
  if (read) read = intake.end();
  if (intake.not_written()) return refusal(RestoreSide::DataDirectory, *intake.not_written());
  if (intake.not_opened()) return unreadable(*intake.not_opened());
  if (!read) return refusal(with_.source.side(), read.error());
  if (auto bad = verdict(RestoreSide::DataDirectory, with_.site.finish())) return bad;
  return is_whole(intake);
}

Verdict SnapshotFetch::is_whole(Intake& intake) {
  auto whole = intake.is_whole();
  if (!whole) return broken(whole.error().message);
  checksum_ = std::move(*whole);
  const std::string& stored = manifest_ ? manifest_->report.checksum : rules_.checksum;
  if (!stored.empty() && stored != checksum_)
    return broken("its checksum is " + checksum_ + ", not " + stored);
  return std::nullopt;
}

Refusal SnapshotFetch::unreadable(const Error& error) const {
  if (error.code != Code::Denied) return broken(error.message);
  return {RestoreReason::EncryptionKeyMissing, with_.source.uri() + ": " + error.message};
}

/// Checks the database's own facts, regardless of its origin.
Verdict SnapshotFetch::inspect() {
  auto facts = with_.site.inspect();
  if (facts.failed_with(Code::Corrupt)) return broken(facts.error().message);
  if (!facts) return refusal(RestoreSide::DataDirectory, facts.error());
  database_ = std::move(*facts);
  if (auto bad = is_not_newer(database_.etcd_version)) return bad;
  return may_log_in(database_.auth_enabled);
}

const std::string& SnapshotFetch::etcd_version() const {
  return manifest_ ? manifest_->report.etcd_version : database_.etcd_version;
}

/// Only the patch may be newer than the etcd that will run on it.
Verdict SnapshotFetch::is_not_newer(const std::string& version) const {
  const auto of_snapshot = minor_of(version), of_cluster = minor_of(rules_.etcd_version);
  if (!of_snapshot || !of_cluster || *of_snapshot <= *of_cluster) return std::nullopt;
  return Refusal{RestoreReason::SnapshotNewer, with_.source.uri() + " is of etcd " + version +
                                                   ", which etcd " + rules_.etcd_version +
                                                   " cannot read" + rules_.version_advice};
}

Verdict SnapshotFetch::may_log_in(bool auth_enabled) const {
  if (!auth_enabled || rules_.may_have_auth) return std::nullopt;
  return Refusal{
      RestoreReason::SnapshotNeedsAuth,
      with_.source.uri() + " has authentication switched on, and stays so" + rules_.auth_advice};
}

Refusal SnapshotFetch::broken(const std::string& why) const {
  return {RestoreReason::SnapshotBroken, with_.source.uri() + ": " + why};
}
Refusal SnapshotFetch::foreign(const std::string& why) const {
  return {RestoreReason::SnapshotForeign, with_.source.uri() + kManifestSuffix +
                                              " is not its manifest: " + why +
                                              "; put the right one there, or remove it"};
}

void sweep(const SnapshotFetch::With& with) {
  const Shield orderly(with.executor, kSweepLimit);
  if (auto swept = with.site.sweep(); !swept)
    with.log.warn("temporary files were not removed", {{"error", swept.error().message}});
}

}  // namespace etcdop::agent
