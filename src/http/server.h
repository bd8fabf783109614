// A small HTTP/1.1 server for probes and metrics: GET and HEAD of a few fixed paths. Beast stays
// inside server.cc.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/fiber.h"
#include "http/message.h"
#include "sys/stream.h"

namespace etcdop::http {

/// Must outlive its connections.
class Server {
 public:
  /// Runs on its connection's fiber, and may suspend. Names of headers are in lower case.
  using Handler = std::function<Response(const Request&)>;
  /// What is done first with a connection, on its own fiber: a TLS handshake.
  using Open = std::function<Result<std::unique_ptr<Stream>>(std::unique_ptr<Stream>)>;
  struct Options {
    std::size_t connections = 64;         ///< At once; one more is closed unheard.
    std::size_t header_limit = 16 << 10;  ///< Bytes of a request's header; more: 431.
    /// For `open`; and for a request to come, be answered and its answer to be taken.
    Duration idle_limit = std::chrono::seconds(30);
    Open open = {};  ///< None: a connection is served as it is.
  };
  Server(Executor& executor, Options options) : executor_(executor), options_(std::move(options)) {}
  /// `path` without query. Set before serving.
  void route(std::string path, Handler handler) { routes_[std::move(path)] = std::move(handler); }
  /// Serves one connection, which is open, on the calling fiber until it ends.
  void serve(std::unique_ptr<Stream> connection);
  /// Serves what `accept` gives, each connection on a fiber of its own, until the calling fiber is
  /// cancelled or its deadline comes; its connections end with it. An accept that fails for another
  /// reason (too many open files) is tried again a second later.
  void run(const std::function<Result<std::unique_ptr<Stream>>()>& accept);

 private:
  std::shared_ptr<Fiber> serve_apart(std::unique_ptr<Stream> connection);
  Result<std::unique_ptr<Stream>> open(std::unique_ptr<Stream> connection);
  Response answer(const Request& request) const;
  Executor& executor_;
  Options options_;
  std::map<std::string, Handler> routes_;
  std::list<std::shared_ptr<Fiber>> open_;
};

}  // namespace etcdop::http
