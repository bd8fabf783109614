// How calls of one simulated process travel to the API server, to etcd and to the object store, and
// which faults happen on the way.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "kube/api.h"
#include "s3/store.h"
#include "sim/api/server.h"
#include "sim/etcd/net.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/world/faults.h"
#include "sim/world/nodes.h"
#include "sim/world/trace.h"

namespace etcdop::sim {

class Checker;

/// Shared by all doors of one process.
struct Passage {
  std::string who;
  Scheduler& world;
  ProcessExecutor& caller;
  std::uint64_t seed;
  Dice dice;
  const Faults& faults;
  Trace& trace;
  Checker& checker;
  const Instant& api_down_until;
  /// The process was killed: nothing leaves or enters it any more.
  bool dead = false;
  /// Writes so far, without those of the Lease.
  std::uint64_t writes = 0;
  /// Called with the name of each write. before_write: false drops the write. after_write: false
  /// loses the answer. Both may kill or freeze the process.
  std::function<bool(const std::string& what)> before_write = {}, after_write = {};
  /// Calls them for reads of etcd and of the store, too.
  bool tells_reads = false;
  /// Called with each API call and watch: a returned value is the answer, and nothing is sent.
  std::function<std::optional<Result<Json>>(const kube::Call&)> instead = {};

  /// How long the API server waits for a webhook before it refuses this create; nullopt: none is
  /// asked, or it answers.
  std::function<std::optional<Duration>(const kube::Call&)> webhook = {};

  /// How long a webhook takes until it lets this write in; 0: none is asked. At most 30 s.
  std::function<Duration(const kube::Call&)> let_in_after = {};
  /// An earlier release, which knows no field that came later (forget_newer).
  bool old_build = false;

  /// Waits on the process's fiber; an error if the wait was cut short or the process is dead.
  Result<Done> travel(Duration);
  /// Whether the fault, if on, strikes now: once in `n` times. Each fault has its own chance, so
  /// leaving out another fault changes nothing here.
  bool strikes(Fault, std::uint64_t n);
  std::map<Fault, Dice> chance = {};
  Error killed() const { return {Code::Cancelled, who + " is dead"}; }
};

/// kube::Api of one process, as kube::Client promises it: 10 s a read, 35 s a write, 90 s of
/// silence a watch.
class ApiDoor final : public kube::Api {
 public:
  ApiDoor(Passage&, ApiServer&, std::vector<kube::Permission> granted);
  Result<Json> call(const kube::Call&) override;
  Result<Done> watch(const kube::Call&, const std::function<bool(kube::WatchEvent)>& each) override;
  /// The line of one kind.
  WatchLine& line(const std::string& plural) { return lines_[plural]; }
  std::vector<std::string> watched() const;
  /// Whether some of its watches are silent.
  bool is_deaf(Instant now) const;

 private:
  std::optional<Error> refused_on_the_way(const kube::Call&);
  Result<Json> write(const kube::Call&);
  Passage& passage_;
  ApiServer& server_;
  std::vector<kube::Permission> granted_;
  std::map<std::string, WatchLine> lines_;
};

/// etcd::Clients of one process: the operator's own client, over simulated connections. Like
/// etcd::Pool, it does the TLS handshake when it connects, and then stays connected. A host name is
/// resolved then.
class EtcdDoor final : public etcd::Clients {
 public:
  EtcdDoor(Passage&, EtcdNet&, Nodes&);
  std::shared_ptr<etcd::Client> at(const etcd::Endpoint&) override;
  /// As etcd::Handshake.
  Result<CertificateFacts> handshake(const etcd::Endpoint&, std::int32_t port);
  Result<bool> receives_snapshot(const etcd::Endpoint&);
  /// The address takes calls and never answers (or answers again).
  void black_hole(const std::string& address, bool on);
  /// The same for one call ("Authenticate"), or for handshakes (kHandshake).
  static constexpr const char* kHandshake = "handshake";
  void hang(const std::string& address, const std::string& call, bool on);
  /// Whether some of its calls are never answered.
  bool is_deaf() const;
  /// Calls so far.
  std::uint64_t calls() const { return calls_; }

 private:
  class Line;
  class Link;
  struct Connected {
    std::uint64_t process = 0;
    std::shared_ptr<const TlsClient::Options> with;
    std::string name;  ///< The name in that certificate.
    Instant used{};
  };
  bool hangs(const std::string& address, const std::string& call);
  Result<CertificateFacts> shake_hands(const etcd::Endpoint&, std::int32_t port);
  Result<Done> connect(const etcd::Endpoint&);
  Passage& passage_;
  EtcdNet& net_;
  Nodes& nodes_;
  std::map<std::string, bool> holes_;
  std::set<std::pair<std::string, std::string>> hung_;
  std::map<std::string, Connected> connected_;  // By address.
  std::uint64_t calls_ = 0;
};

/// s3::Store of one process, over the store's own Door.
class StoreDoor final : public s3::Store {
 public:
  StoreDoor(Passage&, std::unique_ptr<s3::Store>);
  Result<s3::Object> head(const std::string& key) override;
  Result<s3::Object> get(const std::string& key, const s3::GetOptions&, const Sink&) override;
  Result<s3::Tag> put(const std::string& key, std::string_view, const s3::PutOptions&) override;
  Result<s3::Upload> create_multipart(const std::string& key, const s3::Metadata&) override;
  Result<s3::Tag> upload_part(const s3::Upload&, int number, const s3::Payload&) override;
  Result<s3::Tag> complete(const s3::Upload&, const std::vector<s3::Part>&, bool) override;
  Result<Done> abort(const s3::Upload&) override;
  Result<s3::Page> list(const s3::ListOptions&) override;
  Result<std::vector<s3::Upload>> uploads(const std::string& prefix) override;
  Result<Done> remove(const std::string& key) override;

 private:
  /// Makes the call, unless the process dies before it.
  template <class Call>
  auto through(const std::string& what, const Call& call) -> decltype(call());
  Passage& passage_;
  const std::unique_ptr<s3::Store> store_;
};

}  // namespace etcdop::sim
