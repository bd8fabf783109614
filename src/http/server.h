// A small HTTP/1.1 server for probes and metrics: GET and HEAD of a few fixed paths. Beast stays
// inside server.cc.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/fiber.h"
#include "http/message.h"
#include "sys/stream.h"

namespace etcdop::http {

/// Handlers answer at once: they do not suspend. Must outlive its connections.
class Server {
 public:
  using Handler = std::function<Response(const Request&)>;
  struct Options {
    std::size_t connections = 64;         ///< At once; one more is closed unheard.
    std::size_t header_limit = 16 << 10;  ///< Bytes of a request's header; more: 431.
    Duration idle_limit =
        std::chrono::seconds(30);  ///< For a whole request to come, and for its answer to be taken.
  };
  Server(Executor& executor, Options options) : executor_(executor), options_(options) {}
  /// `path` without query. Set before serving.
  void route(std::string path, Handler handler) { routes_[std::move(path)] = std::move(handler); }
  /// Serves one connection on the calling fiber until it ends.
  void serve(std::unique_ptr<Stream> connection);
  /// Serves what `accept` gives, each connection on a fiber of its own, until the calling fiber is
  /// cancelled or its deadline comes; its connections end with it. An accept that fails for another
  /// reason (too many open files) is tried again a second later.
  void run(const std::function<Result<std::unique_ptr<Stream>>()>& accept);

 private:
  std::shared_ptr<Fiber> serve_apart(std::unique_ptr<Stream> connection);
  Response answer(const Request& request) const;
  Executor& executor_;
  Options options_;
  std::map<std::string, Handler> routes_;
  std::list<std::shared_ptr<Fiber>> open_;
};

}  // namespace etcdop::http
