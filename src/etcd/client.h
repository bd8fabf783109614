// etcd's API, one member at a time. The gRPC implementation is grpc_client.h over pool.h; fakes and
// the simulation have their own.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "etcd/member.h"
#include "etcd/snapshot_sum.h"
#include "sys/tls.h"

namespace etcdop::etcd {

/// Takes the next piece.
using SnapshotSink = std::function<Result<Done>(std::string_view)>;

/// Calls to one member. Each may suspend the fiber and has its own deadline (Status and the
/// serializable list 2 s; what reads with a quorum, 3 s; changes 7 s; keys 30 s; defragmentation
/// and a hash 2 min; a snapshot 1 h; a dial included) inside the fiber's.
///
/// Errors (etcd's text is read in errors.cc only): Unavailable: it did not happen (`unhealthy
/// cluster`, `no leader`, not connected); Lost, TimedOut: it was sent, and a change may have
/// happened: list again (of a linearizable list TimedOut means no quorum, or nearly so);
/// AlreadyExists: `Peer URLs already exists`, or who is to be promoted votes already; NotFound:
/// `member not found`; Conflict: a learner that is not in sync yet, or move_leader asked of who
/// does not lead (any more); Invalid: etcd refuses (too many learners, not enough started members,
/// asked of a learner); Denied: credentials or TLS; Corrupt: the answer came from another cluster
/// or member than asked, or cannot be one of etcd's. Cancelled: the fiber was.
class Client {
 public:
  virtual ~Client() = default;
  virtual Result<Status> status() = 0;
  /// Serializable lists answer without quorum, and may be old.
  virtual Result<MemberList> member_list(bool linearizable) = 0;
  /// Adds a learner that has not started. Returns its id.
  virtual Result<MemberId> add_learner(const std::string& peer_url) = 0;
  virtual Result<Done> promote(MemberId) = 0;
  virtual Result<Done> remove(MemberId) = 0;
  /// Must be asked of the leader.
  virtual Result<Done> move_leader(MemberId to) = 0;
  /// Of all members. Goes through the log, so it needs a quorum.
  virtual Result<std::vector<Alarm>> alarms() = 0;
  /// An alarm that is not raised is disarmed already. One whose reason has not gone is raised again
  /// by the next put.
  virtual Result<Done> disarm(const Alarm&) = 0;
  /// Of this member only, which neither reads nor writes meanwhile: some 300 MB a second.
  virtual Result<Done> defragment() = 0;
  /// Of the keys and their history up to that revision (0: the newest). Members that were compacted
  /// at the same one (KeyHash::compacted) have equal hashes. Invalid: that revision was compacted,
  /// or is to come.
  virtual Result<KeyHash> hash_kv(std::int64_t revision) = 0;
  /// What this member has, whatever the others do. Of one answer 16 MiB at most, or with a limit of
  /// more than one 4 MiB; Corrupt: that is not enough. Invalid: that revision was compacted, or is
  /// to come. The member walks over all keys from there on, however few are wanted: some 10 million
  /// a second.
  virtual Result<KeyPage> keys(const KeyQuestion&) = 0;
  /// This member's database as it is now, in pieces of at most 16 MiB (etcd's are 32 KiB), and at
  /// the end its sha256: the file that etcdutl restores. A learner gives one, too. An error of the
  /// sink ends it and is returned. Corrupt: it does not have that sha256. What the sink got before
  /// an error is not a snapshot.
  virtual Result<WholeSnapshot> snapshot(const SnapshotSink&) = 0;

  /// AlreadyExists: there is one of that name, who may have another password.
  virtual Result<Done> user_add(const std::string& name, const Secret& password) = 0;
  /// Its tokens are no good any more. Invalid: there is no such user.
  virtual Result<Done> user_change_password(const std::string& name, const Secret& password) = 0;
  /// Again does nothing. Invalid: there is no such user, or role ("root" always is one).
  virtual Result<Done> user_grant_role(const std::string& user, const std::string& role) = 0;
  /// Again does nothing. Invalid: no user root, or without the role root.
  virtual Result<Done> auth_enable() = 0;
  virtual Result<AuthStatus> auth_status() = 0;
  /// A token, which every member knows for 5 min after its last use there, and until it restarts;
  /// another member than this one may need a moment to hear of it (`invalid auth token`). Denied:
  /// wrong name or password. Invalid: authentication is off. Costs the member 70 ms of CPU. Who
  /// gets the password is known afterwards only: with authentication on, a member does not say who
  /// it is before; TLS does.
  virtual Result<Secret> authenticate(const std::string& name, const Secret& password) = 0;
  /// Goes with each later call of this client; empty: none does. Denied `invalid auth token`, or
  /// `revision of auth store is old`: authenticate again.
  virtual void use_token(Secret) = 0;
};

/// Where a member is, who must answer there, and what we show to it.
struct Endpoint {
  std::string address;      ///< Of its Pod: an IP, no brackets.
  std::string server_name;  ///< Its DNS name: what its certificate must be for.
  /// What TLS is made with; null: the connection is plaintext. Another object, though it be equal,
  /// makes connections of its own. `alpn` is set by whoever dials.
  std::shared_ptr<const TlsClient::Options> tls = nullptr;
  std::optional<ClusterId> cluster;  ///< Checked against each answer's header, if known.
  std::optional<MemberId> member;    ///< Likewise.
  std::shared_ptr<const Secret> token = nullptr;  ///< As for Client::use_token; null: none.
  auto operator<=>(const Endpoint&) const = default;
};

/// Connections by endpoint, kept and shared; idle ones are closed.
class Clients {
 public:
  virtual ~Clients() = default;
  /// Never fails and never dials: the first call of the client does.
  virtual std::shared_ptr<Client> at(const Endpoint&) = 0;
};

}  // namespace etcdop::etcd
