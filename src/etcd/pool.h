// One connection per member, shared by all callers and closed when idle.
#pragma once
#include <functional>
#include <memory>

#include "base/fiber.h"
#include "etcd/client.h"
#include "sys/stream.h"

namespace etcdop::etcd {

/// Connects to `address`; with `tls`, over TLS with a certificate for `server_name`. Suspends; the
/// caller sets the time limit. Denied: TLS was refused. Unavailable: no server answers.
using Dial = std::function<Result<std::unique_ptr<Stream>>(const Endpoint&)>;

/// Connections are keyed by address, server name and tls; the expected member is checked per
/// client.
///
/// Normal flow: the first call dials; calls that come meanwhile wait for the same dial. The
/// connection stays until it ends, or was unused for 5 minutes (for a second, while more are open
/// than Limits::unused), or until another connection needs its place. The next call dials again. A
/// dial runs on its own fiber: if one caller is cancelled meanwhile, the others are not affected.
///
/// A failed dial is answered from memory for twice the time that it took (0.1–4 s). So many calls
/// to a black hole pay once, and a member that has just started does not wait long.
///
/// Caveats: if a call waited for a second and nothing at all was received on its connection, the
/// connection is not used again; a cancelled call says nothing about its connection.
class Pool final : public Clients {
 public:
  struct Limits {
    std::size_t connections = 8192;  ///< About 100 KB each while busy.
    /// Up to this many connections stay open while unused: 30 KB each, enough for 16 clusters of
    /// three. With more open, each check, once a minute, dials, which costs a member a millisecond.
    std::size_t unused = 48;
    /// Bytes that all unfinished answers may have together, beyond 4 KiB each. A call that needs
    /// more is Unavailable.
    std::size_t large_answers = 32 << 20;
  };
  /// The executor must outlive the pool. Several fibers may call `dial` at once.
  Pool(Executor&, Dial dial);
  Pool(Executor&, Dial dial, Limits);
  /// Calls close().
  ~Pool() override;
  std::shared_ptr<Client> at(const Endpoint&) override;
  /// Ends dials and idle connections, and waits for their fibers when called on a fiber. A running
  /// call keeps its connection until it ends; later calls are Unavailable. Without close() the loop
  /// would run on until the last connection was idle for long enough.
  void close();
  /// Number of open connections.
  std::size_t open() const;

 private:
  class Link;
  struct State;
  std::shared_ptr<State> state_;  // Shared with links and with the fibers that dial and sweep.
};

}  // namespace etcdop::etcd
