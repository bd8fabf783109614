// HTTP/1.1 client over Streams: looks blocking, suspends the calling fiber. Beast stays inside
// http_exchange.cc.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fiber.h"
#include "http/message.h"
#include "sys/stream.h"

namespace etcdop::http {

/// A client of one server. Connections are kept and reused; deadline and cancellation are the
/// calling fiber's (see Within). Must outlive its calls.
///
/// Errors of every call: Invalid: the request cannot be written as HTTP (for example, a line break
/// in a header); nothing was sent. Unavailable, Denied: from the dial; nothing was sent (Denied
/// also if the server refuses our certificate). Lost: sent, and the connection ended before the
/// answer's end. Corrupt: the answer is not HTTP or over a limit; like Lost, the request may have
/// been carried out. TimedOut and Cancelled: it may have been carried out too. A status other than
/// 2xx is not an error here. A GET or HEAD on a kept connection that turns out to be closed is sent
/// again on a new one.
class HttpClient {
 public:
  using Dial = std::function<Result<std::unique_ptr<Stream>>()>;
  /// Receives each piece of a body as it arrives; false ends the call there. It may suspend.
  using Sink = std::function<bool(std::string_view)>;
  struct Options {
    std::string host;               ///< For the Host header.
    std::size_t connections = 128;  ///< Concurrent send() calls; more wait in line.
    std::size_t streams = 256;      ///< Concurrent stream() calls, besides those; more wait.
    std::size_t kept = 8;           ///< Connections kept between calls.
    Duration kept_limit = std::chrono::seconds(30);  ///< Not reused after more idle time.
    std::size_t header_limit = 64 << 10;             ///< Bytes of an answer's header.
    std::size_t body_limit = 64 << 20;               ///< Bytes of an answer's body in send().
  };
  HttpClient(Executor&, Dial, Options);
  Result<Response> get(const std::string& target) { return send({"GET", target, {}, {}, {}}); }
  Result<Response> send(const Request&);
  /// For watches and downloads: a 2xx body goes to the sink. Success means that the body ended or
  /// that the sink returned false. With any other status the sink gets nothing, and the response
  /// has the body's first kRefusalLimit bytes.
  Result<Response> stream(const Request&, const Sink&);

  /// Calls that begin after this use no earlier connection. Running calls continue.
  void renew_connections();

  static constexpr std::size_t kRefusalLimit = 64 << 10;

 private:
  struct Kept {
    std::unique_ptr<Stream> connection;
    Instant since;
  };
  Result<Response> perform(const Request&, Semaphore& line, const Sink*);
  Result<Response> attempt(const Request&, const std::string& bytes, const Sink*, bool& stale);
  std::unique_ptr<Stream> take_kept();
  void keep(std::unique_ptr<Stream>);
  Executor& executor_;
  Dial dial_;
  Options options_;
  Semaphore connections_, streams_;
  std::vector<Kept> kept_;  // The connection used last is at the end.
  std::uint64_t renewals_ = 0;
};

}  // namespace etcdop::http
