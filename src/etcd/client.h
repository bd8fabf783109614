// etcd's API, one member at a time. The gRPC implementation is grpc_client.h over pool.h; fakes and
// the simulation have their own.
#pragma once
#include <chrono>
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

/// A serializable read needs no quorum, and may be stale.
enum class Read { Serializable, Linearizable };

/// The longest wait for a defragmentation; liveness probes must be longer.
inline constexpr std::chrono::seconds kDefragmentLimit{120};

/// Calls to one member. Each may suspend the fiber and has its own deadline within the fiber's. It
/// includes a dial: 2 s for Status and the serializable list, 3 s for reads with a quorum, 7 s for
/// changes, 30 s for keys, 2 min for defragmentation and a hash, 1 h for a snapshot.
///
/// Errors (etcd's text is read in errors.cc only): Unavailable: it did not happen (`unhealthy
/// cluster`, `no leader`, not connected); Lost, TimedOut: it was sent, and a change may have
/// happened: list again (TimedOut of a linearizable list means no quorum, or nearly so);
/// AlreadyExists: `Peer URLs already exists`, or the member to promote already votes; NotFound:
/// `member not found`; Conflict: the learner is not in sync yet, or the member asked to move_leader
/// is not the leader (any more); Invalid: etcd refuses (too many learners, not enough started
/// members, a learner was asked); Denied: credentials or TLS; Corrupt: the answer came from another
/// cluster or member than expected, or cannot come from etcd. Cancelled: the fiber was.
class Client {
 public:
  virtual ~Client() = default;
  virtual Result<Status> status() = 0;
  virtual Result<MemberList> member_list(Read) = 0;
  /// Adds a learner that has not started. Returns its id.
  virtual Result<MemberId> add_learner(const std::string& peer_url) = 0;
  virtual Result<Done> promote(MemberId) = 0;
  virtual Result<Done> remove(MemberId) = 0;
  /// Call it at the leader.
  virtual Result<Done> move_leader(MemberId to) = 0;
  /// Alarms of all members. Goes through the log, so it needs a quorum.
  virtual Result<std::vector<Alarm>> alarms() = 0;
  /// An alarm that is not raised counts as disarmed. If the reason of an alarm remains, the next
  /// put raises it again.
  virtual Result<Done> disarm(const Alarm&) = 0;
  /// Only this member, which neither reads nor writes meanwhile: about 300 MB a second. Ends within
  /// kDefragmentLimit.
  virtual Result<Done> defragment() = 0;
  /// Hash of the keys and their history up to that revision (0: the newest). Members that were
  /// compacted at the same revision (KeyHash::compacted) have equal hashes. Invalid: that revision
  /// was compacted, or is in the future.
  virtual Result<KeyHash> hash_kv(std::int64_t revision) = 0;
  /// The keys of this member, whatever the others have. An answer has at most 16 MiB, or 4 MiB with
  /// a limit above one; Corrupt: the keys do not fit. Invalid: that revision was compacted, or is
  /// in the future. The member walks over all keys from there on, however few are wanted: about 10
  /// million a second.
  virtual Result<KeyPage> keys(const KeyQuestion&) = 0;
  /// This member's current database, in pieces of at most 1 MiB (etcd's have 32 KiB), and its
  /// sha256 at the end: the file that etcdutl restores. Works on a learner, too. An error of the
  /// sink ends the call and is returned. Corrupt: the sha256 does not match. After an error, the
  /// bytes that the sink received are not a snapshot.
  virtual Result<WholeSnapshot> snapshot(const SnapshotSink&) = 0;

  /// AlreadyExists: a user of that name exists, perhaps with another password.
  virtual Result<Done> user_add(const std::string& name, const Secret& password) = 0;
  /// The user's tokens become invalid. Invalid: the user does not exist.
  virtual Result<Done> user_change_password(const std::string& name, const Secret& password) = 0;
  /// Granting again does nothing. Invalid: the user or the role does not exist ("root" always
  /// exists).
  virtual Result<Done> user_grant_role(const std::string& user, const std::string& role) = 0;
  /// Enabling again does nothing. Invalid: user root is missing, or lacks the role root.
  virtual Result<Done> auth_enable() = 0;
  virtual Result<AuthStatus> auth_status() = 0;
  /// A token. Every member knows it for 5 min after its last use at that member, and until the
  /// member restarts. Another member may need a moment to learn it (`invalid auth token`). Denied:
  /// wrong name or password. Invalid: authentication is off. Costs the member 70 ms of CPU. Only
  /// the answer tells which member got the password: with authentication on, a member does not
  /// identify itself before; TLS does.
  virtual Result<Secret> authenticate(const std::string& name, const Secret& password) = 0;
  /// Sent with each later call of this client; empty: no token is sent. Denied `invalid auth
  /// token`, or `revision of auth store is old`: authenticate again.
  virtual void use_token(Secret) = 0;
};

/// A member's address, its expected identity, and our credentials for it.
struct Endpoint {
  std::string address;      ///< IP of its Pod, without brackets.
  std::string server_name;  ///< Its DNS name, which its certificate must contain.
  /// Options for TLS; null: the connection is plaintext. Another object, even an equal one, gets
  /// its own connections. The dialing code sets `alpn`.
  std::shared_ptr<const TlsClient::Options> tls = nullptr;
  std::optional<ClusterId> cluster;  ///< Checked against each answer's header, if known.
  std::optional<MemberId> member;    ///< Checked in the same way.
  std::shared_ptr<const Secret> token = nullptr;  ///< As for Client::use_token; null: no token.
  auto operator<=>(const Endpoint&) const = default;
};

/// Connections by endpoint, kept and shared; idle connections are closed.
class Clients {
 public:
  virtual ~Clients() = default;
  /// Never fails and never dials: the client's first call dials.
  virtual std::shared_ptr<Client> at(const Endpoint&) = 0;
};

}  // namespace etcdop::etcd
