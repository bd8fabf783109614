// One connection per member, shared by all who speak to it and closed when idle.
#pragma once
#include <functional>
#include <memory>

#include "base/fiber.h"
#include "etcd/client.h"
#include "sys/stream.h"

namespace etcdop::etcd {

/// Connects to `address`, and over TLS if `tls` with a certificate for `server_name`. Suspends; the
/// limit of time comes from outside. Denied: TLS was refused. Unavailable: nobody is there.
using Dial = std::function<Result<std::unique_ptr<Stream>>(const Endpoint&)>;

/// The connections are told apart by address, server name and tls; who must answer is checked per
/// client.
///
/// Expected flow: the first call dials; calls that come meanwhile wait for the same dial; the
/// connection stays until it ends, was not used for 5 minutes (or for a second, while more are open
/// than Limits::unused), or its place is needed by another. The next call dials again. A dial
/// belongs to nobody's fiber: a caller that is cancelled meanwhile costs the others nothing.
///
/// A dial that fails is answered from memory for twice the time that it took (0.1–4 s), so that
/// many calls to a black hole pay once, and a member that just starts is not kept waiting.
///
/// Caveats: a connection on which a call waited for a second and nothing at all was heard is not
/// used again; a call that was cancelled says nothing about its connection.
class Pool final : public Clients {
 public:
  struct Limits {
    std::size_t connections = 8192;  ///< About 100 KB each while busy.
    /// So many clusters of three are spoken to over connections that stay: 30 KB each. Where there
    /// are more, each look once a minute dials, which takes a member a millisecond.
    std::size_t unused = 48;
  };
  /// The executor outlives the pool. `dial` may be called by several fibers at once.
  Pool(Executor&, Dial dial);
  Pool(Executor&, Dial dial, Limits);
  /// Calls close().
  ~Pool() override;
  std::shared_ptr<Client> at(const Endpoint&) override;
  /// Ends dials and idle connections, and waits for their fibers when called on a fiber; a call
  /// that runs keeps its connection until it ends, later ones are Unavailable. Without it the loop
  /// would run on until the last connection was idle for long enough.
  void close();
  /// Connections that are open.
  std::size_t open() const;

 private:
  class Link;
  struct State;
  std::shared_ptr<State> state_;  // Shared with links and the fibers that dial and sweep.
};

}  // namespace etcdop::etcd
