// HTTP/1.1 client over Streams: looks blocking, suspends the calling fiber. Beast stays inside
// http_client.cc.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "sys/stream.h"

namespace etcdop::http {

struct Request {
  std::string method = "GET", target;
  std::map<std::string, std::string> headers;
  std::string body;
};

struct Response {
  int status = 0;
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;                            ///< Empty if it went to a sink.
};

/// One server. Connections are kept and used again; deadline and cancellation are the calling
/// fiber's (see Within).
class HttpClient {
 public:
  using Dial = std::function<Result<std::unique_ptr<Stream>>()>;
  /// Takes each piece of a body as it comes; false ends the call there.
  using Sink = std::function<bool(std::string_view)>;
  struct Options {
    std::string host;              ///< For the Host header.
    std::size_t connections = 16;  ///< Open at once; more calls wait in line. Watches count too.
    std::size_t body_limit = 64 << 20;
  };
  HttpClient(Executor&, Dial, Options);
  Result<Response> get(const std::string& target) { return send({"GET", target, {}, {}}); }
  Result<Response> send(const Request&);
  /// Watches and downloads. Success means the body came to its end, or the sink had enough.
  Result<Response> stream(const Request&, const Sink&);

 private:
  Result<Response> exchange(Stream&, const Request&, const Sink&, bool& reusable, bool& answered);
  Dial dial_;
  Options options_;
  Semaphore slots_;
  std::vector<std::unique_ptr<Stream>> idle_;
};

}  // namespace etcdop::http
