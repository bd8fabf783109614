#include "agent/take_snapshot.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "agent/member_choice.h"
#include "etcd/errors.h"
#include "etcd/key_digest.h"
#include "sys/digest.h"

namespace etcdop::agent {
namespace {

using namespace std::chrono_literals;

constexpr int kRoundsMax = 5;  // Rounds over all members, until one is fit.
constexpr Duration kRoundPause = 2s;
constexpr int kHashTries = 3;
constexpr Duration kHashLimit = 3min;    // For all tries.
constexpr Duration kKeysLimit = 5min;    // A million small keys need less than one minute.
constexpr Duration kFinishLimit = 6min;  // Part of kTakeLimit: the destination needs it at the end.

/// Why the snapshot failed.
struct Failure {
  Side side;
  Error error;
};

/// The member that gives the snapshot.
struct Source {
  etcd::Endpoint endpoint;
  std::shared_ptr<etcd::Client> client;
  etcd::Status status;
};

/// Finds the Source: queries the members, logs in, and checks that the member has all acknowledged
/// writes.
class Search {
 public:
  Search(const EtcdAccess& access, const Collaborators& with) : access_(access), with_(with) {}

  Result<Source> run() {
    for (int round = 0;; ++round) {
      auto source = once();
      if (source || is_final(source.error()) || round + 1 == kRoundsMax) return source;
      if (trouble(source.error()) == etcd::AuthTrouble::Expired) token_.reset();
      with_.log.warn("no member to take a snapshot of", {{"error", source.error().message}});
      const Woken woken = with_.executor.sleep(kRoundPause);
      if (auto slept = to_result(woken, "looking for a member"); !slept) return slept.error();
    }
  }
  bool logged_in() const { return token_ != nullptr; }

 private:
  static etcd::AuthTrouble trouble(const Error& error) { return etcd::auth_trouble(error); }
  /// Errors that neither a restart nor a certificate renewal explains.
  static bool is_final(const Error& error) {
    return trouble(error) == etcd::AuthTrouble::Rejected ||
           trouble(error) == etcd::AuthTrouble::Required || error.code == Code::Cancelled;
  }

  etcd::Endpoint at(const std::string& host) const {
    return {.address = host,
            .server_name = host,
            .tls = with_.tls,
            .cluster = std::nullopt,
            .member = std::nullopt,
            .token = token_};
  }

  Result<Source> once() {
    std::vector<Seen> seen;
    for (const std::string& host : access_.hosts)
      seen.push_back({host, with_.clients.at(at(host))->status()});
    if (auto entered = enter(seen); !entered) return entered.error();
    auto chosen = choose(seen);
    if (!chosen) return chosen.error();
    return settle_on(seen[*chosen]);
  }

  /// Logs in, if required, at the first member that answers: no other member gets the password.
  Result<Done> enter(std::vector<Seen>& seen) {
    if (access_.username.empty() || token_ || no_authentication_) return Done{};
    for (const Seen& one : seen) {
      const bool answers = one.status || trouble(one.status.error()) != etcd::AuthTrouble::None;
      if (!answers) continue;
      auto token = with_.clients.at(at(one.host))->authenticate(access_.username, access_.password);
      no_authentication_ = !token && trouble(token.error()) == etcd::AuthTrouble::Off;
      if (no_authentication_) return Done{};
      if (!token) return token.error();
      token_ = std::make_shared<const Secret>(std::move(*token));
      break;
    }
    for (Seen& one : seen)
      if (token_ && one.status.failed_with(Code::Denied))
        one.status = with_.clients.at(at(one.host))->status();
    return Done{};
  }

  /// A linearizable list is answered only after all earlier writes are applied at that member.
  Result<Source> settle_on(const Seen& seen) {
    Result<etcd::Status> status = seen.status;
    etcd::Endpoint endpoint = at(seen.host);
    endpoint.cluster = status->header.cluster;
    // A Service's name leads to one member, and after a broken connection to another one.
    if (access_.hosts.size() > 1) endpoint.member = status->header.member;
    auto client = with_.clients.at(endpoint);
    auto list = client->member_list(etcd::Read::Linearizable);
    if (list) return Source{endpoint, std::move(client), std::move(*status)};
    if (list.failed_with(Code::Denied) || list.failed_with(Code::Cancelled)) return list.error();
    return Error{Code::Conflict, "no quorum: " + list.error().message};
  }

  const EtcdAccess& access_;
  const Collaborators& with_;
  std::shared_ptr<const Secret> token_;
  bool no_authentication_ = false;
};

/// Moves one snapshot from its Source to its Destination.
class Transfer {
 public:
  Transfer(const SnapshotTask& task, const Collaborators& with, Source source)
      : task_(task), with_(with), source_(std::move(source)) {}

  std::optional<Failure> run(bool logged_in, AgentReport& report) {
    const WallTime taken_at = with_.clock.wall_now();
    ask_facts(logged_in, report);
    if (auto failure = stream(report)) return failure;
    read_keys(report);
    auto finished = with_.destination.finish({.snapshot_name = task_.name,
                                              .snapshot_uid = task_.uid,
                                              .taken_at = taken_at,
                                              .attempt = {},
                                              .report = report});
    if (!finished) return Failure{with_.destination.side(), finished.error()};
    return std::nullopt;
  }

 private:
  /// Facts that etcd does not tell are left out: the snapshot is good without them.
  void ask_facts(bool logged_in, AgentReport& report) {
    const etcd::Status& status = source_.status;
    report.uri = with_.destination.uri();
    report.etcd_version = status.version;
    report.cluster_id = to_hex(status.header.cluster);
    report.member_id = to_hex(status.header.member);
    if (auto hash = ask_hash()) {
      report.revision = hash->revision;
      report.compact_revision = hash->compacted;
      report.hash_kv = hash->hash;
    } else {
      with_.log.warn("no hash of the keys", {{"error", hash.error().message}});
      // A digest at this revision proves as much.
      if (status.revision > 0) report.revision = status.revision;
    }
    if (logged_in) report.auth_enabled = true;
    else if (auto auth = source_.client->auth_status()) report.auth_enabled = auth->enabled;
  }

  Result<etcd::KeyHash> ask_hash() {
    const Within limit(with_.executor, kHashLimit);
    for (int tries = 1;; ++tries) {
      auto hash = source_.client->hash_kv(0);
      if (hash || !transient(hash.error().code) || tries == kHashTries) return hash;
      const Woken woken = with_.executor.sleep(kRoundPause);
      if (auto slept = to_result(woken, "asking for a hash"); !slept) return slept.error();
    }
  }

  std::optional<Failure> stream(AgentReport& report) {
    Destination& to = with_.destination;
    const auto expected = std::max<std::int64_t>(source_.status.db_size, 0);
    if (auto begun = to.begin(static_cast<std::uint64_t>(expected)); !begun)
      return Failure{to.side(), begun.error()};
    std::optional<Digest> sealed;  // Unsealed bytes have the snapshot's own sum.
    std::optional<Error> not_stored;
    const auto store = [&](std::string_view piece) {
      if (sealed) sealed->add(piece);
      report.size_bytes += static_cast<std::int64_t>(piece.size());
      auto written = to.write(piece);
      if (!written) not_stored = written.error();
      return written;
    };
    std::optional<Sealer> sealer;
    if (with_.sealing) {
      sealed.emplace(Digest::Kind::Sha256);
      sealer.emplace(*with_.sealing, store);
    }
    auto taken = source_.client->snapshot(
        [&](std::string_view piece) { return sealer ? sealer->add(piece) : store(piece); });
    if (taken && sealer) (void)sealer->end();  // Its error is in not_stored, too.
    if (not_stored) return Failure{to.side(), *not_stored};
    if (!taken) return Failure{Side::Snapshot, taken.error()};
    if (with_.sealing) report.key_id = with_.sealing->key.id;
    report.checksum = sealed ? "sha256:" + sealed->hex() : taken->checksum;
    return std::nullopt;
  }

  /// A digest of the keys, at the revision of the hash, which the snapshot has, too. Hashes depend
  /// on compactions, so they cannot always be compared; the digest can. Left out in the same way.
  void read_keys(AgentReport& report) {
    if (!report.revision) return;
    const Instant end = with_.executor.running()->deadline() - kFinishLimit;
    if (end <= with_.executor.now())
      return no_digest({Code::TimedOut, "the snapshot has taken the time for it"});
    const Within limit(with_.executor, std::min(kKeysLimit, end - with_.executor.now()));
    auto counted = count(*report.revision);
    if (!counted) return no_digest(counted.error());
    report.keys = counted->count;
    with_.log.info("the snapshot is complete; reading all keys again for their digest",
                   {{"bytes", report.size_bytes}, {"keys", counted->count}});
    auto digest = etcd::digest_keys(with_.executor, *source_.client, *report.revision);
    if (!digest) return no_digest(digest.error());
    report.digest = std::move(*digest);
  }

  /// Number of keys. A member forgets a token after five minutes without use, and the snapshot may
  /// have taken longer.
  Result<etcd::KeyPage> count(std::int64_t revision) {
    const etcd::KeyQuestion question{.revision = revision, .limit = 0};
    auto counted = source_.client->keys(question);
    if (counted || etcd::auth_trouble(counted.error()) != etcd::AuthTrouble::Expired)
      return counted;
    if (auto entered = log_in_again(); !entered) return entered.error();
    return source_.client->keys(question);
  }

  Result<Done> log_in_again() {
    source_.endpoint.token.reset();
    auto token =
        with_.clients.at(source_.endpoint)->authenticate(task_.etcd.username, task_.etcd.password);
    if (!token) return token.error();
    source_.endpoint.token = std::make_shared<const Secret>(std::move(*token));
    source_.client = with_.clients.at(source_.endpoint);
    return Done{};
  }

  void no_digest(const Error& error) {
    with_.log.warn("no digest of the keys", {{"error", error.message}});
  }

  const SnapshotTask& task_;
  const Collaborators& with_;
  Source source_;
};

AgentReport failed(const Failure& failure) {
  AgentReport report;
  report.reason = to_string(reason_of(failure.side, failure.error));
  report.message = told(failure.error);
  return report;
}

}  // namespace

AgentReport take_snapshot(const SnapshotTask& task, const Collaborators& with) {
  const Within limit(with.executor, kTakeLimit);
  auto stored = with.destination.look();
  if (!stored) return failed({with.destination.side(), stored.error()});
  if (*stored) {
    with.log.info("the snapshot is stored already", {{"uri", (*stored)->uri}});
    return **stored;
  }
  Search search(task.etcd, with);
  auto source = search.run();
  if (!source) return failed({Side::Etcd, source.error()});
  with.log.info("taking a snapshot", {{"endpoint", source->endpoint.address},
                                      {"member", to_hex(source->status.header.member)},
                                      {"db_bytes", source->status.db_size}});
  AgentReport report;
  Transfer transfer(task, with, std::move(*source));
  if (const auto failure = transfer.run(search.logged_in(), report)) {
    with.destination.abandon();
    return failed(*failure);
  }
  return report;
}

}  // namespace etcdop::agent
