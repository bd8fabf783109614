// etcd's API, one member at a time. The gRPC implementation is grpc_client.h over pool.h; fakes and
// the simulation have their own.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "etcd/member.h"

namespace etcdop::etcd {

/// Calls to one member. Each may suspend the fiber and has its own deadline (Status and the
/// serializable list 2 s, the linearizable list 3 s, changes 7 s, a dial included) inside the
/// fiber's.
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
};

/// Where a member is, and who must answer there.
struct Endpoint {
  std::string address;      ///< Of its Pod: an IP, no brackets.
  std::string server_name;  ///< Its DNS name: what its certificate must be for.
  bool tls = false;
  std::optional<ClusterId> cluster;  ///< Checked against each answer's header, if known.
  std::optional<MemberId> member;    ///< Likewise.
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
