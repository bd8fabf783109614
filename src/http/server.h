// A small HTTP/1.1 server for probes and metrics: GET and HEAD of a few fixed paths. Beast stays
// inside server.cc.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fiber.h"
#include "http/message.h"
#include "sys/stream.h"

namespace etcdop::http {

/// Must outlive its connections.
class Server {
 public:
  /// Runs on its connection's fiber, and may suspend. Header names are in lower case.
  using Handler = std::function<Response(const Request&)>;
  /// Runs first on a connection, on its own fiber: a TLS handshake.
  using Open = std::function<Result<std::unique_ptr<Stream>>(std::unique_ptr<Stream>)>;
  struct Options {
    /// Concurrent. For a further one, the connection that waits longest for its client is closed;
    /// if each is being answered, the further one.
    std::size_t connections = 64;
    std::size_t header_limit = 16 << 10;  ///< Bytes of a request's header; more: 431.
    /// Limit for `open`; and for a request to arrive, be answered and its answer to be read.
    Duration idle_limit = std::chrono::seconds(30);
    Open open = {};  ///< Empty: a connection is served as it is.
  };
  Server(Executor& executor, Options options) : executor_(executor), options_(std::move(options)) {}
  /// `path` without query. Set before serving.
  void route(std::string path, Handler handler) { routes_[std::move(path)] = std::move(handler); }
  /// Serves one connection, already opened, on the calling fiber until it ends.
  void serve(std::unique_ptr<Stream> connection);
  /// Serves the connections from `accept`, each on its own fiber, until the calling fiber is
  /// cancelled or its deadline comes; its connections end with it. If accept fails for another
  /// reason (too many open files), it is tried again a second later.
  void run(const std::function<Result<std::unique_ptr<Stream>>()>& accept);

 private:
  struct Connection {
    std::shared_ptr<Fiber> fiber;
    std::optional<Instant> waits;  ///< Since when it waits for its client; nullopt: it does not.
  };
  void talk(Stream& stream, Connection& about);
  void serve_apart(std::unique_ptr<Stream> stream);
  bool make_room();
  Result<std::unique_ptr<Stream>> open(std::unique_ptr<Stream> connection);
  Response answer(const Request& request) const;
  Executor& executor_;
  Options options_;
  std::map<std::string, Handler> routes_;
  std::list<Connection> open_;
};

}  // namespace etcdop::http
